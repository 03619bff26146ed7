//! The order of the nodes, and cycles.
//!
//! A topological order is kept while edges are added, so that an edge which would close a cycle is
//! found at once. An edge that agrees with the order costs nothing more. For one that does not, two
//! searches between its start and its end take turns. One follows the successors of its end, the
//! other the predecessors of its start. The side that is exhausted first moves. This is the two-way
//! search of Bender, Fineman, Gilbert and Tarjan ("A new approach to incremental cycle detection
//! and related problems", 2015). Where no order is kept, it and cycles are found when somebody
//! asks.

use super::{Dag, EdgeRefusal, NodeId};

/// One side of the two-way search.
struct Side {
    forward: bool,
    seen: u64,
    found: Vec<NodeId>,
    /// How many of `found` were expanded, and how many edges of the next one.
    expanded: usize,
    edge: usize,
}

enum Step {
    More,
    Exhausted,
    Cycle,
}

impl<T> Dag<T> {
    /// Kahn's algorithm.
    pub(super) fn sorted(&self) -> Result<Vec<NodeId>, Vec<NodeId>> {
        let mut missing: Vec<usize> = self.entries.iter().map(|entry| entry.predecessors.len()).collect();
        let mut sorted = self.roots();
        let mut at = 0;
        while let Some(node) = sorted.get(at).copied() {
            at += 1;
            for successor in self.successors(node) {
                if let Some(missing) = missing.get_mut(successor.index()) {
                    *missing -= 1;
                    if *missing == 0 {
                        sorted.push(*successor);
                    }
                }
            }
        }
        if sorted.len() == self.len() { Ok(sorted) } else { Err(self.cycle_among(&missing)) }
    }

    /// A cycle of the nodes that still miss predecessors. Walking back from one of them, to one
    /// that is missing too, must meet itself.
    fn cycle_among(&self, missing: &[usize]) -> Vec<NodeId> {
        let is_missing = |node: &NodeId| missing.get(node.index()).is_some_and(|count| *count > 0);
        let mut path: Vec<NodeId> = Vec::new();
        let mut position = vec![usize::MAX; self.len()];
        let mut next = self.ids().find(is_missing);
        while let Some(node) = next {
            match position.get(node.index()).copied() {
                Some(usize::MAX) => {}
                Some(start) => {
                    let mut cycle = path.split_off(start);
                    cycle.reverse();
                    return cycle;
                }
                None => break,
            }
            if let Some(place) = position.get_mut(node.index()) {
                *place = path.len();
            }
            path.push(node);
            next = self.predecessors(node).iter().copied().find(is_missing);
        }
        path
    }

    /// Brings `from` in front of `to` in the order.
    pub(super) fn make_room(&mut self, from: NodeId, to: NodeId) -> Result<(), EdgeRefusal> {
        let Some(order) = &self.order else { return Ok(()) };
        let (low, high) = (order.tag(to.0), order.tag(from.0));
        if high < low {
            return Ok(());
        }
        let (mut side, mut other) = (self.side(true, to), self.side(false, from));
        let smaller = loop {
            match self.step(&mut side, other.seen, low, high) {
                Step::More => std::mem::swap(&mut side, &mut other),
                Step::Exhausted => break side,
                Step::Cycle => return Err(EdgeRefusal::Cycle(self.path(to, from))),
            }
        };
        let Some(order) = &mut self.order else { return Ok(()) };
        let mut found = smaller.found;
        found.sort_unstable_by_key(|node| order.tag(node.0));
        if smaller.forward {
            let mut anchor = from;
            for node in found {
                order.move_after(node.0, anchor.0);
                anchor = node;
            }
        } else {
            let mut anchor = to;
            for node in found.into_iter().rev() {
                order.move_before(node.0, anchor.0);
                anchor = node;
            }
        }
        Ok(())
    }

    fn side(&mut self, forward: bool, start: NodeId) -> Side {
        self.searches += 1;
        let seen = self.searches;
        self.mark(start, seen);
        Side { forward, seen, found: vec![start], expanded: 0, edge: 0 }
    }

    /// Follows one edge.
    fn step(&mut self, side: &mut Side, other: u64, low: u64, high: u64) -> Step {
        let Some(node) = side.found.get(side.expanded).copied() else { return Step::Exhausted };
        let edges = if side.forward { self.successors(node) } else { self.predecessors(node) };
        let Some(next) = edges.get(side.edge).copied() else {
            side.expanded += 1;
            side.edge = 0;
            return Step::More;
        };
        side.edge += 1;
        let tag = self.order.as_ref().map_or(0, |order| order.tag(next.0));
        if tag < low || tag > high {
            return Step::More;
        }
        let before = self.entries.get(next.index()).map_or(0, |entry| entry.seen);
        if before == other {
            return Step::Cycle;
        }
        if self.mark(next, side.seen) {
            side.found.push(next);
        }
        Step::More
    }

    /// The nodes on a way from one node to another, both included; for messages.
    fn path(&self, from: NodeId, to: NodeId) -> Vec<NodeId> {
        let mut came_from = vec![None; self.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            for successor in self.successors(node) {
                if let Some(place @ None) = came_from.get_mut(successor.index())
                    && *successor != from
                {
                    *place = Some(node);
                    queue.push_back(*successor);
                }
            }
        }
        let mut path = vec![to];
        path.extend(std::iter::successors(came_from.get(to.index()).copied().flatten(), |node| {
            came_from.get(node.index()).copied().flatten()
        }));
        path.reverse();
        path
    }
}
