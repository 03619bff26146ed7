//! Directed acyclic graphs: plain data structures that know nothing of commands.
//!
//! ```text
//! mod.rs        a graph that grows: nodes and edges
//! cycles.rs     an order that is kept while edges are added, and the cycles that they would close
//! order.rs      places that can be compared and moved
//! edges.rs      the edges of a graph that grows no more
//! reduction.rs  which edges follow from others
//! waiting.rs    a topological order that is asked for node by node
//! ```

mod cycles;
mod edges;
mod order;
mod reduction;
mod waiting;

pub(crate) use self::edges::Edges;
use self::order::Order;
pub(crate) use self::reduction::Reduction;
pub(crate) use self::waiting::Waiting;

/// A node of one [`Dag`], numbered from 0 as they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why an edge is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EdgeRefusal {
    /// From a node to itself.
    SameNode,
    /// It would close a cycle: the nodes from its end to its start.
    Cycle(Vec<NodeId>),
}

/// A directed acyclic graph that grows.
#[derive(Debug, Clone)]
pub(crate) struct Dag<T> {
    entries: Vec<Entry<T>>,
    /// `None` when cycles are not looked for before the order is asked.
    order: Option<Order>,
    /// Nodes without successors, in no order.
    leaves: Vec<NodeId>,
    /// Each search marks what it has seen with a number of its own.
    searches: u64,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    payload: T,
    predecessors: Vec<NodeId>,
    successors: Vec<NodeId>,
    /// Its place in `leaves`, if it is there.
    leaf: Option<u32>,
    seen: u64,
}

