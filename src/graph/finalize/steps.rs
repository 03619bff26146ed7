//! From the nodes of a partition to a sequence of prepared steps.

use super::flatten::Flat;
use crate::driver::sequence::{Sequence, Step};
use crate::{Queue, Result};

/// Joins are left out where that makes at most so many edges more.
const FEW_EDGES: usize = 64;

/// Where a node went.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) step: Steps,
}

#[derive(Debug, Clone)]
pub(crate) enum Steps {
    /// To a step of the partition's sequence.
    One(u32),
    /// Nowhere: it does nothing. What waits for it waits for these steps.
    Left(Box<[u32]>),
}

/// The prepared commands of nodes for the device, each with the steps that it waits for.
///
/// Nodes that do nothing become no step, unless they replace many edges: between a hundred nodes and a hundred others, one
/// join is cheaper than ten thousand edges.
///
/// # Errors
/// What a queue would refuse a command for, with the node.
pub(crate) fn sequence(
    flat: &Flat,
    nodes: &[u32],
    partition: u32,
    queue: &Queue,
    places: &mut [Option<Place>],
) -> Result<Sequence> {
    let mut sequence = Sequence::new(queue.context().driver(), queue.device());
    let successors = successors(flat, nodes, places.len());
    for node in nodes {
        let index = *node as usize;
        let Some(command) = flat.command(index) else { continue };
        let origin = flat.origin(index);
        let step = command.step(queue).map_err(|error| error.at(format!("node {origin}")))?;
        let mut waits = Vec::new();
        for wait in flat.waits(index) {
            match places.get(*wait as usize).and_then(Option::as_ref) {
                Some(place) if place.partition == partition => match &place.step {
                    Steps::One(step) => waits.push(*step),
                    Steps::Left(steps) => waits.extend_from_slice(steps),
                },
                _ => {}
            }
        }
        waits.sort_unstable();
        waits.dedup();
        let behind = successors.get(index).copied().unwrap_or(0) as usize;
        let step = match step.is_join() && is_left_out(waits.len(), behind) {
            true => Steps::Left(waits.into()),
            false => Steps::One(sequence.push(step, &waits, origin)?),
        };
        if let Some(entry) = places.get_mut(index) {
            *entry = Some(Place { partition, step });
        }
    }
    Ok(sequence)
}

fn is_left_out(waits: usize, successors: usize) -> bool {
    waits <= 1 || successors <= 1 || waits.saturating_mul(successors) <= FEW_EDGES
}

/// How many of the nodes wait for each.
fn successors(flat: &Flat, nodes: &[u32], count: usize) -> Vec<u32> {
    let mut successors = vec![0_u32; count];
    for wait in nodes.iter().flat_map(|node| flat.waits(*node as usize)) {
        if let Some(successors) = successors.get_mut(*wait as usize) {
            *successors += 1;
        }
    }
    successors
}

/// The step of a node's command once more, for an executable that is updated.
pub(crate) fn step(flat: &Flat, node: usize, queue: &Queue) -> Result<Option<Step>> {
    flat.command(node).map(|command| command.step(queue)).transpose()
}
