//! A partition for the device: its prepared steps, how they are put on queues, and whether other
//! steps may be better.

use std::sync::Arc;

use super::background::Build;
use super::options::ReplayStrategy;
use super::prepare::{Place, PreparedPart, Source, prepare};
use super::race::{CandidatePlan, PlanRace};
use super::strategy::{self, Replay};
use super::survey::{Survey, Surveyed};
use super::versions::{Changes, Versions, What};
use crate::command::CommandKind;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue as driver;
use crate::driver::run::Mode;
use crate::driver::step::Step;
use crate::driver::usm::Allocation;
use crate::driver::{Capabilities, DeviceKind};
use crate::graph::plan::flatten::Flat;
use crate::graph::plan::planner::plans;
use crate::graph::plan::unit::PartitionPlan;
use crate::{Error, Queue, Result};

/// Kernels that are small by their range, from which on they are interpreted at once.
const MANY_NODES: usize = 32;
/// Fewer are interpreted once so many of them were launched, which took some tens of milliseconds:
/// then it is worth building a program.
const MANY_LAUNCHES: usize = 4096;
/// Work-items of a kernel that may be small.
const MANY_ITEMS: usize = 1 << 16;
/// How often `finalize` waits for interpreter programs, if it waits at all.
const MOST_WAITS: u32 = 8;
/// Why kernels are not interpreted yet.
const FEW: &str = "fewer than 32 small kernels; they become eligible after 4096 launches";
const BUILDING: &str = "its interpreter program is being built";
const FIRST: &str = "its interpreter program is built when these kernels are submitted or finalized again";
const FEW_MEASURED: &str = "fewer than 32 small kernels, which are measured one by one";

/// Whether the nodes of a graph are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InterpreterPolicy {
    /// For this reason.
    Never(&'static str),
    /// Where it is faster, as far as known.
    Faster,
    /// Wherever it can be.
    Always,
}

/// What the environment says of
/// [`ContextBuilder::graph_interpreter`](crate::ContextBuilder::graph_interpreter).
pub(crate) fn interpreter_of_environment() -> Option<bool> {
    crate::environment::switch("OCLAVE_GRAPH_INTERPRETER")
}

/// A partition for the device.
pub(in crate::graph) struct PartitionExec {
    pub(in crate::graph) steps: PreparedPart,
    pub(in crate::graph) replay: Box<dyn Replay>,
    tuning: Tuning,
    /// It was replayed often.
    is_frequent: bool,
    /// What its next run comes after: the event of its last run, and of those that failed half-way
    /// and may run on.
    last: Vec<Event>,
}

/// What may bring better steps.
enum Tuning {
    /// Nothing: these stay.
    Settled,
    /// So many replays, after which it is replayed often.
    Counting(usize),
    /// Interpreter programs that are built with the next submission but so many.
    Waiting(usize),
    /// Interpreter programs that are being built.
    Building(Build),
    Racing(PlanRace),
}

/// What tuning asks for before the next replay.
pub(in crate::graph) enum Better {
    /// To plan again.
    Plan,
    /// These steps.
    Steps(Box<CandidatePlan>),
}

impl PartitionExec {
    /// Prepares nodes; `places` tells where they went.
    pub(in crate::graph) fn new(source: Source<'_>, places: &mut [Option<Place>]) -> Result<Self> {
        Self::planned(source, places, false)
    }

    /// Prepares the nodes again, as they are now, and tells where they went.
    pub(in crate::graph) fn again(&self, source: Source<'_>) -> Result<(Self, Vec<Option<Place>>)> {
        let mut places = vec![None; source.flat.len()];
        let new = Self::planned(source, &mut places, self.is_frequent)?;
        Ok((new, places))
    }

    /// The same nodes by steps that won a race.
    pub(in crate::graph) fn with_steps(&self, source: Source<'_>, steps: PreparedPart) -> Self {
        Self { is_frequent: self.is_frequent, ..Self::settled(source, steps) }
    }

