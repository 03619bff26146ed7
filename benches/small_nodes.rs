//! A thousand small nodes replayed by the interpreter, against the faster of raw enqueues and a raw
//! command buffer.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes. Times are medians of whole
//! replays through the library, from submitting the graph to the end of the wait. Each side replays
//! in a loop during its turn (`measure::steady`). Rows `…_first` are single replays after a
//! thousand raw launches. The launches affect caches, the driver's threads and the operating
//! system. `one_node` compares the smallest replay with a raw launch: the interpreter runs one node
//! of one item.
//!
//! The reference has a kernel object for each node, its arguments set once, and no events. Before
//! anything is measured, all ways must have computed the same numbers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use oclave::graph::{ExecutableGraph, Node as GraphNode, ReplayStrategy};
use oclave::kernel::KernelBundle;
use oclave::memory::usm;
use oclave::{Command, Context, Device, Graph, Queue, UsmSlice};
use opencl_sys::{cl_command_buffer_khr, cl_kernel, cl_program};
use raw::command_buffer::CommandBuffers;
use raw::{Raw, check};

const NODES: usize = 1000;
const ARRAYS: usize = NODES + 1;
/// Of an array; between two is a line of the caches more, so that they do not all begin at the same
/// place of them.
const FLOATS: usize = 1024;
const STRIDE: usize = FLOATS + 16;
/// So many nodes leave all numbers finite.
const FEW: usize = 20;
const SMALL: &[u8] = include_bytes!("kernels/small_nodes.spv");
const GROUPS: &[u8] = include_bytes!("kernels/small_groups.spv");
const MIX: [&str; 4] = ["axpy", "smooth", "polynomial", "bump"];

/// A node: a kernel on two arrays of floats, and how many nodes before it the one is that it waits
/// for (0: none).
#[derive(Clone, Copy)]
struct Node {
    kernel: &'static str,
    x: usize,
    y: usize,
    behind: usize,
}

/// A row of the table.
struct Row {
    name: &'static str,
    spirv: &'static [u8],
    items: usize,
    local: Option<usize>,
    nodes: Vec<Node>,
}

fn main() {
    let Some(device) = measure::device() else { return };
    let ours = Ours::new(&device);
    let raw = Raw::new(device.name(), false);
    let command_buffers = CommandBuffers::of(&raw, &device);
    let reference = Reference::new(&raw);
    for row in rows() {
        measure_row(&ours, &reference, command_buffers.as_ref(), &row);
    }
}

fn rows() -> Vec<Row> {
    let row = |name, items, count, node: &dyn Fn(usize) -> Node| Row {
        name,
        spirv: SMALL,
        items,
        local: None,
        nodes: (0..count).map(node).collect(),
    };
    let mix = |i: usize| MIX[i % 4];
    // Two arrays in turn, so that each node reads what the one before it wrote.
    let chain = |i: usize| Node { kernel: mix(i), x: i % 2, y: (i + 1) % 2, behind: 1 };
    let bump = |i: usize| Node { kernel: "bump", ..chain(i) };
    let wide = |i: usize| Node { kernel: mix(i), x: i, y: NODES, behind: 0 };
    // A hundred arrays, each of which is added to ten times.
    let layered = |i: usize| Node { kernel: mix(i / 100), x: i % 100, y: 100 + (i + 1) % 100, behind: 100 };
    let scan =
        |i: usize| Node { kernel: if i.is_multiple_of(2) { "scan" } else { "bump" }, x: 0, y: 1, behind: 1 };
    vec![
        row("one_node", 1, 1, &bump),
        row("chain_1item", 1, NODES, &bump),
        row("chain_64item", 64, NODES, &chain),
        row("chain_256item", 256, NODES, &chain),
        row("chain_1024item", 1024, NODES, &chain),
        row("wide_1item", 1, NODES, &wide),
        row("wide_256item", 256, NODES, &wide),
        row("layered_1item", 1, NODES, &layered),
        row("layered_64item", 64, NODES, &layered),
        row("layered_256item", 256, NODES, &layered),
        Row { spirv: GROUPS, local: Some(64), ..row("barriers_64item", 64, NODES, &scan) },
    ]
}

