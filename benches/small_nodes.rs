//! A thousand small nodes from one list of tasks (`passes::replay`), against the faster of raw enqueues and a raw command buffer,
//! alternating in one process. Both sides are raw OpenCL: this measures the mechanism, not the library around it.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes, times are medians of whole replays, enqueue to finish. Each is
//! measured behind another one of its own kind; rows `…_first` are of lists that come behind a thousand raw launches, with what
//! those leave behind in caches and in the driver's threads. `empty_list` is a list of no tasks against a raw launch of nothing.
//!
//! The reference has a kernel object for each node, its arguments set once, and no events. Of the
//! ways to launch a list, the one that is fastest in a trial is measured; it is told on a line of its own. Before anything is
//! measured, all ways must have computed the same numbers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "both sides call OpenCL")]

mod measure;
mod raw;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::time::Instant;

use oclave::Device;
use oclave_image::passes::replay::{REPLAY_SEQ, REPLAY_WI, ReplayLayout, TaskRecord, replay};
use oclave_image::spirv::Module;
use oclave_image::{Aspects, DeviceImage, DeviceTarget, legalize_with};
use opencl_sys::{cl_command_buffer_khr, cl_kernel, cl_program};
use raw::command_buffer::CommandBuffers;
use raw::{Raw, check};

const NODES: usize = 1000;
const ARRAYS: usize = NODES + 1;
const FLOATS: usize = 1024;
/// So many nodes leave all numbers finite.
const FEW: usize = 20;
const SMALL: &[u8] = include_bytes!("kernels/small_nodes.spv");
const GROUPS: &[u8] = include_bytes!("kernels/small_groups.spv");
const MIX: [&CStr; 4] = [c"axpy", c"smooth", c"polynomial", c"bump"];

/// A node: a kernel on two arrays of floats.
#[derive(Clone, Copy)]
struct Node {
    kernel: &'static CStr,
    x: usize,
    y: usize,
}

/// A row of the table.
struct Row {
    name: &'static str,
    spirv: &'static [u8],
    items: usize,
    local: Option<usize>,
    /// Nodes do not depend on each other.
    independent: bool,
    nodes: Vec<Node>,
}

fn main() {
    let Some(device) = measure::device() else { return };
    let raw = Raw::new(device.name(), false);
    let command_buffers = CommandBuffers::of(&raw, &device);
    let mad_is_called = calls_mad(&device);
    let buffers = Buffers::new(&raw, ARRAYS, FLOATS);
    let mut programs: Vec<(*const u8, Programs)> = Vec::new();
    measure_empty(&raw, &Programs::new(&raw, SMALL, mad_is_called));
    for row in rows() {
        if !programs.iter().any(|(of, _)| *of == row.spirv.as_ptr()) {
            programs.push((row.spirv.as_ptr(), Programs::new(&raw, row.spirv, mad_is_called)));
        }
        let (_, program) = programs.iter().find(|(of, _)| *of == row.spirv.as_ptr()).unwrap();
        measure_row(&raw, command_buffers.as_ref(), &buffers, program, &row);
    }
}

/// What the library knows of PoCL before 7: see `driver/quirk.rs`.
fn calls_mad(device: &Device) -> bool {
    let platform = device.platform();
    platform.name().contains("Portable Computing Language") && !platform.version().contains("PoCL 7")
}

