//! What the tests of graphs share.

use oclave::{Command, Context, Event, Graph, Node, Queue};

/// An in-order queue and a graph for it. `None`, after saying why, without a device.
pub(crate) fn in_order() -> Option<(Queue, Graph)> {
    let device = super::support::device()?;
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let graph = Graph::from_queue(&queue);
    Some((queue, graph))
}

/// Out-of-order queues of one context and a graph for them.
pub(crate) fn out_of_order<const N: usize>() -> Option<([Queue; N], Graph)> {
    let device = super::support::device()?;
    let context = Context::new(&device).unwrap();
    let queues = [(); N].map(|()| Queue::builder(&context).out_of_order().build().unwrap());
    let graph = Graph::new(&context, &device).unwrap();
    Some((queues, graph))
}

/// Something to do that needs no memory.
pub(crate) fn task() -> Command {
    Command::host_task(|| ())
}

pub(crate) fn node(event: &Event) -> Node {
    Node::from_event(event).unwrap()
}

/// The numbers of the nodes that each node depends on, in rising order.
pub(crate) fn edges(graph: &Graph) -> Vec<Vec<usize>> {
    let sorted = |nodes: Vec<Node>| {
        let mut numbers: Vec<usize> = nodes.iter().map(Node::index).collect();
        numbers.sort_unstable();
        numbers
    };
    let nodes = graph.nodes();
    for node in &nodes {
        for next in node.successors() {
            assert!(next.predecessors().contains(node), "both ends of {node:?} → {next:?} know of it");
        }
    }
    nodes.iter().map(|node| sorted(node.predecessors())).collect()
}
