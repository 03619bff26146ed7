//! Loops that the device decides, against loops on the host with raw OpenCL, which read the condition
//! after each iteration.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes of one work-item in the body. Times
//! are for one iteration, of 10,000 iterations by the interpreter, and of 200 where the host decides
//! (`…_host`). The reference has its arguments set once, an in-order queue and a blocking read.
//!
//! `tasks` is a graph of kernels of one work-item with a host task between each two; n is the tasks. Times are
//! for a submission. The reference launches a kernel, waits for the queue and calls a function, n times, launches
//! the last kernel and waits.
//!
//! With `OCLAVE_CUDA_REFERENCE`, the reference is a WHILE node of CUDA. Its body has the same kernels
//! (`benches/cuda/control_flow.cu`). `while_1` has kernels of one work-item, `while_256` and `while_1024` of more. The
//! last kernel of each body always has one work-item. It counts, and decides. `ci/gpu bench control_flow` builds the program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oclave::graph::ReplayStrategy;
use oclave::kernel::KernelBundle;
use oclave::{Command, Context, Device, Graph, Queue};
use opencl_sys::cl_kernel;
use raw::{Raw, check};

const BUMP: &[u8] = include_bytes!("kernels/bump.spv");
const FLOATS: &[u8] = include_bytes!("kernels/small_nodes.spv");
const MOST_ITEMS: usize = 1024;
/// Iterations that are measured at once, by the interpreter and by anybody else.
const MANY: i32 = 10_000;
const FEW: i32 = 200;
const ROUNDS: usize = 9;

fn main() {
    let Some(device) = measure::device() else { return };
    if let Some(reference) = measure::cuda() {
        return beside_cuda(&device, &reference);
    }
    let raw = Raw::new(device.name(), false);
    let program = raw.program(BUMP);
    let [value, flag] = [(); 2].map(|()| raw.alloc(4));
    let [on_value, on_flag] = [value, flag].map(|memory| {
        let kernel = raw.kernel_of(program, c"bump");
        // SAFETY: the kernel has one argument, a pointer.
        check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, memory) });
        kernel
    });
    let reference = Reference { raw: &raw, on_value, on_flag, flag };
    for nodes in [1, 2, 10, 100] {
        for (name, strategy, iterations) in
            [("while", ReplayStrategy::Interpreter, MANY), ("while_host", ReplayStrategy::Enqueue, FEW)]
        {
            row(&device, &reference, (name, strategy), nodes, iterations);
        }
    }
    for tasks in [1, 10] {
        tasks_row(&device, &reference, tasks);
    }
}

/// Host tasks between kernels. Both sides add to the same kind of counter.
fn tasks_row(device: &Device, reference: &Reference<'_>, tasks: usize) {
    let context = Context::new(device).unwrap();
    let queue = Queue::new(&context).unwrap();
    // SAFETY: the kernel is this repository's own.
    let bundle = unsafe { KernelBundle::from_spirv(&context, BUMP) }.unwrap();
    let value = context.alloc_device::<i32>(1).unwrap();
    queue.write(&value, &[0]).unwrap();
    let called = Arc::new(AtomicUsize::new(0));
    let graph = Graph::from_queue(&queue);
    let kernel = || Command::single_task(bundle.kernel("bump").unwrap().call().pointer_mut::<i32>(&value));
    for _ in 0..tasks {
        graph.after_all_leaves().add(kernel()).unwrap();
        let called = Arc::clone(&called);
        let task = Command::host_task(move || {
            called.fetch_add(1, Ordering::Relaxed);
        });
        graph.after_all_leaves().add(task).unwrap();
    }
    graph.after_all_leaves().add(kernel()).unwrap();
    let executable = graph.finalizer().wait_for_interpreter().finalize().unwrap();
    let mut submissions = 0;
    let raw_called = AtomicUsize::new(0);
    let ours = || {
        submissions += 1;
        queue.submit_graph(&executable).unwrap().wait().unwrap();
    };
    let raw = || {
        for _ in 0..tasks {
            reference.raw.launch(reference.on_value, None, false);
            reference.raw.finish();
            raw_called.fetch_add(1, Ordering::Relaxed);
        }
        reference.raw.launch(reference.on_value, None, false);
        reference.raw.finish();
    };
    measure::pair("tasks", tasks, 101, 20, ours, raw);
    assert_eq!(called.load(Ordering::Relaxed), submissions * tasks);
    assert_eq!(queue.read(&value).unwrap(), [(submissions * (tasks + 1)) as i32]);
}