fn rows() -> Vec<Row> {
    let row = |name, items, independent, node: &dyn Fn(usize) -> Node| Row {
        name,
        spirv: SMALL,
        items,
        local: None,
        independent,
        nodes: (0..NODES).map(node).collect(),
    };
    let mix = |i: usize| MIX[i % 4];
    // Two arrays in turn, so that each node reads what the one before it wrote.
    let chain = |i: usize| Node { kernel: mix(i), x: i % 2, y: (i + 1) % 2 };
    let bump = |i: usize| Node { kernel: c"bump", x: i % 2, y: (i + 1) % 2 };
    let wide = |i: usize| Node { kernel: mix(i), x: i, y: NODES };
    let layered = |i: usize| Node { kernel: mix(i / 100), x: i % 100, y: 100 + (i + 1) % 100 };
    let mut rows = vec![
        row("chain_1item", 1, false, &bump),
        row("chain_64item", 64, false, &chain),
        row("chain_256item", 256, false, &chain),
        row("chain_1024item", 1024, false, &chain),
        row("wide_1item", 1, true, &wide),
        row("wide_256item", 256, true, &wide),
        row("layered_1item", 1, false, &layered),
        row("layered_64item", 64, false, &layered),
        row("layered_256item", 256, false, &layered),
    ];
    rows.push(Row {
        name: "barriers_64item",
        spirv: GROUPS,
        items: 64,
        local: Some(64),
        independent: false,
        nodes: (0..NODES)
            .map(|i| Node { kernel: if i % 2 == 0 { c"scan" } else { c"bump" }, x: 0, y: 1 })
            .collect(),
    });
    rows
}

/// Arrays of floats, all in one piece of memory.
struct Buffers {
    start: *mut c_void,
    bytes_each: usize,
}

impl Buffers {
    fn new(raw: &Raw, count: usize, floats: usize) -> Self {
        // A line apart, so that arrays do not all begin at the same place of the caches.
        let bytes_each = floats * 4 + 64;
        let start = raw.alloc(count * bytes_each);
        let buffers = Self { start, bytes_each };
        buffers.reset(raw);
        buffers
    }

    /// Sets all arrays to small numbers.
    fn reset(&self, raw: &Raw) {
        let number = |index: usize| (index % 17) as f32 / 16.0;
        let all: Vec<u8> = (0..ARRAYS * self.bytes_each / 4).flat_map(|i| number(i).to_ne_bytes()).collect();
        write(raw, self.start, &all);
    }

    /// All numbers.
    fn read(&self, raw: &Raw) -> Vec<f32> {
        let mut all = vec![0_f32; ARRAYS * self.bytes_each / 4];
        // SAFETY: both pieces have as many bytes, the call blocks.
        check(unsafe {
            (raw.cl.clEnqueueMemcpyINTEL)(
                raw.queue,
                1,
                all.as_mut_ptr().cast(),
                self.start,
                ARRAYS * self.bytes_each,
                0,
                null(),
                null_mut(),
            )
        });
        all
    }

    fn address(&self, index: usize) -> *mut c_void {
        self.start.wrapping_byte_add(index * self.bytes_each)
    }
}

fn write(raw: &Raw, to: *mut c_void, bytes: &[u8]) {
    // SAFETY: `to` has room for as many bytes, the call blocks.
    check(unsafe {
        (raw.cl.clEnqueueMemcpyINTEL)(
            raw.queue,
            1,
            to,
            bytes.as_ptr().cast(),
            bytes.len(),
            0,
            null(),
            null_mut(),
        )
    });
}

/// The kernels as they are, and their replay module.
struct Programs {
    plain: cl_program,
    layout: ReplayLayout,
    seq: cl_kernel,
    wi: cl_kernel,
}

impl Programs {
    fn new(raw: &Raw, spirv: &[u8], mad_is_called: bool) -> Self {
        let (words, layout) = replay_module(spirv, mad_is_called);
        let start = Instant::now();
        let plain = raw.program(spirv);
        let middle = start.elapsed();
        let program = raw.program(&Module::from_words(words).unwrap().to_bytes());
        eprintln!("build: {middle:?}, of the replay module: {:?}", start.elapsed() - middle);
        let kernel = |name: &str| raw.kernel_of(program, &std::ffi::CString::new(name).unwrap());
        Self { plain, layout, seq: kernel(REPLAY_SEQ), wi: kernel(REPLAY_WI) }
    }
}

