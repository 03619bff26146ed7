//! Order where something fails, waits in host tasks, or changes meanwhile; on the selected device.
//!
//! What fails ends after everything that was put on a device for it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{
    bundle, call, gate, graph_devices, host_copy_calls, memory_call, queues, queues_with, strategies,
};
use oclave::event::EventStatus;
use oclave::graph::{DynamicCommandGroup, DynamicParameter, ExecutableGraph, QueueState, ReplayStrategy};
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::HostTarget;
use oclave::queue::QueueBuilder;
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue, UsmSlice};

use crate::kernels::buffers::{advance, advance_late};

/// So many turns of a loop take some milliseconds.
const LATE: u32 = 1 << 22;

/// Reads a value, and writes one more much later: of two that overlap, one is lost.
fn late(bundle: &KernelBundle, value: &UsmSlice<u32>) -> KernelCall {
    call(bundle, "slow").pointer_mut::<u32>(value).value(LATE)
}

/// A graph with a host task that fails, and next to it two kernels, one behind the other.
fn failing(queue: &Queue, value: &UsmSlice<u32>, strategy: ReplayStrategy) -> ExecutableGraph {
    let bundle = bundle(queue.context());
    let graph = Graph::from_queue(queue);
    graph.add(Command::host_task(|| Err::<(), _>("this one"))).unwrap();
    let first = graph.add(Command::parallel_for(1, late(&bundle, value))).unwrap();
    graph.after(&first).add(Command::parallel_for(1, late(&bundle, value))).unwrap();
    graph.finalizer().strategy(strategy).finalize().unwrap()
}

#[test]
fn a_graph_that_fails_ends_when_all_of_its_nodes_have() {
    for device in graph_devices() {
        let context = Context::new(&device).unwrap();
        for strategy in strategies(&device) {
            let value = context.alloc_device::<u32>(1).unwrap();
            let other = Queue::new(&context).unwrap();
            for queue in queues(&context) {
                other.fill(&value, 0).unwrap().wait().unwrap();
                let graph = failing(&queue, &value, strategy);
                let message = format!("{strategy:?}, {:?}, {queue:?}", device.mask());
                // Its wait.
                let error = queue.submit_graph(&graph).unwrap().wait().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::HostTask, "{message}: {error}");
                // Without `{:#}`: the graph, the node and the cause.
                let text = "node 0: the host task failed; caused by: this one";
                assert!(error.to_string().starts_with("graph "), "{message}: {error}");
                assert!(error.to_string().contains(text), "{message}: {error}");
                assert_eq!(other.read(&value).unwrap(), [2], "{message}");
                // The next submissions, on whatever queue, and commands behind them.
                let last = [&queue, &other, &queue].map(|queue| queue.submit_graph(&graph).unwrap());
                let behind = if queue.is_out_of_order() {
                    assert!(last[2].wait().is_err());
                    queue.read(&value)
                } else {
                    queue.read(&value)
                };
                assert_eq!(behind.unwrap(), [8], "{message}");
                // The wait of the queue.
                queue.submit_graph(&graph).unwrap();
                assert_eq!(queue.wait().unwrap_err().kind(), ErrorKind::HostTask, "{message}");
                assert_eq!(other.read(&value).unwrap(), [10], "{message}");
                let _ = other.wait();
            }
        }
    }
}

#[device_test]
fn a_graph_within_a_graph_fails_as_late(context: Context) {
    let value = context.alloc_device::<u32>(1).unwrap();
    for queue in queues(&context) {
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let inner = failing(&queue, &value, ReplayStrategy::Enqueue);
        let graph = Graph::from_queue(&queue);
        graph.add(Command::graph(&inner)).unwrap();
        let graph = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
        let events = [(); 3].map(|()| queue.submit_graph(&graph).unwrap());
        let error = events[2].wait().unwrap_err().to_string();
        assert!(error.contains("node 0: the host task failed; caused by: this one"), "{error}");
        assert_eq!(Queue::new(&context).unwrap().read(&value).unwrap(), [6]);
        let _ = queue.wait();
    }
}

