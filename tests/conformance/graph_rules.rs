//! Combined rules of graphs: operations that fail half-way, nodes that do nothing, graphs that are
//! submitted within themselves.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use oclave::graph::{ExecutableGraph, NodeType, QueueState};
use oclave::kernel::NdRange;
use oclave::memory::HostTarget;
use oclave::{Command, Context, ErrorKind, Graph, Queue};

use super::graph_support::{advance_by, edges, in_order, out_of_order, task, ways};
use super::kernels::buffers;

#[device_test(in_order)]
fn g_rec_001_no_queue_and_one_queue_twice((queue, graph): (Queue, Graph)) {
    let none: [&Queue; 0] = [];
    assert!(!graph.begin_recording(&none).unwrap() && !graph.end_recording_of(&none).unwrap());
    assert!(graph.begin_recording(&[&queue, &queue.clone()]).unwrap());
    queue.submit(task()).unwrap();
    queue.submit(task()).unwrap();
    assert!(graph.end_recording_of(&[&queue, &queue]).unwrap());
    assert_eq!((edges(&graph), queue.state()), (vec![vec![], vec![0]], QueueState::Executing));
}

/// Section 7.5.5: the device must be of the context.
#[device_test(in_order)]
fn g_prp_004_a_device_of_another_context((queue, _): (Queue, Graph)) {
    let Ok(parts) = queue.device().partition_equally(1) else { skip!("the device has no parts") };
    let [one, two, ..] = parts.as_slice() else { skip!("the device has one part") };
    let context = Context::builder(std::slice::from_ref(one)).build().unwrap();
    assert_eq!(Graph::new(&context, two).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(Graph::new(&context, one).unwrap().device(), one);
}

/// A command that was refused has no place among those of its queue (section 7.11.4).
#[device_test(in_order)]
fn g_ino_001_a_refused_command_is_no_link((queue, graph): (Queue, Graph)) {
    let memory = queue.context().alloc_device::<u32>(4).unwrap();
    let recording = graph.record(&queue).unwrap();
    queue.submit(task()).unwrap();
    let refused = || Command::write(&memory, vec![0_u32; 3]);
    assert_eq!(queue.submit(refused()).unwrap_err().kind(), ErrorKind::Invalid);
    // Neither waits nor anything else that a queue can do makes nodes.
    queue.flush().unwrap();
    assert!(queue.wait().is_err());
    queue.submit(task()).unwrap();
    recording.end();
    assert_eq!(edges(&graph), [vec![], vec![0]]);
}

/// A graph may be finalized while it is recorded; the executable has what was there.
#[test]
fn g_exp_010_finalized_while_a_queue_records() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        graph.begin_recording(&way.queue).unwrap();
        let first = way.queue.submit(advance_by(&values, 3, 0)).unwrap();
        let early = way.finalize(&graph);
        way.queue.after(&[&first]).submit(advance_by(&values, 1, 1)).unwrap();
        let late = way.finalize(&graph);
        graph.end_recording();
        assert_eq!((early.len(), late.len()), (1, 2));
        way.queue.submit_graph(&early).unwrap().wait().unwrap();
        way.queue.submit_graph(&late).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [10; 8]);
    }
}

