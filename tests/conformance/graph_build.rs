//! Building graphs node by node: G-EXP, G-PRP, G-PRT.

use std::collections::{HashMap, HashSet};

use oclave::graph::{Detail, Node, NodeType};
use oclave::{Command, ErrorKind, Graph, Queue};

use super::graph_support::{edges, in_order, node, out_of_order, task};
use super::kernels::saxpy::saxpy;

#[device_test(in_order)]
fn g_exp_001_one_node((_, graph): (Queue, Graph)) {
    let node = graph.add(task()).unwrap();
    assert_eq!((graph.nodes(), graph.roots()), (vec![node.clone()], vec![node.clone()]));
    assert!(node.predecessors().is_empty() && node.successors().is_empty());
    assert_ne!(node.node_type(), NodeType::Empty);
}

#[device_test(in_order)]
fn g_exp_002_dependencies_step_by_step((_, graph): (Queue, Graph)) {
    let a = graph.add(task()).unwrap();
    assert_eq!((graph.roots().len(), edges(&graph)), (1, vec![vec![]]));
    let b = graph.after(&a).add(task()).unwrap();
    assert_eq!((graph.roots().len(), edges(&graph)), (1, vec![vec![], vec![0]]));
    graph.after(&[&a, &b]).add(task()).unwrap();
    assert_eq!((graph.roots().len(), edges(&graph)), (1, vec![vec![], vec![0], vec![0, 1]]));
    let alone = graph.add(task()).unwrap();
    assert_eq!(
        (graph.roots(), edges(&graph)),
        (vec![a.clone(), alone], vec![vec![], vec![0], vec![0, 1], vec![]])
    );
    assert_eq!(a.successors().len(), 2);
    graph.after(&a).after(&b).after(&vec![a.clone()]).add(task()).unwrap();
    assert_eq!(edges(&graph)[4], [0, 1], "naming a node twice is naming it once");
}

#[device_test(in_order)]
fn g_exp_003_make_edge((_, graph): (Queue, Graph)) {
    let (a, b) = (graph.add(task()).unwrap(), graph.add(task()).unwrap());
    assert_eq!(graph.roots().len(), 2);
    graph.make_edge(&b, &a).unwrap();
    assert_eq!(graph.roots(), vec![b.clone()]);
    assert_eq!((a.predecessors(), b.successors()), (vec![b.clone()], vec![a.clone()]));
    graph.make_edge(&b, &a).unwrap();
    assert_eq!((graph.edge_count(), a.predecessors().len()), (1, 1), "an edge is there once");
}

#[device_test(in_order)]
fn g_exp_005_an_empty_node_joins((_, graph): (Queue, Graph)) {
    let before: Vec<Node> = (0..3).map(|_| graph.add(task()).unwrap()).collect();
    let join = graph.after(&before).add(Command::empty()).unwrap();
    let behind: Vec<Node> = (0..3).map(|_| graph.after(&join).add(task()).unwrap()).collect();
    assert_eq!(join.node_type(), NodeType::Empty);
    assert_eq!((join.predecessors(), join.successors()), (before, behind));
    assert_eq!(graph.edge_count(), 6, "instead of 9");
}

#[device_test(in_order)]
fn g_exp_007_is_empty((queue, graph): (Queue, Graph)) {
    assert!(graph.is_empty());
    graph.add(task()).unwrap();
    assert!(!graph.is_empty());
    let recorded = Graph::from_queue(&queue);
    let recording = recorded.record(&queue).unwrap();
    assert!(recorded.is_empty());
    queue.submit(task()).unwrap();
    assert!(!recorded.is_empty());
    recording.end();
}

#[device_test(in_order)]
fn g_exp_008_all_leaves((_, graph): (Queue, Graph)) {
    (0..3).for_each(|_| drop(graph.add(task()).unwrap()));
    graph.after_all_leaves().add(task()).unwrap();
    assert_eq!(edges(&graph)[3], [0, 1, 2]);

    let graph = Graph::new(graph.context(), graph.device()).unwrap();
    (0..2).for_each(|_| drop(graph.add(task()).unwrap()));
    let head = graph.add(task()).unwrap();
    graph.after(&head).add(task()).unwrap();
    graph.after_all_leaves().add(Command::empty()).unwrap();
    assert_eq!(edges(&graph)[4], [0, 1, 3], "not the head of the chain");
    graph.after(&head).after_all_leaves().add(task()).unwrap();
    assert_eq!(edges(&graph)[5], [2, 4], "both ways together");
}

#[device_test(in_order)]
fn g_exp_013_no_cycle_check((_, graph): (Queue, Graph)) {
    let graph = Graph::builder(graph.context(), graph.device()).no_cycle_check().build().unwrap();
    let nodes: Vec<Node> = (0..2000).map(|_| graph.add(task()).unwrap()).collect();
    for pair in nodes.windows(2) {
        graph.make_edge(&pair[1], &pair[0]).unwrap();
    }
    graph.make_edge(&nodes[0], &nodes[1999]).unwrap();
    assert_eq!((graph.edge_count(), graph.roots().len()), (2000, 0));
}

