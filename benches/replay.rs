//! Replays of graphs against raw command buffers and against eager submission, alternating in one
//! process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes, times are medians of whole
//! graphs. A replay is measured from its submission to the end of a wait. `raw` rows compare with
//! `clEnqueueCommandBufferKHR`. On devices without command buffers, they compare with prepared
//! `clEnqueueNDRangeKernel` calls. `finalize` rows are per node. They compare with the recording of
//! a raw command buffer, or with one microsecond on devices without command buffers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;
mod shapes;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::memory::usm;
use oclave::{Context, Device, Event, Graph, Queue, UsmSlice};
use opencl_sys::{cl_command_buffer_khr, cl_event, cl_kernel, cl_uint};
use raw::command_buffer::CommandBuffers;
use raw::{Raw, check};
use shapes::{SHAPES, Shape};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
/// Nodes work on different elements, so that independent ones are that.
const CELLS: usize = 1024;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let cells = context.alloc_device::<i32>(CELLS).unwrap();
    Queue::new(&context).unwrap().fill(&cells, 0).unwrap();
    for shape in SHAPES {
        let reference = Reference::new(&device, &shape);
        let queue = Queue::builder(&context);
        let queue = if shape.in_order { queue } else { queue.out_of_order() }.build().unwrap();
        for n in [10, 100, 1000, 10_000] {
            measure_shape(&context, &queue, &cells, &reference, &shape, n);
        }
    }
}

fn measure_shape(
    context: &Context,
    queue: &Queue,
    cells: &UsmSlice<i32, usm::DeviceOnly>,
    reference: &Reference,
    shape: &Shape,
    n: usize,
) {
    let (rounds, repeat) = match n {
        0..=10 => (51, 40),
        11..=100 => (51, 10),
        101..=1000 => (31, 1),
        _ => (9, 1),
    };
    let waits = (shape.waits)(n);
    let call = |node: usize| bump(cells.slice(node % CELLS..).unwrap());
    let graph = Graph::new(context, context.device()).unwrap();
    shapes::build(&graph, &waits, call);
    let auto = graph.finalize().unwrap();
    let run = |executable: &ExecutableGraph| {
        queue.submit_graph(executable).unwrap();
        queue.wait().unwrap();
    };
    let name = |what: &str| format!("replay_{}_{what}", shape.name);
    let recorded = reference.record(&waits);
    measure::pair(&name("raw"), n, rounds, repeat, || run(&auto), || reference.run(recorded, &waits));
    let eager = || {
        let mut events: Vec<Event> = Vec::with_capacity(n);
        for (node, waits) in waits.iter().enumerate() {
            events.push(if shape.in_order {
                queue.parallel_for(1, call(node)).unwrap()
            } else {
                let after: Vec<&Event> = waits.iter().map(|wait| &events[*wait]).collect();
                queue.after(&after).parallel_for(1, call(node)).unwrap()
            });
        }
        queue.wait().unwrap();
    };
    measure::pair(&name("eager"), n, rounds, repeat, || run(&auto), eager);
    if Graph::support(context.device()).command_buffers {
        let buffers = graph.finalizer().strategy(ReplayStrategy::CommandBuffer).finalize().unwrap();
        measure::pair(
            &name("buffer_raw"),
            n,
            rounds,
            repeat,
            || run(&buffers),
            || reference.run(recorded, &waits),
        );
    }
    reference.release(recorded);

    // A warm-up of 3, and about as many rounds.
    let ours = || drop(graph.finalize().unwrap());
    let name = format!("finalize_{}", shape.name);
    let rounds = rounds.min(21);
    if reference.buffers.is_some() {
        measure::pair(&name, n, rounds, 1, ours, || reference.release(reference.record(&waits)));
    } else {
        measure::budget(&name, n, rounds, n as f64, || (), |()| ours());
    }
}

/// The same commands in raw OpenCL.
struct Reference {
    raw: Raw,
    kernel: cl_kernel,
    cells: *mut c_void,
    in_order: bool,
    /// Where the device has them.
    buffers: Option<CommandBuffers>,
}

impl Reference {
    fn new(device: &Device, shape: &Shape) -> Self {
        let raw = Raw::new(device.name(), !shape.in_order);
        let kernel = raw.kernel(SPIRV, c"bump");
        let cells = raw.alloc(4 * CELLS);
        let buffers = CommandBuffers::of(&raw, device);
        Self { raw, kernel, cells, in_order: shape.in_order, buffers }
    }

    fn set(&self, node: usize) {
        let cell = self.cells.wrapping_byte_add(4 * (node % CELLS));
        // SAFETY: kernel and memory are alive.
        check(unsafe { (self.raw.cl.clSetKernelArgMemPointerINTEL)(self.kernel, 0, cell) });
    }

    /// A command buffer, where the device has them.
    fn record(&self, waits: &[Vec<usize>]) -> Option<cl_command_buffer_khr> {
        let buffers = self.buffers.as_ref()?;
        let buffer = buffers.create(&self.raw, &[]);
        let mut points: Vec<cl_uint> = Vec::with_capacity(waits.len());
        for (node, waits) in waits.iter().enumerate() {
            self.set(node);
            let wait: Vec<cl_uint> = match self.in_order {
                true => Vec::new(),
                false => waits.iter().map(|wait| points[*wait]).collect(),
            };
            points.push(buffers.launch(buffer, &[], self.kernel, (1, None), &wait).0);
        }
        buffers.finalize(buffer);
        Some(buffer)
    }

    fn release(&self, recorded: Option<cl_command_buffer_khr>) {
        if let (Some(buffers), Some(buffer)) = (&self.buffers, recorded) {
            buffers.release(buffer);
        }
    }

    fn run(&self, recorded: Option<cl_command_buffer_khr>, waits: &[Vec<usize>]) {
        match (&self.buffers, recorded) {
            (Some(buffers), Some(buffer)) => buffers.enqueue(buffer),
            _ => self.enqueue(waits),
        }
        self.raw.finish();
    }

    fn enqueue(&self, waits: &[Vec<usize>]) {
        let mut events: Vec<cl_event> = Vec::new();
        for (node, waits) in waits.iter().enumerate() {
            self.set(node);
            let wait: Vec<cl_event> = match self.in_order {
                true => Vec::new(),
                false => waits.iter().map(|wait| events[*wait]).collect(),
            };
            let list = if wait.is_empty() { null() } else { wait.as_ptr() };
            let mut event = null_mut();
            let place = if self.in_order { null_mut() } else { &raw mut event };
            // SAFETY: the objects are alive, the lists are as long as said.
            check(unsafe {
                (self.raw.cl.clEnqueueNDRangeKernel)(
                    self.raw.queue,
                    self.kernel,
                    1,
                    null(),
                    &1,
                    null(),
                    wait.len() as cl_uint,
                    list,
                    place,
                )
            });
            events.push(event);
        }
        events.into_iter().filter(|event| !event.is_null()).for_each(|event| self.raw.release(event));
    }
}
