//! Replay by lists of tasks: many small nodes in one launch of a kernel that walks a list in memory.
//!
//! A launch costs microseconds, a task tens of nanoseconds. The nodes of a partition are cut into segments before they become
//! steps; a segment is one step, a launch of the program's replay kernel ([`ReplayProgram`](crate::program::ReplayProgram)), and all other nodes
//! stay steps of their own. So whoever runs the sequence needs not know.
//!
//! ```text
//! classify.rs   node → program, estimated cost, or the reason why no list runs it
//! segments.rs   → runs of nodes for one launch each; pure
//! waiting.rs    which nodes are ready; pure
//! run.rs        a run, and the places of its tasks; pure
//! divide.rs     what groups of such a launch can share; pure
//! tasks.rs      → records and argument blocks; updates are writes into them
//! trial.rs      what the first replays are used for
//! costs.rs      what kernels cost, from times
//! background.rs replay programs that are built meanwhile
//! info.rs       what users can ask
//! ```

mod background;
mod classify;
mod costs;
mod divide;
mod draft;
mod info;
mod run;
mod segments;
mod tasks;
mod trial;
mod waiting;

pub(crate) use background::Build;
use classify::{Classes, Classifier};
use costs::{Costs, Work};
pub(crate) use draft::memory_of;
pub use info::{NotInterpreted, SegmentInfo};
pub(crate) use run::{Run, Segment};
pub(crate) use tasks::Tasks;
use trial::Subject;
pub(crate) use trial::{Trial, Verdict};

use std::sync::Arc;

use super::finalize::flatten::Flat;
use super::finalize::steps::{self, Place, Source};
use crate::command::CommandKind;
use crate::driver::sequence::Sequence;
use crate::program::ReplayProgram;
use crate::{Queue, Result};

/// What local memory of any type is aligned to.
const LOCAL_ALIGN: usize = 128;
/// Kernels that are small by their range, from which on a replay program is built for them at once.
const MANY_NODES: usize = 32;
/// Fewer go into lists once so many of them were launched, which took some tens of milliseconds: then what it takes to plan a list
/// is little, and a replay program is worth being built, on another thread.
const MANY_LAUNCHES: usize = 4096;
/// Partitions of more keep the steps that they have: a submission must not take long.
const MOST_NODES: usize = 10_000;
/// Launches that are estimated to take so many times what lists take are not tried.
const CONTESTED: f64 = 1.5;
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

/// What the environment says of [`ContextBuilder::graph_interpreter`](crate::ContextBuilder::graph_interpreter).
pub(crate) fn switch_of_environment() -> Option<bool> {
    match std::env::var("OCLAVE_GRAPH_INTERPRETER").as_deref() {
        Ok("1" | "on") => Some(true),
        Ok("0" | "off") => Some(false),
        _ => None,
    }
}

/// What came of planning a partition.
pub(crate) enum Outcome {
    Lists(Plan),
    /// All nodes are launched as ever, for this reason.
    Launches(String, Lessons),
    /// They are launched until replay programs are built.
    Later(Build),
    /// They are few, and are launched until that was done in so many replays.
    Few(usize),
}

/// What can be learned from the first replays.
#[derive(Default)]
pub(crate) struct Lessons {
    programs: Vec<Arc<ReplayProgram>>,
    works: Vec<Work>,
    /// Whether launches of all nodes might be faster.
    is_contested: bool,
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
        let mut subjects = Vec::new();
        let may_change = source.nodes.len() <= MOST_NODES;
        if self.is_contested && may_change {
            let launches = steps::sequence(source, &mut vec![None; places.len()])?;
            subjects.push(Subject::Launches(launches, [f64::INFINITY; 2]));
        }
        subjects.extend(Costs::new(self.programs, self.works, sequence, places).map(Subject::Costs));
        Ok(Trial::new(subjects, may_change))
    }
}

/// How the nodes of a partition run.
pub(crate) struct Plan {
    /// In order, with numbers of the flat graph.
    pub(crate) segments: Vec<Segment>,
    pub(crate) tasks: Tasks,
    /// Nodes that no list can run, with the reason.
    pub(crate) refused: Vec<(u32, String)>,
    pub(crate) lessons: Lessons,
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
    let launches = |reason: &str| Outcome::Launches(reason.to_owned(), Lessons::default());
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
    let Some(mut classes) = classes else {
        return Ok(launches(reasons.first().map_or("there is no kernel", |reason| reason)));
    };
    classes.machine.always = wish == Wish::Always;
    let before = Local::new(flat, nodes);
    let mut segments = segments::cut(&classes.candidates, |node| before.waits(node), &classes.machine);
    let number = |node: u32| nodes.get(node as usize).copied().unwrap_or(u32::MAX);
    let mut lessons =
        Lessons { programs: classes.programs.clone(), works: classes.works(&segments), is_contested: false };
    for work in &mut lessons.works {
        work.node = number(work.node);
    }
    let count = |segment: &Segment| match segment {
        Segment::List(run) => {
            let mut numbering = run.numbering();
            for node in &run.nodes {
                numbering.place(classes.does(*node));
            }
            numbering.count()
        }
        Segment::Launch(_) => 0,
    };
    let count = segments.iter().map(count).sum();
    if count == 0 {
        return Ok(Outcome::Launches("launches of their own are faster for its nodes".to_owned(), lessons));
    }
    lessons.is_contested = classes.is_contested(&segments);
    let origin = |node: &u32| nodes.get(*node as usize).map_or(u32::MAX, |node| flat.origin(*node as usize));
    let reason = |at: &u32| classes.reasons.get(*at as usize).cloned().unwrap_or_default();
    let mut refused: Vec<(u32, String)> =
        classes.alone.iter().map(|(node, at)| (origin(node), reason(at))).collect();
    refused.sort_unstable();
    for node in segments.iter_mut().flat_map(Segment::nodes_mut) {
        *node = number(*node);
    }
    let tasks = Tasks::new(classes.programs, count, wish == Wish::Always);
    Ok(Outcome::Lists(Plan { segments, tasks, refused, lessons }))
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
    /// Whether launches of all nodes might be faster than segments. On a queue out of order they are side by side at best, which
    /// estimates do not know of.
    fn is_contested(&self, segments: &[Segment]) -> bool {
        let cores = f64::from(self.machine.cores.max(1));
        let launch_ns = |node: u32| self.candidates.get(node as usize).map_or(0.0, |node| node.launch_ns);
        let segment = |segment: &Segment| match segment {
            Segment::List(run) => {
                run.cost_ns / f64::from(run.groups).clamp(1.0, cores) + self.machine.launch_ns
            }
            Segment::Launch(node) => launch_ns(*node),
        };
        let all = (0..self.candidates.len() as u32).filter(|node| self.does(*node));
        let launches: f64 = all.map(launch_ns).sum();
        launches < CONTESTED * cores * segments.iter().map(segment).sum::<f64>()
    }

    /// Whether a node does something.
    fn does(&self, node: u32) -> bool {
        self.candidates.get(node as usize).is_some_and(|candidate| candidate.kind != segments::Kind::Nothing)
    }
}
