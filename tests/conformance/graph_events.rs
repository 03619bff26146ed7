//! Events of submissions, their times, lifetimes, threads: G-EVT, G-PRF, G-LIF, G-THR.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oclave::event::EventStatus;
use oclave::graph::ReplayStrategy;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Error, ErrorKind, Event, Graph, Queue};

use super::graph_support::{Way, advance, ways};
use super::kernels::buffers;

/// A kernel that takes some milliseconds, and adds to the first value.
fn late(values: impl oclave::kernel::KernelPointerMut<u32>, addend: u32) -> Command {
    Command::single_task(buffers::advance_late(values, 2_000_000, addend))
}

#[test]
fn g_evt_001_from_queued_to_complete() {
    fn rank(status: EventStatus) -> u32 {
        match status {
            EventStatus::Queued => 0,
            EventStatus::Submitted => 1,
            EventStatus::Running => 2,
            EventStatus::Complete => 3,
            other => panic!("{other:?}"),
        }
    }
    for way in ways() {
        for with_task in [false, true] {
            let values = way.device(&[0_u32; 8]);
            let done = Arc::new(AtomicUsize::new(0));
            let graph = way.graph();
            graph.add(late(&values, 1)).unwrap();
            if with_task {
                let counter = Arc::clone(&done);
                let task = Command::host_task(move || {
                    std::thread::sleep(Duration::from_millis(5));
                    counter.fetch_add(1, Ordering::SeqCst);
                });
                graph.after_all_leaves().add(task).unwrap();
            }
            graph.after_all_leaves().add(late(&values, 2)).unwrap();
            let event = way.queue.submit_graph(&way.finalize(&graph)).unwrap();
            let mut last = 0;
            while last < 3 {
                let now = rank(event.status().unwrap());
                assert!(now >= last, "{now} after {last}");
                last = now;
                std::thread::sleep(Duration::from_micros(50));
            }
            assert_eq!(done.load(Ordering::SeqCst), usize::from(with_task));
            assert!(event.is_complete().unwrap());
            assert_eq!(way.queue.read(&values).unwrap()[0], 3);
        }
    }
}

/// Whether the event of a kernel alone is ever seen running.
fn reports_running(queue: &Queue) -> bool {
    let values = queue.context().alloc_device::<u32>(8).unwrap();
    let event = queue.single_task(buffers::advance_late(&values, 30_000_000, 1)).unwrap();
    queue.flush().unwrap();
    let mut seen = false;
    while !event.is_complete().unwrap() {
        seen |= event.status().unwrap() == EventStatus::Running;
        std::thread::sleep(Duration::from_micros(100));
    }
    seen
}

/// Section 7.6.4: a graph runs once any of its nodes does, not when the last one does.
#[test]
fn g_evt_001_running_from_the_first_node_on() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(Command::single_task(buffers::advance_late(&values, 30_000_000, 1))).unwrap();
        for _ in 0..3 {
            graph.after_all_leaves().add(advance(&values)).unwrap();
        }
        let executable = way.finalize(&graph);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        let event = way.queue.submit_graph(&executable).unwrap();
        let mut running = 0;
        while !event.is_complete().unwrap() {
            running += u32::from(event.status().unwrap() == EventStatus::Running);
            std::thread::sleep(Duration::from_micros(100));
        }
        if running == 0 && !reports_running(&way.queue) {
            println!("skipped: the driver does not report that a command runs (CL_RUNNING)");
            return;
        }
        // The event of a command buffer is the driver's: those here tell of its end only.
        if way.strategy != ReplayStrategy::CommandBuffer {
            // There is time for hundreds, but who looks may have to wait for a core. The last node
            // alone is over before a second one.
            assert!(running > 1, "{:?}: seen running {running} times", way.strategy);
        }
    }
}

