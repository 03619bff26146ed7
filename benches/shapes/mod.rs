//! The shapes of graphs that are measured.

// Each program uses a part of this.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use oclave::graph::Node;
use oclave::kernel::KernelCall;
use oclave::{Command, Graph};

/// How the nodes of a graph depend on each other.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// On a queue in order, which needs no events.
    pub(crate) in_order: bool,
    /// For each of so many nodes, the nodes that it waits for.
    pub(crate) waits: fn(usize) -> Vec<Vec<usize>>,
}

pub(crate) const SHAPES: [Shape; 4] = [
    Shape { name: "chain", in_order: true, waits: chain },
    Shape { name: "wide", in_order: false, waits: wide },
    Shape { name: "fan", in_order: false, waits: fan },
    Shape { name: "layered", in_order: false, waits: layered },
];

/// Nodes of a layer.
const WIDTH: usize = 10;

/// Each after the one before.
fn chain(n: usize) -> Vec<Vec<usize>> {
    (0..n).map(|node| node.checked_sub(1).into_iter().collect()).collect()
}

/// All independent.
fn wide(n: usize) -> Vec<Vec<usize>> {
    vec![Vec::new(); n]
}

/// One, all others but the last after it, the last after those.
fn fan(n: usize) -> Vec<Vec<usize>> {
    (0..n)
        .map(|node| match node {
            0 => Vec::new(),
            node if node + 1 == n => (1..node).collect(),
            _ => vec![0],
        })
        .collect()
}

/// Layers, each node after two of the layer before.
fn layered(n: usize) -> Vec<Vec<usize>> {
    (0..n)
        .map(|node| match node.checked_sub(WIDTH) {
            None => Vec::new(),
            Some(above) => {
                let beside = above / WIDTH * WIDTH + (above + 1) % WIDTH;
                vec![above.min(beside), above.max(beside)]
            }
        })
        .collect()
}

/// Adds kernels of one work-item to a graph: for each node a call, and the nodes that it waits for.
pub(crate) fn build(graph: &Graph, waits: &[Vec<usize>], call: impl Fn(usize) -> KernelCall) {
    let mut nodes: Vec<Node> = Vec::with_capacity(waits.len());
    for (at, waits) in waits.iter().enumerate() {
        let after: Vec<&Node> = waits.iter().map(|wait| &nodes[*wait]).collect();
        nodes.push(graph.after(&after).add(Command::parallel_for(1, call(at))).unwrap());
    }
}
