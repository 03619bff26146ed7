//! Awaiting a command, against waiting for it and against raw `clWaitForEvents`, in turns.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is work-items of the command, or commands.
//! A turn submits one command and waits. `event_await` polls the future on the same thread, which
//! parks meanwhile. Its reference enqueues, flushes and waits for the event. `event_await_pollster` runs
//! the future by pollster, and its reference is the thread that parks.
//!
//! `event_await_over_wait` has `Event::wait` as its reference.
//!
//! `raw_await_over_wait` is the same in raw OpenCL: `clSetEventCallback` with a callback that unparks the
//! thread, and `clWaitForEvents` as the reference. No library can await for less. `event_await_over_raw`
//! has that callback as its reference.
//!
//! `graph_labels` replays graphs with names in labels. `graph_unused_event` has an external event that
//! nothing waits for, and `graph_event_of` an event of the middle node. The reference is the same graph
//! without. `graph_plain` compares that with itself.
//!
//! `event_await_many` awaits ten thousand commands on two threads, each in a task. Its reference waits for
//! them in turn. The times are those of one command.
//!
//! `event_await_cpu` is the CPU time of the process while it awaits one command of some milliseconds. Its
//! reference waits for the command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Task, Poll, Wake};
use std::thread::Thread;

use opencl_sys::{cl_event, cl_int};

use oclave::event::EventFuture;
use oclave::graph::{ExecutableGraph, ReplayStrategy};
use oclave::{Command, Context, Event, Graph, Queue};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const MANY: usize = 10_000;
const THREADS: usize = 2;

/// CPU time of the process in microseconds.
fn cpu_us() -> Option<f64> {
    // User and system time, in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let after = stat.rsplit_once(')')?.1;
    let words: Vec<&str> = after.split_whitespace().collect();
    let ticks = words.get(11)?.parse::<f64>().ok()? + words.get(12)?.parse::<f64>().ok()?;
    Some(ticks * 10_000.0)
}

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let raw = Raw::new(device.name(), false);
    let raw_kernel = raw.kernel(SPIRV, c"bump");

    for items in [1_usize, 1 << 16, 1 << 22] {
        let value = context.alloc_device::<i32>(items).unwrap();
        // SAFETY: kernel and memory are alive.
        check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(raw_kernel, 0, raw.alloc(4 * items)) });
        let submit = || queue.parallel_for(items, bump(&value)).unwrap();
        let wait = || submit().wait().unwrap();
        let awaited = || block_on(submit().into_future());
        let by_pollster = || pollster::block_on(submit().into_future()).unwrap();
        let enqueued = || {
            let (mut event, no_events) = (std::ptr::null_mut(), std::ptr::null());
            let (offset, group) = (std::ptr::null(), std::ptr::null());
            // SAFETY: the objects are alive, the lists are as long as said.
            unsafe {
                let enqueue = raw.cl.clEnqueueNDRangeKernel;
                check(enqueue(raw.queue, raw_kernel, 1, offset, &items, group, 0, no_events, &mut event));
                check((raw.cl.clFlush)(raw.queue));
            }
            event
        };
        let reference = || {
            let event = enqueued();
            // SAFETY: the event is alive.
            check(unsafe { (raw.cl.clWaitForEvents)(1, &event) });
            raw.release(event);
        };
        let raw_awaited = || {
            let waker = Waker { thread: std::thread::current(), ended: AtomicBool::new(false) };
            let event = enqueued();
            let data = std::ptr::from_ref(&waker).cast_mut().cast();
            // SAFETY: the event is alive. The waker lives until the callback has set its flag, and the callback
            // does not use it afterwards.
            check(unsafe { (raw.cl.clSetEventCallback)(event, 0, wake, data) }); // CL_COMPLETE
            while !waker.ended.load(Ordering::Acquire) {
                std::thread::park();
            }
            raw.release(event);
        };
        let repeat = if items > 1 << 20 { 1 } else { 20 };
        measure::pair("event_wait", items, 101, repeat, wait, reference);
        measure::pair("event_await", items, 101, repeat, awaited, reference);
        measure::pair("event_await_over_wait", items, 101, repeat, awaited, wait);
        measure::pair("raw_await_over_wait", items, 101, repeat, raw_awaited, reference);
        measure::pair("event_await_over_raw", items, 101, repeat, awaited, raw_awaited);
        measure::pair("event_await_pollster", items, 101, repeat, by_pollster, awaited);
    }
    graphs(&queue);

    let value = context.alloc_device::<i32>(64).unwrap();
    let submit_many =
        || -> Vec<Event> { (0..MANY).map(|_| queue.parallel_for(64, bump(&value)).unwrap()).collect() };
    let per_command = |times: Vec<f64>| times.into_iter().map(|us| us / MANY as f64).collect::<Vec<_>>();
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        ours.push(measure::time(1, &mut || await_all(submit_many())));
        reference
            .push(measure::time(1, &mut || submit_many().iter().for_each(|event| event.wait().unwrap())));
    }
    measure::row("event_await_many", MANY, (per_command(ours), per_command(reference)));

    // A thread that spins shows here: the device of a CPU driver works in this process, too.
    let long = context.alloc_device::<i32>(1 << 24).unwrap();
    let submit = || queue.parallel_for(1 << 24, bump(&long)).unwrap();
    let cpu = |work: &mut dyn FnMut()| {
        let before = cpu_us();
        (0..100).for_each(|_| work());
        (cpu_us().unwrap_or(0.0) - before.unwrap_or(0.0)) / 100.0
    };
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        ours.push(cpu(&mut || block_on(submit().into_future())).max(1.0));
        reference.push(cpu(&mut || submit().wait().unwrap()).max(1.0));
    }
    measure::row("event_await_cpu", 1 << 24, (ours, reference));
}