/// The replay module as the library makes it for the driver.
fn replay_module(spirv: &[u8], mad_is_called: bool) -> (Vec<u32>, ReplayLayout) {
    let spirv = Module::from_bytes(spirv).unwrap().into_words();
    let image = DeviceImage { name: "small nodes".to_owned(), spirv, ..DeviceImage::default() };
    let target = DeviceTarget { aspects: Aspects::all(), mad_is_called, ..DeviceTarget::default() };
    let mut layout = ReplayLayout::default();
    let words = legalize_with(&image, &target, |module| {
        let made = replay(&module, 32 << 10)?;
        layout = made.layout;
        Ok(made.module)
    });
    (words.unwrap(), layout)
}

/// A list of no tasks against a launch of nothing.
fn measure_empty(raw: &Raw, programs: &Programs) {
    let list = raw.alloc(TaskRecord::BYTES);
    let kernel = raw.kernel_of(programs.plain, c"bump");
    for index in [0, 1] {
        // SAFETY: kernel and memory are alive.
        check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, index, list) });
    }
    let plain = || {
        enqueue(raw, kernel, 1, None);
        raw.finish();
    };
    measure::settled("empty_list", 0, 201, || launch(raw, programs, list, 0, (0, 1)), plain);
}

/// Panics unless all ways compute the same numbers.
fn compare(raw: &Raw, buffers: &Buffers, count: usize, ways: &[&dyn Fn(usize)]) {
    let results = ways.iter().map(|way| {
        buffers.reset(raw);
        way(count);
        buffers.read(raw)
    });
    let mut results = results.collect::<Vec<_>>().into_iter();
    let expected = results.next().unwrap();
    assert!(count > FEW || expected.iter().all(|number| number.is_finite()));
    for other in results {
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(expected.iter().zip(&other).all(same), "the ways do not compute the same");
    }
    buffers.reset(raw);
}

/// How a list is launched: the local size (0: in turn), and how many groups.
type Shape = (usize, usize);

fn measure_row(
    raw: &Raw,
    command_buffers: Option<&CommandBuffers>,
    buffers: &Buffers,
    programs: &Programs,
    row: &Row,
) {
    let list = task_list(raw, buffers, &programs.layout, row);
    let kernels: Vec<cl_kernel> =
        row.nodes.iter().map(|node| node_kernel(raw, buffers, programs, node)).collect();
    let some_eager = |count: usize| {
        for kernel in kernels.iter().take(count) {
            enqueue(raw, *kernel, row.items, row.local);
        }
        raw.finish();
    };
    let eager = || some_eager(NODES);
    let recorded = command_buffers.map(|cl| (cl, record(raw, cl, &kernels, row)));
    let replay = |(cl, buffer): &(&CommandBuffers, cl_command_buffer_khr)| {
        cl.enqueue(*buffer);
        raw.finish();
    };
    let ours = |shape: Shape| launch(raw, programs, list, NODES, shape);
    let shapes: Vec<Shape> = match (row.local, row.independent) {
        (Some(local), _) => vec![(local, 1)],
        (None, false) => vec![(0, 1), (16, 1), (64, 1)],
        (None, true) => vec![(0, 1), (16, 1), (0, 2), (16, 2), (0, NODES), (16, 64), (64, 64)],
    };
    for count in [FEW, NODES] {
        let some = shapes.iter().map(|shape| {
            Box::new(|count| launch(raw, programs, list, count, *shape)) as Box<dyn Fn(usize) + '_>
        });
        let some: Vec<_> = some.collect();
        let ways: Vec<&dyn Fn(usize)> =
            std::iter::once(&some_eager as &dyn Fn(usize)).chain(some.iter().map(|way| &**way)).collect();
        compare(raw, buffers, count, &ways);
    }
    let (shape, times) = shapes
        .iter()
        .map(|shape| (*shape, trial(|| ours(*shape))))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap();
    let all: Vec<String> =
        shapes.iter().map(|shape| format!("{shape:?} {:.1}", trial(|| ours(*shape)))).collect();
    let eager_time = trial(eager);
    let buffer_time = recorded.as_ref().map(|recorded| trial(|| replay(recorded)));
    eprintln!(
        "{}: local size and groups {shape:?} {times:.1} us of {}; eager {eager_time:.1}, command buffer {buffer_time:.1?}",
        row.name,
        all.join(", ")
    );
    let reference: &dyn Fn() = match &recorded {
        Some(recorded) if buffer_time.is_some_and(|time| time < eager_time) => &|| replay(recorded),
        _ => &eager,
    };
    measure::settled(row.name, NODES, 41, || ours(shape), reference);
    measure::pair(&format!("{}_first", row.name), NODES, 21, 1, || ours(shape), reference);
}

