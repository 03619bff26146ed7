//! Recording queues: G-REC, G-QST, G-INO, G-BAR.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oclave::device::mask::Mask;
use oclave::graph::{NodeType, QueueState};
use oclave::{Command, Context, ErrorKind, Graph, Queue};

use super::graph_support::{edges, in_order, node, out_of_order, task};

const NONE: Vec<usize> = Vec::new();

fn second_queue(queue: &Queue) -> Queue {
    Queue::new(queue.context()).unwrap()
}

#[device_test(out_of_order)]
fn g_rec_001_begin_and_end_tell_whether_they_changed_anything(([a, b], graph): ([Queue; 2], Graph)) {
    assert!(graph.begin_recording(&a).unwrap());
    assert!(!graph.begin_recording(&a).unwrap());
    assert!(graph.begin_recording(&[&a, &b]).unwrap(), "one of them is new");
    assert!(!graph.begin_recording(&[a.clone(), b.clone()]).unwrap());
    assert!(graph.end_recording_of(&a).unwrap());
    assert!(!graph.end_recording_of(&a).unwrap());
    assert!(graph.end_recording_of(&vec![&a, &b]).unwrap());
    assert!(!graph.end_recording());
    assert!(graph.begin_recording(&b).unwrap() && graph.end_recording());
}

#[device_test(out_of_order)]
fn g_rec_003_end_for_all(([a, b], graph): ([Queue; 2], Graph)) {
    graph.begin_recording(&[&a, &b]).unwrap();
    assert!(graph.is_recording() && graph.end_recording() && !graph.is_recording());
    assert_eq!((a.state(), b.state()), (QueueState::Executing, QueueState::Executing));
    assert!(!graph.end_recording_of(&a).unwrap());
}

#[device_test(in_order)]
fn g_rec_005_a_queue_is_itself_before_and_after((queue, graph): (Queue, Graph)) {
    let memory = queue.context().alloc_device::<u32>(4).unwrap();
    queue.fill(&memory, 1).unwrap();
    let recording = graph.record(&queue).unwrap();
    let recorded = queue.fill(&memory, 2).unwrap();
    recording.end();
    assert_eq!(queue.read(&memory).unwrap(), [1; 4], "what was recorded has not run");
    queue.fill(&memory, 3).unwrap().wait().unwrap();
    assert_eq!(queue.read(&memory).unwrap(), [3; 4]);
    let recording = graph.record(&queue).unwrap();
    queue.fill(&memory, 4).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0]], "commands that ran are not in between");
    assert_eq!(node(&recorded).index(), 0);
    assert_eq!(queue.read(&memory).unwrap(), [3; 4]);
}

#[device_test(in_order)]
fn g_rec_006_adding_while_recording((queue, graph): (Queue, Graph)) {
    let recording = graph.record(&queue).unwrap();
    let recorded = node(&queue.submit(task()).unwrap());
    let added = graph.add(task()).unwrap();
    queue.submit(task()).unwrap();
    let refused = graph.make_edge(&recorded, &added).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("while a queue records"), "{refused}");
    assert_eq!(edges(&graph), [NONE, NONE, vec![0]]);
    recording.end();
    graph.make_edge(&recorded, &added).unwrap();
    assert_eq!(edges(&graph), [NONE, vec![0], vec![0]]);
}

