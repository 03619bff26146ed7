//! How graphs are built and drawn, where something is refused, ends early or happens at once.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::kernels::buffers::number;
use oclave::graph::{Detail, DynamicCommandGroup, DynamicParameter, QueueState};
use oclave::{Command, Context, Graph, Queue};

#[device_test]
fn queues_that_joined_stop_with_the_recording(context: Context) {
    let [q1, q2, q3] = [(); 3].map(|()| Queue::new(&context).unwrap());
    let memory = context.alloc_device::<u32>(8).unwrap();
    let graph = Graph::from_queue(&q1);
    let outside = graph.external_event();
    let recording = graph.record(&q1).unwrap();
    let other = graph.record(&q3).unwrap();
    let early = q3.fill(&memory, 1).unwrap();
    other.end();
    q2.after(outside.event()).fill(&memory, 2).unwrap();
    q3.after(&early).fill(&memory, 3).unwrap();
    for queue in [&q1, &q2, &q3] {
        assert_eq!(queue.state(), QueueState::Recording);
    }
    recording.end();
    for queue in [&q1, &q2, &q3] {
        assert_eq!(queue.state(), QueueState::Executing);
    }
}

#[device_test]
fn a_recording_that_was_begun_goes_on(context: Context) {
    let [q1, q2] = [(); 2].map(|()| Queue::new(&context).unwrap());
    let memory = context.alloc_device::<u32>(8).unwrap();
    let graph = Graph::from_queue(&q1);
    let recording = graph.record(&q1).unwrap();
    let filled = q1.fill(&memory, 1).unwrap();
    q2.after(&filled).fill(&memory, 2).unwrap();
    assert!(!graph.begin_recording(&q2).unwrap());
    recording.end();
    assert_eq!(q1.state(), QueueState::Executing);
    assert_eq!(q2.state(), QueueState::Recording);
    assert!(graph.end_recording_of(&q2).unwrap());
}

#[device_test]
fn what_is_refused_leaves_no_node(context: Context, queue: Queue) {
    let memory = context.alloc_device::<u32>(8).unwrap();
    let event = queue.fill(&memory, 1).unwrap();
    let elsewhere = Context::new(context.device()).unwrap().alloc_device::<u32>(8).unwrap();
    let refused = || Command::parallel_for(8, number(&elsewhere, 1)).after(&event);
    let accepted = || Command::parallel_for(8, number(&memory, 1)).after(&event);
    let graph = Graph::from_queue(&queue);
    graph.add(refused()).unwrap_err();
    graph.add(Command::barrier().after(&event)).unwrap_err();
    DynamicCommandGroup::new(&graph, [accepted(), refused()]).unwrap_err();
    DynamicCommandGroup::new(&graph, [accepted(), Command::host_task(|| ())]).unwrap_err();
    let recording = graph.record(&queue).unwrap();
    queue.submit(refused()).unwrap_err();
    recording.end();
    assert_eq!((graph.len(), graph.external_events().len()), (0, 0));
    graph.add(accepted()).unwrap();
    assert_eq!((graph.len(), graph.external_events().len()), (2, 1));
}

#[device_test]
fn a_graph_is_drawn_while_its_body_is_updated(context: Context, queue: Queue) {
    let memory = context.alloc_device::<u32>(8).unwrap();
    let graph = Graph::from_queue(&queue);
    let first = DynamicParameter::new(&graph, 1_u32);
    graph.add(Command::parallel_for(8, number(&memory, &first))).unwrap();
    let body = graph.finalizer().updatable().finalize().unwrap();
    graph.add(Command::repeat(1, &body)).unwrap();
    let (done, is_done) = channel();
    let drawn = done.clone();
    std::thread::spawn(move || {
        (0..20_000).for_each(|_| assert!(graph.to_dot(Detail::Brief).contains("repeat")));
        drawn.send(()).unwrap();
    });
    std::thread::spawn(move || {
        (0..20_000).for_each(|value| body.set(&first, value).unwrap());
        done.send(()).unwrap();
    });
    for _ in 0..2 {
        is_done.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
