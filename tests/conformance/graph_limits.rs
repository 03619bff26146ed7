//! What graphs refuse, and graphs in many threads: G-ERR, G-THR.

use std::sync::Barrier;

use oclave::graph::{Node, QueueState};
use oclave::memory::HostTarget;
use oclave::{Command, Context, Error, ErrorKind, Event, Graph, Queue};

use super::graph_support::{edges, in_order, node, out_of_order, task};
use super::kernels::saxpy::saxpy;

#[track_caller]
fn invalid<T: std::fmt::Debug>(result: Result<T, Error>, says: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(format!("{error:#}").contains(says), "{error}");
}

#[device_test(in_order)]
fn g_err_001_waits((queue, graph): (Queue, Graph)) {
    let other = Queue::new(queue.context()).unwrap();
    let recording = graph.record(&queue).unwrap();
    let event = queue.submit(task()).unwrap();
    invalid(queue.wait(), "end the recording");
    let refused = |event: &Event| {
        invalid(event.wait(), "recorded");
        invalid(event.status(), "recorded");
        invalid(event.is_complete(), "recorded");
        invalid(event.profiling(), "recorded");
    };
    refused(&event);
    other.wait().unwrap();
    recording.end();
    refused(&event);
    queue.wait().unwrap();
    drop(graph);
    refused(&event);
}

#[device_test(in_order)]
fn g_err_001_copies_that_wait((queue, graph): (Queue, Graph)) {
    let memory = queue.context().alloc_device::<u32>(4).unwrap();
    let mut host = [0_u32; 4];
    let recording = graph.record(&queue).unwrap();
    invalid(queue.write(&memory, &[1_u32; 4]), "Command::write");
    invalid(queue.read_into(&memory, &mut host), "Command::read");
    invalid(queue.read(&memory), "Command::read");
    invalid(queue.read_async(&memory), "Command::read");
    // What to do instead.
    let target = HostTarget::<u32>::new(4).unwrap();
    queue.submit(Command::write(&memory, vec![1_u32; 4])).unwrap();
    queue.submit(Command::read(&memory, &target)).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [vec![], vec![0]]);
    assert_eq!(target.to_vec().unwrap(), [0; 4]);
}

#[device_test(in_order)]
fn g_err_002_events_from_outside((queue, graph): (Queue, Graph)) {
    let before = queue.marker().unwrap();
    // Beyond section 7.11.1: they become inputs, see EXT.
    graph.add(task().after(&before)).unwrap();
    let recording = graph.record(&queue).unwrap();
    queue.after(&[&before]).marker().unwrap();
    let recorded = queue.submit(task()).unwrap();
    recording.end();
    invalid(queue.submit(task().after(&recorded)), "recording has ended");
    invalid(
        queue.after(&[&recorded]).write(&queue.context().alloc_device(0).unwrap(), &[0_u32; 0]),
        "recorded",
    );
    graph.add(task().after(&recorded)).unwrap();
    let expected = vec![vec![], vec![0], vec![0], vec![2], vec![3]];
    assert_eq!((edges(&graph), queue.state()), (expected, QueueState::Executing));
}

#[device_test(in_order)]
fn g_err_003_edges((queue, graph): (Queue, Graph)) {
    let other = Graph::from_queue(&queue);
    let foreign = other.add(task()).unwrap();
    let nodes: Vec<Node> = (0..3).map(|_| graph.add(task()).unwrap()).collect();
    graph.make_edge(&nodes[0], &nodes[1]).unwrap();
    graph.make_edge(&nodes[1], &nodes[2]).unwrap();
    invalid(graph.make_edge(&nodes[0], &nodes[0]), "to itself");
    invalid(graph.make_edge(&nodes[0], &foreign), &format!("belongs to graph {}", other.id()));
    invalid(graph.make_edge(&foreign, &nodes[0]), "belongs to graph");
    invalid(graph.after(&foreign).add(task()), "belongs to graph");
    invalid(graph.after(&[&nodes[0], &foreign]).add(Command::empty()), "belongs to graph");
    invalid(
        graph.make_edge(&nodes[2], &nodes[0]),
        "cycle: 0 (host_task) → 1 (host_task) → 2 (host_task) → 0",
    );
    let recording = graph.record(&queue).unwrap();
    invalid(graph.make_edge(&nodes[0], &nodes[2]), "while a queue records");
    recording.end();
    assert_eq!(edges(&graph), [vec![], vec![0], vec![1]]);
}