#[device_test(in_order)]
fn g_rec_007_the_node_of_an_event((queue, graph): (Queue, Graph)) {
    let recording = graph.record(&queue).unwrap();
    let event = queue.submit(task()).unwrap();
    recording.end();
    let recorded = node(&event);
    assert_eq!(graph.nodes(), vec![recorded.clone()]);
    let behind = graph.after(&recorded).add(task()).unwrap();
    let last = graph.add(task()).unwrap();
    graph.make_edge(&recorded, &last).unwrap();
    let by_event = graph.add(task().after(&event)).unwrap();
    assert_eq!(recorded.successors(), [behind, last, by_event]);
    let eager = queue.marker().unwrap();
    assert_eq!(oclave::graph::Node::from_event(&eager).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test(in_order)]
fn g_rec_008_the_queue_goes_first((queue, graph): (Queue, Graph)) {
    let second = second_queue(&queue);
    graph.begin_recording(&second).unwrap();
    let event = second.submit(task()).unwrap();
    drop(second);
    assert!(!graph.is_recording(), "a queue that is gone does not record");
    let other = graph.add(task()).unwrap();
    graph.make_edge(&node(&event), &other).unwrap();
    assert_eq!(edges(&graph), [NONE, vec![0]]);
}

#[device_test(in_order)]
fn g_rec_008_the_graph_goes_first((queue, graph): (Queue, Graph)) {
    let copy = graph.clone();
    graph.begin_recording(&queue).unwrap();
    let event = queue.submit(task()).unwrap();
    drop(graph);
    assert_eq!(queue.state(), QueueState::Recording, "there is another handle");
    let kept = node(&event);
    drop(copy);
    assert_eq!(queue.state(), QueueState::Executing, "section 7.8");
    assert_eq!(queue.graph().unwrap_err().kind(), ErrorKind::Invalid);
    queue.marker().unwrap().wait().unwrap();
    assert_eq!(kept.node_type(), NodeType::HostTask, "a node keeps its data");
    assert_eq!(queue.submit(task().after(&event)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test(in_order)]
fn g_rec_008_errors_leave_no_queue_recording((queue, _): (Queue, Graph)) {
    let fails = |queue: &Queue| -> oclave::Result<()> {
        let graph = Graph::from_queue(queue);
        graph.begin_recording(queue)?;
        let recording = graph.record(queue)?;
        queue.wait()?;
        recording.end();
        Ok(())
    };
    assert_eq!(fails(&queue).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.state(), QueueState::Executing);
}

#[device_test(in_order)]
fn g_rec_009_a_pause((queue, graph): (Queue, Graph)) {
    let memory = queue.context().alloc_device::<u32>(4).unwrap();
    for part in 0..3 {
        let recording = graph.record(&queue).unwrap();
        queue.fill(&memory, part).unwrap();
        queue.submit(task()).unwrap();
        recording.end();
        queue.fill(&memory, 100 + part).unwrap();
        assert_eq!(queue.read(&memory).unwrap(), [100 + part; 4]);
    }
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], vec![2], vec![3], vec![4]]);
}

#[device_test(out_of_order)]
fn g_rec_010_two_queues_one_graph(([a, b], graph): ([Queue; 2], Graph)) {
    let recording = graph.record(&[&a, &b]).unwrap();
    let first = a.submit(task()).unwrap();
    let second = b.submit(task().after(&first)).unwrap();
    let third = a.submit(task().after(&second)).unwrap();
    b.after(&[&first, &third]).submit(task()).unwrap();
    b.submit(task()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], vec![0, 2], NONE]);
}

