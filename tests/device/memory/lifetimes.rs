//! Objects dropped in any order while commands run, many threads, and nothing left behind, on the
//! selected device.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{
    allocated, bundle, call, freed, memory_call, queues_and_measuring, resident_bytes, strategies,
};
use oclave::graph::ExecutableGraph;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, Graph, Queue};
use proptest::prelude::*;

/// Long enough to be still running when the next statement is executed.
const SLOW: u32 = 5_000_000;

#[device_test]
fn no_object_is_left(context: Context) {
    let device = context.device().clone();
    drop(context);
    let session = Session::start();
    for out_of_order in [false, true] {
        let context = Context::new(&device).unwrap();
        let bundle = bundle(&context);
        let builder = Queue::builder(&context);
        let queue = if out_of_order { builder.out_of_order() } else { builder }.build().unwrap();
        let memory = context.alloc_shared::<u32>(1000).unwrap();
        let filled = queue.fill(&memory, 1).unwrap();
        let launched = queue
            .after(&[&filled])
            .parallel_for(1000, call(&bundle, "slow").pointer_mut(&memory).value(100_u32))
            .unwrap();
        let copied = queue.after(&[&launched.clone()]).write_async(&memory, vec![3; 1000]).unwrap();
        let data = queue.after(&[&copied]).read_async(&memory).unwrap();
        assert_eq!(data.wait().unwrap(), [3; 1000]);
        drop(queue.read_async(&memory).unwrap());
        let running = queue.single_task(call(&bundle, "slow").pointer_mut(&memory).value(SLOW)).unwrap();
        // In an order that is not the easy one.
        drop((context, bundle));
        drop(memory);
        drop(queue);
        running.wait().unwrap();
    }
    common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

/// The event of a measured replay holds those of its commands, the last of which it waits for.
#[device_test]
fn measured_replays_leave_nothing(context: Context) {
    let device = context.device().clone();
    drop(context);
    let session = Session::start();
    for strategy in strategies(&device) {
        let context = Context::new(&device).unwrap();
        let memory = context.alloc_device::<u32>(16).unwrap();
        for queue in queues_and_measuring(&context) {
            let graph = Graph::from_queue(&queue);
            (0..3)
                .for_each(|value| drop(graph.after_all_leaves().add(Command::fill(&memory, value)).unwrap()));
            let executable =
                graph.finalizer().profiling().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            let event = queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            drop(event.clone());
        }
    }
    common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

#[device_test]
fn everything_dropped_while_a_kernel_runs(context: Context) {
    let device = context.device().clone();
    drop(context);
    let session = Session::start();
    for _ in 0..10 {
        let context = Context::new(&device).unwrap();
        let queue = Queue::new(&context).unwrap();
        let memory = context.alloc_device::<u32>(16).unwrap();
        let call = call(&bundle(&context), "slow").pointer_mut(&memory).value(SLOW);
        drop(context);
        drop(memory);
        queue.single_task(call).unwrap();
    }
    common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

#[device_test]
fn memory_is_not_freed_under_a_running_kernel(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let other = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let session = Session::start();
    let memory = context.alloc_device::<u32>(1).unwrap();
    other.fill(&memory, 0).unwrap().wait().unwrap();
    let event = queue.single_task(call(&bundle, "slow").pointer_mut(&memory).value(10 * SLOW)).unwrap();
    drop(memory);
    if event.is_complete().unwrap() {
        println!("skipped: the kernel ended before the test could look");
        return;
    }
    assert_eq!(freed(&session, &context), 0);
    // A queue that goes does not take the knowledge of its commands along.
    let more = context.alloc_device::<u32>(1).unwrap();
    let last = queue.single_task(call(&bundle, "slow").pointer_mut(&more).value(10 * SLOW)).unwrap();
    drop((queue, event));
    assert_eq!(freed(&session, &context), 0);
    last.wait().unwrap();
    drop((last, more));
    // The queue went with the last event and left a marker, which rusticl ends a moment later.
    let start = Instant::now();
    while freed(&session, &context) < 2 && start.elapsed() < Duration::from_secs(10) {
        other.wait().unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((freed(&session, &context), allocated(&session, &context)), (2, 0));
}

#[device_test]
fn idle_memory_is_freed_at_once_and_without_markers(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let session = Session::start();
    for finish in [true, false] {
        let memory = context.alloc_device::<u32>(1).unwrap();
        let event = queue.fill(&memory, 0).unwrap();
        if finish {
            queue.wait().unwrap()
        } else {
            event.wait().unwrap()
        }
        let before = freed(&session, &context);
        drop(memory);
        assert_eq!(freed(&session, &context), before + 1);
    }
    assert_eq!(session.count("clEnqueueMarkerWithWaitList"), 0);
}

#[device_test]
fn nothing_grows_with_the_number_of_submissions(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let bundle = bundle(&context);
    let session = Session::start();
    let value = context.alloc_device::<i32>(1).unwrap();
    queue.fill(&value, 0).unwrap();
    let bump = call(&bundle, "bump_by").pointer_mut(&value).value(1_i32);
    let mut peak = 0;
    for i in 0..20_000 {
        queue.single_task(bump.clone()).unwrap();
        if i % 100 == 0 {
            // Memory that lives for one command, and a buffer of the host.
            let short = context.alloc_device::<i32>(100).unwrap();
            queue.write_async(&short, vec![i; 100]).unwrap();
            queue.parallel_for(100, call(&bundle, "bump_by").pointer_mut(&short).value(1_i32)).unwrap();
        }
        if i % 1000 == 999 {
            queue.wait().unwrap();
            let spare = context.spare_memory();
            let live: usize = session.live().values().sum();
            peak = peak.max(live + spare.pieces - spare.slabs - spare.blocks);
        }
    }
    assert_eq!(queue.read(&value).unwrap(), [20_000]);
    // A program, its kernel, and the memory.
    assert!(peak <= 4, "{peak} objects: {:?}", session.live());
}

#[device_test(alone)]
#[ignore = "takes ten seconds: cargo test -p oclave-tests --release --test device lifetimes -- --ignored"]
fn a_million_submissions_hold_their_memory(context: Context) {
    if resident_bytes().is_none() {
        println!("skipped: the system does not tell what memory the process has");
        return;
    }
    let bundle = bundle(&context);
    for builder in [Queue::builder(&context), Queue::builder(&context).discard_events()] {
        let queue = builder.build().unwrap();
        let value = context.alloc_device::<i32>(1).unwrap();
        queue.fill(&value, 0).unwrap();
        let mut pages = Vec::new();
        for i in 0..1_000_000 {
            queue.single_task(call(&bundle, "bump_by").pointer_mut(&value).value(1_i32)).unwrap();
            if i % 1000 == 999 {
                queue.wait().unwrap();
            }
            if i % 100_000 == 99_999 {
                pages.push(resident_bytes().unwrap() / 4096);
            }
        }
        assert_eq!(queue.read(&value).unwrap(), [1_000_000]);
        println!("pages after every 100000: {pages:?}");
        // One byte a submission would be 220 pages from the first mark to the last.
        assert!(pages[9] <= pages[0] + 220, "{pages:?}");
    }
}

#[device_test]
fn many_queues_share_the_bits_of_a_mask(context: Context) {
    let bundle = bundle(&context);
    let queues: Vec<Queue> = (0..70).map(|_| Queue::new(&context).unwrap()).collect();
    let memory = context.alloc_shared::<u32>(70).unwrap();
    queues[0].fill(&memory, 0).unwrap().wait().unwrap();
    for (i, queue) in queues.iter().enumerate() {
        let part = memory.slice(i..=i).unwrap();
        queue.single_task(call(&bundle, "slow").pointer_mut(&part).value(100_000_u32)).unwrap();
    }
    assert_eq!(*memory.read().unwrap(), [1; 70]);
    let session = Session::start();
    for queue in &queues {
        queue.single_task(call(&bundle, "slow").pointer_mut(&memory).value(100_000_u32)).unwrap();
    }
    drop(memory);
    drop(queues);
    drop(bundle);
    drop(context);
    assert_eq!(session.live().get(&ObjectKind::Event), None);
    assert_eq!(session.count(memory_call("clMemFreeINTEL")), 1);
}

/// The pattern that hangs and crashes Intel's runtime when out-of-order queues are used as they
/// are: see `docs/faults.md`.
#[device_test]
fn threads_with_queues_of_their_own_and_shared_ones(context: Context) {
    let bundle = bundle(&context);
    let shared = Queue::builder(&context).out_of_order().build().unwrap();
    let session = Session::start();
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for id in 0..4 {
            let (context, bundle, shared, done) = (&context, &bundle, &shared, &done);
            let handle = session.handle();
            scope.spawn(move || {
                let _entered = handle.enter();
                let buffers =
                    [context.alloc_device::<u32>(64).unwrap(), context.alloc_device::<u32>(64).unwrap()];
                for round in 0..150 {
                    let own = match id % 2 {
                        0 => Queue::new(context).unwrap(),
                        _ => Queue::builder(context).out_of_order().build().unwrap(),
                    };
                    let mut last = own.fill(&buffers[0], 0).unwrap();
                    for i in 0..20_u32 {
                        let (from, to) = (&buffers[i as usize % 2], &buffers[(i as usize + 1) % 2]);
                        let queue = if i % 3 == 0 { shared } else { &own };
                        let step = call(bundle, "step").pointer(from).pointer_mut(to).value(i);
                        last = queue.after(&[&last]).parallel_for(64, step).unwrap();
                    }
                    match round % 3 {
                        0 => last.wait().unwrap(),
                        1 => own.after(&[&last]).barrier().unwrap().wait().unwrap(),
                        _ => shared.wait().unwrap(),
                    }
                    assert_eq!(own.after(&[&last]).read(&buffers[0]).unwrap(), [20; 64]);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 600);
    drop(shared);
    drop(bundle);
    drop(context);
    assert_eq!(session.live().get(&ObjectKind::Event), None);
    assert_eq!(session.live().get(&ObjectKind::Usm), None);
    assert_eq!(session.live().get(&ObjectKind::Svm), None);
}

#[device_test]
fn one_call_on_many_threads(context: Context) {
    let bundle = Arc::new(bundle(&context));
    let queue = Queue::new(&context).unwrap();
    thread::scope(|scope| {
        for id in 0..4_i32 {
            let (context, bundle, queue) = (&context, &bundle, &queue);
            scope.spawn(move || {
                // All threads use one kernel object, each with its own arguments.
                let value = context.alloc_shared::<i32>(8).unwrap();
                queue.fill(&value, 0).unwrap();
                for _ in 0..500 {
                    let bump = call(bundle, "bump_by").pointer_mut(&value).value(id + 1);
                    queue.parallel_for(8, bump).unwrap();
                }
                assert_eq!(*value.read().unwrap(), [500 * (id + 1); 8]);
            });
        }
    });
}

#[device_test]
fn guards_and_launches_race_without_harm(context: Context) {
    let bundle = bundle(&context);
    let memory = context.alloc_shared::<i32>(64).unwrap();
    memory.write().unwrap().fill(0);
    let (launched, refused, read) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let launching = scope.spawn(|| {
            let queue = Queue::new(&context).unwrap();
            while launched.load(Ordering::Relaxed) < 300 {
                let bump = call(&bundle, "bump_by").pointer_mut(&memory).value(1_i32);
                match queue.parallel_for(64, bump) {
                    Ok(_) => launched.fetch_add(1, Ordering::Relaxed),
                    Err(error) => {
                        assert!(format!("{error:#}").contains("accessed by the host"), "{error}");
                        thread::yield_now();
                        refused.fetch_add(1, Ordering::Relaxed)
                    }
                };
            }
        });
        let (memory, read) = (&memory, &read);
        scope.spawn(move || {
            while !launching.is_finished() {
                let values = memory.read().unwrap();
                // No kernel is half-way.
                let first = values.to_vec();
                assert!(first.iter().all(|value| *value == first[0]), "{first:?}");
                thread::yield_now();
                assert_eq!(*values, first);
                drop(values);
                read.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_micros(50));
            }
        });
    });
    println!("{launched:?} launched, {refused:?} refused, {read:?} times read");
}

#[device_test]
fn copies_of_any_part(context: Context) {
    let queue = Queue::new(&context).unwrap();
    const LENGTH: usize = 5000;
    let a = context.alloc_device::<u16>(LENGTH).unwrap();
    let b = context.alloc_host::<u16>(LENGTH).unwrap();
    let steps = proptest::collection::vec((0..5_u8, 0..LENGTH, 0..LENGTH, 0..LENGTH, any::<u16>()), 1..20);
    proptest!(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() }, |(steps in steps)| {
        let mut model = (vec![0_u16; LENGTH], vec![0_u16; LENGTH]);
        queue.memset(&a, 0).unwrap();
        queue.memset(&b, 0).unwrap();
        for (what, from, to, length, value) in steps {
            let length = length.min(LENGTH - from.max(to));
            let (source, target) = (from..from + length, to..to + length);
            match what {
                0 => {
                    let data: Vec<u16> = (0..length).map(|i| value.wrapping_add(i as u16)).collect();
                    queue.write(&a.slice(target.clone()).unwrap(), &data).unwrap();
                    model.0[target].copy_from_slice(&data);
                }
                1 => {
                    queue.copy(&a.slice(source.clone()).unwrap(), &b.slice(target.clone()).unwrap()).unwrap();
                    model.1[target].copy_from_slice(&model.0[source]);
                }
                2 => {
                    queue.fill(&b.slice(target.clone()).unwrap(), value).unwrap();
                    model.1[target].fill(value);
                }
                3 => {
                    queue.write_async(&a.slice(target.clone()).unwrap(), vec![value; length]).unwrap();
                    model.0[target].fill(value);
                }
                _ => prop_assert_eq!(queue.read(&b.slice(source.clone()).unwrap()).unwrap(), &model.1[source]),
            }
        }
        prop_assert_eq!(queue.read(&a).unwrap(), model.0);
        prop_assert_eq!(&*b.read().unwrap(), &*model.1);
    });
}

/// Queues are expensive on some drivers.
#[device_test]
fn executables_share_queues(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let memory = context.alloc_device::<u32>(4).unwrap();
    let finalize = |with_task: bool| {
        let graph = Graph::from_queue(&queue);
        let filled = graph.add(Command::fill(&memory, 1)).unwrap();
        if with_task {
            graph.after(&filled).add(Command::host_task(|| ())).unwrap();
        }
        graph.finalize().unwrap()
    };
    let session = Session::start();
    for with_task in [false, true] {
        let all: Vec<ExecutableGraph> = (0..20).map(|_| finalize(with_task)).collect();
        for executable in &all {
            queue.submit_graph(executable).unwrap().wait().unwrap();
        }
    }
    // One for commands to be prepared with, and one for the partitions.
    let made = session.count("clCreateCommandQueueWithProperties");
    assert!(made <= 2, "{made} queues");
}
