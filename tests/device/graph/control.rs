//! Loops and conditions on the selected device: what the host and other commands see of them.

use std::time::Duration;

use crate::common::{queues, strategies};
use crate::kernels::buffers::{advance, combine, number};
use oclave::graph::{DynamicCommandGroup, DynamicParameter, ReplayStrategy};
use oclave::record::Session;
use oclave::{Buffer, Command, Context, ErrorKind, Graph, Queue};

/// A guard waits for the loop, whose commands use the memory while the guard waits.
#[device_test]
fn guards_on_the_host_wait_for_loops_that_run(context: Context) {
    for queue in queues(&context) {
        let count = context.alloc_shared::<u32>(1).unwrap();
        let left = context.alloc_host::<u32>(1).unwrap();
        let down = || Command::parallel_for(1, advance(&left, 1, u32::MAX));
        let up = || Command::parallel_for(1, advance(&count, 1, 1));
        let body = Graph::from_queue(&queue);
        body.add(down()).unwrap();
        body.add(up()).unwrap();
        // Each iteration defers a host task and a loop.
        let parted = Graph::from_queue(&queue);
        let inner = Graph::from_queue(&queue);
        inner.add(up()).unwrap();
        let down = parted.add(down()).unwrap();
        let task = parted.after(&down).add(Command::host_task(|| ())).unwrap();
        parted.after(&task).add(Command::repeat(1, &inner)).unwrap();
        for (body, iterations) in [(&body, 500), (&parted, 100)] {
            let graph = Graph::from_queue(&queue);
            graph.add(Command::while_(&left, body)).unwrap();
            let executable = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
            for is_written in [false, true] {
                (left.write().unwrap()[0], count.write().unwrap()[0]) = (iterations, 0);
                let done = queue.submit_graph(&executable).unwrap();
                let seen = match is_written {
                    false => count.read().unwrap()[0],
                    true => count.write().unwrap()[0],
                };
                done.wait().unwrap();
                assert_eq!((seen, left.read().unwrap()[0]), (iterations, 0), "{queue:?}");
            }
        }
    }
}

/// Edges and the order of commands follow the values that parameters in bodies have now.
#[device_test]
fn accessors_of_bodies_follow_parameters(context: Context) {
    for queue in queues(&context) {
        let [a, b, c] = [(); 3].map(|()| Buffer::<u32>::from_vec(vec![0; 8]).unwrap());
        let body = Graph::from_queue(&queue);
        let out = DynamicParameter::new(&body, a.write());
        body.add(Command::parallel_for(8, number(&out, 7))).unwrap();
        out.update(b.write()).unwrap();
        queue.submit(Command::repeat(1, &body)).unwrap();
        assert_eq!(b.host_read().unwrap()[0], 7);
        out.update(c.write()).unwrap();
        let graph = Graph::from_queue(&queue);
        let node = graph.add(Command::repeat(1, &body)).unwrap();
        let copy = graph.add(Command::copy(&c.read(), &a.write())).unwrap();
        assert_eq!(copy.predecessors(), [node]);
    }
}

/// Which command of a group is active changes no edges, also not where the group is in a body.
#[device_test]
fn accessors_of_bodies_are_those_of_all_commands_of_a_group(context: Context, queue: Queue) {
    let [a, b] = [(); 2].map(|()| Buffer::<u32>::from_vec(vec![0; 8]).unwrap());
    let out = context.alloc_device::<u32>(8).unwrap();
    let body = Graph::from_queue(&queue);
    let group = DynamicCommandGroup::new(
        &body,
        [&a, &b].map(|buffer| Command::parallel_for(8, number(buffer.write(), 3))),
    )
    .unwrap();
    let node = body.add(&group).unwrap();
    let graph = Graph::from_queue(&queue);
    let loops = graph.add(Command::repeat(1, &body)).unwrap();
    let read = graph.add(Command::parallel_for(8, combine(b.read(), &out, 0))).unwrap();
    assert_eq!(read.predecessors(), [loops]);
    let executable = graph.finalizer().updatable().finalize().unwrap();
    group.set_active_index(1).unwrap();
    executable.update(&node).unwrap();
    queue.submit_graph(&executable).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [3, 4, 5, 6, 7, 8, 9, 10]);
}

/// Submissions in flight share the internal queue of their graph.
#[device_test]
fn submissions_in_flight_share_a_queue(context: Context) {
    for queue in queues(&context) {
        let graph = Graph::from_queue(&queue);
        let memory = context.alloc_device::<u32>(8).unwrap();
        let first = graph.add(Command::fill(&memory, 1)).unwrap();
        let task = graph
            .after(&first)
            .add(Command::host_task(|| std::thread::sleep(Duration::from_millis(2))))
            .unwrap();
        graph.after(&task).add(Command::parallel_for(8, advance(&memory, 3, 1))).unwrap();
        let executable = graph.finalize().unwrap();
        queue.submit_graph(&executable).unwrap().wait().unwrap();
        let session = Session::start();
        (0..200).for_each(|_| drop(queue.submit_graph(&executable).unwrap()));
        queue.wait().unwrap();
        println!("{:?}", session.counts());
        let made = session.count("clCreateCommandQueueWithProperties");
        assert!(made <= 4, "{made} queues were made");
        drop(session);
        assert_eq!(queue.read(&memory).unwrap(), [4; 8]);
    }
}

/// A body may not wait for an event from outside, be it in a sub-graph. One that nothing waits for
/// is no obstacle.
#[device_test]
fn bodies_wait_for_no_event_from_outside(context: Context, queue: Queue) {
    let memory = context.alloc_device::<u32>(8).unwrap();
    for strategy in strategies(context.device()) {
        for is_used in [true, false] {
            let with_outside = Graph::from_queue(&queue);
            let outside = with_outside.external_event();
            let command = Command::parallel_for(8, number(&memory, 5));
            let command = if is_used { command.after(outside.event()) } else { command };
            with_outside.add(command).unwrap();
            let executable = with_outside.finalizer().strategy(strategy).finalize().unwrap();
            let around = Graph::from_queue(&queue);
            around.add(Command::graph(&executable)).unwrap();
            let bodies = [
                Command::repeat(1, &with_outside),
                Command::repeat(1, &executable),
                Command::repeat(1, &around),
            ];
            for command in bodies {
                queue.fill(&memory, 0).unwrap();
                let graph = Graph::from_queue(&queue);
                graph.add(command.clone()).unwrap();
                let finalized = graph.finalizer().strategy(strategy).finalize();
                let submitted = queue.submit(command);
                if is_used {
                    let error = finalized.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                    assert!(error.to_string().contains("event from outside"), "{error}");
                    assert_eq!(submitted.unwrap_err().kind(), ErrorKind::Invalid);
                    continue;
                }
                submitted.unwrap();
                queue.submit_graph(&finalized.unwrap()).unwrap();
                assert_eq!(queue.read(&memory).unwrap()[0], 5);
            }
        }
    }
}

/// A limit changes nothing but the limit.
#[device_test]
fn a_limit_of_iterations_leaves_the_name(queue: Queue) {
    let graph = Graph::from_queue(&queue);
    let body = Graph::from_queue(&queue);
    let limited = graph.add(Command::repeat(1, &body).named("solve").max_iterations(9)).unwrap();
    assert_eq!(limited.name().as_deref(), Some("solve"));
    let no_loop = graph.add(Command::empty().named("join").max_iterations(9)).unwrap();
    assert_eq!(no_loop.name().as_deref(), Some("join"));
}