#[device_test(out_of_order)]
fn g_rec_011_two_graphs_at_once(([a, b], graph): ([Queue; 2], Graph)) {
    let other = Graph::from_queue(&b);
    let (recording, other_recording) = (graph.record(&a).unwrap(), other.record(&b).unwrap());
    for _ in 0..3 {
        a.submit(task()).unwrap();
        b.submit(task()).unwrap();
    }
    // Beyond section 7.6.2: a recording inside of another one, see EXT-NES.
    assert!(graph.begin_recording(&b).unwrap());
    assert_eq!(b.graph().unwrap(), graph);
    assert!(graph.end_recording_of(&b).unwrap());
    assert_eq!(graph.end_recording_of(&b).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!((a.graph().unwrap(), b.graph().unwrap()), (graph.clone(), other.clone()));
    other_recording.end();
    recording.end();
    assert_eq!((graph.len(), other.len()), (3, 3));
}

#[device_test(out_of_order)]
fn g_rec_011_a_list_changes_all_or_nothing(([a, b], graph): ([Queue; 2], Graph)) {
    let other = Graph::from_queue(&b);
    graph.begin_recording(&b).unwrap();
    other.begin_recording(&b).unwrap();
    assert_eq!(graph.begin_recording(&[&a, &b]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!((a.state(), b.graph().unwrap()), (QueueState::Executing, other.clone()));
    graph.begin_recording(&a).unwrap();
    assert_eq!(graph.end_recording_of(&[&a, &b]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!((a.graph().unwrap(), b.graph().unwrap()), (graph.clone(), other.clone()));
}

#[device_test(out_of_order)]
fn g_rec_012_shortcuts_with_dependencies(([queue], graph): ([Queue; 1], Graph)) {
    let context = queue.context();
    let (x, y) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(8).unwrap());
    let saxpy = || super::kernels::saxpy::saxpy(1.0, &x, &y);
    let recording = graph.record(&queue).unwrap();
    let filled = queue.fill(&x, 1.0).unwrap();
    let set = queue.memset(&y, 0).unwrap();
    let ran = queue.after(&[&filled, &set]).parallel_for(8, saxpy()).unwrap();
    let copied = queue.after(&[&ran]).copy(&x, &y).unwrap();
    let written = queue.after(&[&copied]).write_async(&x, vec![1.0_f32; 8]).unwrap();
    let fetched = queue.after(&[&written]).prefetch(&x).unwrap();
    let single = queue.after(&[&fetched, &set]).single_task(saxpy()).unwrap();
    queue.after(&[&single]).submit(Command::mem_advise(&x, oclave::command::Advice::ReadMostly)).unwrap();
    recording.end();
    let chain = [NONE, NONE, vec![0, 1], vec![2], vec![3], vec![4], vec![1, 5], vec![6]];
    assert_eq!(edges(&graph), chain);

    // The same as commands.
    let commands = [
        Command::fill(&x, 1.0),
        Command::memset(&y, 0),
        Command::parallel_for(8, saxpy()),
        Command::copy(&x, &y),
        Command::write(&x, vec![1.0_f32; 8]),
        Command::prefetch(&x),
        Command::single_task(saxpy()),
        Command::mem_advise(&x, oclave::command::Advice::ReadMostly),
    ];
    let submitted = Graph::from_queue(&queue);
    let recording = submitted.record(&queue).unwrap();
    let mut events = Vec::new();
    for (command, after) in commands.into_iter().zip(&chain) {
        let command = after.iter().fold(command, |command, at| command.after(&events[*at]));
        events.push(queue.submit(command).unwrap());
    }
    recording.end();
    assert_eq!(edges(&submitted), chain);
    let types = |graph: &Graph| graph.nodes().iter().map(|node| node.node_type()).collect::<Vec<_>>();
    assert_eq!(types(&submitted), types(&graph));
}

#[device_test(in_order)]
fn g_rec_015_a_library_restarts_the_recording((queue, graph): (Queue, Graph)) {
    let library = |queue: &Queue| {
        let graph = queue.graph().unwrap();
        graph.end_recording_of(queue).unwrap();
        queue.marker().unwrap().wait().unwrap();
        graph.begin_recording(queue).unwrap();
        queue.submit(task()).unwrap();
    };
    let recording = graph.record(&queue).unwrap();
    queue.submit(task()).unwrap();
    library(&queue);
    queue.submit(task()).unwrap();
    recording.end();
    assert_eq!((edges(&graph), queue.state()), (vec![NONE, vec![0], vec![1]], QueueState::Executing));
}

#[device_test(out_of_order)]
fn g_rec_016_empty_commands(([queue], graph): ([Queue; 1], Graph)) {
    let recording = graph.record(&queue).unwrap();
    let first = queue.submit(task()).unwrap();
    let empty = queue.submit(Command::empty().after(&first)).unwrap();
    queue.submit(task().after(&empty)).unwrap();
    queue.submit(Command::empty()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], NONE]);
    assert_eq!(graph.nodes()[3].node_type(), NodeType::Empty);
}

#[device_test(in_order)]
fn g_rec_019_host_code_in_between_runs_once((queue, graph): (Queue, Graph)) {
    let (described, ran) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let recording = graph.record(&queue).unwrap();
    let task = || {
        described.fetch_add(1, Ordering::SeqCst);
        let ran = Arc::clone(&ran);
        Command::host_task(move || {
            ran.fetch_add(1, Ordering::SeqCst);
        })
    };
    queue.submit(task()).unwrap();
    recording.end();
    assert_eq!((described.into_inner(), ran.load(Ordering::SeqCst)), (1, 0));
}

#[test]
fn g_rec_020_a_library_that_warms_up() {
    struct Library {
        warm: bool,
    }
    impl Library {
        fn work(&mut self, queue: &Queue) {
            if !std::mem::replace(&mut self.warm, true) {
                (0..3).for_each(|_| drop(queue.submit(Command::empty()).unwrap()));
            }
            queue.submit(Command::empty()).unwrap();
        }
    }
    let Some((queue, cold)) = in_order() else { return };
    let warm = Graph::from_queue(&queue);
    let mut library = Library { warm: false };
    for graph in [&cold, &warm] {
        let recording = graph.record(&queue).unwrap();
        library.work(&queue);
        recording.end();
    }
    assert_eq!((cold.len(), warm.len()), (4, 1));
}

#[device_test(in_order)]
fn g_qst_001_states((queue, graph): (Queue, Graph)) {
    assert_eq!(
        (queue.state(), queue.graph().unwrap_err().kind()),
        (QueueState::Executing, ErrorKind::Invalid)
    );
    graph.begin_recording(&queue).unwrap();
    assert_eq!((queue.state(), queue.graph().unwrap()), (QueueState::Recording, graph.clone()));
    assert_eq!(queue.clone().state(), QueueState::Recording, "of all handles");
    graph.end_recording();
    assert_eq!(queue.state(), QueueState::Executing);
    let recording = graph.record(&queue).unwrap();
    assert_eq!(queue.state(), QueueState::Recording);
    drop(recording);
    assert_eq!(queue.state(), QueueState::Executing);
}

#[device_test(out_of_order)]
fn g_qst_001_a_guard_leaves_what_recorded_before(([a, b], graph): ([Queue; 2], Graph)) {
    graph.begin_recording(&a).unwrap();
    let inner = graph.record(&[&a, &b]).unwrap();
    inner.end();
    assert_eq!((a.state(), b.state()), (QueueState::Recording, QueueState::Executing));
}

#[device_test(in_order)]
fn g_qst_005_other_contexts_do_not_join((queue, graph): (Queue, Graph)) {
    let foreign = Queue::new(&Context::new(queue.device()).unwrap()).unwrap();
    let recording = graph.record(&queue).unwrap();
    let event = queue.submit(task()).unwrap();
    for refused in [foreign.submit(task().after(&event)).map(drop), graph.begin_recording(&foreign).map(drop)]
    {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("another context or device"), "{error}");
    }
    recording.end();
    assert_eq!((foreign.state(), graph.len()), (QueueState::Executing, 1));
}

#[device_test(in_order)]
fn g_qst_005_other_devices_do_not_join((queue, _): (Queue, Graph)) {
    let Ok(parts) = queue.device().partition_equally(1) else { skip!("the device has no parts") };
    let [one, two, ..] = parts.as_slice() else { skip!("the device has one part") };
    let context = Context::builder(&[one.clone(), two.clone()]).build().unwrap();
    let graph = Graph::new(&context, one).unwrap();
    let on = |device| Queue::builder(&context).device(device).build().unwrap();
    let (queue, foreign) = (on(one), on(two));
    let recording = graph.record(&queue).unwrap();
    let event = queue.submit(task()).unwrap();
    assert_eq!(foreign.submit(task().after(&event)).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(graph.begin_recording(&foreign).unwrap_err().kind(), ErrorKind::Invalid);
    recording.end();
    assert_eq!(foreign.state(), QueueState::Executing);
}

#[device_test(out_of_order)]
fn g_qst_006_events_of_another_graph(([a, b], graph): ([Queue; 2], Graph)) {
    let other = Graph::from_queue(&b);
    let (recording, other_recording) = (graph.record(&a).unwrap(), other.record(&b).unwrap());
    let event = a.submit(task()).unwrap();
    for command in [task(), Command::barrier(), Command::marker()] {
        let error = b.submit(command.after(&event)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("another graph"), "{error}");
    }
    assert_eq!(other.add(task().after(&event)).unwrap_err().kind(), ErrorKind::Invalid);
    other_recording.end();
    recording.end();
    assert_eq!((graph.len(), other.len()), (1, 0));
}

#[device_test(out_of_order)]
fn g_qst_007_queues_join_through_events(([a, b, c], graph): ([Queue; 3], Graph)) {
    graph.begin_recording(&a).unwrap();
    let memory = a.context().alloc_device::<f32>(8).unwrap();
    let call = || super::kernels::saxpy::saxpy(1.0, &memory, &memory);
    let first = a.submit(task()).unwrap();
    let second = b.after(&[&first]).single_task(call()).unwrap();
    c.after(&[&second]).parallel_for(8, call()).unwrap();
    b.submit(task()).unwrap();
    assert_eq!([a.state(), b.state(), c.state()], [QueueState::Recording; 3]);
    assert_eq!(c.graph().unwrap(), graph);
    graph.end_recording();
    assert_eq!([a.state(), b.state(), c.state()], [QueueState::Executing; 3]);
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], NONE]);
}