#[device_test(in_order)]
fn g_err_004_device_globals_must_be_allowed((queue, graph): (Queue, Graph)) {
    use super::kernels::globals_access::ACCESS_READ_WRITE as COUNTER;
    let memory = queue.context().alloc_device::<i32>(1).unwrap();
    let command = || Command::copy(&COUNTER.slice(..1).unwrap(), &memory);
    invalid(graph.add(command()), "allow_device_globals");
    let recording = graph.record(&queue).unwrap();
    invalid(queue.submit(command()), "allow_device_globals");
    recording.end();
    assert!(graph.is_empty());
    let allowing = Graph::builder(queue.context(), queue.device()).allow_device_globals().build().unwrap();
    allowing.add(command()).unwrap();
    let recording = allowing.record(&queue).unwrap();
    queue.submit(command()).unwrap();
    recording.end();
    assert_eq!(allowing.len(), 2);
}

#[device_test(in_order)]
fn g_err_004_what_a_queue_refuses_is_refused_at_once((queue, graph): (Queue, Graph)) {
    let context = queue.context();
    let foreign = Context::new(queue.device()).unwrap().alloc_device::<f32>(8).unwrap();
    let (x, short) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(4).unwrap());
    let target = HostTarget::<f32>::new(4).unwrap();
    let refused = [
        (Command::parallel_for(8, saxpy(1.0, &x, &foreign)), ErrorKind::Invalid),
        (Command::fill(&foreign, 1.0), ErrorKind::Invalid),
        (Command::copy(&x, &foreign), ErrorKind::Invalid),
        (Command::copy(&x, &short), ErrorKind::Invalid),
        (Command::copy(&x.slice(0..4).unwrap(), &x.slice(2..6).unwrap()), ErrorKind::Invalid),
        (Command::write(&x, vec![0.0_f32; 4]), ErrorKind::Invalid),
        (Command::read(&x, &target), ErrorKind::Invalid),
        (Command::parallel_for([usize::MAX, 2], saxpy(1.0, &x, &x)), ErrorKind::NdRange),
    ];
    for (command, kind) in refused {
        let eager = queue.submit(command.clone()).unwrap_err();
        let added = graph.add(command.clone()).unwrap_err();
        let recording = graph.record(&queue).unwrap();
        let recorded = queue.submit(command).unwrap_err();
        recording.end();
        assert_eq!([eager.kind(), added.kind(), recorded.kind()], [kind; 3], "{eager}; {added}; {recorded}");
        assert!(added.to_string().contains(&format!("graph {}", graph.id())), "{added}");
    }
    assert!(graph.is_empty());
}

const THREADS: usize = 8;

/// Runs it in threads that begin together.
fn in_threads(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(thread);
            });
        }
    });
}

/// The diamonds in a graph: sorted by where they are in it, each with the edges inside.
fn assert_diamonds(graph: &Graph, diamonds: usize) {
    assert_eq!(
        (graph.len(), graph.edge_count(), graph.roots().len()),
        (4 * diamonds, 4 * diamonds, diamonds)
    );
    for root in graph.roots() {
        let middle = root.successors();
        assert_eq!(middle.len(), 2);
        let ends: Vec<Vec<Node>> = middle.iter().map(Node::successors).collect();
        assert_eq!((ends[0].len(), &ends[0]), (1, &ends[1]));
        assert_eq!(ends[0][0].predecessors(), middle);
    }
}

