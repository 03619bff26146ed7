//! Loops that the device decides, against loops on the host with raw OpenCL, which read the condition
//! after each iteration.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes of one work-item in the body. Times
//! are for one iteration, of 10,000 iterations by the interpreter, and of 200 where the host decides
//! (`…_host`). The reference has its arguments set once, an in-order queue and a blocking read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::{Command, Context, Device, Graph, KernelBundle, Queue, ReplayStrategy};
use opencl_sys::cl_kernel;
use raw::{Raw, check};

const BUMP: &[u8] = include_bytes!("kernels/bump.spv");
/// Iterations that are measured at once, by the interpreter and by anybody else.
const MANY: i32 = 10_000;
const FEW: i32 = 200;
const ROUNDS: usize = 9;

fn main() {
    let Some(device) = measure::device() else { return };
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
    graph.while_(&left, &body).unwrap();
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