#[test]
fn g_evt_002_eager_work_behind_a_graph() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(late(&values, 7)).unwrap();
        let executable = way.finalize(&graph);
        let other = Queue::builder(way.context()).out_of_order().build().unwrap();
        let event = way.queue.submit_graph(&executable).unwrap();
        other.submit(advance(&values).after(&event)).unwrap().wait().unwrap();
        assert_eq!(other.read(&values).unwrap(), [22, 1, 1, 1, 1, 1, 1, 1]);
    }
}

#[test]
fn g_evt_003_a_graph_behind_eager_work() {
    for way in ways() {
        let (x, y) = (way.device(&[0_u32; 8]), way.device(&[0_u32; 8]));
        let graph = way.graph();
        graph.add(Command::parallel_for(8, buffers::combine(&x, &y, 10))).unwrap();
        let executable = way.finalize(&graph);
        let (a, b) = (
            Queue::builder(way.context()).out_of_order().build().unwrap(),
            Queue::new(way.context()).unwrap(),
        );
        let first = a.submit(late(&x, 5)).unwrap();
        let second = b.submit(late(&y, 6)).unwrap();
        // What an event from outside would be: something that the host completes.
        let third = b.host_task(|| std::thread::sleep(Duration::from_millis(5))).unwrap();
        way.queue.after(&[&first, &second, &third]).submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&y).unwrap()[..2], [65, 0]);
        assert!(third.is_complete().unwrap());
    }
}

#[test]
fn g_evt_004_a_graph_behind_a_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let (first, second) = (way.graph(), way.graph());
        first.add(late(&values, 1)).unwrap();
        second.add(advance(&values)).unwrap();
        let (first, second) = (way.finalize(&first), way.finalize(&second));
        let other = Queue::builder(way.context()).out_of_order().build().unwrap();
        let event = way.queue.submit_graph(&first).unwrap();
        let event = other.after(&[&event]).submit_graph(&second).unwrap();
        way.queue.after(&[&event]).submit_graph(&first).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap()[..2], [8, 4]);
    }
}

#[test]
fn g_evt_005_without_an_event() {
    for way in ways().into_iter().filter(|way| !way.queue.is_out_of_order()) {
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 2);
        let executable = way.finalize(&graph);
        let queue = Queue::builder(way.context()).discard_events().build().unwrap();
        let session = Session::start();
        for _ in 0..3 {
            drop(queue.submit_graph(&executable).unwrap());
        }
        queue.wait().unwrap();
        drop((executable, graph));
        drop(queue);
        way.queue.wait().unwrap();
        assert!(!session.live().contains_key(&ObjectKind::Event), "{:?}", session.live());
        assert_eq!(way.queue.read(&values).unwrap(), [364; 8]);
    }
}

