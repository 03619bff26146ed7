//! Executable graphs: order, events, times, lifetimes, threads, host tasks, in every way that they
//! can be run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::common::{bundle, call, context, queues_and_measuring, strategies};
use oclave::event::EventStatus;
use oclave::graph::{ExecutableGraph, Node, ReplayStrategy};
use oclave::memory::{HostTarget, usm};
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, ErrorKind, Graph, Queue, UsmSlice};

use crate::kernels::buffers::combine;

fn chain(context: &Context, value: &UsmSlice<i32, usm::DeviceOnly>, length: usize) -> Graph {
    let bundle = bundle(context);
    let graph = Graph::new(context, context.device()).unwrap();
    for _ in 0..length {
        let bump = Command::parallel_for(1, call(&bundle, "bump_by").pointer_mut::<i32>(value).value(1_i32));
        graph.after_all_leaves().add(bump).unwrap();
    }
    graph
}

fn each_strategy(
    length: usize,
    test: impl Fn(&Context, &UsmSlice<i32, usm::DeviceOnly>, ExecutableGraph, ReplayStrategy),
) {
    let Some(context) = context() else { return };
    for strategy in strategies(context.device()) {
        let value = context.alloc_device::<i32>(1).unwrap();
        Queue::new(&context).unwrap().write(&value, &[0]).unwrap();
        let executable = chain(&context, &value, length)
            .finalizer()
            .strategy(strategy)
            .wait_for_interpreter()
            .finalize()
            .unwrap();
        test(&context, &value, executable, strategy);
    }
}

#[test]
fn a_replay_is_one_command_of_a_queue_in_order() {
    each_strategy(50, |context, value, executable, strategy| {
        let queue = Queue::new(context).unwrap();
        queue.fill(value, 100).unwrap();
        queue.submit_graph(&executable).unwrap();
        let twice = context.alloc_device::<i32>(1).unwrap();
        queue.copy(value, &twice).unwrap();
        queue.submit_graph(&executable).unwrap();
        assert_eq!(
            (queue.read(&twice).unwrap(), queue.read(value).unwrap()),
            (vec![150], vec![200]),
            "{strategy:?}"
        );
    });
}

#[test]
fn a_thousand_replays_follow_each_other_without_waits() {
    each_strategy(3, |context, value, executable, strategy| {
        let in_order = Queue::new(context).unwrap();
        let other = Queue::builder(context).out_of_order().build().unwrap();
        for i in 0..1000 {
            // Now on the one queue, now on the other: one instance runs at a time.
            if i % 3 == 0 { &other } else { &in_order }.submit_graph(&executable).unwrap();
        }
        in_order.wait().unwrap();
        other.wait().unwrap();
        assert_eq!(in_order.read(value).unwrap(), [3000], "{strategy:?}");
    });
}

#[test]
fn events_order_replays_both_ways() {
    each_strategy(20, |context, value, executable, strategy| {
        let (a, b) = (Queue::new(context).unwrap(), Queue::builder(context).out_of_order().build().unwrap());
        let filled = a.fill(value, 7).unwrap();
        let replayed = b.after(&[&filled]).submit_graph(&executable).unwrap();
        let copy = context.alloc_device::<i32>(1).unwrap();
        let copied = a.after(&[&replayed]).copy(value, &copy).unwrap();
        copied.wait().unwrap();
        assert_eq!(replayed.status().unwrap(), EventStatus::Complete);
        assert_eq!(a.read(&copy).unwrap(), [27], "{strategy:?}");
    });
}

#[device_test]
fn everything_may_be_dropped_while_a_replay_runs(context: Context) {
    for strategy in strategies(context.device()) {
        let session = Session::start();
        let values = context.alloc_shared::<u32>(1).unwrap();
        values.write().unwrap()[0] = 0;
        let queue = Queue::new(&context).unwrap();
        {
            let graph = Graph::from_queue(&queue);
            let slow = call(&bundle(&context), "slow").pointer_mut::<u32>(&values).value(3_000_000_u32);
            for _ in 0..10 {
                graph.after_all_leaves().add(Command::single_task(slow.clone())).unwrap();
            }
            let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            for _ in 0..3 {
                queue.submit_graph(&executable).unwrap();
            }
        }
        queue.wait().unwrap();
        assert_eq!(*values.read().unwrap(), [30], "{strategy:?}");
        drop((queue, values));
        // What is left belongs to programs, which the context keeps.
        drop(Queue::new(&context).unwrap());
        let live = session.live();
        assert!(!live.contains_key(&ObjectKind::CommandBuffer), "{strategy:?}: {live:?}");
    }
}

