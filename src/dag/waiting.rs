//! Which nodes of a graph are ready: a topological order that is asked for node by node.

use super::edges::Edges;

/// The number of nodes that each node still waits for.
pub(crate) struct Waiting {
    /// By node, how many.
    missing: Vec<u32>,
    successors: Edges,
}

impl Waiting {
    pub(crate) fn new<'a>(count: usize, predecessors: impl Fn(u32) -> &'a [u32]) -> Self {
        let missing = (0..count as u32).map(|node| predecessors(node).len() as u32).collect();
        Self { missing, successors: Edges::reversed(count, predecessors) }
    }

    /// The nodes that wait for nothing.
    pub(crate) fn ready(&self) -> Vec<u32> {
        (0..).zip(&self.missing).filter(|(_, missing)| **missing == 0).map(|(node, _)| node).collect()
    }

    /// Calls `ready` for what waited for this node last.
    pub(crate) fn done(&mut self, node: u32, mut ready: impl FnMut(u32)) {
        for successor in self.successors.of(node) {
            if let Some(missing) = self.missing.get_mut(*successor as usize) {
                *missing -= 1;
                if *missing == 0 {
                    ready(*successor);
                }
            }
        }
    }
}