#[device_test(out_of_order)]
fn g_qst_007_a_guard_ends_what_joined_it(([a, b, c], graph): ([Queue; 3], Graph)) {
    graph.begin_recording(&c).unwrap();
    let recording = graph.record(&a).unwrap();
    let first = a.submit(task()).unwrap();
    b.submit(task().after(&first)).unwrap();
    recording.end();
    assert_eq!(
        [a.state(), b.state(), c.state()],
        [QueueState::Executing, QueueState::Executing, QueueState::Recording]
    );
}

#[device_test(out_of_order)]
fn g_qst_007_a_refused_command_lets_nobody_join(([a, b], graph): ([Queue; 2], Graph)) {
    let recording = graph.record(&a).unwrap();
    let memory = b.context().alloc_device::<u32>(4).unwrap();
    let first = a.submit(task()).unwrap();
    let refused = b.submit(Command::write(&memory, vec![0_u32; 3]).after(&first)).unwrap_err();
    assert_eq!((refused.kind(), b.state()), (ErrorKind::Invalid, QueueState::Executing));
    recording.end();
    assert_eq!(graph.len(), 1);
}

#[device_test(in_order)]
fn g_ino_001_a_chain((queue, graph): (Queue, Graph)) {
    let recording = graph.record(&queue).unwrap();
    let events = [(); 3].map(|()| queue.submit(task()).unwrap());
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1]]);
    assert_eq!(events.map(|event| node(&event).index()), [0, 1, 2]);
}