#[device_test(in_order)]
fn g_exp_020_ids((queue, graph): (Queue, Graph)) {
    let mut ids = HashSet::new();
    for _ in 0..100 {
        let explicit = Graph::from_queue(&queue);
        explicit.add(task()).unwrap();
        let recorded = Graph::from_queue(&queue);
        let recording = recorded.record(&queue).unwrap();
        queue.submit(task()).unwrap();
        recording.end();
        assert!(
            ids.insert(explicit.id()) && ids.insert(recorded.id()),
            "ids of graphs that are gone come back"
        );
        assert_eq!(explicit.id(), explicit.clone().id());
    }
    assert!(!ids.contains(&graph.id()));
}

#[device_test(in_order)]
fn g_exp_021_shortcuts_record_what_commands_do((queue, graph): (Queue, Graph)) {
    let context = queue.context();
    let (x, y) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(8).unwrap());
    let recording = graph.record(&queue).unwrap();
    queue.parallel_for(8, saxpy(2.0, &x, &y)).unwrap();
    queue.submit(Command::parallel_for(8, saxpy(2.0, &x, &y))).unwrap();
    queue.single_task(saxpy(2.0, &x, &y)).unwrap();
    recording.end();
    assert!(graph.nodes().iter().all(|node| node.node_type() == NodeType::Kernel));
    assert_eq!(edges(&graph), [vec![], vec![0], vec![1]]);
}

#[device_test(in_order)]
fn g_prp_001_types((queue, graph): (Queue, Graph)) {
    let context = queue.context();
    let (x, y) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(8).unwrap());
    let host = oclave::memory::HostTarget::new(8).unwrap();
    let expected = [
        (Command::empty(), NodeType::Empty),
        (Command::parallel_for(8, saxpy(2.0, &x, &y)), NodeType::Kernel),
        (Command::copy(&x, &y), NodeType::Memcpy),
        (Command::write(&x, vec![0.0_f32; 8]), NodeType::Memcpy),
        (Command::read(&x, &host), NodeType::Memcpy),
        (Command::memset(&x, 1), NodeType::Memset),
        (Command::fill(&x, 1.0), NodeType::Memfill),
        (Command::prefetch(&x), NodeType::Prefetch),
        (Command::mem_advise(&x, oclave::command::Advice::ReadMostly), NodeType::MemAdvise),
        (Command::host_task(|| ()), NodeType::HostTask),
    ];
    for (command, ty) in &expected {
        assert_eq!(graph.add(command.clone()).unwrap().node_type(), *ty, "{command:?}");
    }
    let recording = graph.record(&queue).unwrap();
    for (command, ty) in expected.into_iter().chain([(Command::barrier(), NodeType::Barrier)]) {
        assert_eq!(node(&queue.submit(command).unwrap()).node_type(), ty);
    }
    recording.end();
}

#[device_test(out_of_order)]
fn g_prp_002_nodes_in_the_order_of_addition(([queue], graph): ([Queue; 1], Graph)) {
    let mut added = vec![graph.add(task()).unwrap()];
    added.push(graph.add(Command::empty()).unwrap());
    assert_eq!((graph.nodes(), graph.roots()), (added.clone(), added.clone()));
    added.push(graph.after(&added[0]).add(task()).unwrap());
    let recording = graph.record(&queue).unwrap();
    added.push(node(&queue.submit(task()).unwrap()));
    recording.end();
    graph.make_edge(&added[3], &added[0]).unwrap();
    assert_eq!((graph.nodes(), graph.len()), (added.clone(), 4));
    assert_eq!(graph.roots(), [added[1].clone(), added[3].clone()]);
    assert!(graph.nodes().iter().enumerate().all(|(at, node)| node.index() == at));
}

#[test]
#[allow(clippy::mutable_key_type, reason = "equality and hash are those of the handle")]
fn g_prp_003_handles() {
    fn shared<T: Send + Sync + Clone + Eq + std::hash::Hash>() {}
    shared::<Graph>();
    shared::<Node>();
    let Some((queue, graph)) = in_order() else { return };
    let node = graph.add(task()).unwrap();
    let other = Graph::from_queue(&queue);
    let twin = other.add(task()).unwrap();
    assert!(graph == graph.clone() && graph != other && node == node.clone() && node != twin);
    assert!(graph.nodes().contains(&node) && !other.nodes().contains(&node));
    let graphs: HashMap<Graph, u32> = [(graph.clone(), 1), (other, 2)].into();
    assert_eq!(graphs[&graph], 1);
    let nodes: HashMap<Node, u32> = [(node.clone(), 1), (twin, 2)].into();
    assert_eq!(nodes[&graph.nodes()[0]], 1);
}