#[test]
fn g_evt_006_called_when_a_graph_has_ended() {
    // What SYCL and OpenCL have callbacks for is a host task behind the event.
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        graph.add(late(&values, 1)).unwrap();
        let event = way.queue.submit_graph(&way.finalize(&graph)).unwrap();
        let (calls, seen) = (Arc::new(AtomicUsize::new(0)), event.clone());
        let counter = Arc::clone(&calls);
        let called = way.queue.after(&[&event]).host_task(move || {
            let complete = matches!(seen.status(), Ok(EventStatus::Complete));
            counter.fetch_add(if complete { 1 } else { 100 }, Ordering::SeqCst);
        });
        called.unwrap().wait().unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

/// A queue like that of the way that measures.
fn profiling(way: &Way) -> Queue {
    let queue = Queue::builder(way.context()).profiling();
    if way.queue.is_out_of_order() { queue.out_of_order() } else { queue }.build().unwrap()
}

#[test]
fn g_prf_001_times_of_copies_and_kernels() {
    for way in ways() {
        let large = way.context().alloc_device::<u32>(1 << 20).unwrap();
        let copy = way.context().alloc_device::<u32>(1 << 20).unwrap();
        let values = way.device(&[0_u32; 8]);
        let copies = way.graph();
        copies.add(Command::copy(&large, &copy)).unwrap();
        copies.after_all_leaves().add(Command::copy(&copy, &large)).unwrap();
        let kernels = way.graph();
        kernels.add(late(&values, 1)).unwrap();
        kernels.after_all_leaves().add(late(&values, 1)).unwrap();
        let queue = profiling(&way);
        for graph in [copies, kernels] {
            let executable = graph.finalizer().profiling().strategy(way.strategy).finalize().unwrap();
            for _ in 0..2 {
                let event = queue.submit_graph(&executable).unwrap();
                event.wait().unwrap();
                let times = event.profiling().unwrap();
                assert!(
                    times.submitted_ns <= times.started_ns && times.started_ns < times.ended_ns,
                    "{times:?}"
                );
                // The first and the last node are within.
                for node in executable.timeline(&event).unwrap().nodes() {
                    let own = node.times;
                    assert!(own.started_ns >= times.started_ns && own.ended_ns <= times.ended_ns, "{node:?}");
                }
            }
        }
    }
}

/// Graphs without a command for the device have times, too.
#[test]
fn g_prf_001_times_of_tasks_and_of_nothing() {
    for way in ways() {
        let queue = profiling(&way);
        let [empty, nothing, tasks] = [(); 3].map(|()| way.graph());
        nothing.add(Command::empty()).unwrap();
        for _ in 0..2 {
            let task = Command::host_task(|| std::thread::sleep(Duration::from_millis(2)));
            tasks.after_all_leaves().add(task).unwrap();
        }
        for (graph, least_ns) in [(empty, 0), (nothing, 0), (tasks, 4_000_000)] {
            let executable = graph.finalizer().profiling().strategy(way.strategy).finalize().unwrap();
            let event = queue.submit_graph(&executable).unwrap();
            event.wait().unwrap();
            let times = event.profiling().unwrap();
            assert!(times.submitted_ns <= times.started_ns, "{times:?}");
            assert!(times.started_ns + least_ns <= times.ended_ns, "{times:?}");
        }
    }
}

#[test]
fn g_prf_003_events_of_a_recording() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let queue = profiling(&way);
        let recording = graph.record(&queue).unwrap();
        let event = queue.submit(advance(&values)).unwrap();
        recording.end();
        let refused = event.profiling().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.to_string().contains("recorded into a graph"), "{refused}");
    }
}

#[test]
fn g_prf_004_what_is_missing_is_named() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 1);
        let with_task = way.graph();
        with_task.add(Command::host_task(|| ())).unwrap();
        with_task.after_all_leaves().add(advance(&values)).unwrap();
        let measuring = profiling(&way);
        for graph in [graph, with_task] {
            let refused = |queue: &Queue, measured: bool, says: &str| {
                let finalizer = graph.finalizer().strategy(way.strategy);
                let finalizer = if measured { finalizer.profiling() } else { finalizer };
                let event = queue.submit_graph(&finalizer.finalize().unwrap()).unwrap();
                event.wait().unwrap();
                let error: Error = event.profiling().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Profiling);
                assert!(format!("{error:#}").contains(says), "{error}");
            };
            refused(&measuring, false, "graph was finalized without profiling");
            refused(&way.queue, true, "queue was built without profiling");
        }
    }
}

#[test]
fn g_prf_006_a_chain_that_is_measured() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        for _ in 0..4 {
            graph.after_all_leaves().add(late(&values, 1)).unwrap();
        }
        let executable = graph.finalizer().profiling().strategy(way.strategy).finalize().unwrap();
        let queue = profiling(&way);
        let event = queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        let timeline = executable.timeline(&event).unwrap();
        assert!(timeline.nodes().windows(2).all(|two| two[0].times.ended_ns <= two[1].times.started_ns));
        let sum: Duration = timeline.nodes().iter().map(|node| node.times.duration()).sum();
        assert!(sum <= event.profiling().unwrap().duration() && sum > Duration::from_micros(200), "{sum:?}");
        assert_eq!(queue.read(&values).unwrap()[0], 4);
    }
}

