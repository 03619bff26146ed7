//! Replays of graphs against raw command buffers and against eager submission of the same commands, alternating in one
//! process; and what finalizing costs, against recording a raw command buffer.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes, times are medians of whole graphs. A replay is measured from
//! its submission to the end of a wait. `raw` rows compare with `clEnqueueCommandBufferKHR`, or, on devices without, with
//! prepared `clEnqueueNDRangeKernel` calls. `finalize` rows are a node's, and on devices without command buffers the reference
//! is one microsecond.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;
mod shapes;

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use oclave::{
    Command, Context, Device, Event, ExecutableGraph, Graph, Node, Queue, ReplayStrategy, UsmSlice, usm,
};
use opencl_sys::{cl_command_queue, cl_event, cl_int, cl_kernel, cl_uint, cl_ulong};
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
    let device = match Device::select() {
        Ok(device) if device.capabilities().usm.is_some() => device,
        Ok(_) => return println!("skipped: the device has no USM"),
        Err(error) => return println!("skipped: {error}"),
    };
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
    cells: &UsmSlice<i32, usm::Device>,
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
    let graph = build(context, cells, &waits);
    let auto = graph.finalize().unwrap();
    let run = |executable: &ExecutableGraph| {
        queue.submit_graph(executable).unwrap();
        queue.wait().unwrap();
    };
    let name = |what: &str| format!("replay_{}_{what}", shape.name);
    let recorded = reference.record(&waits);
    measure::pair(&name("raw"), n, rounds, repeat, || run(&auto), || reference.run(&recorded, &waits));
    let eager = || {
        let mut events: Vec<Event> = Vec::with_capacity(n);
        for (node, waits) in waits.iter().enumerate() {
            let call = bump(cells.slice(node % CELLS..).unwrap());
            events.push(if shape.in_order {
                queue.parallel_for(1, call).unwrap()
            } else {
                let after: Vec<&Event> = waits.iter().map(|wait| &events[*wait]).collect();
                queue.after(&after).parallel_for(1, call).unwrap()
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
            || reference.run(&recorded, &waits),
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

fn build(context: &Context, cells: &UsmSlice<i32, usm::Device>, waits: &[Vec<usize>]) -> Graph {
    let graph = Graph::new(context, context.device()).unwrap();
    let mut nodes: Vec<Node> = Vec::with_capacity(waits.len());
    for (at, waits) in waits.iter().enumerate() {
        let after: Vec<&Node> = waits.iter().map(|wait| &nodes[*wait]).collect();
        let command = Command::parallel_for(1, bump(cells.slice(at % CELLS..).unwrap()));
        nodes.push(graph.after(&after).add(command).unwrap());
    }
    graph
}

/// The functions of command buffers, which are the same in all versions that the library uses.
#[allow(non_snake_case)]
struct CommandBuffers {
    clCreateCommandBufferKHR:
        unsafe extern "C" fn(cl_uint, *const cl_command_queue, *const cl_ulong, *mut cl_int) -> *mut c_void,
    clCommandNDRangeKernelKHR: CommandNdRange,
    clFinalizeCommandBufferKHR: unsafe extern "C" fn(*mut c_void) -> cl_int,
    clReleaseCommandBufferKHR: unsafe extern "C" fn(*mut c_void) -> cl_int,
    clEnqueueCommandBufferKHR: unsafe extern "C" fn(
        cl_uint,
        *const cl_command_queue,
        *mut c_void,
        cl_uint,
        *const cl_event,
        *mut cl_event,
    ) -> cl_int,
}

type CommandNdRange = unsafe extern "C" fn(
    *mut c_void,
    cl_command_queue,
    *const cl_ulong,
    cl_kernel,
    cl_uint,
    *const usize,
    *const usize,
    *const usize,
    cl_uint,
    *const cl_uint,
    *mut cl_uint,
    *mut *mut c_void,
) -> cl_int;

impl CommandBuffers {
    fn of(raw: &Raw) -> Self {
        // SAFETY: the device has the extension, and the functions of these names are of these types.
        unsafe {
            Self {
                clCreateCommandBufferKHR: function(raw, c"clCreateCommandBufferKHR"),
                clCommandNDRangeKernelKHR: function(raw, c"clCommandNDRangeKernelKHR"),
                clFinalizeCommandBufferKHR: function(raw, c"clFinalizeCommandBufferKHR"),
                clReleaseCommandBufferKHR: function(raw, c"clReleaseCommandBufferKHR"),
                clEnqueueCommandBufferKHR: function(raw, c"clEnqueueCommandBufferKHR"),
            }
        }
    }
}

/// # Safety
/// `F` is the type of the function of this name, which the driver has.
unsafe fn function<F>(raw: &Raw, name: &CStr) -> F {
    let address = raw.function(name);
    assert!(!address.is_null(), "no {name:?}");
    // SAFETY: the caller's promise.
    unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) }
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

/// A command buffer; null for devices that have none.
struct Recorded(*mut c_void);

impl Reference {
    fn new(device: &Device, shape: &Shape) -> Self {
        let raw = Raw::new(device.name(), !shape.in_order);
        let kernel = raw.kernel(SPIRV, c"bump");
        let cells = raw.alloc(4 * CELLS);
        let buffers = device.capabilities().command_buffer.is_some().then(|| CommandBuffers::of(&raw));
        Self { raw, kernel, cells, in_order: shape.in_order, buffers }
    }

    fn set(&self, node: usize) {
        let cell = self.cells.wrapping_byte_add(4 * (node % CELLS));
        // SAFETY: kernel and memory are alive.
        check(unsafe { (self.raw.cl.clSetKernelArgMemPointerINTEL)(self.kernel, 0, cell) });
    }

    fn record(&self, waits: &[Vec<usize>]) -> Recorded {
        let Some(cl) = &self.buffers else { return Recorded(null_mut()) };
        let mut code = 0;
        // SAFETY: the objects are alive, the lists are as long as said.
        unsafe {
            let buffer = (cl.clCreateCommandBufferKHR)(1, &self.raw.queue, null(), &mut code);
            check(code);
            let mut points: Vec<cl_uint> = Vec::with_capacity(waits.len());
            for (node, waits) in waits.iter().enumerate() {
                self.set(node);
                let wait: Vec<cl_uint> = match self.in_order {
                    true => Vec::new(),
                    false => waits.iter().map(|wait| points[*wait]).collect(),
                };
                let list = if wait.is_empty() { null() } else { wait.as_ptr() };
                let mut point = 0;
                check((cl.clCommandNDRangeKernelKHR)(
                    buffer,
                    null_mut(),
                    null(),
                    self.kernel,
                    1,
                    null(),
                    &1,
                    null(),
                    wait.len() as cl_uint,
                    list,
                    &mut point,
                    null_mut(),
                ));
                points.push(point);
            }
            check((cl.clFinalizeCommandBufferKHR)(buffer));
            Recorded(buffer)
        }
    }

    fn release(&self, recorded: Recorded) {
        if let Some(cl) = &self.buffers {
            // SAFETY: the buffer is this value's.
            check(unsafe { (cl.clReleaseCommandBufferKHR)(recorded.0) });
        }
    }

    fn run(&self, recorded: &Recorded, waits: &[Vec<usize>]) {
        match &self.buffers {
            Some(cl) => {
                let buffer = recorded.0;
                // SAFETY: the buffer is alive.
                check(unsafe { (cl.clEnqueueCommandBufferKHR)(0, null(), buffer, 0, null(), null_mut()) });
            }
            None => self.enqueue(waits),
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