/// What a command that fails waited for must have ended when it has.
#[device_test]
fn a_command_that_fails_ends_behind_what_it_waited_for(context: Context) {
    let bundle = bundle(&context);
    let (value, out) = (context.alloc_device::<u32>(1).unwrap(), context.alloc_device::<u32>(1).unwrap());
    let (aside, tasks) = (Queue::new(&context).unwrap(), Queue::new(&context).unwrap());
    aside.fill(&value, 0).unwrap().wait().unwrap();
    let target = HostTarget::<u32>::new(1).unwrap();
    for queue in queues(&context) {
        let slow = || aside.single_task(late(&bundle, &value)).unwrap();
        let commands = || {
            [
                Command::fill(&out, 1_u32),
                Command::copy(&value, &out),
                Command::read(&out, &target),
                Command::single_task(late(&bundle, &out)),
                Command::marker(),
                Command::barrier(),
                Command::empty(),
                Command::host_task(|| ()),
            ]
        };
        let check = |slow: &Event, failed: &Event| {
            assert!(failed.wait().is_err());
            assert_eq!(slow.status().unwrap(), EventStatus::Complete);
        };
        for command in commands() {
            // Because of a dependency.
            let (slow, failing) = (slow(), tasks.host_task(|| Err::<(), _>("this one")).unwrap());
            check(&slow, &queue.after(&[&slow, &failing]).submit(command).unwrap());
        }
        // Because the driver refuses it when it is put on the queue.
        let session = Session::start();
        let (task, open) = gate(&tasks);
        let slow = slow();
        let held = queue.after(&[&slow, &task]).submit(Command::fill(&out, 1_u32)).unwrap();
        session.fail(memory_call("clEnqueueMemFillINTEL"), 1, -5);
        open.send(()).unwrap();
        check(&slow, &held);
        drop(session);
        let _ = (queue.wait(), tasks.wait());
    }
}

#[device_test]
fn a_command_that_the_driver_has_got_does_not_fail_because_it_is_not_flushed(context: Context) {
    let value = context.alloc_device::<u32>(1).unwrap();
    for queue in queues(&context) {
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let session = Session::start();
        let (task, open) = gate(&queue);
        let held = queue.after(&[&task]).fill(&value, 7).unwrap();
        session.fail("clFlush", 1, -5);
        open.send(()).unwrap();
        // The failure is told by the next operation.
        held.wait().unwrap();
        drop(session);
        let _ = queue.wait();
        assert_eq!(queue.read(&value).unwrap(), [7]);
    }
}

#[device_test]
fn contents_of_buffers_are_those_of_the_last_command_that_ran(context: Context) {
    let (aside, tasks) = (Queue::new(&context).unwrap(), Queue::new(&context).unwrap());
    for queue in queues(&context) {
        let buffer = Buffer::from_vec(vec![1_u32]).unwrap();
        aside.parallel_for(1, advance_late(buffer.read_write(), LATE, 6)).unwrap();
        let failing = tasks.host_task(|| Err::<(), _>("this one")).unwrap();
        let failed = queue.after(&[&failing]).parallel_for(1, advance(buffer.read_write(), 2, 0)).unwrap();
        // It failed, and the kernel before it has ended.
        assert!(buffer.read().host().is_err());
        assert!(failed.wait().is_err());
        assert_eq!(*buffer.read().host().unwrap(), [7]);
        aside.parallel_for(1, advance(buffer.read_write(), 3, 0)).unwrap();
        assert_eq!(*buffer.read().host().unwrap(), [21]);
        let _ = (queue.wait(), tasks.wait());
    }
}