#[test]
fn threads_may_submit_one_executable() {
    each_strategy(5, |context, value, executable, strategy| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let queue = Queue::new(context).unwrap();
                    for _ in 0..50 {
                        queue.submit_graph(&executable).unwrap();
                    }
                    queue.wait().unwrap();
                });
            }
        });
        let queue = Queue::new(context).unwrap();
        assert_eq!(queue.read(value).unwrap(), [1000], "{strategy:?}");
    });
}

#[test]
fn a_queue_of_another_context_is_refused() {
    each_strategy(1, |context, _, executable, _| {
        let other = Queue::new(&Context::new(context.device()).unwrap()).unwrap();
        assert_eq!(other.submit_graph(&executable).unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[device_test]
fn empty_nodes_and_empty_graphs_cost_no_command(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let graph = Graph::from_queue(&queue);
    let executable = graph.finalize().unwrap();
    let event = queue.submit_graph(&executable).unwrap();
    event.wait().unwrap();
    assert_eq!(event.status().unwrap(), EventStatus::Complete);
    queue.after(&[&event]).submit_graph(&executable).unwrap().wait().unwrap();

    let value = context.alloc_device::<i32>(1).unwrap();
    queue.write(&value, &[0]).unwrap();
    let bump =
        Command::single_task(call(&bundle(&context), "bump_by").pointer_mut::<i32>(&value).value(1_i32));
    let first = graph.add(bump.clone()).unwrap();
    let joins: Vec<Node> = (0..10).map(|_| graph.after(&first).add(Command::empty()).unwrap()).collect();
    graph.after(&joins).add(bump).unwrap();
    let executable = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
    let session = Session::start();
    queue.submit_graph(&executable).unwrap();
    let counts = session.counts();
    let enqueued: u64 = counts.iter().filter(|(name, _)| name.starts_with("clEnqueue")).map(|(_, n)| n).sum();
    assert_eq!(enqueued, 2, "{counts:?}");
    assert_eq!(queue.read(&value).unwrap(), [2]);
}

#[device_test]
fn replays_are_measured_when_that_was_asked_for(context: Context) {
    let value = context.alloc_device::<i32>(1).unwrap();
    for strategy in strategies(context.device()) {
        let queue = Queue::builder(&context).profiling().build().unwrap();
        let slow =
            call(&bundle(&context), "slow").pointer_mut::<u32>(&context.alloc_device::<u32>(1).unwrap());
        let graph = Graph::from_queue(&queue);
        graph.add(Command::single_task(slow.value(1_000_000_u32))).unwrap();
        graph.after_all_leaves().add(Command::fill(&value, 3)).unwrap();

        let unmeasured = queue.submit_graph(&graph.finalize().unwrap()).unwrap();
        unmeasured.wait().unwrap();
        assert_eq!(unmeasured.profiling().unwrap_err().kind(), ErrorKind::Profiling);

        let finalize =
            || graph.finalizer().profiling().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let (executable, other) = (finalize(), finalize());
        let plain = Queue::new(&context).unwrap();
        let event = queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        let times = event.profiling().unwrap();
        assert!(times.submitted_ns <= times.started_ns, "{times:?}");
        assert!(times.duration().as_micros() > 200, "{strategy:?}: {times:?}");
        let timeline = executable.timeline(&event).unwrap();
        let names: Vec<&str> = timeline.nodes().iter().map(|node| node.name.as_str()).collect();
        match executable.partitions()[0].strategy {
            Some(ReplayStrategy::Enqueue) => {
                assert_eq!(names, ["kernel slow", "memfill"]);
                let [slow, fill] = timeline.nodes() else { unreachable!() };
                assert!(slow.times.ended_ns <= fill.times.started_ns, "{timeline:?}");
                assert!(slow.times.duration().as_micros() > 200);
            }
            Some(ReplayStrategy::Interpreter) => {
                assert!(names == ["segment of 2 nodes"] || names == ["command buffers"], "{names:?}");
            }
            _ => assert_eq!(names, ["command buffers"]),
        }
        let trace = timeline.to_chrome_trace();
        assert_eq!(trace.matches("\"ph\":\"X\"").count(), names.len(), "{trace}");
        for foreign in [queue.marker().unwrap(), queue.submit_graph(&executable).unwrap()] {
            foreign.wait().unwrap();
            let refused = other.timeline(&foreign).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
        }
        let unmeasured = plain.submit_graph(&executable).unwrap();
        unmeasured.wait().unwrap();
        for refused in [unmeasured.profiling().unwrap_err(), executable.timeline(&unmeasured).unwrap_err()] {
            assert_eq!(refused.kind(), ErrorKind::Profiling, "{refused}");
            assert!(refused.to_string().contains("queue was built without profiling"), "{refused}");
        }
    }
}

/// Three kernels, a host task, four kernels.
#[device_test]
fn host_tasks_run_between_what_they_wait_for_and_what_waits_for_them(context: Context) {
    let bundle = bundle(&context);
    for strategy in strategies(context.device()) {
        for queue in queues_and_measuring(&context) {
            let value = context.alloc_device::<i32>(1).unwrap();
            let target = HostTarget::<i32>::new(1).unwrap();
            let seen = Arc::new(AtomicI32::new(0));
            queue.write(&value, &[0]).unwrap();
            let graph = Graph::from_queue(&queue);
            let bump = Command::single_task(call(&bundle, "bump_by").pointer_mut::<i32>(&value).value(1_i32));
            for _ in 0..3 {
                graph.after_all_leaves().add(bump.clone()).unwrap();
            }
            graph.after_all_leaves().add(Command::read(&value, &target)).unwrap();
            let (task_seen, task_target) = (Arc::clone(&seen), target.clone());
            let task = Command::host_task(move || {
                task_seen.store(task_target.to_vec().unwrap()[0], Ordering::SeqCst)
            });
            graph.after_all_leaves().add(task).unwrap();
            for _ in 0..4 {
                graph.after_all_leaves().add(bump.clone()).unwrap();
            }
            let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            let partitions = executable.partitions();
            let shape: Vec<_> = partitions
                .iter()
                .map(|p| (p.nodes.len(), p.linear, p.sync_points, p.strategy.is_none()))
                .collect();
            assert_eq!(shape, [(4, true, 0, false), (1, true, 0, true), (4, true, 0, false)]);
            for run in 1..=20 {
                let event = queue.submit_graph(&executable).unwrap();
                if run % 5 == 0 {
                    event.wait().unwrap();
                    assert_eq!(seen.load(Ordering::SeqCst), 7 * (run - 1) + 3);
                }
            }
            queue.wait().unwrap();
            assert_eq!(queue.read(&value).unwrap(), [140], "{strategy:?}");
        }
    }
}

#[device_test]
fn a_host_task_that_fails_fails_the_submission(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let graph = Graph::from_queue(&queue);
    graph.add(Command::host_task(|| Err::<(), _>("no luck"))).unwrap();
    let value = context.alloc_shared::<i32>(1).unwrap();
    value.write().unwrap()[0] = 5;
    graph.after_all_leaves().add(Command::fill(&value, 6)).unwrap();
    let executable = graph.finalize().unwrap();
    let error = queue.submit_graph(&executable).unwrap().wait().unwrap_err();
    assert!(format!("{error:#}").contains("no luck"), "{error}");
    assert_eq!(*value.read().unwrap(), [5]);
}

#[device_test]
fn a_submission_that_fails_does_not_fail_the_next(context: Context) {
    let value = context.alloc_shared::<i32>(1).unwrap();
    for queue in queues_and_measuring(&context) {
        value.write().unwrap()[0] = 0;
        let runs = Arc::new(AtomicI32::new(0));
        let graph = Graph::from_queue(&queue);
        let counter = Arc::clone(&runs);
        let task = move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            if counter.fetch_add(1, Ordering::SeqCst) % 2 == 0 { Err("no luck") } else { Ok(()) }
        };
        graph.add(Command::host_task(task)).unwrap();
        let bump = call(&bundle(&context), "bump_by").pointer_mut::<i32>(&value).value(1_i32);
        graph.after_all_leaves().add(Command::single_task(bump)).unwrap();
        let executable = graph.finalize().unwrap();
        let events: Vec<_> = (0..4).map(|_| queue.submit_graph(&executable).unwrap()).collect();
        let failed: Vec<bool> = events.iter().map(|event| event.wait().is_err()).collect();
        assert_eq!(failed, [true, false, true, false]);
        assert!(queue.wait().is_err());
        assert_eq!(*value.read().unwrap(), [2]);
    }
}

#[test]
fn a_submission_comes_behind_one_that_is_held_back() {
    each_strategy(2, |context, value, executable, strategy| {
        let queue = || Queue::builder(context).out_of_order().build().unwrap();
        let (first, second) = (queue(), queue());
        let gate = first.host_task(|| std::thread::sleep(std::time::Duration::from_millis(20))).unwrap();
        let filled = first.after(&[&gate]).fill(value, 10).unwrap();
        first.after(&[&filled]).submit_graph(&executable).unwrap();
        let event = second.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        assert_eq!(second.read(value).unwrap(), [14], "{strategy:?}");
    });
}

#[test]
fn a_graph_behind_a_host_task_keeps_its_memory_from_the_host() {
    each_strategy(4, |context, value, executable, strategy| {
        let queue = Queue::new(context).unwrap();
        let gate = queue.host_task(|| std::thread::sleep(std::time::Duration::from_millis(20))).unwrap();
        let other = Queue::builder(context).out_of_order().build().unwrap();
        let event = other.after(&[&gate]).submit_graph(&executable).unwrap();
        queue.submit_graph(&executable).unwrap();
        event.wait().unwrap();
        queue.wait().unwrap();
        assert_eq!(queue.read(value).unwrap(), [8], "{strategy:?}");
    });
}

#[device_test]
fn independent_nodes_are_one_event(context: Context) {
    let bundle = bundle(&context);
    for (count, strategy) in [2, 64, 65, 200]
        .into_iter()
        .flat_map(|count| strategies(context.device()).into_iter().map(move |strategy| (count, strategy)))
    {
        for queue in queues_and_measuring(&context) {
            let values = context.alloc_device::<i32>(count).unwrap();
            queue.fill(&values, 0).unwrap().wait().unwrap();
            let graph = Graph::from_queue(&queue);
            for cell in 0..count {
                let bump = call(&bundle, "bump_by").pointer_mut(values.slice(cell..).unwrap()).value(1_i32);
                graph.add(Command::single_task(bump)).unwrap();
            }
            let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
            let submit = || queue.submit_graph(&executable).unwrap();
            submit().wait().unwrap();
            let session = Session::start();
            let event = submit();
            queue.wait().unwrap();
            if count <= 64 && strategy == ReplayStrategy::Enqueue {
                assert_eq!(session.count("clEnqueueMarkerWithWaitList"), 0, "nobody asked for an event");
            }
            drop(session);
            assert_eq!(event.status().unwrap(), EventStatus::Complete);
            // Known by asking, and by others that depend on it.
            let event = submit();
            let before = std::time::Instant::now();
            while event.status().unwrap() != EventStatus::Complete {
                assert!(before.elapsed().as_secs() < 60, "{count} nodes, {strategy:?}");
                std::thread::yield_now();
            }
            let event = submit();
            let (other, copied) =
                (Queue::new(&context).unwrap(), context.alloc_device::<i32>(count).unwrap());
            let copy = other.after(&[&event.clone()]).copy(&values, &copied).unwrap();
            let seen = Arc::new(AtomicI32::new(0));
            let task = { Arc::clone(&seen) };
            queue
                .after(&[&event])
                .host_task(move || task.store(1, Ordering::SeqCst))
                .unwrap()
                .wait()
                .unwrap();
            copy.wait().unwrap();
            assert_eq!(seen.load(Ordering::SeqCst), 1);
            assert_eq!(other.read(&copied).unwrap(), vec![4; count], "{strategy:?}");
            (0..5).for_each(|_| drop(submit()));
            submit().wait().unwrap();
            assert_eq!(other.read(&values).unwrap(), vec![10; count], "{strategy:?}");
        }
    }
}

#[device_test]
fn edges_that_follow_from_others_are_not_given_to_the_driver(context: Context) {
    const NODES: usize = 40;
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let bundle = bundle(&context);
    let value = context.alloc_device::<i32>(1).unwrap();
    // Such queues of Intel's CPU runtime are in order, and need no edges (fault Q1).
    let in_order = context.device().platform().name().contains("Intel");
    let edges = if in_order { 0 } else { NODES as u64 - 1 };
    for strategy in strategies(context.device()) {
        if !matches!(strategy, ReplayStrategy::Enqueue | ReplayStrategy::CommandBuffer) {
            continue;
        }
        queue.fill(&value, 0).unwrap().wait().unwrap();
        let graph = Graph::new(&context, context.device()).unwrap();
        let mut nodes: Vec<Node> = Vec::new();
        for _ in 0..NODES {
            let bump = call(&bundle, "bump_by").pointer_mut::<i32>(&value).value(1_i32);
            let after: Vec<&Node> = nodes.iter().collect();
            let node = graph.after(&after).add(Command::parallel_for(1, bump)).unwrap();
            nodes.push(node);
        }
        let session = Session::start();
        let executable = graph.finalizer().strategy(strategy).finalize().unwrap();
        queue.submit_graph(&executable).unwrap();
        queue.wait().unwrap();
        assert_eq!(session.waits(), edges, "{strategy:?}");
        drop(session);
        assert_eq!(queue.read(&value).unwrap(), [NODES as i32], "{strategy:?}");
    }
}

#[device_test]
fn threads_run_graphs_of_the_same_kernel_with_their_own_arguments(context: Context) {
    let bundle = &bundle(&context);
    let context = &context;
    const ROUNDS: i32 = 25;
    for strategy in strategies(context.device()) {
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                scope.spawn(move || {
                    let queue = Queue::builder(context);
                    let queue = if thread % 2 == 0 { queue } else { queue.out_of_order() }.build().unwrap();
                    let values = context.alloc_device::<i32>(8).unwrap();
                    let mut last = queue.fill(&values, 0).unwrap();
                    let bump = |cell: usize, by: i32| {
                        Command::single_task(
                            call(bundle, "bump_by").pointer_mut(values.slice(cell..).unwrap()).value(by),
                        )
                    };
                    let graph = Graph::from_queue(&queue);
                    (0..8).for_each(|cell| drop(graph.add(bump(cell, thread * (cell as i32 + 1))).unwrap()));
                    let executable =
                        graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
                    for _ in 0..ROUNDS {
                        let replayed = queue.after(&[&last]).submit_graph(&executable).unwrap();
                        last = queue.submit(bump(0, 1000).after(&replayed)).unwrap();
                    }
                    last.wait().unwrap();
                    let mut expected: Vec<i32> = (1..=8).map(|cell| ROUNDS * thread * cell).collect();
                    expected[0] += ROUNDS * 1000;
                    assert_eq!(queue.read(&values).unwrap(), expected, "{strategy:?}");
                });
            }
        });
    }
}