/// The median of a few, in microseconds.
fn trial(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..12)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .skip(3)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Writes the nodes as tasks into device memory.
fn task_list(raw: &Raw, buffers: &Buffers, layout: &ReplayLayout, row: &Row) -> *mut c_void {
    let mut words = Vec::new();
    let mut blocks = Vec::new();
    for node in &row.nodes {
        let number = layout.kernel_index(node.kernel.to_str().unwrap()).unwrap();
        let kernel = layout.kernel(number).unwrap();
        let block = (NODES * TaskRecord::BYTES + blocks.len() * 8) as u64;
        assert_eq!(kernel.block_bytes, 16, "two pointers");
        blocks.extend([node.x, node.y].map(|index| buffers.address(index) as u64));
        let (items, local) = ([row.items as u64, 1, 1], [row.local.unwrap_or(1) as u64, 1, 1]);
        words.extend(TaskRecord::new(number, block, 1, items, [0; 3], local).to_words());
    }
    words.extend(blocks);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let list = raw.alloc(bytes.len());
    write(raw, list, &bytes);
    list
}

fn node_kernel(raw: &Raw, buffers: &Buffers, programs: &Programs, node: &Node) -> cl_kernel {
    let kernel = raw.kernel_of(programs.plain, node.kernel);
    for (index, array) in [(0, node.x), (1, node.y)] {
        // SAFETY: kernel and memory are alive.
        check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, index, buffers.address(array)) });
    }
    kernel
}

fn enqueue(raw: &Raw, kernel: cl_kernel, items: usize, local: Option<usize>) {
    let local = local.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: the objects are alive, sizes have one element.
    check(unsafe {
        (raw.cl.clEnqueueNDRangeKernel)(raw.queue, kernel, 1, null(), &items, local, 0, null(), null_mut())
    });
}

/// Runs the first tasks of a list, and waits.
fn launch(raw: &Raw, programs: &Programs, list: *mut c_void, count: usize, (local, groups): Shape) {
    let kernel = if local == 0 { programs.seq } else { programs.wi };
    let (first, count) = (0_u64, count as u64);
    // SAFETY: kernel and memory are alive, values have the sizes said.
    unsafe {
        check((raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, list));
        check((raw.cl.clSetKernelArg)(kernel, 1, 8, (&raw const first).cast()));
        check((raw.cl.clSetKernelArg)(kernel, 2, 8, (&raw const count).cast()));
        if local != 0 {
            check((raw.cl.clSetKernelArg)(kernel, 3, 128, null()));
        }
    }
    enqueue(raw, kernel, local.max(1) * groups, Some(local.max(1)));
    raw.finish();
}

/// All nodes in order.
fn record(raw: &Raw, cl: &CommandBuffers, kernels: &[cl_kernel], row: &Row) -> cl_command_buffer_khr {
    let buffer = cl.create(raw, &[]);
    for kernel in kernels {
        cl.launch(buffer, &[], *kernel, (row.items, row.local), &[]);
    }
    cl.finalize(buffer);
    buffer
}