impl<T> Dag<T> {
    /// An empty graph. Without `check_cycles` edges are taken as they come, and
    /// [`topological`](Self::topological) finds a cycle.
    pub(crate) fn new(check_cycles: bool) -> Self {
        Self {
            entries: Vec::new(),
            order: check_cycles.then(Order::default),
            leaves: Vec::new(),
            searches: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<T> {
        (0..self.entries.len() as u32).map(NodeId)
    }

    pub(crate) fn payload(&self, node: NodeId) -> Option<&T> {
        self.entries.get(node.index()).map(|entry| &entry.payload)
    }

    pub(crate) fn payload_mut(&mut self, node: NodeId) -> Option<&mut T> {
        self.entries.get_mut(node.index()).map(|entry| &mut entry.payload)
    }

    /// Whether the node is one of these. Ids are given by [`add`](Self::add) only, so it is.
    fn has(&self, node: NodeId) -> bool {
        node.index() < self.entries.len()
    }

    /// In the order in which the edges were added.
    pub(crate) fn predecessors(&self, node: NodeId) -> &[NodeId] {
        debug_assert!(self.has(node), "{node:?} is of another graph");
        self.entries.get(node.index()).map_or(&[], |entry| &entry.predecessors)
    }

    /// In the order in which the edges were added.
    pub(crate) fn successors(&self, node: NodeId) -> &[NodeId] {
        debug_assert!(self.has(node), "{node:?} is of another graph");
        self.entries.get(node.index()).map_or(&[], |entry| &entry.successors)
    }

    pub(crate) fn edges(&self) -> usize {
        self.entries.iter().map(|entry| entry.successors.len()).sum()
    }

    /// Nodes without predecessors, as added.
    pub(crate) fn roots(&self) -> Vec<NodeId> {
        self.ids().filter(|node| self.predecessors(*node).is_empty()).collect()
    }

    /// Nodes without successors, as added.
    pub(crate) fn leaves(&self) -> Vec<NodeId> {
        let mut leaves = self.leaves.clone();
        leaves.sort_unstable();
        leaves
    }

    /// Adds a node behind others; one that is named twice counts once.
    pub(crate) fn add(&mut self, payload: T, predecessors: &[NodeId]) -> NodeId {
        let node = NodeId(self.entries.len() as u32);
        let leaf = Some(self.leaves.len() as u32);
        self.leaves.push(node);
        self.entries.push(Entry { payload, predecessors: Vec::new(), successors: Vec::new(), leaf, seen: 0 });
        if let Some(order) = &mut self.order {
            order.push();
        }
        self.searches += 1;
        let seen = self.searches;
        for predecessor in predecessors {
            if self.mark(*predecessor, seen) && *predecessor != node {
                self.link(*predecessor, node);
            }
        }
        node
    }

    /// Adds an edge. Whether it is new: one that is there already changes nothing.
    pub(crate) fn make_edge(&mut self, from: NodeId, to: NodeId) -> Result<bool, EdgeRefusal> {
        if from == to {
            return Err(EdgeRefusal::SameNode);
        }
        if self.has_edge(from, to) {
            return Ok(false);
        }
        self.make_room(from, to)?;
        self.link(from, to);
        Ok(true)
    }

    pub(crate) fn has_edge(&self, from: NodeId, to: NodeId) -> bool {
        let (successors, predecessors) = (self.successors(from), self.predecessors(to));
        if successors.len() < predecessors.len() {
            successors.contains(&to)
        } else {
            predecessors.contains(&from)
        }
    }

    /// All nodes, each behind its predecessors.
    ///
    /// # Errors
    /// The nodes of a cycle, where they were not looked for before.
    pub(crate) fn topological(&self) -> Result<Vec<NodeId>, Vec<NodeId>> {
        match &self.order {
            Some(order) => Ok(order.iter().map(NodeId).collect()),
            None => self.sorted(),
        }
    }

    fn link(&mut self, from: NodeId, to: NodeId) {
        debug_assert!(self.has(from) && self.has(to), "an edge from {from:?} to {to:?} of another graph");
        if let Some(entry) = self.entries.get_mut(from.index()) {
            entry.successors.push(to);
            if let Some(leaf) = entry.leaf.take() {
                self.leaves.swap_remove(leaf as usize);
                if let Some(moved) = self.leaves.get(leaf as usize).copied()
                    && let Some(moved) = self.entries.get_mut(moved.index())
                {
                    moved.leaf = Some(leaf);
                }
            }
        }
        if let Some(entry) = self.entries.get_mut(to.index()) {
            entry.predecessors.push(from);
        }
    }

    /// Whether the node was not marked so before.
    fn mark(&mut self, node: NodeId, seen: u64) -> bool {
        debug_assert!(self.has(node), "{node:?} is of another graph");
        self.entries
            .get_mut(node.index())
            .is_some_and(|entry| std::mem::replace(&mut entry.seen, seen) != seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::algo::{has_path_connecting, is_cyclic_directed};
    use petgraph::graph::{DiGraph, NodeIndex};
    use proptest::prelude::*;

    fn in_order(structure: &Dag<()>) -> bool {
        let sorted = structure.topological().unwrap();
        let mut position = vec![usize::MAX; structure.len()];
        sorted.iter().enumerate().for_each(|(at, node)| position[node.index()] = at);
        sorted.len() == structure.len()
            && structure.ids().all(|node| {
                structure.successors(node).iter().all(|s| position[node.index()] < position[s.index()])
            })
    }

    #[test]
    fn leaves_and_roots_follow_the_edges() {
        let mut graph = Dag::new(true);
        let [a, b, c] = [(); 3].map(|()| graph.add((), &[]));
        assert_eq!(graph.leaves(), [a, b, c]);
        assert_eq!(graph.make_edge(a, b), Ok(true));
        assert_eq!(graph.make_edge(a, b), Ok(false), "an edge that is there already");
        let d = graph.add((), &[b, c, b]);
        assert_eq!((graph.roots(), graph.leaves()), (vec![a, c], vec![d]));
        assert_eq!(graph.predecessors(d), [b, c]);
        assert_eq!(graph.edges(), 3);
    }

    /// Shapes where a search per edge, or moving the wrong side, would take minutes.
    #[test]
    fn edges_against_the_order_stay_cheap() {
        const N: usize = 100_000;
        let new = || {
            let mut graph = Dag::new(true);
            let nodes: Vec<NodeId> = (0..N).map(|_| graph.add((), &[])).collect();
            (graph, nodes)
        };
        let (mut chain, nodes) = new();
        for pair in nodes.windows(2) {
            assert_eq!(chain.make_edge(pair[1], pair[0]), Ok(true));
        }
        assert!(in_order(&chain));
        let (mut fan, nodes) = new();
        for node in &nodes[..N - 1] {
            assert_eq!(fan.make_edge(nodes[N - 1], *node), Ok(true));
        }
        assert!(in_order(&fan));
        let (mut join, nodes) = new();
        for node in &nodes[1..] {
            assert_eq!(join.make_edge(*node, nodes[0]), Ok(true));
        }
        assert!(in_order(&join));
    }

    proptest! {
        #[test]
        fn edges_are_those_that_petgraph_takes(
            len in 1..40_usize,
            edges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..250),
        ) {
            let mut ours = Dag::new(true);
            let mut unchecked = Dag::new(false);
            let mut theirs = DiGraph::<(), ()>::new();
            let nodes: Vec<(NodeId, NodeIndex)> = (0..len).map(|_| {
                unchecked.add((), &[]);
                (ours.add((), &[]), theirs.add_node(()))
            }).collect();
            for (from, to) in edges {
                let (from, to) = (nodes[from.index(len)], nodes[to.index(len)]);
                let _ = unchecked.make_edge(from.0, to.0);
                let closes = has_path_connecting(&theirs, to.1, from.1, None);
                match ours.make_edge(from.0, to.0) {
                    Ok(new) => {
                        prop_assert!(!closes);
                        prop_assert_eq!(new, theirs.find_edge(from.1, to.1).is_none());
                        theirs.update_edge(from.1, to.1, ());
                    }
                    Err(EdgeRefusal::SameNode) => prop_assert_eq!(from, to),
                    Err(EdgeRefusal::Cycle(path)) => {
                        prop_assert!(closes);
                        prop_assert_eq!((path.first(), path.last()), (Some(&to.0), Some(&from.0)));
                        prop_assert!(path.windows(2).all(|pair| ours.has_edge(pair[0], pair[1])));
                    }
                }
            }
            prop_assert!(in_order(&ours));
            prop_assert_eq!(ours.edges(), theirs.edge_count());
            let leaves: Vec<usize> = theirs.externals(petgraph::Direction::Outgoing).map(|n| n.index()).collect();
            prop_assert_eq!(ours.leaves().iter().map(|n| n.index()).collect::<Vec<_>>(), leaves);
            let mut all = DiGraph::<(), ()>::new();
            (0..len).for_each(|_| { all.add_node(()); });
            for node in unchecked.ids() {
                for next in unchecked.successors(node) {
                    all.add_edge(NodeIndex::new(node.index()), NodeIndex::new(next.index()), ());
                }
            }
            match unchecked.topological() {
                Ok(_) => prop_assert!(in_order(&unchecked) && !is_cyclic_directed(&all)),
                Err(cycle) => {
                    prop_assert!(is_cyclic_directed(&all));
                    prop_assert!(cycle.iter().zip(cycle.iter().cycle().skip(1)).all(|(a, b)| unchecked.has_edge(*a, *b)));
                }
            }
        }
    }
}
