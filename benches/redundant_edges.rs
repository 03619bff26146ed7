//! A chain of 400 tiny kernels, each after all before it, replayed as launches on an out-of-order
//! queue.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes. Times are medians of whole replays,
//! from the submission to the end of the wait.
//!
//! - `redundant_edges_given` compares with raw OpenCL that is given all 79,800 edges.
//! - `redundant_edges_left_out` compares with a graph that has 399 edges, one from each node to the
//!   next.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;
mod shapes;

use std::ptr::{null, null_mut};

use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::memory::usm;
use oclave::{Context, Graph, Queue, UsmSlice};
use opencl_sys::{cl_event, cl_kernel, cl_uint};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const NODES: usize = 400;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let value = context.alloc_device::<i32>(1).unwrap();
    let all = graph(&context, &value, |node| (0..node).collect());
    let single = graph(&context, &value, |node| node.checked_sub(1).into_iter().collect());
    let run = |executable: &ExecutableGraph| {
        queue.submit_graph(executable).unwrap();
        queue.wait().unwrap();
    };
    for executable in [&all, &single] {
        queue.fill(&value, 0).unwrap().wait().unwrap();
        run(executable);
        assert_eq!(queue.read(&value).unwrap(), [NODES as i32]);
    }

    let raw = Raw::new(device.name(), true);
    let kernel = raw.kernel(SPIRV, c"bump");
    // SAFETY: kernel and memory are alive.
    check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, raw.alloc(4)) });
    measure::pair("redundant_edges_given", NODES, 31, 1, || run(&all), || after_all(&raw, kernel));
    measure::pair("redundant_edges_left_out", NODES, 101, 1, || run(&all), || run(&single));
}

fn graph(
    context: &Context,
    value: &UsmSlice<i32, usm::DeviceOnly>,
    waits: impl Fn(usize) -> Vec<usize>,
) -> ExecutableGraph {
    let graph = Graph::new(context, context.device()).unwrap();
    shapes::build(&graph, &(0..NODES).map(waits).collect::<Vec<_>>(), |_| bump(value));
    graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap()
}

/// The same launches in raw OpenCL, each after the events of all before it.
fn after_all(raw: &Raw, kernel: cl_kernel) {
    let mut events: Vec<cl_event> = Vec::with_capacity(NODES);
    for _ in 0..NODES {
        let wait = if events.is_empty() { null() } else { events.as_ptr() };
        let mut event = null_mut();
        // SAFETY: the objects are alive, the list is as long as said.
        check(unsafe {
            (raw.cl.clEnqueueNDRangeKernel)(
                raw.queue,
                kernel,
                1,
                null(),
                &1,
                null(),
                events.len() as cl_uint,
                wait,
                &mut event,
            )
        });
        events.push(event);
    }
    raw.finish();
    events.into_iter().for_each(|event| raw.release(event));
}
