//! How graphs are built and drawn, where something is refused, ends early or happens at once.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::kernels::buffers::number;
use oclave::graph::{Detail, DynamicCommandGroup, DynamicParameter, QueueState};
use oclave::{Command, Context, Graph, Queue};

/// A queue that joined a recording because of an event stops with it. The event may be from outside, or of a queue
/// that records no more.
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

/// A recording that a user began on a queue that had joined does not end with the other one.
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

/// What a graph refuses leaves no node behind, not even for its events.
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

/// One thread draws a graph while another updates a body of it, which was made from the same graph.
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

/// The edges and frames of a drawing name nodes that it has, each once.
#[track_caller]
fn check_names(dot: &str) {
    let lines = || dot.lines().map(str::trim);
    let nodes: Vec<&str> = lines().filter_map(|line| Some(line.split_once(" [label=\"")?.0)).collect();
    let known: std::collections::HashSet<&str> = nodes.iter().copied().collect();
    assert_eq!(nodes.len(), known.len(), "a name stands there twice: {dot}");
    for line in lines().filter(|line| line.contains(" -> ")) {
        let edge = line.trim_end_matches(';').replace(" [style=dashed]", "");
        let (from, to) = edge.split_once(" -> ").unwrap();
        assert!(known.contains(from) && known.contains(to) && from != to, "{line} in {dot}");
    }
}

#[device_test]
fn drawings_with_sub_graphs_before_loops_name_their_nodes(context: Context, queue: Queue) {
    let memory = context.alloc_device::<u32>(8).unwrap();
    let command = || Command::parallel_for(8, number(&memory, 1));
    let sub = Graph::from_queue(&queue);
    (0..3).for_each(|_| drop(sub.after_all_leaves().add(command()).unwrap()));
    let body = Graph::from_queue(&queue);
    body.add(command()).unwrap();
    let graph = Graph::from_queue(&queue);
    graph.add(Command::graph(&sub.finalize().unwrap())).unwrap();
    graph.after_all_leaves().add(Command::repeat(2, &body)).unwrap();
    check_names(&graph.to_dot(Detail::Brief));
    let dot = graph.finalize().unwrap().to_dot(Detail::Brief);
    check_names(&dot);
    assert!(dot.contains("n1 -> n1_0_0 [style=dashed]"), "{dot}");
}

#[device_test]
fn drawings_of_poisoned_graphs_name_their_nodes(queue: Queue) {
    let graph = Graph::from_queue(&queue);
    let [a, b] = [(); 2].map(|()| graph.alloc::<u32>(8).unwrap());
    graph.add(Command::copy(&a, &b)).unwrap();
    let sub = Graph::from_queue(&queue);
    let own = sub.alloc::<u32>(8).unwrap();
    (0..2).for_each(|_| drop(sub.after_all_leaves().add(Command::parallel_for(8, number(&own, 1))).unwrap()));
    graph.after_all_leaves().add(Command::graph(&sub.finalizer().poison(7).finalize().unwrap())).unwrap();
    let dot = graph.finalizer().poison(7).finalize().unwrap().to_dot(Detail::Brief);
    check_names(&dot);
}