/// Wakes a thread that parks.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The least that an executor does.
fn block_on(future: EventFuture) {
    let mut future = pin!(future);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut task = Task::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(outcome) => return outcome.unwrap(),
            Poll::Pending => std::thread::park(),
        }
    }
}

/// What a callback of the driver wakes.
struct Waker {
    thread: Thread,
    ended: AtomicBool,
}

/// Wakes the thread of a [`Waker`].
unsafe extern "C" fn wake(_: cl_event, _: cl_int, data: *mut c_void) {
    // SAFETY: the waker lives until its flag is set.
    let waker = unsafe { &*data.cast::<Waker>() };
    let thread = waker.thread.clone();
    waker.ended.store(true, Ordering::Release);
    thread.unpark();
}

/// Replays of graphs that have more than the plain one, which is the reference.
fn graphs(queue: &Queue) {
    let cells = queue.context().alloc_device::<i32>(64).unwrap();
    for nodes in [1_usize, 10, 100] {
        let chain = |named: bool| {
            let graph = Graph::from_queue(queue);
            let add = |number: usize| {
                let command = Command::parallel_for(64, bump(&cells));
                let command = if named { command.named(format!("step {number}")) } else { command };
                graph.after_all_leaves().add(command).unwrap();
            };
            match named {
                true => graph.label("chain", || (0..nodes).for_each(add)),
                false => (0..nodes).for_each(add),
            }
            graph
        };
        // Without the race of plans, in which both sides might end differently.
        let finalize =
            |graph: &Graph| graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
        let run = |executable: &ExecutableGraph| queue.submit_graph(executable).unwrap().wait().unwrap();
        let (plain, named, with_event) = (chain(false), chain(true), chain(false));
        let _unused = with_event.external_event();
        let middle = with_event.nodes()[nodes / 2].clone();
        let [plain, named, unused] = [&plain, &named, &with_event].map(finalize);
        let rounds = 201;
        measure::pair("graph_labels", nodes, rounds, 20, || run(&named), || run(&plain));
        measure::pair("graph_unused_event", nodes, rounds, 20, || run(&unused), || run(&plain));
        let finalizer = with_event.finalizer().strategy(ReplayStrategy::Enqueue);
        let cut = finalizer.events_of(&middle).finalize().unwrap();
        measure::pair("graph_event_of", nodes, rounds, 20, || run(&cut), || run(&plain));
        measure::pair("graph_plain", nodes, rounds, 20, || run(&plain), || run(&plain));
    }
}

/// Awaits each by a task of its own, on an executor of two threads.
fn await_all(events: Vec<Event>) {
    let executor = smol::Executor::new();
    let tasks: Vec<_> = events.into_iter().map(|event| executor.spawn(event.into_future())).collect();
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    let (ends, ended) = smol::channel::bounded::<()>(1);
    std::thread::scope(|scope| {
        for _ in 1..THREADS {
            let ended = ended.clone();
            scope.spawn(|| {
                smol::block_on(executor.run(async move {
                    let _ended = ended.recv().await;
                }))
            });
        }
        smol::block_on(executor.run(all));
        drop(ends);
    });
}
