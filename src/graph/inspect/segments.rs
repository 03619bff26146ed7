//! The nodes of an executable graph that the interpreter runs, and the reasons for the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::exec::prepare::Steps;
use crate::graph::executable::handle::ExecutableGraph;
use crate::graph::executable::layout::Layout;
use crate::graph::executable::prepared::Prepared;

/// Nodes that one launch of the interpreter runs
/// ([`ReplayStrategy::Interpreter`](crate::graph::ReplayStrategy::Interpreter)); from
/// [`ExecutableGraph::segments`](crate::graph::ExecutableGraph::segments).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SegmentInfo {
    /// The place of its partition in [`ExecutableGraph::partitions`](crate::graph::ExecutableGraph::partitions).
    pub partition: usize,
    /// The numbers of the nodes ([`Node::index`](crate::graph::Node::index)) in the order in which they
    /// run; those of a sub-graph have its number. A loop or a condition with all its bodies is one.
    pub nodes: Vec<usize>,
    /// The names of those that have one ([`Node::name`](crate::graph::Node::name)), in that order.
    pub names: Vec<String>,
    /// Work-groups of the launch. Several share nodes that do not depend on each other, or have
    /// chains of nodes each.
    pub groups: usize,
    /// Work-items of a group: one runs those of a node in turn, more share them.
    pub group_size: usize,
    /// Nanoseconds that it was estimated to take on one core, without the launch; of a loop, with one
    /// iteration.
    pub estimated_ns: f64,
}

/// Nodes that are no part of a segment; from
/// [`ExecutableGraph::not_interpreted`](crate::graph::ExecutableGraph::not_interpreted).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotInterpreted {
    /// The numbers of the nodes, in order; those of a sub-graph have its number.
    pub nodes: Vec<usize>,
    /// The names of those that have one ([`Node::name`](crate::graph::Node::name)), in that order.
    pub names: Vec<String>,
    /// Why: "kernel `sum`: it uses sub-groups (…)".
    pub reason: String,
}

pub(super) fn all(layout: &Layout, prepared: &Prepared) -> Vec<SegmentInfo> {
    let number = |node: u32| layout.flat.origin(node as usize) as usize;
    let info = |(info, nodes): (SegmentInfo, Vec<u32>)| {
        let nodes: Vec<usize> = nodes.into_iter().map(number).collect();
        SegmentInfo { names: layout.names.of_nodes(nodes.iter().copied()), nodes, ..info }
    };
    let flows = prepared.flows.iter().enumerate().filter_map(|(index, slot)| {
        let node = layout.partitions.get(index)?.nodes.first()?;
        Some(SegmentInfo {
            partition: index,
            nodes: vec![number(*node)],
            names: layout.names.of_nodes([number(*node)]),
            groups: 1,
            group_size: 1,
            estimated_ns: slot.flow()?.cost_ns,
        })
    });
    of_flat(layout, prepared).into_iter().map(info).chain(flows).collect()
}

/// The segments, each with its nodes in the flat graph.
pub(super) fn of_flat(layout: &Layout, prepared: &Prepared) -> Vec<(SegmentInfo, Vec<u32>)> {
    let mut all: Vec<(SegmentInfo, Vec<u32>)> = Vec::new();
    for (number, (partition, part)) in layout.partitions.iter().zip(&prepared.parts).enumerate() {
        let Some(tasks) = part.as_ref().and_then(|part| part.tuned.exec.steps.tasks.as_ref()) else {
            continue;
        };
        let first = all.len();
        all.extend(tasks.segments().iter().map(|segment| {
            let info = SegmentInfo {
                partition: number,
                nodes: Vec::new(),
                names: Vec::new(),
                groups: segment.launch.groups,
                group_size: segment.launch.shape.items(),
                estimated_ns: segment.cost_ns,
            };
            (info, vec![u32::MAX; segment.launch.count as usize])
        }));
        for node in &partition.nodes {
            let Some(Steps::Task { task, .. }) = prepared.steps(*node) else { continue };
            let Some((segment, place)) = tasks.find(*task) else { continue };
            let nodes = all.get_mut(first + segment).map(|(_, nodes)| nodes);
            if let Some(entry) = nodes.and_then(|nodes| nodes.get_mut(place)) {
                *entry = *node;
            }
        }
    }
    // Places without a task.
    all.iter_mut().for_each(|(_, nodes)| nodes.retain(|node| *node != u32::MAX));
    all
}

pub(super) fn not_interpreted(executable: &ExecutableGraph) -> Vec<NotInterpreted> {
    let (layout, prepared) = (executable.layout(), &*executable.prepared());
    let mut nodes: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (partition, part) in layout.partitions.iter().zip(&prepared.parts) {
        let Some(part) = part else { continue };
        for node in &partition.nodes {
            if let Some(Steps::One(_)) = prepared.steps(*node) {
                let origin = layout.flat.origin(*node as usize);
                let reason = part.tuned.exec.steps.launched.of(origin);
                nodes.entry(reason).or_default().insert(origin as usize);
            }
        }
    }
    let controls = layout.partitions.iter().zip(executable.bodies()).zip(&prepared.flows);
    for ((partition, _), slot) in controls.filter(|((_, bodies), _)| !bodies.is_empty()) {
        if let (Some(reason), Some(node)) = (slot.reason(), partition.nodes.first()) {
            let origin = layout.flat.origin(*node as usize);
            nodes.entry(reason.to_owned()).or_default().insert(origin as usize);
        }
    }
    let info = |(reason, nodes): (String, BTreeSet<usize>)| NotInterpreted {
        names: layout.names.of_nodes(nodes.iter().copied()),
        nodes: nodes.into_iter().collect(),
        reason,
    };
    nodes.into_iter().map(info).collect()
}