/// If a driver refuses to report the end of an event, the task still runs after it.
#[device_test]
fn what_cannot_be_waited_for_is_not_taken_for_ended(context: Context) {
    let bundle = bundle(&context);
    let value = context.alloc_device::<u32>(1).unwrap();
    for queue in queues(&context) {
        queue.fill(&value, 0).unwrap().wait().unwrap();
        for call in ["clSetEventCallback", "clRetainEvent"] {
            let slow = queue.single_task(late(&bundle, &value)).unwrap();
            let (seen, ended) = channel();
            let session = Session::start();
            session.fail(call, 1, -5);
            let inner = slow.clone();
            let task = queue.after(&[&slow]).host_task(move || {
                let _ = seen.send(inner.status().unwrap());
            });
            drop(session);
            task.unwrap().wait().unwrap();
            assert_eq!(ended.recv().unwrap(), EventStatus::Complete, "{call}");
        }
    }
}

/// Steps of a sequence that fails half-way, and a driver that does not wait for them.
#[device_test]
fn steps_that_may_run_on_keep_what_they_use_and_their_place(context: Context) {
    let bundle = bundle(&context);
    for queue in queues(&context) {
        let value = context.alloc_device::<u32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let graph = Graph::from_queue(&queue);
        for _ in 0..3 {
            graph.after_all_leaves().add(Command::parallel_for(1, late(&bundle, &value))).unwrap();
        }
        let graph = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
        let other = Queue::new(&context).unwrap();
        let session = Session::start();
        session.fail("clEnqueueNDRangeKernel", 3, -5);
        (1..=20).for_each(|nth| session.fail("clFinish", nth, -5));
        assert_eq!(queue.submit_graph(&graph).unwrap_err().code(), Some(-5));
        assert_eq!(session.pending_faults(), 0);
        drop(session);
        // That is told once more, as it may concern others.
        assert!(queue.marker().is_err());
        // Another queue runs the graph behind the two steps that are there.
        other.submit_graph(&graph).unwrap().wait().unwrap();
        assert_eq!(other.read(&value).unwrap(), [5]);
        queue.wait().unwrap();
    }
}

#[device_test]
fn host_memory_of_copies_that_may_run_on_is_kept(context: Context) {
    let x = context.alloc_device::<u32>(60).unwrap();
    for queue in queues(&context) {
        queue.fill(&x, 3).unwrap().wait().unwrap();
        let part = x.rect([6, 10]).unwrap().part([0, 3], [6, 4]).unwrap();
        let target = HostTarget::<u32>::new(24).unwrap();
        let session = Session::start();
        session.fail(host_copy_calls()[0], 4, -5);
        (1..=20).for_each(|nth| session.fail("clFinish", nth, -5));
        assert_eq!(queue.submit(Command::read(&part, &target)).unwrap_err().code(), Some(-5));
        assert_eq!(session.pending_faults(), 0);
        // Markers were put behind what may run on: for the host's waits, and for the memory.
        assert_eq!(session.count("clEnqueueMarkerWithWaitList"), 2);
        session.reset();
        assert_eq!(target.with(|data| data[..4].to_vec()).unwrap(), [3; 4]);
        assert!(session.count("clWaitForEvents") + session.count("clGetEventInfo") > 0);
        session.reset();
        assert!(queue.marker().is_err());
        // Where not even that can be, the target is lost, aloud.
        session.fail(host_copy_calls()[0], 4, -5);
        (1..=20).for_each(|nth| session.fail("clFinish", nth, -5));
        (1..=2).for_each(|nth| session.fail("clEnqueueMarkerWithWaitList", nth, -5));
        assert!(queue.submit(Command::read(&part, &target)).is_err());
        assert!(target.with(|data| data.len()).is_err());
        drop(session);
        let _ = queue.wait();
        queue.wait().unwrap();
    }
}

