//! How graphs are built and drawn, where something is refused, ends early or happens at once.


use oclave::graph::QueueState;
use oclave::{Context, Graph, Queue};

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
