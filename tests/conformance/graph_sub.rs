//! Sub-graphs: G-SUB.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oclave::graph::NodeType;
use oclave::{Command, Graph, Queue};

use super::graph_support::{Way, advance_by, edges, ways};

/// Doubles, and then adds one.
fn inner(way: &Way, values: &oclave::UsmSlice<u32, oclave::memory::usm::DeviceOnly>) -> Graph {
    let graph = way.graph();
    graph.add(advance_by(values, 2, 0)).unwrap();
    graph.after_all_leaves().add(advance_by(values, 1, 1)).unwrap();
    graph
}

#[test]
fn g_sub_001_between_two_kernels() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let sub = inner(&way, &values);
        let executable = way.finalize(&sub);
        let graph = way.graph();
        let first = graph.add(advance_by(&values, 3, 0)).unwrap();
        let node = graph.after(&first).add(&executable).unwrap();
        graph.after(&node).add(advance_by(&values, 10, 0)).unwrap();
        assert_eq!((graph.len(), node.node_type()), (3, NodeType::Subgraph));
        // What happens to the sub-graph now changes nothing.
        sub.after_all_leaves().add(advance_by(&values, 0, 0)).unwrap();
        drop((sub, executable));
        let executable = way.finalize(&graph);
        assert_eq!(executable.len(), 4);
        assert_eq!(executable.partitions()[0].nodes, [0, 1, 1, 2]);
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [70; 8]);
    }
}

#[test]
fn g_sub_002_with_empty_nodes() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let sub = way.graph();
        let first = sub.add(advance_by(&values, 2, 0)).unwrap();
        let empty = sub.after(&first).add(Command::empty()).unwrap();
        let last = sub.after(&empty).add(advance_by(&values, 1, 1)).unwrap();
        sub.after(&last).add(Command::empty()).unwrap();
        let graph = way.graph();
        graph.add(advance_by(&values, 3, 0)).unwrap();
        graph.after_all_leaves().add(&way.finalize(&sub)).unwrap();
        graph.after_all_leaves().add(advance_by(&values, 10, 0)).unwrap();
        let executable = way.finalize(&graph);
        let partition = &executable.partitions()[0];
        let commands = if way.launches_each() { 4 } else { partition.commands };
        assert_eq!((executable.len(), partition.commands, partition.linear), (6, commands, true));
        way.queue.submit_graph(&executable).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [70; 8]);
    }
}

#[test]
fn g_sub_002_without_nodes() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let graph = way.graph();
        graph.add(advance_by(&values, 3, 0)).unwrap();
        graph.after_all_leaves().add(&way.finalize(&way.graph())).unwrap();
        graph.after_all_leaves().add(advance_by(&values, 1, 1)).unwrap();
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [4; 8]);
    }
}

#[test]
fn g_sub_003_recorded() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let executable = way.finalize(&inner(&way, &values));
        let graph = way.graph();
        let queue = Queue::builder(way.context()).out_of_order().build().unwrap();
        let recording = graph.record(&queue).unwrap();
        let first = queue.submit(advance_by(&values, 3, 0)).unwrap();
        let sub = queue.after(&[&first]).submit_graph(&executable).unwrap();
        queue.submit(advance_by(&values, 10, 0).after(&sub)).unwrap();
        recording.end();
        assert_eq!(edges(&graph), [vec![], vec![0], vec![1]]);
        assert_eq!(graph.nodes()[1].node_type(), NodeType::Subgraph);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [70; 8]);
    }
}

#[test]
fn g_sub_005_twice_in_one_graph() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let executable = way.finalize(&inner(&way, &values));
        let graph = way.graph();
        // Nothing but that it is the same sub-graph keeps the two apart.
        graph.add(&executable).unwrap();
        graph.add(&executable).unwrap();
        assert_eq!(graph.edge_count(), 0);
        let outer = way.finalize(&graph);
        way.queue.submit_graph(&outer).unwrap().wait().unwrap();
        assert_eq!(way.queue.read(&values).unwrap(), [7; 8]);
        // And once more by itself, and inside another.
        let deeper = way.graph();
        deeper.add(&outer).unwrap();
        deeper.after_all_leaves().add(&executable).unwrap();
        way.run(&deeper, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [63; 8]);
    }
}

#[test]
fn g_sub_005_one_that_belongs_elsewhere() {
    for way in ways() {
        let foreign =
            Graph::from_queue(&Queue::new(&oclave::Context::new(way.queue.device()).unwrap()).unwrap());
        let refused = way.graph().add(&way.finalize(&foreign)).unwrap_err();
        assert_eq!(refused.kind(), oclave::ErrorKind::Invalid, "{refused}");
    }
}

#[test]
fn g_sub_008_with_a_host_task() {
    for way in ways() {
        let values = way.context().alloc_shared::<u32>(8).unwrap();
        values.write().unwrap().fill(1);
        let runs = Arc::new(AtomicUsize::new(0));
        let (counter, memory) = (Arc::clone(&runs), values.clone());
        let sub = way.graph();
        sub.add(advance_by(&values, 2, 0)).unwrap();
        let task = Command::host_task(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            memory.write().map(|mut data| data.iter_mut().for_each(|value| *value += 50))
        });
        sub.after_all_leaves().add(task).unwrap();
        sub.after_all_leaves().add(advance_by(&values, 1, 1)).unwrap();
        let graph = way.graph();
        graph.add(advance_by(&values, 3, 0)).unwrap();
        graph.after_all_leaves().add(&way.finalize(&sub)).unwrap();
        graph.after_all_leaves().add(advance_by(&values, 10, 0)).unwrap();
        let executable = way.finalize(&graph);
        assert_eq!(executable.partitions().len(), 3);
        for _ in 0..2 {
            way.queue.submit_graph(&executable).unwrap();
        }
        way.queue.wait().unwrap();
        let once = |value: u32| (value * 3 * 2 + 50 + 1) * 10;
        assert_eq!((*values.read().unwrap())[..], [once(once(1)); 8]);
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn g_sub_009_on_a_queue_in_order() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let executable = way.finalize(&inner(&way, &values));
        let graph = way.graph();
        let queue = Queue::new(way.context()).unwrap();
        let recording = graph.record(&queue).unwrap();
        queue.submit(advance_by(&values, 3, 0)).unwrap();
        queue.submit_graph(&executable).unwrap();
        queue.submit_graph(&executable).unwrap();
        queue.submit(advance_by(&values, 10, 0)).unwrap();
        recording.end();
        assert_eq!(edges(&graph), [vec![], vec![0], vec![1], vec![2]]);
        way.run(&graph, 1);
        assert_eq!(way.queue.read(&values).unwrap(), [150; 8]);
    }
}

#[test]
fn g_sub_005_twice_within_others() {
    for way in ways() {
        let values = way.device(&[1_u32; 8]);
        let sub = way.finalize(&inner(&way, &values));
        let around = way.graph();
        around.add(&sub).unwrap();
        let around = way.finalize(&around);
        let graph = way.graph();
        // No node waits for another one, yet one instance runs at a time.
        graph.add(&around).unwrap();
        graph.add(&sub).unwrap();
        graph.add(&around).unwrap();
        let executable = way.finalize(&graph);
        for _ in 0..10 {
            way.queue.write(&values, &[1; 8]).unwrap();
            way.queue.submit_graph(&executable).unwrap().wait().unwrap();
            assert_eq!(way.queue.read(&values).unwrap(), [15; 8]);
        }
        assert!(executable.partitions()[0].linear, "{:?}", executable.partitions());
    }
}