/// Small numbers for all arrays.
fn numbers() -> Vec<f32> {
    (0..ARRAYS * STRIDE).map(|index| (index % 17) as f32 / 16.0).collect()
}

/// The library, with arrays of its own.
struct Ours {
    context: Context,
    device: Device,
    queue: Queue,
    memory: UsmSlice<f32, usm::DeviceOnly>,
    bundles: [(&'static [u8], KernelBundle); 2],
}

impl Ours {
    fn new(device: &Device) -> Self {
        let context = Context::new(device).unwrap();
        let bundles = [SMALL, GROUPS].map(|spirv| {
            // SAFETY: the kernels are this repository's own.
            (spirv, unsafe { KernelBundle::from_spirv(&context, spirv) }.unwrap())
        });
        Self {
            queue: Queue::new(&context).unwrap(),
            memory: context.alloc_device(ARRAYS * STRIDE).unwrap(),
            device: device.clone(),
            bundles,
            context,
        }
    }

    /// The first nodes of a row.
    fn graph(&self, row: &Row, count: usize) -> ExecutableGraph {
        let (_, bundle) = self.bundles.iter().find(|(of, _)| *of == row.spirv).unwrap();
        let graph = Graph::new(&self.context, &self.device).unwrap();
        let mut nodes: Vec<GraphNode> = Vec::new();
        for (at, Node { kernel, x, y, behind }) in row.nodes[..count].iter().enumerate() {
            let array = |at: usize| self.memory.slice(at * STRIDE..at * STRIDE + FLOATS).unwrap();
            let call = bundle.kernel(kernel).unwrap().call();
            let call = call.pointer_mut::<f32>(&array(*x)).pointer::<f32>(&array(*y));
            let command = match row.local {
                Some(local) => Command::parallel_for(oclave::kernel::NdRange::new(row.items, local), call),
                None => Command::parallel_for(row.items, call),
            };
            let after: Vec<&GraphNode> = at
                .checked_sub(*behind)
                .filter(|_| *behind > 0)
                .map(|above| &nodes[above])
                .into_iter()
                .collect();
            nodes.push(graph.after(&after).add(command).unwrap());
        }
        graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter().finalize().unwrap()
    }

    fn replay(&self, graph: &ExecutableGraph) {
        self.queue.submit_graph(graph).unwrap().wait().unwrap();
    }

    /// What a graph makes of the numbers.
    fn computed(&self, graph: &ExecutableGraph) -> Vec<f32> {
        self.queue.write(&self.memory, &numbers()).unwrap();
        self.replay(graph);
        let mut all = vec![0.0; ARRAYS * STRIDE];
        self.queue.read_into(&self.memory, &mut all).unwrap();
        all
    }
}

/// Raw OpenCL, with arrays of its own.
struct Reference<'r> {
    raw: &'r Raw,
    memory: *mut c_void,
    programs: [(&'static [u8], cl_program); 2],
}

impl<'r> Reference<'r> {
    fn new(raw: &'r Raw) -> Self {
        let programs = [SMALL, GROUPS].map(|spirv| (spirv, raw.program(spirv)));
        Self { raw, memory: raw.alloc(ARRAYS * STRIDE * 4), programs }
    }

    /// A kernel for each node.
    fn kernels(&self, row: &Row) -> Vec<cl_kernel> {
        let (_, program) = self.programs.iter().find(|(of, _)| *of == row.spirv).unwrap();
        let kernel = |node: &Node| {
            let name = CString::new(node.kernel).unwrap();
            let kernel = self.raw.kernel_of(*program, &name);
            for (index, array) in [(0, node.x), (1, node.y)] {
                let address = self.memory.wrapping_byte_add(array * STRIDE * 4);
                // SAFETY: kernel and memory are alive.
                check(unsafe { (self.raw.cl.clSetKernelArgMemPointerINTEL)(kernel, index, address) });
            }
            kernel
        };
        row.nodes.iter().map(kernel).collect()
    }

    fn eager(&self, row: &Row, kernels: &[cl_kernel]) {
        let local = row.local.as_ref().map_or(null(), std::ptr::from_ref);
        for kernel in kernels {
            // SAFETY: the objects are alive, sizes have one element.
            check(unsafe {
                (self.raw.cl.clEnqueueNDRangeKernel)(
                    self.raw.queue,
                    *kernel,
                    1,
                    null(),
                    &row.items,
                    local,
                    0,
                    null(),
                    null_mut(),
                )
            });
        }
        self.raw.finish();
    }

    /// All nodes in order.
    fn record(&self, cl: &CommandBuffers, row: &Row, kernels: &[cl_kernel]) -> cl_command_buffer_khr {
        let buffer = cl.create(self.raw, &[]);
        for kernel in kernels {
            cl.launch(buffer, &[], *kernel, (row.items, row.local), &[]);
        }
        cl.finalize(buffer);
        buffer
    }

    /// What the first kernels make of the numbers.
    fn computed(&self, row: &Row, kernels: &[cl_kernel]) -> Vec<f32> {
        let mut all = numbers();
        let host: *mut c_void = all.as_mut_ptr().cast();
        self.copy(self.memory, host);
        self.eager(row, kernels);
        self.copy(host, self.memory);
        all
    }

    fn copy(&self, to: *mut c_void, from: *const c_void) {
        let bytes = ARRAYS * STRIDE * 4;
        // SAFETY: both pieces have as many bytes, the call blocks.
        check(unsafe {
            (self.raw.cl.clEnqueueMemcpyINTEL)(self.raw.queue, 1, to, from, bytes, 0, null(), null_mut())
        });
    }
}

fn measure_row(ours: &Ours, reference: &Reference<'_>, command_buffers: Option<&CommandBuffers>, row: &Row) {
    let kernels = reference.kernels(row);
    let count = row.nodes.len();
    for count in [FEW.min(count), count] {
        let [a, b] = [ours.computed(&ours.graph(row, count)), reference.computed(row, &kernels[..count])];
        assert!(count > FEW || b.iter().all(|number| number.is_finite()));
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(a.iter().zip(&b).all(same), "{}: the ways do not compute the same", row.name);
    }
    let graph = ours.graph(row, count);
    let replay = || ours.replay(&graph);
    let eager = || reference.eager(row, &kernels);
    let recorded = command_buffers.map(|cl| (cl, reference.record(cl, row, &kernels)));
    let buffered = |(cl, buffer): &(&CommandBuffers, cl_command_buffer_khr)| {
        cl.enqueue(*buffer);
        reference.raw.finish();
    };
    let eager_time = trial(eager);
    let buffer_time = recorded.as_ref().map(|recorded| trial(|| buffered(recorded)));
    let lists: Vec<String> =
        graph.segments().iter().map(|list| format!("{} x {}", list.groups, list.group_size)).collect();
    eprintln!(
        "{}: eager {eager_time:.1} us, command buffer {buffer_time:.1?}; lists by {} work-items",
        row.name,
        lists.join(", ")
    );
    let fastest: &dyn Fn() = match &recorded {
        Some(recorded) if buffer_time.is_some_and(|time| time < eager_time) => &|| buffered(recorded),
        _ => &eager,
    };
    measure::steady(row.name, count, 5, replay, fastest);
    measure::pair(&format!("{}_first", row.name), count, 21, 1, replay, fastest);
}

/// The median of a few, in microseconds.
fn trial(mut work: impl FnMut()) -> f64 {
    (0..3).for_each(|_| work());
    measure::median(&mut (0..9).map(|_| measure::time(1, &mut work)).collect::<Vec<_>>())
}