#[device_test]
fn blocking_copies_return_when_they_have_ended(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let x = context.alloc_device::<u32>(4).unwrap();
    queue.fill(&x, 3).unwrap();
    let session = Session::start();
    session.fail(host_copy_calls()[0], 1, -5);
    (1..=30).for_each(|nth| session.fail("clFinish", nth, -5));
    assert_eq!(queue.read(&x).unwrap_err().code(), Some(-5));
    assert_eq!(session.count("clFinish"), 31);
    assert_eq!(session.pending_faults(), 0);
    // Arguments that are refused begin nothing.
    session.reset();
    session.fail(host_copy_calls()[0], 1, -30);
    assert_eq!(queue.read(&x).unwrap_err().code(), Some(-30));
    assert_eq!(session.count("clFinish"), 0);
    assert_eq!(queue.read(&x).unwrap(), [3; 4]);
}

/// Calls on another thread, and fails when that takes too long.
fn in_time<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, outcome) = channel();
    std::thread::spawn(move || done.send(run()));
    outcome.recv_timeout(Duration::from_secs(120)).expect("it hangs")
}

#[device_test]
fn a_task_of_a_graph_that_waits_for_its_own_queue_is_told_each_time(context: Context) {
    const ROUNDS: usize = 1500;
    for queue in queues(&context) {
        let (told, outcomes) = channel();
        let graph = Graph::from_queue(&queue);
        let own = queue.clone();
        graph
            .add(Command::host_task(move || {
                let _ = told.send(own.wait().map_err(|error| error.kind()));
            }))
            .unwrap();
        let graph = graph.finalize().unwrap();
        in_time(move || {
            for _ in 0..ROUNDS {
                queue.submit_graph(&graph).unwrap();
            }
            queue.wait().unwrap();
        });
        for _ in 0..ROUNDS {
            assert_eq!(outcomes.recv().unwrap(), Err(ErrorKind::Invalid));
        }
    }
}

#[device_test]
fn waits_in_a_task_for_what_comes_behind_it_are_told(context: Context) {
    for queue in queues(&context) {
        let aside = Queue::new(&context).unwrap();
        let (send, behind) = channel::<Event>();
        let behind = std::sync::Mutex::new(behind);
        let buffer = Buffer::from_vec(vec![1_u32]).unwrap();
        let inner = buffer.clone();
        let task = queue.host_task(move || -> oclave::Result<()> {
            let event = behind.lock().unwrap().recv().unwrap();
            let circles = [
                event.wait(),
                // Later commands use the buffer.
                inner.read().host().map(drop),
                inner.read_write().host().map(drop),
            ];
            for circle in circles {
                assert_eq!(circle.unwrap_err().kind(), ErrorKind::Invalid);
            }
            Ok(())
        });
        let task = task.unwrap();
        // By way of another queue.
        let first = aside.after(&[&task]).parallel_for(1, advance(buffer.read_write(), 2, 0)).unwrap();
        send.send(queue.after(&[&first]).marker().unwrap()).unwrap();
        in_time(move || task.wait()).unwrap();
        assert_eq!(*buffer.read().host().unwrap(), [2]);
    }
}

#[device_test]
fn a_task_that_waits_behind_its_own_host_accessor_is_told(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let buffer = Buffer::from_vec(vec![1_u32]).unwrap();
    let (inner, aside) = (buffer.clone(), Queue::new(&context).unwrap());
    let task = queue.host_task(move || -> oclave::Result<()> {
        let mut writer = inner.read_write().host()?;
        writer[0] = 5;
        let behind = aside.parallel_for(1, advance(inner.read_write(), 2, 0))?;
        assert_eq!(behind.wait().unwrap_err().kind(), ErrorKind::Invalid);
        writer.finish()?;
        behind.wait()
    });
    let task = task.unwrap();
    in_time(move || task.wait()).unwrap();
    assert_eq!(*buffer.read().host().unwrap(), [10]);
}