#[test]
fn g_ino_002_empty_commands_in_the_chain() {
    for place in 0..3 {
        let Some((queue, graph)) = in_order() else { return };
        let recording = graph.record(&queue).unwrap();
        for at in 0..3 {
            queue.submit(if at == place { Command::empty() } else { task() }).unwrap();
        }
        recording.end();
        assert_eq!(edges(&graph), [NONE, vec![0], vec![1]]);
        assert_eq!(graph.nodes()[place].node_type(), NodeType::Empty);
    }
}

#[device_test(out_of_order)]
fn g_bar_001_a_barrier_joins(([queue], graph): ([Queue; 1], Graph)) {
    let recording = graph.record(&queue).unwrap();
    (0..3).for_each(|_| drop(queue.submit(task()).unwrap()));
    let barrier = queue.barrier().unwrap();
    (0..2).for_each(|_| drop(queue.submit(task()).unwrap()));
    recording.end();
    assert_eq!(edges(&graph), [NONE, NONE, NONE, vec![0, 1, 2], vec![3], vec![3]]);
    assert_eq!((graph.roots().len(), node(&barrier).successors().len()), (3, 2));
}

#[device_test(out_of_order)]
fn g_bar_001_barriers_behind_barriers(([queue], graph): ([Queue; 1], Graph)) {
    let recording = graph.record(&queue).unwrap();
    let events = [(); 3].map(|()| queue.submit(task()).unwrap());
    queue.submit(Command::barrier().after(&[&events[0], &events[1]])).unwrap();
    (0..2).for_each(|_| drop(queue.submit(task()).unwrap()));
    queue.barrier().unwrap();
    queue.barrier().unwrap();
    queue.submit(task()).unwrap();
    recording.end();
    let expected = [NONE, NONE, NONE, vec![0, 1], vec![3], vec![3], vec![2, 4, 5], vec![6], vec![7]];
    assert_eq!(edges(&graph), expected);
}

#[device_test(out_of_order)]
fn g_bar_001_markers_join_and_hold_nobody_up(([queue], graph): ([Queue; 1], Graph)) {
    let recording = graph.record(&queue).unwrap();
    (0..2).for_each(|_| drop(queue.submit(task()).unwrap()));
    queue.marker().unwrap();
    queue.submit(task()).unwrap();
    queue.barrier().unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, NONE, vec![0, 1], NONE, vec![2, 3]]);
}

#[device_test(out_of_order)]
fn g_bar_002_a_barrier_with_a_list(([queue], graph): ([Queue; 1], Graph)) {
    let recording = graph.record(&queue).unwrap();
    let events = [(); 3].map(|()| queue.submit(task()).unwrap());
    queue.after(&[&events[0], &events[1]]).barrier().unwrap();
    queue.submit(task().after(&events[2])).unwrap();
    queue.submit(task()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, NONE, NONE, vec![0, 1], vec![2, 3], vec![3]]);
}

