//! What the interpreter runs of an executable graph, and what not.

use std::collections::{BTreeMap, BTreeSet};

use crate::ExecutableGraph;
use crate::graph::exec::prepare::Steps;

/// Nodes that one launch of the interpreter runs
/// ([`ReplayStrategy::Interpreter`](crate::ReplayStrategy::Interpreter)); from
/// [`ExecutableGraph::segments`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// The place of its partition in [`ExecutableGraph::partitions`].
    pub partition: usize,
    /// The numbers of the nodes ([`Node::index`](crate::Node::index)) in the order in which they
    /// run; those of a sub-graph have its number.
    pub nodes: Vec<usize>,
    /// Work-groups of the launch. Several share nodes that do not depend on each other, or have
    /// chains of nodes each.
    pub groups: usize,
    /// Work-items of a group: one runs those of a node in turn, more share them.
    pub group_size: usize,
    /// Nanoseconds that it was estimated to take on one core, without the launch.
    pub estimated_ns: f64,
}

/// Nodes that are no part of a segment; from [`ExecutableGraph::not_interpreted`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotInterpreted {
    /// The numbers of the nodes, in order; those of a sub-graph have its number.
    pub nodes: Vec<usize>,
    /// Why: "kernel `sum`: it uses sub-groups (…)".
    pub reason: String,
}

impl ExecutableGraph {
    /// The launches of the interpreter, and what they run; none where it is not used.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let segments = self.segments_of_flat();
        let flat = self.flat();
        let number = |node: u32| flat.origin(node as usize) as usize;
        let info = |(info, nodes): (SegmentInfo, Vec<u32>)| SegmentInfo {
            nodes: nodes.into_iter().map(number).collect(),
            ..info
        };
        segments.into_iter().map(info).collect()
    }

    /// The segments, each with its nodes in the flat graph.
    pub(in crate::graph) fn segments_of_flat(&self) -> Vec<(SegmentInfo, Vec<u32>)> {
        let mut all: Vec<(SegmentInfo, Vec<u32>)> = Vec::new();
        self.each_part(|partition, nodes, part| {
            let Some(tasks) = &part.steps.tasks else { return };
            let first = all.len();
            all.extend(tasks.segments().iter().map(|segment| {
                let info = SegmentInfo {
                    partition,
                    nodes: Vec::new(),
                    groups: segment.launch.groups,
                    group_size: segment.launch.shape.items(),
                    estimated_ns: segment.cost_ns,
                };
                (info, vec![u32::MAX; segment.launch.count as usize])
            }));
            for node in nodes {
                let Some(Steps::Task { task, .. }) = self.place(*node) else { continue };
                let Some((segment, place)) = tasks.find(task) else { continue };
                let nodes = all.get_mut(first + segment).map(|(_, nodes)| nodes);
                if let Some(entry) = nodes.and_then(|nodes| nodes.get_mut(place)) {
                    *entry = *node;
                }
            }
        });
        // Places without a task.
        all.iter_mut().for_each(|(_, nodes)| nodes.retain(|node| *node != u32::MAX));
        all
    }

    /// The nodes that the interpreter does not run, by the reason why, host tasks left out. Where
    /// it is not used at all these are all nodes.
    pub fn not_interpreted(&self) -> Vec<NotInterpreted> {
        let mut nodes: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        self.each_part(|_, all, part| {
            for node in all {
                if let Some(Steps::One(_)) = self.place(*node) {
                    let origin = self.flat().origin(*node as usize);
                    nodes.entry(part.steps.launched.of(origin)).or_default().insert(origin as usize);
                }
            }
        });
        let info = |(reason, nodes): (String, BTreeSet<usize>)| NotInterpreted {
            nodes: nodes.into_iter().collect(),
            reason,
        };
        nodes.into_iter().map(info).collect()
    }
}