/// Rows of the device's loops against those of CUDA.
fn beside_cuda(device: &Device, reference: &HashMap<String, f64>) {
    let context = Context::new(device).unwrap();
    let queue = Queue::builder(&context).discard_events().build().unwrap();
    // SAFETY: the kernel is this repository's own.
    let bundle = unsafe { KernelBundle::from_spirv(&context, FLOATS) }.unwrap();
    let [left, values] = [1, MOST_ITEMS].map(|len| context.alloc_device::<f32>(len).unwrap());
    for items in [1, 256, MOST_ITEMS] {
        for nodes in [1, 2, 10, 100] {
            queue.fill(&values, 0.0).unwrap();
            let body = Graph::from_queue(&queue);
            for node in 0..nodes {
                let (on, size) = if node + 1 == nodes { (&left, 1) } else { (&values, items) };
                let call = bundle.kernel("bump").unwrap().call().pointer_mut::<f32>(on).pointer::<f32>(on);
                body.after_all_leaves().add(Command::parallel_for(size, call)).unwrap();
            }
            let graph = Graph::from_queue(&queue);
            graph.add(Command::while_(&left, &body)).unwrap();
            let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter);
            let executable = finalizer.wait_for_interpreter().finalize().unwrap();
            let mut times = Vec::new();
            for _ in 0..ROUNDS + 1 {
                queue.write(&left, &[-(MANY as f32)]).unwrap();
                times.push(measure::time(1, &mut || {
                    queue.submit_graph(&executable).unwrap();
                    queue.wait().unwrap();
                }));
            }
            assert!(!executable.segments().is_empty(), "{:?}", executable.not_interpreted());
            let all = (times.len() * MANY as usize * (nodes - 1)) as f32;
            let done = queue.read(&values).unwrap();
            assert!(done.iter().take(items).all(|value| *value == all), "{} for {all}", done[0]);
            let row = format!("while_{items}");
            let cuda = *reference.get(&format!("{row}_{nodes}")).unwrap_or_else(|| panic!("no row {row}"));
            let ours = measure::median(&mut times[1..].to_vec()) / f64::from(MANY);
            measure::row(&row, nodes, (vec![ours], vec![cuda]));
        }
    }
}

/// A loop on the host.
struct Reference<'r> {
    raw: &'r Raw,
    on_value: cl_kernel,
    on_flag: cl_kernel,
    flag: *mut c_void,
}

impl Reference<'_> {
    /// Microseconds of an iteration.
    fn measure(&self, nodes: usize) -> f64 {
        let mut now = -FEW;
        self.copy(self.flag, (&raw const now).cast());
        let time = measure::time(1, &mut || {
            while now != 0 {
                (1..nodes).for_each(|_| self.raw.launch(self.on_value, None, false));
                self.raw.launch(self.on_flag, None, false);
                self.copy((&raw mut now).cast(), self.flag);
            }
        });
        time / f64::from(FEW)
    }

    /// Copies four bytes, and waits.
    fn copy(&self, to: *mut c_void, from: *const c_void) {
        let copy = self.raw.cl.clEnqueueMemcpyINTEL;
        // SAFETY: both have four bytes, and the call waits.
        check(unsafe { copy(self.raw.queue, 1, to, from, 4, 0, null(), null_mut()) });
    }
}

fn row(
    device: &Device,
    reference: &Reference<'_>,
    (name, strategy): (&str, ReplayStrategy),
    nodes: usize,
    iterations: i32,
) {
    let context = Context::new(device).unwrap();
    let queue = Queue::new(&context).unwrap();
    // SAFETY: the kernel is this repository's own.
    let bundle = unsafe { KernelBundle::from_spirv(&context, BUMP) }.unwrap();
    let [left, value] = [(); 2].map(|()| context.alloc_device::<i32>(1).unwrap());
    queue.write(&value, &[0]).unwrap();
    let body = Graph::from_queue(&queue);
    for node in 0..nodes {
        let on = if node + 1 == nodes { &left } else { &value };
        let call = bundle.kernel("bump").unwrap().call().pointer_mut::<i32>(on);
        body.after_all_leaves().add(Command::single_task(call)).unwrap();
    }
    let graph = Graph::from_queue(&queue);
    graph.add(Command::while_(&left, &body)).unwrap();
    let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
    let by_tasks = !executable.segments().is_empty();
    if strategy == ReplayStrategy::Interpreter && !by_tasks {
        println!("skipped: {:?}", executable.not_interpreted());
        return;
    }
    let mut submissions = 0;
    let mut ours = || {
        queue.write(&left, &[-iterations]).unwrap();
        submissions += 1;
        measure::time(1, &mut || queue.submit_graph(&executable).unwrap().wait().unwrap())
            / f64::from(iterations)
    };
    let times = (0..ROUNDS + 1).map(|_| (ours(), reference.measure(nodes))).skip(1).unzip();
    measure::row(name, nodes, times);
    let expected = submissions * iterations * (nodes as i32 - 1);
    assert_eq!(queue.read(&value).unwrap(), [expected], "every node ran in every iteration");
}
