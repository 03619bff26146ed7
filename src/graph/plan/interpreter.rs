//! Replay by lists of tasks: many small nodes in one launch of a kernel that walks a list in memory.
//!
//! A launch costs microseconds, a task tens of nanoseconds. The nodes of a partition are cut into segments before they become
//! steps; a segment is one step, a launch of the program's replay kernel ([`ReplayProgram`](crate::program::ReplayProgram)), and all other nodes
//! stay steps of their own. So whoever runs the sequence needs not know.

use super::eligibility::Classifier;
use super::planner::Planner;
use super::run::Segment;
use crate::graph::exec::background::Build;
use crate::graph::exec::contest::{Contest, Rival};
use crate::graph::exec::costs::{Costs, Work};
use crate::graph::exec::list::Tasks;
use crate::graph::exec::trial::{Subject, Trial};
use std::sync::Arc;

use super::flatten::Flat;
use crate::command::CommandKind;
use crate::driver::sequence::Sequence;
use crate::graph::exec::prepare::{Place, Source};
use crate::program::ReplayProgram;
use crate::{Queue, Result};

/// What local memory of any type is aligned to.
pub(in crate::graph) const LOCAL_ALIGN: usize = 128;
/// Kernels that are small by their range, from which on a replay program is built for them at once.
const MANY_NODES: usize = 32;
/// Fewer go into lists once so many of them were launched, which took some tens of milliseconds: then what it takes to plan a list
/// is little, and a replay program is worth being built, on another thread.
const MANY_LAUNCHES: usize = 4096;
/// Partitions of more keep the steps that they have: a submission must not take long.
pub(in crate::graph) const MOST_NODES: usize = 10_000;
/// Work-items of a kernel that may be small.
const MANY_ITEMS: usize = 1 << 16;

/// Whether a graph's nodes go into lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// For this reason.
    Never(&'static str),
    /// Where it is faster, as far as known.
    Faster,
    /// Wherever it can be.
    Always,
}

/// What the environment says of [`ContextBuilder::graph_interpreter`](crate::ContextBuilder::graph_interpreter).
pub(crate) fn switch_of_environment() -> Option<bool> {
    crate::environment::switch("OCLAVE_GRAPH_INTERPRETER")
}

/// What came of planning a partition.
pub(crate) enum Outcome {
    Planned(Box<Way>, Lessons),
    /// Nodes are launched until replay programs are built.
    Later(Build),
    /// They are few, and are launched until that was done in so many replays.
    Few(usize),
}

/// How the nodes of a partition run.
pub(crate) enum Way {
    /// Some by lists.
    Lists(Plan),
    /// All are launched as ever, for this reason.
    Launches(String),
}

/// Which nodes lists run.
pub(crate) struct Plan {
    /// In order, with numbers of the flat graph.
    pub(crate) segments: Vec<Segment>,
    pub(crate) tasks: Tasks,
    /// Nodes that no list can run, with the reason.
    pub(crate) refused: Vec<(u32, String)>,
}

/// What can be learned from the first replays.
#[derive(Default)]
pub(crate) struct Lessons {
    pub(in crate::graph) programs: Vec<Arc<ReplayProgram>>,
    pub(in crate::graph) works: Vec<Work>,
    /// Other ways, which may be faster.
    pub(in crate::graph) rivals: Vec<Way>,
}

impl Lessons {
    /// To learn it from a sequence, whose nodes went to places; `None` if it is nothing.
    ///
    /// # Errors
    /// What a queue would refuse a command for, with the node.
    pub(crate) fn trial(
        self,
        source: Source<'_>,
        sequence: &Sequence,
        places: &[Option<Place>],
    ) -> Result<Option<Trial>> {
        let rivals = self.rivals.into_iter().map(|way| Rival::new(source, way));
        let contest = Contest::new(rivals.collect::<Result<_>>()?).map(Subject::Contest);
        let costs = Costs::new(self.programs, self.works, sequence, places).map(Subject::Costs);
        Ok(Trial::new(contest.into_iter().chain(costs).collect(), source.nodes.len() <= MOST_NODES))
    }
}

/// When a partition is cut, and what for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occasion {
    pub(crate) wish: Wish,
    /// It has been replayed often.
    pub(crate) is_frequent: bool,
    /// Replay programs that are not there are not waited for.
    pub(crate) in_background: bool,
}

/// Cuts a partition.
///
/// # Errors
/// What a queue would refuse a command for, with the node.
pub(crate) fn plan(
    flat: &Flat,
    nodes: &[u32],
    queue: &Queue,
    Occasion { wish, is_frequent, in_background }: Occasion,
) -> Result<Outcome> {
    let launches =
        |reason: &str| Outcome::Planned(Box::new(Way::Launches(reason.to_owned())), Lessons::default());
    if queue.device().capabilities().usm.is_none() {
        return Ok(launches("the device has no USM"));
    }
    match wish {
        Wish::Never(reason) => return Ok(launches(reason)),
        Wish::Always => {}
        Wish::Faster => match small_kernels(flat, nodes) {
            MANY_NODES => {}
            0 | 1 => return Ok(launches("there is no more than one small kernel")),
            few if !is_frequent => return Ok(Outcome::Few(MANY_LAUNCHES.div_ceil(few))),
            _ => {}
        },
    }
    let mut classifier = Classifier::new(queue, nodes.len(), in_background);
    for node in nodes {
        let Some(command) = flat.command(*node as usize) else { continue };
        let origin = flat.origin(*node as usize);
        classifier.add(command).map_err(|error| error.at(format!("node {origin}")))?;
    }
    classifier.is_final = wish == Wish::Always;
    if !classifier.wanted.is_empty() {
        let wanted = std::mem::take(&mut classifier.wanted);
        return Ok(Outcome::Later(Build::start(queue.context(), queue.device(), wanted)));
    }
    let (classes, reasons) = classifier.finish();
    let Some(classes) = classes else {
        return Ok(launches(reasons.first().map_or("there is no kernel", |reason| reason)));
    };
    let (way, lessons) = Planner::new(flat, nodes, classes).plan(wish == Wish::Always);
    Ok(Outcome::Planned(Box::new(way), lessons))
}

/// How many kernels are small by their range, as far as that matters.
fn small_kernels(flat: &Flat, nodes: &[u32]) -> usize {
    let is_small = |node: &&u32| match flat.command(**node as usize).map(|command| &**command) {
        Some(CommandKind::Kernel { range, .. }) => {
            let items = range.global().sizes().iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
            items.is_some_and(|items| items <= MANY_ITEMS)
        }
        _ => false,
    };
    nodes.iter().filter(is_small).take(MANY_NODES).count()
}