/// Replays on two queues run one after the other, and the dependency on the first one is never
/// lost.
///
/// The graph begins with a node that does nothing, followed by a command that no command buffer
/// holds.
#[device_test]
fn replays_that_begin_with_nothing_wait_for_the_one_before(context: Context) {
    let bundle = bundle(&context);
    for strategy in strategies(context.device()) {
        let queues = [(); 2].map(|()| Queue::new(&context).unwrap());
        let [cell, seen, total] = [(); 3].map(|()| context.alloc_device::<u32>(64).unwrap());
        for memory in [&cell, &seen, &total] {
            queues[0].fill(memory, 0).unwrap();
        }
        let graph = Graph::new(&context, context.device()).unwrap();
        // Two rows are a command each.
        let [from, to] =
            [&cell, &seen].map(|memory| memory.rect([8, 8]).unwrap().part([0, 0], [2, 2]).unwrap());
        let nothing = Command::parallel_for(0, combine(&seen, &total, 0));
        for command in
            [nothing, Command::copy(&from, &to), Command::parallel_for(1, combine(&seen, &total, 10))]
        {
            graph.after_all_leaves().add(command).unwrap();
        }
        let executable =
            graph.finalizer().updatable().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        let slow = call(&bundle, "slow").pointer_mut::<u32>(&cell).value(30_000_000_u32);
        queues[0].single_task(slow).unwrap();
        queues.iter().for_each(|queue| drop(queue.submit_graph(&executable).unwrap()));
        queues.iter().for_each(|queue| queue.wait().unwrap());
        assert_eq!(queues[0].read(&total.slice(..1).unwrap()).unwrap(), [11], "{strategy:?}");
    }
}