    fn planned(source: Source<'_>, places: &mut [Option<Place>], is_frequent: bool) -> Result<Self> {
        let Source { flat, nodes, queue, options, .. } = source;
        let launched = |places: &mut [Option<Place>], reason: &str, tuning: Tuning| {
            let steps = prepare(source, places, PartitionPlan::launches(nodes, reason), &[])?;
            Ok(Self { tuning, is_frequent, ..Self::settled(source, steps) })
        };
        let policy = policy(source);
        match policy {
            InterpreterPolicy::Never(reason) => return launched(places, reason, Tuning::Settled),
            InterpreterPolicy::Always => {}
            InterpreterPolicy::Faster => match small_kernels(flat, nodes) {
                MANY_NODES => {}
                0 | 1 => {
                    return launched(places, "there is no more than one small kernel", Tuning::Settled);
                }
                // What is measured node by node stays as it is.
                _ if !is_frequent && options.profiling => {
                    return launched(places, FEW_MEASURED, Tuning::Settled);
                }
                few if !is_frequent => {
                    return launched(places, FEW, Tuning::Counting(MANY_LAUNCHES.div_ceil(few)));
                }
                _ => {}
            },
        }
        // A graph that is submitted once is not worth a build, which takes longer than its launches.
        let at_once = policy == InterpreterPolicy::Always || options.wait_for_interpreter;
        let mut surveyed = survey(source, at_once)?;
        // Images that become known meanwhile make other programs, which want interpreters of their
        // own.
        let mut waits = if options.wait_for_interpreter { MOST_WAITS } else { 0 };
        let survey = loop {
            match surveyed {
                Surveyed::Ready(survey) => break survey,
                Surveyed::Building(build) if waits > 0 => {
                    waits -= 1;
                    build.wait();
                    surveyed = survey(source, at_once)?;
                }
                Surveyed::Building(build) => return launched(places, BUILDING, Tuning::Building(build)),
                // The first submission counts.
                Surveyed::FirstRequest => return launched(places, FIRST, Tuning::Waiting(2)),
            }
        };
        let cores = groups_at_once(queue.device().capabilities());
        let always = policy == InterpreterPolicy::Always;
        let plans = plans(flat, nodes, &survey.candidates, cores, always);
        let steps = prepare(source, places, plans.first, &survey.programs)?;
        // What is measured node by node is measured as it is.
        let race = match options.profiling {
            false => PlanRace::new(source, plans.others, &survey.programs)?,
            true => None,
        };
        let tuning = race.map_or(Tuning::Settled, Tuning::Racing);
        Ok(Self { tuning, is_frequent, ..Self::settled(source, steps) })
    }

    /// With steps that stay.
    fn settled(source: Source<'_>, steps: PreparedPart) -> Self {
        let Source { queue, options, .. } = source;
        let replay = strategy::choose(queue.context(), queue.device(), options);
        Self { steps, replay, tuning: Tuning::Settled, is_frequent: false, last: Vec::new() }
    }

    /// Takes the steps of another one that was made for the same nodes.
    pub(in crate::graph) fn replace_steps(&mut self, new: Self) {
        *self = Self { last: std::mem::take(&mut self.last), ..new };
    }

    /// Why the next replay should not use the present steps: a build in the background has ended, a
    /// race is over, or there were many replays by now. Counts the replay.
    pub(in crate::graph) fn better(&mut self) -> Option<Better> {
        let is_due = match &mut self.tuning {
            Tuning::Settled => false,
            Tuning::Counting(left) => {
                *left = left.saturating_sub(1);
                self.is_frequent |= *left == 0;
                *left == 0
            }
            Tuning::Waiting(left) => {
                *left = left.saturating_sub(1);
                *left == 0
            }
            Tuning::Building(build) => build.is_over(),
            Tuning::Racing(race) => race.is_over(),
        };
        if !is_due {
            return None;
        }
        match std::mem::replace(&mut self.tuning, Tuning::Settled) {
            Tuning::Racing(race) => race.winner().map(|winner| Better::Steps(Box::new(winner))),
            _ => Some(Better::Plan),
        }
    }

    /// Its nodes are not what they were: what other plans were prepared for is gone.
    pub(in crate::graph) fn cancel_race(&mut self) {
        if matches!(self.tuning, Tuning::Racing(_)) {
            self.tuning = Tuning::Settled;
        }
    }

    /// Gives its nodes other values and memory, in its own steps and in those of candidate plans.
    /// The function gets the steps and the places of nodes in them.
    ///
    /// # Errors
    /// When its own steps do not take them. A race with others that do not is cancelled.
    pub(in crate::graph) fn set_arguments(
        &mut self,
        places: &[Option<Place>],
        patches: &mut Patches,
        set: impl Fn(&mut PreparedPart, &[Option<Place>], &mut Patches) -> Result<()>,
    ) -> Result<()> {
        set(&mut self.steps, places, patches)?;
        let Tuning::Racing(race) = &mut self.tuning else { return Ok(()) };
        // Nothing of these is recorded.
        let set = |other: &mut CandidatePlan| set(&mut other.steps, &other.places, &mut Patches::default());
        if let Err(error) = race.candidates.iter_mut().try_for_each(set) {
            log::warn!("other plans are given up, as their steps do not take an update: {error:#}");
            self.tuning = Tuning::Settled;
        }
        Ok(())
    }