#[test]
fn g_lif_001_everything_goes_right_after_the_submission() {
    for way in ways() {
        let values = way.context().alloc_shared::<u32>(8).unwrap();
        values.write().unwrap().fill(0);
        {
            let graph = way.graph();
            for addend in 1..=3 {
                graph.after_all_leaves().add(late(&values, addend)).unwrap();
            }
            let executable = way.finalize(&graph);
            way.queue.submit_graph(&executable).unwrap();
        }
        way.queue.wait().unwrap();
        assert_eq!(values.read().unwrap()[0], 6);
    }
}

#[test]
fn g_lif_002_executables_outlive_their_graph() {
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 1);
        let executable = way.finalize(&graph);
        drop(graph);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        let second = executable.clone();
        drop(executable);
        way.queue.submit_graph(&second).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}

#[test]
fn g_lif_003_what_closures_hold_is_dropped_once_after_the_last_use() {
    struct Told(Arc<AtomicUsize>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    for way in ways() {
        let drops = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let runs = Arc::new(AtomicUsize::new(0));
        let graph = way.graph();
        for drops in &drops {
            let (told, runs) = (Told(Arc::clone(drops)), Arc::clone(&runs));
            let task = Command::host_task(move || {
                std::thread::sleep(Duration::from_millis(2));
                runs.fetch_add(usize::from(told.0.load(Ordering::SeqCst) == 0), Ordering::SeqCst);
            });
            graph.add(task).unwrap();
        }
        let drops = || [0, 1].map(|task: usize| drops[task].load(Ordering::SeqCst));
        let executable = way.finalize(&graph);
        let event = way.queue.submit_graph(&executable).unwrap();
        drop((graph, executable));
        event.wait().unwrap();
        drop(event);
        way.queue.wait().unwrap();
        // The last handle may be with a thread that is about to let go of it.
        for _ in 0..1000 {
            if drops() == [1; 2] {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((runs.load(Ordering::SeqCst), drops()), (2, [1; 2]));
    }
}

#[test]
fn g_lif_005_kernels_and_memory_go_first() {
    for way in ways() {
        let seen = way.device(&[0_u32; 8]);
        let graph = way.graph();
        {
            let values = way.device(&[5_u32; 8]);
            let call = buffers::advance(&values, 3, 1);
            graph.add(Command::parallel_for(8, call)).unwrap();
            graph.after_all_leaves().add(Command::copy(&values, &seen)).unwrap();
        }
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&seen).unwrap(), [49; 8]);
    }
}

#[test]
fn g_thr_004_finalized_and_run_by_threads() {
    for way in ways() {
        let context = way.context();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let queue = Queue::new(context).unwrap();
                    let values = context.alloc_device::<u32>(8).unwrap();
                    queue.fill(&values, 0).unwrap();
                    let graph = Graph::from_queue(&queue);
                    (0..10).for_each(|_| drop(graph.after_all_leaves().add(advance(&values)).unwrap()));
                    for _ in 0..3 {
                        let executable = graph.finalizer().strategy(way.strategy).finalize().unwrap();
                        queue.submit_graph(&executable).unwrap();
                    }
                    assert_eq!(
                        queue.read(&values).unwrap()[0],
                        (0..30).fold(0_u32, |x, _| x.wrapping_mul(3) + 1)
                    );
                });
            }
        });
        // One graph, finalized by all of them.
        let values = way.device(&[0_u32; 8]);
        let graph = way.chain(&values, 1);
        let events: Vec<Event> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| way.finalize(&graph))).collect();
            let mut last: Option<Event> = None;
            threads
                .into_iter()
                .map(|thread| {
                    let executable = thread.join().unwrap();
                    let after: Vec<&Event> = last.iter().collect();
                    let event = way.queue.after(&after).submit_graph(&executable).unwrap();
                    last = Some(event.clone());
                    event
                })
                .collect()
        });
        events.iter().for_each(|event| event.wait().unwrap());
        assert_eq!(way.queue.read(&values).unwrap(), [40; 8]);
    }
}
