//! Building graphs: nodes that are added, edges that are made, commands that are recorded.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is nodes (edges for `make_edge`), and
//! ours_us is for one of them. The reference is the required limit: one microsecond for a node and
//! one for an edge.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

mod measure;

use oclave::graph::Node;
use oclave::{Command, Context, Event, Graph, Queue};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

const ROUNDS: usize = 31;
/// The fan that the requirements name.
const N: usize = 10_000;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let value = context.alloc_device::<i32>(64).unwrap();
    let graph = || Graph::new(&context, &device).unwrap();
    let kernel = || Command::parallel_for(1, bump(&value));

    // A node, and what it costs to describe its command.
    measure::budget("graph_add_empty", N, ROUNDS, N as f64, graph, |graph| {
        (0..N).for_each(|_| drop(graph.add(Command::empty()).unwrap()));
    });
    measure::budget("graph_add_kernel", N, ROUNDS, N as f64, graph, |graph| {
        (0..N).for_each(|_| drop(graph.add(kernel()).unwrap()));
    });
    // A node and an edge each.
    measure::budget("graph_add_chain", N, ROUNDS, 2.0 * N as f64, graph, |graph| {
        let mut last = graph.add(kernel()).unwrap();
        for _ in 1..N {
            last = graph.after(&last).add(kernel()).unwrap();
        }
    });

    let with_nodes = || {
        let graph = graph();
        let nodes: Vec<Node> = (0..N).map(|_| graph.add(Command::empty()).unwrap()).collect();
        (graph, nodes)
    };
    let edges = N as f64 - 1.0;
    measure::budget("graph_make_edge_chain", N, ROUNDS, edges, with_nodes, |(graph, nodes)| {
        nodes.windows(2).for_each(|pair| graph.make_edge(&pair[0], &pair[1]).unwrap());
    });
    measure::budget("graph_make_edge_reverse_chain", N, ROUNDS, edges, with_nodes, |(graph, nodes)| {
        nodes.windows(2).for_each(|pair| graph.make_edge(&pair[1], &pair[0]).unwrap());
    });
    measure::budget("graph_make_edge_fan_out", N, ROUNDS, edges, with_nodes, |(graph, nodes)| {
        nodes[1..].iter().for_each(|node| graph.make_edge(&nodes[0], node).unwrap());
    });
    measure::budget("graph_make_edge_fan_in", N, ROUNDS, edges, with_nodes, |(graph, nodes)| {
        nodes[1..].iter().for_each(|node| graph.make_edge(node, &nodes[0]).unwrap());
    });
    measure::budget(
        "graph_make_edge_fan_out_against_order",
        N,
        ROUNDS,
        edges,
        with_nodes,
        |(graph, nodes)| {
            nodes[..N - 1].iter().for_each(|node| graph.make_edge(&nodes[N - 1], node).unwrap());
        },
    );
    measure::budget("graph_add_after_all_leaves", N, ROUNDS, edges, with_nodes, |(graph, _)| {
        graph.after_all_leaves().add(Command::empty()).unwrap();
    });

    let queue = Queue::new(&context).unwrap();
    // A node and an edge each.
    measure::budget("graph_record_in_order", N, ROUNDS, 2.0 * N as f64, graph, |graph| {
        let recording = graph.record(&queue).unwrap();
        (0..N).for_each(|_| drop(queue.submit(kernel()).unwrap()));
        recording.end();
    });
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    measure::budget("graph_record_events", N, ROUNDS, 2.0 * N as f64, graph, |graph| {
        let recording = graph.record(&queue).unwrap();
        let mut last: Option<Event> = None;
        for _ in 0..N {
            let command = last.iter().fold(kernel(), Command::after);
            last = Some(queue.submit(command).unwrap());
        }
        recording.end();
    });
    measure::budget("graph_record_barrier", N, ROUNDS, 3.0 * N as f64, graph, |graph| {
        let recording = graph.record(&queue).unwrap();
        (0..N).for_each(|_| drop(queue.submit(kernel()).unwrap()));
        queue.barrier().unwrap();
        (0..N / 2).for_each(|_| drop(queue.submit(kernel()).unwrap()));
        recording.end();
    });
}