/// Commands with nothing to do are nodes like others: their successors wait for their predecessors.
#[test]
fn g_exp_005_commands_of_no_size() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let none = values.slice(3..3).unwrap();
        let target = HostTarget::<u32>::new(0).unwrap();
        let graph = way.graph();
        let commands = [
            Command::parallel_for(0, buffers::advance(&values, 0, 0)),
            advance_by(&values, 2, 1),
            Command::parallel_for([4, 0], buffers::advance(&values, 0, 0)),
            Command::fill(&none, 7),
            Command::copy(&none, &values.slice(5..5).unwrap()),
            advance_by(&values, 5, 0),
            Command::memset(&none, 1),
            Command::write(&none, Vec::<u32>::new()),
            Command::read(&none, &target),
            Command::prefetch(&none),
            advance_by(&values, 1, 1),
            Command::parallel_for(0, buffers::advance(&values, 0, 0)),
        ];
        for command in commands {
            graph.after_all_leaves().add(command).unwrap();
        }
        way.run(&graph, 2);
        assert_eq!(way.queue.read(&values).unwrap(), [(((2 + 1) * 5 + 1) * 2 + 1) * 5 + 1; 8]);
        // Nothing else.
        let empty = way.graph();
        empty.add(Command::parallel_for(0, buffers::advance(&values, 0, 0))).unwrap();
        empty.add(Command::fill(&none, 7)).unwrap();
        let event = way.queue.submit_graph(&way.finalize(&empty)).unwrap();
        event.wait().unwrap();
        assert!(event.is_complete().unwrap());
        assert_eq!(way.queue.read(&values).unwrap(), [166; 8]);
    }
}

/// Ids of work-items begin where the range says, in groups or not.
#[test]
fn g_krn_004_ranges_with_offsets() {
    for way in ways() {
        let values = way.device(&[1_u32; 32]);
        let graph = way.graph();
        let call = |addend| buffers::advance(&values, 1, addend);
        for range in [NdRange::from(8).with_offset(4), NdRange::new(16, 4).with_offset(8)] {
            graph.after_all_leaves().add(Command::parallel_for(range, call(10))).unwrap();
        }
        graph.after_all_leaves().add(Command::parallel_for(2, call(100))).unwrap();
        way.run(&graph, 2);
        let expected = |item: usize| {
            1 + 20 * u32::from((4..12).contains(&item))
                + 20 * u32::from((8..24).contains(&item))
                + 200 * u32::from(item < 2)
        };
        assert_eq!(way.queue.read(&values).unwrap(), (0..32).map(expected).collect::<Vec<_>>());
    }
}

/// Section 7.6.2, by commands other than kernels.
#[device_test(out_of_order)]
fn g_qst_007_graphs_and_barriers_let_queues_join(([a, b, c, d], graph): ([Queue; 4], Graph)) {
    let executable = Graph::from_queue(&a).finalize().unwrap();
    graph.begin_recording(&a).unwrap();
    let first = a.submit(task()).unwrap();
    b.after(&[&first]).submit_graph(&executable).unwrap();
    c.after(&[&first]).barrier().unwrap();
    d.after(&[&first]).marker().unwrap();
    for queue in [&b, &c, &d] {
        assert_eq!(queue.graph().unwrap(), graph);
        queue.submit(task()).unwrap();
    }
    graph.end_recording();
    let types: Vec<NodeType> = graph.nodes().iter().map(|node| node.node_type()).collect();
    assert_eq!(types[1], NodeType::Subgraph);
    // Only what follows a barrier waits for it.
    assert_eq!(edges(&graph), [vec![], vec![0], vec![0], vec![0], vec![], vec![2], vec![]]);
}

/// A graph may hold an earlier state of itself.
#[test]
fn g_sub_005_within_its_own_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        graph.add(advance_by(&values, 2, 1)).unwrap();
        for nodes in [2, 4, 8] {
            let earlier = way.finalize(&graph);
            graph.after_all_leaves().add(&earlier).unwrap();
            assert_eq!(way.finalize(&graph).len(), nodes);
        }
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [(1 << 9) - 1; 8]);
    }
}