#[device_test(out_of_order)]
fn g_thr_001_queues_recorded_by_threads(([first], graph): ([Queue; 1], Graph)) {
    let context = first.context().clone();
    in_threads(|_| {
        let queue = Queue::builder(&context).out_of_order().build().unwrap();
        for _ in 0..20 {
            let recording = graph.record(&queue).unwrap();
            let a = queue.submit(task()).unwrap();
            let b = queue.submit(task().after(&a)).unwrap();
            let c = queue.submit(task().after(&a)).unwrap();
            queue.submit(task().after(&[&b, &c])).unwrap();
            recording.end();
        }
    });
    assert_diamonds(&graph, 20 * THREADS);
}

#[device_test(in_order)]
fn g_thr_002_nodes_added_by_threads((_, graph): (Queue, Graph)) {
    in_threads(|_| {
        for _ in 0..20 {
            let [a, b, c] = [(); 3].map(|()| graph.add(task()).unwrap());
            graph.make_edge(&a, &b).unwrap();
            graph.make_edge(&a, &c).unwrap();
            graph.after(&[&b, &c]).add(task()).unwrap();
        }
    });
    assert_diamonds(&graph, 20 * THREADS);
}

#[test]
fn g_thr_003_one_queue_in_many_threads() {
    for out_of_order in [false, true] {
        let Some((queue, graph)) = in_order() else { return };
        let builder = Queue::builder(queue.context());
        let queue = if out_of_order { builder.out_of_order() } else { builder }.build().unwrap();
        let recording = graph.record(&queue).unwrap();
        in_threads(|_| (0..50).for_each(|_| drop(queue.submit(task()).unwrap())));
        recording.end();
        let nodes = 50 * THREADS;
        assert_eq!(graph.len(), nodes);
        if out_of_order {
            assert_eq!(graph.edge_count(), 0);
        } else {
            let chain: Vec<Vec<usize>> =
                (0..nodes).map(|node| node.checked_sub(1).into_iter().collect()).collect();
            assert_eq!(edges(&graph), chain);
        }
    }
}

#[device_test(out_of_order)]
fn g_thr_003_joining_in_many_threads(([queue], graph): ([Queue; 1], Graph)) {
    let context = queue.context().clone();
    let recording = graph.record(&queue).unwrap();
    let root = queue.submit(task()).unwrap();
    in_threads(|_| {
        let own = Queue::builder(&context).out_of_order().build().unwrap();
        let mut last = root.clone();
        for _ in 0..20 {
            last = own.submit(task().after(&last)).unwrap();
            let again = Queue::builder(&context).out_of_order().build().unwrap();
            again.submit(Command::empty().after(&last)).unwrap();
        }
    });
    recording.end();
    assert_eq!((graph.len(), graph.edge_count()), (1 + 40 * THREADS, 40 * THREADS));
    assert_eq!(node(&root).successors().len(), THREADS);
}

#[device_test(in_order)]
fn g_thr_008_states_seen_from_other_threads((queue, graph): (Queue, Graph)) {
    let other = Graph::from_queue(&queue);
    in_threads(|thread| {
        for _ in 0..200 {
            match thread {
                0 | 1 => {
                    let graph = if thread == 0 { &graph } else { &other };
                    if graph.begin_recording(&queue).is_ok() {
                        queue.submit(task()).unwrap();
                        graph.end_recording();
                    }
                }
                2 => drop(Graph::from_queue(&queue).begin_recording(&queue)),
                _ => {
                    assert!(matches!(queue.state(), QueueState::Executing | QueueState::Recording));
                    if let Ok(seen) = queue.graph() {
                        assert!(seen.len() <= 400 && !seen.to_dot(oclave::graph::Detail::Verbose).is_empty());
                    }
                }
            }
        }
    });
    assert_eq!(queue.state(), QueueState::Executing);
    queue.marker().unwrap().wait().unwrap();
}