#[device_test]
fn edges_follow_the_values_that_parameters_have_when_a_command_is_added(context: Context) {
    let graph = Graph::new(&context, context.device()).unwrap();
    let buffer = || {
        let buffer = Buffer::from_vec(vec![1_u32]).unwrap();
        buffer.set_write_back(false);
        buffer
    };
    let (a, b) = (buffer(), buffer());
    let parameter = DynamicParameter::new(&graph, a.read_write());
    let described = Command::parallel_for(1, advance(&parameter, 2, 0));
    let alternatives = [2, 3].map(|factor| Command::parallel_for(1, advance(&parameter, factor, 0)));
    let group = DynamicCommandGroup::new(&graph, alternatives).unwrap();
    let of_a = graph.add(Command::parallel_for(1, advance(a.read_write(), 1, 1))).unwrap();
    let of_b = graph.add(Command::parallel_for(1, advance(b.read_write(), 1, 5))).unwrap();
    parameter.update(b.read_write()).unwrap();
    let node = graph.add(described).unwrap();
    assert_eq!(node.predecessors(), std::slice::from_ref(&of_b));
    let of_group = graph.add(&group).unwrap();
    assert_eq!(of_group.predecessors(), [node]);
    // And the nodes after them.
    let behind = graph.add(Command::parallel_for(1, advance(b.read_write(), 1, 3))).unwrap();
    assert_eq!(behind.predecessors(), [of_group]);
    let behind = graph.add(Command::parallel_for(1, advance(a.read_write(), 1, 3))).unwrap();
    assert_eq!(behind.predecessors(), [of_a]);
    Queue::new(&context).unwrap().submit_graph(&graph.finalize().unwrap()).unwrap().wait().unwrap();
    assert_eq!((*a.read().host().unwrap()).first(), Some(&5));
    assert_eq!((*b.read().host().unwrap()).first(), Some(&27));
}

#[device_test]
fn a_recording_that_has_ended_takes_no_queue_back(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                queue.submit(Command::marker()).unwrap();
            }
        });
        for round in 0..2000 {
            let graph = Graph::from_queue(&queue);
            graph.begin_recording(&queue).unwrap();
            std::thread::yield_now();
            assert!(graph.end_recording());
            for _ in 0..20 {
                if queue.state() == QueueState::Recording {
                    ends.store(true, Ordering::Relaxed);
                    panic!("it records again in round {round}");
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
    queue.wait().unwrap();
}

/// Commands that another thread submits meanwhile run, or are nodes. None is lost or comes twice,
/// and a recorded node stands behind the one before it.
#[device_test]
fn commands_at_the_end_of_a_recording_run_or_are_nodes_in_order(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let ends = AtomicBool::new(false);
    let ran = std::sync::Arc::new(AtomicUsize::new(0));
    let (mut nodes, mut submitted) = (0, 0);
    std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            let mut count = 0;
            while !ends.load(Ordering::Relaxed) {
                let ran = ran.clone();
                let task = move || {
                    ran.fetch_add(1, Ordering::Relaxed);
                };
                queue.submit(Command::host_task(task)).unwrap();
                count += 1;
            }
            count
        });
        for _ in 0..300 {
            let graph = Graph::from_queue(&queue);
            graph.begin_recording(&queue).unwrap();
            std::thread::yield_now();
            assert!(graph.end_recording());
            // What joins later would be missed by the count below.
            let recorded = graph.nodes().len();
            assert!(
                graph.roots().len() <= 1,
                "{recorded} nodes, {} of them depend on nothing",
                graph.roots().len()
            );
            nodes += recorded;
        }
        ends.store(true, Ordering::Relaxed);
        submitted = submitter.join().unwrap();
    });
    queue.wait().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed) + nodes, submitted);
}