#[device_test(in_order)]
fn g_prp_004_from_a_queue((queue, graph): (Queue, Graph)) {
    assert_eq!((graph.context(), graph.device()), (queue.context(), queue.device()));
    let same = Graph::new(queue.context(), queue.device()).unwrap();
    for graph in [graph, same] {
        assert!(graph.begin_recording(&queue).unwrap());
        queue.submit(task()).unwrap();
        graph.end_recording();
        graph.add(task()).unwrap();
        assert_eq!(edges(&graph), [vec![], vec![] as Vec<usize>]);
    }
    // The context must have the device.
    let other =
        oclave::Context::new(&queue.device().masked(oclave::device::mask::Mask::COMMAND_BUFFER)).unwrap();
    if other.device() != queue.device() {
        assert_eq!(Graph::new(&other, queue.device()).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

/// A diamond, with a kernel and copies.
fn draw(graph: &Graph, record: bool) {
    let context = graph.context().clone();
    let (x, y) = (context.alloc_device::<f32>(8).unwrap(), context.alloc_device::<f32>(8).unwrap());
    let commands = [
        Command::fill(&x, 1.5),
        Command::copy(&x, &y),
        Command::parallel_for(8, saxpy(2.5, &x, &y)),
        Command::host_task(|| ()),
    ];
    if record {
        let queue = oclave::Queue::builder(&context).out_of_order().build().unwrap();
        let recording = graph.record(&queue).unwrap();
        let [a, b, c, d] = commands;
        let a = queue.submit(a).unwrap();
        let b = queue.submit(b.after(&a)).unwrap();
        let c = queue.submit(c.after(&a)).unwrap();
        queue.submit(d.after(&[&b, &c])).unwrap();
        recording.end();
    } else {
        let [a, b, c, d] = commands;
        let a = graph.add(a).unwrap();
        let b = graph.after(&a).add(b).unwrap();
        let c = graph.after(&a).add(c).unwrap();
        graph.after(&[&b, &c]).add(d).unwrap();
    }
}

#[device_test(in_order)]
fn g_prt_001_dot((queue, _): (Queue, Graph)) {
    let folder = tempfile::tempdir().unwrap();
    for record in [false, true] {
        let graph = Graph::from_queue(&queue);
        draw(&graph, record);
        let path = folder.path().join("graph.dot");
        graph.print(&path, Detail::Brief).unwrap();
        let dot = std::fs::read_to_string(&path).unwrap();
        assert_eq!(dot, graph.to_dot(Detail::Brief));
        assert!(
            dot.starts_with(&format!("digraph graph_{} {{\n", graph.id())) && dot.ends_with("}\n"),
            "{dot}"
        );
        let count = |what: &str| dot.matches(what).count();
        assert_eq!((count("[label="), count(" -> ")), (4, 4), "{dot}");
        for edge in ["n0 -> n1;", "n0 -> n2;", "n1 -> n3;", "n2 -> n3;"] {
            assert!(dot.contains(edge), "{dot}");
        }
        for label in ["0 memfill", "1 memcpy", "2 kernel saxpy", "3 host_task"] {
            assert!(dot.contains(label), "{dot}");
        }
        assert!(!dot.contains("argument"), "{dot}");
        let verbose = graph.to_dot(Detail::Verbose);
        for detail in [
            "argument 0 (`alpha`): 2.5",
            "argument 1 (`x`): 0x",
            "8 work-items",
            "from 0x",
            "to 0x",
            "value 1.5",
        ] {
            assert!(verbose.contains(detail), "{verbose}");
        }
    }
}

#[device_test(in_order)]
fn g_prt_001_svg((_, graph): (Queue, Graph)) {
    draw(&graph, false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.svg");
    match graph.print(&path, Detail::Verbose) {
        Ok(()) => {
            let svg = std::fs::read_to_string(&path).unwrap();
            assert!(svg.contains("<svg") && svg.contains("saxpy"), "{svg}");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
            assert!(format!("{error:#}").contains("install Graphviz"), "{error}");
            assert!(!path.exists());
            println!("no Graphviz on this machine");
        }
    }
}

#[device_test(in_order)]
fn g_prt_003_while_recording_empty_and_unwritable((queue, graph): (Queue, Graph)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.dot");
    graph.print(&path, Detail::Brief).unwrap();
    assert!(!std::fs::read_to_string(&path).unwrap().contains("label"));
    let recording = graph.record(&queue).unwrap();
    let memory = queue.context().alloc_device::<f32>(8).unwrap();
    queue.memset(&memory, 0).unwrap();
    graph.print(&path, Detail::Verbose).unwrap();
    recording.end();
    assert!(std::fs::read_to_string(&path).unwrap().contains("0 memset"));
    for bad in [folder.path().join("no/such/folder.dot"), folder.path().join("graph.png"), "".into()] {
        let error = graph.print(&bad, Detail::Brief).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}
