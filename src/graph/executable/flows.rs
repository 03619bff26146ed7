//! Loops and conditions that the interpreter runs, by partition of an executable.

use std::collections::HashMap;
use std::sync::Arc;

use super::handle::ExecutableGraph;
use crate::Result;
use crate::command::{CommandKind, ControlFlow};
use crate::graph::tune::flow::{Flow, FlowNode, FlowTree};

/// A loop or a condition as tasks for the interpreter, if that runs it.
pub(super) fn current(graph: &ExecutableGraph, index: usize) -> Result<Option<Arc<Flow>>> {
    let layout = graph.layout();
    // A slot is taken out meanwhile: bodies are locked after what is around them.
    let mut prepared = graph.prepared();
    let Some(slot) = prepared.flows.get_mut(index) else { return Ok(None) };
    let mut slot = std::mem::take(slot);
    drop(prepared);
    let flow = slot.current(|| tree(graph, index), changes(graph), &layout.queue, layout.options);
    if let Some(place) = graph.prepared().flows.get_mut(index) {
        *place = slot;
    }
    flow.map_err(|error| graph.at(error))
}

/// The same, if one launch does all of it. What is measured is a partition of the host.
pub(super) fn short(graph: &ExecutableGraph, index: usize) -> Result<Option<Arc<Flow>>> {
    let is_measured = graph.layout().options.profiling;
    Ok(current(graph, index)?.filter(|flow| flow.is_short() && !is_measured))
}

/// Looks whether the interpreter runs the loops and conditions of a graph, those in bodies included.
pub(super) fn plan(graph: &ExecutableGraph) -> Result<()> {
    graph.bodies().iter().enumerate().filter(|(_, bodies)| !bodies.is_empty()).try_for_each(
        |(index, bodies)| {
            bodies.iter().try_for_each(plan)?;
            current(graph, index).map(drop)
        },
    )
}

/// How often its commands, and those of its bodies, were changed.
fn changes(graph: &ExecutableGraph) -> u64 {
    let bodies = graph.bodies().iter().flatten();
    bodies.fold(graph.prepared().edits, |all, body| all + changes(body))
}

/// The nodes of a loop or a condition, in the order in which they run.
fn tree(graph: &ExecutableGraph, index: usize) -> Option<FlowTree> {
    let layout = graph.layout();
    let node = *layout.partitions.get(index)?.nodes.first()?;
    let command = graph.prepared().commands.get(node as usize)?.into_owned();
    let CommandKind::Control(flow) = &*command else { return None };
    let bodies = graph.bodies().get(index)?.iter().map(tree_of_body);
    Some(FlowTree {
        owner: (layout.graph, layout.flat.origin(node as usize)),
        flow: ControlFlow::clone(flow),
        bodies: bodies.collect::<Option<_>>()?,
    })
}

fn tree_of_body(graph: &ExecutableGraph) -> Option<Vec<FlowNode>> {
    let layout = graph.layout();
    let mut controls = HashMap::new();
    for (index, partition) in layout.partitions.iter().enumerate() {
        if graph.bodies().get(index).is_some_and(|bodies| !bodies.is_empty()) {
            controls.insert(*partition.nodes.first()? as usize, index);
        }
    }
    let commands = graph.prepared().commands.to_vec();
    let node = |(node, command)| match controls.get(&node) {
        Some(index) => tree(graph, *index).map(FlowNode::Control),
        None => Some(FlowNode::Command(layout.flat.origin(node), command)),
    };
    commands.into_iter().enumerate().map(node).collect()
}