    pub(in crate::graph) fn set_task(
        &mut self,
        task: u32,
        before: &CommandKind,
        command: &CommandKind,
        queue: &Queue,
    ) -> Result<()> {
        let PreparedPart { tasks, sequence, .. } = &mut self.steps;
        tasks.as_mut().map_or(Ok(()), |tasks| tasks.update(task, before, command, queue, sequence))
    }

    pub(in crate::graph) fn set_step(&mut self, index: usize, step: Step) -> Result<()> {
        self.steps.sequence.replace(index, step)?;
        self.replay.changed(&[index]);
        Ok(())
    }

    pub(in crate::graph) fn strategy(&self) -> ReplayStrategy {
        if self.steps.tasks.is_some() { ReplayStrategy::Interpreter } else { self.replay.strategy() }
    }

    /// Puts it on a queue, behind events and its last run.
    pub(in crate::graph) fn run(
        &mut self,
        queue: &Arc<driver::Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        // What is known to have ended needs no waiting for.
        let mut last = std::mem::take(&mut self.last);
        last.retain(|last| !last.is_behind());
        let all: Vec<&Event> = after.iter().copied().chain(&last).collect();
        let sequence = &self.steps.sequence;
        let race = match &mut self.tuning {
            Tuning::Racing(race) => race.wants_another().then_some(race),
            _ => None,
        };
        let event = match race {
            Some(race) => race.run(sequence, queue, &all, mode),
            None => self.replay.replay(sequence, queue, &all, mode),
        };
        match event {
            Ok(event) => {
                self.last = vec![event.clone()];
                Ok(event)
            }
            Err(error) => {
                last.extend(queue.abandoned());
                self.last = last;
                Err(error)
            }
        }
    }
}

/// A partition for the device, and its versions.
pub(in crate::graph) struct PartitionState {
    pub(in crate::graph) exec: PartitionExec,
    pub(in crate::graph) versions: Versions<PartitionExec>,
}

impl PartitionState {
    pub(in crate::graph) fn new(exec: PartitionExec) -> Self {
        Self { exec, versions: Versions::default() }
    }

    /// The memory that it uses, or will.
    pub(in crate::graph) fn memory(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        let later = self.versions.all().flat_map(|what| -> Box<dyn Iterator<Item = _>> {
            match what {
                What::Changes(Changes { steps, tasks }) => Box::new(
                    steps.values().flat_map(Step::memory).chain(tasks.values().flat_map(|task| &task.memory)),
                ),
                What::Rebuilt(new) => Box::new(new.0.steps.sequence.memory()),
            }
        });
        self.exec.steps.sequence.memory().chain(later)
    }
}

fn policy(Source { queue, options, .. }: Source<'_>) -> InterpreterPolicy {
    if queue.device().capabilities().memory().is_none() {
        return InterpreterPolicy::Never("kernels cannot address memory by pointers");
    }
    match (options.strategy, queue.context().graph_interpreter()) {
        (_, Some(false)) => InterpreterPolicy::Never("it is switched off"),
        (ReplayStrategy::Interpreter, _) | (ReplayStrategy::Auto, Some(true)) => InterpreterPolicy::Always,
        (ReplayStrategy::Auto, None) => InterpreterPolicy::Faster,
        (ReplayStrategy::Enqueue | ReplayStrategy::CommandBuffer, _) => {
            InterpreterPolicy::Never("another strategy was asked for")
        }
    }
}

fn survey(Source { flat, nodes, queue, .. }: Source<'_>, at_once: bool) -> Result<Surveyed> {
    let command = |node: &u32| {
        let missing = || Error::bug(format!("node {node} of {} is not there", flat.len()));
        let command = flat.command(*node as usize).ok_or_else(missing)?;
        Ok((flat.origin(*node as usize), &**command))
    };
    let commands: Vec<(u32, &CommandKind)> = nodes.iter().map(command).collect::<Result<_>>()?;
    Survey::of(queue, commands.into_iter(), at_once)
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

/// Groups that the device runs side by side. A GPU runs several on each compute unit; of 132 units
/// four groups each were the fastest.
fn groups_at_once(capabilities: &Capabilities) -> u32 {
    match capabilities.kind {
        DeviceKind::Gpu => capabilities.compute_units.saturating_mul(4),
        _ => capabilities.compute_units,
    }
}