/// A host task that submits its own graph: the new submission follows the running one (section
/// 7.6.5).
#[test]
fn g_hst_001_a_task_submits_its_own_graph() {
    const RUNS: u32 = 4;
    for way in ways() {
        let way = way.alone();
        let values = way.device(&[0_u32; 8]);
        let (runs, own) = (Arc::new(AtomicU32::new(0)), Arc::new(OnceLock::<ExecutableGraph>::new()));
        let (count, executable) = (Arc::clone(&runs), Arc::downgrade(&own));
        let queue = Queue::new(way.context()).unwrap();
        let task = Command::host_task(move || {
            let own = executable.upgrade();
            match own.as_ref().and_then(|own| own.get()) {
                Some(own) if count.fetch_add(1, Ordering::SeqCst) + 1 < RUNS => {
                    queue.submit_graph(own).map(drop)
                }
                _ => Ok(()),
            }
        });
        let graph = way.graph();
        graph.add(advance_by(&values, 1, 1)).unwrap();
        graph.after_all_leaves().add(task).unwrap();
        graph.after_all_leaves().add(advance_by(&values, 10, 0)).unwrap();
        let executable = own.get_or_init(|| way.finalize(&graph));
        way.queue.submit_graph(executable).unwrap().wait().unwrap();
        while runs.load(Ordering::SeqCst) < RUNS {
            std::thread::yield_now();
        }
        // Behind all that were submitted.
        way.queue.submit_graph(executable).unwrap().wait().unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), RUNS + 1);
        assert_eq!(way.queue.read(&values).unwrap(), [111_110; 8]);
    }
}

/// A graph waits for commands of another context, and the other way round.
#[test]
fn g_evt_004_across_contexts() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let other = Queue::new(&Context::new(way.queue.device()).unwrap()).unwrap();
        let theirs = other.context().alloc_device::<u32>(8).unwrap();
        other.fill(&theirs, 1).unwrap();
        let (ours, second) = (way.graph(), Graph::from_queue(&other));
        ours.add(advance_by(&values, 2, 1)).unwrap();
        second.add(advance_by(&theirs, 2, 1)).unwrap();
        let (ours, second) = (way.finalize(&ours), second.finalize().unwrap());
        let mut event = way.queue.submit_graph(&ours).unwrap();
        for _ in 0..3 {
            let there = other.after(&[&event]).submit_graph(&second).unwrap();
            event = way.queue.after(&[&there]).submit_graph(&ours).unwrap();
        }
        event.wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [31; 8]);
        assert_eq!(other.read(&theirs).unwrap(), [15; 8]);
    }
}

/// An executable that is finalized while threads add nodes has a prefix of the graph, with all
/// edges of its nodes.
#[test]
fn g_thr_004_finalized_while_others_add() {
    const NODES: u32 = 200;
    for way in ways() {
        let values = way.device(&[0_u32; 8]);
        let graph = way.graph();
        let executables = std::thread::scope(|scope| {
            let adding = scope.spawn(|| {
                for _ in 0..NODES {
                    graph.after_all_leaves().add(advance_by(&values, 1, 1)).unwrap();
                }
            });
            let mut executables = Vec::new();
            while !adding.is_finished() && executables.len() < 20 {
                executables.push(way.finalize(&graph));
            }
            adding.join().unwrap();
            executables.push(way.finalize(&graph));
            executables
        });
        let mut sum = 0;
        for executable in &executables {
            assert!(executable.partitions().iter().all(|partition| partition.linear));
            way.queue.submit_graph(executable).unwrap().wait().unwrap();
            sum += executable.len() as u32;
        }
        assert_eq!(executables.last().unwrap().len(), NODES as usize);
        assert_eq!(way.queue.read(&values).unwrap(), [sum; 8]);
    }
}

/// Handles of a graph may go while its queue is recorded to by another thread (section 7.8).
#[device_test(in_order)]
fn g_thr_008_a_graph_that_goes_while_others_record((queue, _): (Queue, Graph)) {
    for _ in 0..50 {
        let graph = Graph::from_queue(&queue);
        graph.begin_recording(&queue).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20 {
                    // A node, or a task that runs.
                    drop(queue.submit(task()).unwrap());
                }
            });
            drop(graph);
        });
        assert_eq!(queue.state(), QueueState::Executing);
    }
    queue.wait().unwrap();
}
