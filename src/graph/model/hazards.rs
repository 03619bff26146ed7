//! Edges from buffers: which nodes used which part of a buffer last.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dag::NodeId;
use crate::memory::buffer::{Dependency, Requirement, Tracker};

/// The accesses of a graph's nodes to buffers, by buffer.
#[derive(Default)]
pub(in crate::graph) struct Hazards(HashMap<u64, Tracker<NodeId>>);

/// Nodes are never over, and the order in which they were added says nothing about the order in
/// which they run.
impl Dependency for NodeId {
    fn is_over(&self) -> bool {
        false
    }

    fn comes_after(&self, _: &Self) -> bool {
        false
    }
}

impl Hazards {
    /// Adds the nodes that one has to wait for because of what it does to parts of buffers.
    pub(in crate::graph) fn before(&self, parts: &[Arc<Requirement>], predecessors: &mut Vec<NodeId>) {
        for part in parts {
            if let Some(tracker) = self.0.get(&part.object().id()) {
                predecessors.extend(tracker.dependencies(part.area(), part.writes()));
            }
        }
    }

    /// Notes what a node does to parts of buffers.
    pub(in crate::graph) fn note(&mut self, node: NodeId, parts: &[Arc<Requirement>]) {
        for part in parts {
            let object = part.object();
            let tracker = self.0.entry(object.id()).or_insert_with(|| Tracker::new(object.shape()));
            tracker.record(part.area(), part.writes(), node);
        }
    }
}