#[device_test(out_of_order)]
fn g_bar_003_a_list_of_another_queue(([a, b], graph): ([Queue; 2], Graph)) {
    let recording = graph.record(&[&a, &b]).unwrap();
    let events = [(); 3].map(|()| a.submit(task()).unwrap());
    b.submit(Command::barrier().after(&[&events[1]])).unwrap();
    (0..2).for_each(|_| drop(b.submit(task()).unwrap()));
    a.submit(task()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, NONE, NONE, vec![1], vec![3], vec![3], NONE]);
}

#[device_test(out_of_order)]
fn g_bar_003_a_barrier_knows_its_own_queue_only(([a, b], graph): ([Queue; 2], Graph)) {
    let recording = graph.record(&[&a, &b]).unwrap();
    let first = a.submit(task()).unwrap();
    b.submit(task().after(&first)).unwrap();
    graph.add(task()).unwrap();
    a.barrier().unwrap();
    recording.end();
    assert_eq!(
        edges(&graph),
        [NONE, vec![0], NONE, vec![0]],
        "a node that only other queues wait for is a leaf"
    );
}

#[device_test(out_of_order)]
fn g_bar_004_lists_of_both_queues(([a, b], graph): ([Queue; 2], Graph)) {
    let recording = graph.record(&[&a, &b]).unwrap();
    let first = a.submit(task()).unwrap();
    let second = a.submit(task()).unwrap();
    let third = b.submit(task()).unwrap();
    let barrier = b.submit(Command::barrier().after(&[&first, &second, &third])).unwrap();
    let fifth = b.submit(task()).unwrap();
    let sixth = a.submit(task()).unwrap();
    b.submit(Command::barrier().after(&[&barrier, &fifth, &sixth])).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, NONE, NONE, vec![0, 1, 2], vec![3], NONE, vec![3, 4, 5]]);
}

#[test]
fn g_bar_007_in_order_queues() {
    for own in [false, true] {
        let Some((a, graph)) = in_order() else { return };
        let b = second_queue(&a);
        let recording = graph.record(&[&a, &b]).unwrap();
        let first = a.submit(task()).unwrap();
        if own {
            b.submit(task()).unwrap();
        }
        b.submit(Command::barrier().after(&[&first])).unwrap();
        b.submit(task()).unwrap();
        recording.end();
        let expected = if own { vec![NONE, NONE, vec![0, 1], vec![2]] } else { vec![NONE, vec![0], vec![1]] };
        assert_eq!(edges(&graph), expected);
    }
    let Some((queue, graph)) = in_order() else { return };
    let recording = graph.record(&queue).unwrap();
    (0..2).for_each(|_| drop(queue.submit(task()).unwrap()));
    queue.submit(Command::barrier()).unwrap();
    queue.submit(task()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], vec![2]]);
}

#[device_test(in_order)]
fn g_bar_010_sessions_between_every_step((a, graph): (Queue, Graph)) {
    let b = second_queue(&a);
    let step = |queue: &Queue, command: Command| {
        let recording = graph.record(&[&a, &b]).unwrap();
        let event = queue.submit(command).unwrap();
        recording.end();
        event
    };
    let first = step(&a, task());
    step(&a, Command::barrier().after(&[&first]));
    let third = step(&a, task());
    step(&b, task());
    step(&b, Command::barrier());
    let sixth = step(&b, task());
    step(&b, Command::barrier().after(&[&third, &sixth]));
    assert_eq!(edges(&graph), [NONE, vec![0], vec![1], NONE, vec![3], vec![4], vec![2, 5]]);
}

#[device_test(in_order)]
fn g_bar_013_no_barriers_by_hand((_, graph): (Queue, Graph)) {
    let first = graph.add(task()).unwrap();
    for command in [Command::barrier(), Command::marker()] {
        let error = graph.after(&first).add(command).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("empty node"), "{error}");
    }
    assert_eq!(graph.len(), 1);
}

#[device_test(in_order)]
fn g_bar_013_masks_do_not_matter((queue, _): (Queue, Graph)) {
    // The recorded commands depend on no capability of the device.
    let device = queue.device().masked(Mask::COMMAND_BUFFER);
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let graph = Graph::from_queue(&queue);
    let recording = graph.record(&queue).unwrap();
    queue.submit(task()).unwrap();
    queue.barrier().unwrap();
    recording.end();
    assert_eq!(edges(&graph), [NONE, vec![0]]);
}
