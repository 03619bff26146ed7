//! Replay by lists of tasks: many small nodes in one launch of a kernel that walks a list in memory.
//!
//! A launch costs microseconds, a task tens of nanoseconds. The nodes of a partition are cut into segments before they become
//! steps; a segment is one step, a launch of the program's replay kernel ([`ReplayProgram`](crate::program::ReplayProgram)), and all other nodes
//! stay steps of their own. So whoever runs the sequence needs not know.
//!
//! ```text
//! classify.rs   node → program, estimated cost, or the reason why no list runs it
//! segments.rs   → runs of nodes for one launch each; pure
//! tasks.rs      → records and argument blocks; updates are writes into them
//! info.rs       what users can ask
//! ```

mod classify;
mod info;
mod segments;
mod tasks;

use classify::{Classes, Classifier};
pub use info::{NotInterpreted, SegmentInfo};
pub(crate) use segments::{Run, Segment};
pub(crate) use tasks::{Tasks, memory_of};

use super::finalize::flatten::Flat;
use crate::command::CommandKind;
use crate::{Queue, Result};

/// What local memory of any type is aligned to.
const LOCAL_ALIGN: usize = 128;
/// Kernels that are small by their range, below which nobody builds a replay program for them.
const MANY_NODES: usize = 32;
/// Work-items of a kernel that may be small.
const MANY_ITEMS: usize = 1 << 16;

/// Whether a graph's nodes go into lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wish {
    /// For this reason.
    Never(&'static str),
    /// Where it is faster, as far as known.
    #[default]
    Faster,
    /// Wherever it can be.
    Always,
}

/// How the nodes of a partition run.
pub(crate) struct Plan {
    /// In order, with numbers of the flat graph.
    pub(crate) segments: Vec<Segment>,
    pub(crate) tasks: Tasks,
    /// Nodes that no list can run, with the reason.
    pub(crate) refused: Vec<(u32, String)>,
}

/// Cuts a partition; `None` where all nodes are launched as ever, with the reason.
///
/// # Errors
/// What a queue would refuse a command for, with the node.
pub(crate) fn plan(flat: &Flat, nodes: &[u32], queue: &Queue, wish: Wish) -> Result<Result<Plan, String>> {
    if let Err(reason) = is_wanted(flat, nodes, queue, wish) {
        return Ok(Err(reason));
    }
    let mut classifier = Classifier::new(queue, nodes.len());
    for node in nodes {
        let Some(command) = flat.command(*node as usize) else { continue };
        let origin = flat.origin(*node as usize);
        classifier.add(command).map_err(|error| error.at(format!("node {origin}")))?;
    }
    let (classes, reasons) = classifier.finish();
    let Some(mut classes) = classes else {
        let reason = reasons.first().map_or("there is no kernel", |reason| reason);
        return Ok(Err(reason.to_owned()));
    };
    classes.machine.always = wish == Wish::Always;
    let before = Local::new(flat, nodes);
    let mut segments = segments::cut(&classes.candidates, |node| before.waits(node), &classes.machine);
    let count = |segment: &Segment| match segment {
        Segment::List(run) => run.nodes.iter().filter(|node| classes.does(**node)).count(),
        Segment::Launch(_) => 0,
    };
    let count = segments.iter().map(count).sum();
    if count == 0 {
        return Ok(Err("launches of their own are faster for its nodes".to_owned()));
    }
    let origin = |node: &u32| nodes.get(*node as usize).map_or(u32::MAX, |node| flat.origin(*node as usize));
    let reason = |at: &u32| classes.reasons.get(*at as usize).cloned().unwrap_or_default();
    let mut refused: Vec<(u32, String)> =
        classes.alone.iter().map(|(node, at)| (origin(node), reason(at))).collect();
    refused.sort_unstable();
    for node in segments.iter_mut().flat_map(Segment::nodes_mut) {
        *node = nodes.get(*node as usize).copied().unwrap_or(u32::MAX);
    }
    Ok(Ok(Plan { segments, tasks: Tasks::new(classes.programs, count, wish == Wish::Always), refused }))
}

/// Whether it may be worth the building of replay programs; or the reason why not.
fn is_wanted(flat: &Flat, nodes: &[u32], queue: &Queue, wish: Wish) -> Result<(), String> {
    if queue.device().capabilities().usm.is_none() {
        return Err("the device has no USM".to_owned());
    }
    let is_small = |node: &&u32| match flat.command(**node as usize).map(|command| &**command) {
        Some(CommandKind::Kernel { range, .. }) => {
            let items = range.global().sizes().iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
            items.is_some_and(|items| items <= MANY_ITEMS)
        }
        _ => false,
    };
    match wish {
        Wish::Never(reason) => Err(reason.to_owned()),
        Wish::Always => Ok(()),
        Wish::Faster if nodes.iter().filter(is_small).nth(MANY_NODES - 1).is_some() => Ok(()),
        Wish::Faster => Err(format!("there are fewer than {MANY_NODES} small kernels")),
    }
}

/// The edges within a partition, by places in it.
struct Local {
    ends: Vec<u32>,
    waits: Vec<u32>,
}

impl Local {
    fn new(flat: &Flat, nodes: &[u32]) -> Self {
        let mut places = vec![u32::MAX; flat.len()];
        let mut local = Self { ends: Vec::with_capacity(nodes.len()), waits: Vec::new() };
        for (place, node) in (0_u32..).zip(nodes) {
            let waits = flat.waits(*node as usize).iter();
            let inside = waits.filter_map(|wait| places.get(*wait as usize).copied());
            local.waits.extend(inside.filter(|place| *place != u32::MAX));
            local.ends.push(local.waits.len() as u32);
            if let Some(at) = places.get_mut(*node as usize) {
                *at = place;
            }
        }
        local
    }

    fn waits(&self, node: u32) -> &[u32] {
        let end = |node: u32| self.ends.get(node as usize).map_or(0, |end| *end as usize);
        let start = node.checked_sub(1).map_or(0, end);
        self.waits.get(start..end(node)).unwrap_or(&[])
    }
}

impl Classes {
    /// Whether a node does something.
    fn does(&self, node: u32) -> bool {
        self.candidates.get(node as usize).is_some_and(|candidate| candidate.kind != segments::Kind::Nothing)
    }
}