/// A graph that is refused has used no buffer: neither the host nor later graphs wait for it.
#[device_test]
fn a_refused_graph_leaves_its_buffers_as_they_are(context: Context) {
    for queue in queues(&context) {
        let buffer = Buffer::from_vec(vec![1_u32]).unwrap();
        let value = context.alloc_shared::<u32>(1).unwrap();
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let graph = Graph::from_queue(&queue);
        graph.add(Command::parallel_for(1, advance(buffer.read_write(), 1, 4))).unwrap();
        graph.add(Command::fill(&value, 7)).unwrap();
        let graph = graph.finalize().unwrap();
        for round in 0..2 {
            let guard = value.write().unwrap();
            let error = queue.submit_graph(&graph).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert_eq!(*buffer.read().host().unwrap(), [1 + 4 * round], "{queue:?}");
            drop(guard);
            queue.submit_graph(&graph).unwrap();
            assert_eq!(*buffer.read().host().unwrap(), [5 + 4 * round], "{queue:?}");
            queue.wait().unwrap();
        }
    }
}

#[device_test]
fn times_of_graphs_include_host_tasks_at_their_ends(context: Context) {
    const PAUSE: Duration = Duration::from_millis(30);
    let bundle = bundle(&context);
    let value = context.alloc_device::<u32>(1).unwrap();
    for queue in queues_with(&context, QueueBuilder::profiling) {
        for strategy in strategies(context.device()) {
            let graph = Graph::from_queue(&queue);
            graph.add(Command::host_task(|| std::thread::sleep(PAUSE))).unwrap();
            graph.after_all_leaves().add(Command::single_task(late(&bundle, &value))).unwrap();
            graph.after_all_leaves().add(Command::host_task(|| std::thread::sleep(PAUSE))).unwrap();
            let graph = graph.finalizer().strategy(strategy).profiling().finalize().unwrap();
            let event = queue.submit_graph(&graph).unwrap();
            event.wait().unwrap();
            let times = event.profiling().unwrap();
            // NVIDIA's driver has no `clGetDeviceAndHostTimer`, so host tasks are left out.
            if !context.device().platform().name().contains("NVIDIA") {
                assert!(times.duration() >= 2 * PAUSE, "{strategy:?}: {times:?}");
            }
            assert!(times.queued_ns > 0 && times.queued_ns <= times.submitted_ns, "{strategy:?}: {times:?}");
            assert!(times.submitted_ns <= times.started_ns, "{strategy:?}: {times:?}");
        }
        // Without host tasks, too.
        for strategy in strategies(context.device()) {
            let graph = Graph::from_queue(&queue);
            graph.add(Command::single_task(late(&bundle, &value))).unwrap();
            let graph = graph.finalizer().strategy(strategy).profiling().finalize().unwrap();
            let event = queue.submit_graph(&graph).unwrap();
            event.wait().unwrap();
            let times = event.profiling().unwrap();
            assert!(times.queued_ns > 0 && times.queued_ns <= times.started_ns, "{strategy:?}: {times:?}");
        }
    }
}

/// Barriers that wait for the host come before a graph of several partitions, too.
#[device_test]
fn graphs_come_after_barriers_that_are_deferred(context: Context) {
    for queue in queues(&context) {
        let order = Arc::new(Mutex::new(Vec::new()));
        let task = |name: &'static str, late: u64| {
            let order = Arc::clone(&order);
            move || {
                std::thread::sleep(Duration::from_millis(late));
                order.lock().unwrap().push(name);
            }
        };
        let graph = Graph::from_queue(&queue);
        graph.add(Command::host_task(task("graph", 0))).unwrap();
        let executable = graph.finalize().unwrap();
        queue.host_task(task("before", 100)).unwrap();
        queue.barrier().unwrap();
        queue.submit_graph(&executable).unwrap();
        queue.barrier().unwrap();
        queue.host_task(task("after", 0)).unwrap();
        queue.wait().unwrap();
        assert_eq!(*order.lock().unwrap(), ["before", "graph", "after"], "{queue:?}");
    }
}
