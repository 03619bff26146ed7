//! A partition for the device with what may bring it better steps: a build in the background, a
//! race of plans, or that it is replayed often.

use std::sync::Arc;

use super::background::Build;
use super::race::{Contender, Race};
use super::survey::{Survey, Surveyed};
use crate::MakeError as _;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::run::Mode;
use crate::driver::{Capabilities, DeviceKind, queue as driver};
use crate::graph::exec::options::{Options, ReplayStrategy};
use crate::graph::exec::partition::PartitionExec;
use crate::graph::exec::prepare::{Location, PreparedPart, Source, prepare};
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
pub(super) const MOST_WAITS: u32 = 8;
/// Why kernels are not interpreted yet.
const FEW: &str = "fewer than 32 small kernels; they become eligible after 4096 launches";
const BUILDING: &str = "its interpreter program is being built";
const FIRST: &str = "its interpreter program is built when these kernels are submitted or finalized again";
const FEW_MEASURED: &str = "fewer than 32 small kernels, which are measured one by one";

/// Whether the nodes of a graph are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterpreterPolicy {
    /// For this reason.
    Never(&'static str),
    /// Where it is faster, as far as known.
    Faster,
    /// Wherever it can be.
    Always,
}

/// A partition for the device, as fast as is known by now.
pub(in crate::graph) struct TunedPart {
    pub(in crate::graph) exec: PartitionExec,
    tuning: Tuning,
    /// It was replayed often.
    is_frequent: bool,
}

/// The stage of tuning that may bring better steps.
enum Tuning {
    /// Nothing.
    Done,
    /// So many replays, after which it is replayed often.
    Counting(usize),
    /// Interpreter programs that are built with the next submission but so many.
    Waiting(usize),
    /// Interpreter programs that are being built.
    Building(Build),
    Racing(Race),
}

/// A request of tuning before the next replay.
pub(in crate::graph) enum Retune {
    /// To prepare all nodes again.
    Rebuild,
    /// These steps.
    Steps(Box<Contender>),
}

impl TunedPart {
    /// Prepares nodes. `locations` gets what they became.
    pub(in crate::graph) fn new(source: Source<'_>, locations: &mut [Option<Location>]) -> Result<Self> {
        Self::build(source, locations, false)
    }

    /// Prepares the nodes again, as they are now, and gives what they became.
    pub(in crate::graph) fn again(&self, source: Source<'_>) -> Result<(Self, Vec<Option<Location>>)> {
        let mut locations = vec![None; source.flat.len()];
        let new = Self::build(source, &mut locations, self.is_frequent)?;
        Ok((new, locations))
    }

    /// The same nodes by steps that won a race, and what they became.
    pub(in crate::graph) fn with_winner(
        &self,
        source: Source<'_>,
        winner: Contender,
    ) -> (Self, Vec<Option<Location>>) {
        let exec = PartitionExec::new(source, winner.steps);
        (Self { exec, tuning: Tuning::Done, is_frequent: self.is_frequent }, winner.locations)
    }

    fn build(source: Source<'_>, locations: &mut [Option<Location>], is_frequent: bool) -> Result<Self> {
        let Source { flat, nodes, queue, options, .. } = source;
        let launched = |locations: &mut [Option<Location>], reason: &str, tuning: Tuning| {
            let steps = prepare(source, locations, PartitionPlan::launches(nodes, reason), &[])?;
            Ok(Self { exec: PartitionExec::new(source, steps), tuning, is_frequent })
        };
        let policy = policy(queue, options);
        match policy {
            InterpreterPolicy::Never(reason) => return launched(locations, reason, Tuning::Done),
            InterpreterPolicy::Always => {}
            InterpreterPolicy::Faster => match small_kernels(source) {
                MANY_NODES => {}
                0 | 1 => {
                    return launched(locations, "there is no more than one small kernel", Tuning::Done);
                }
                // Executables that measure each node keep their steps.
                _ if !is_frequent && options.profiling => {
                    return launched(locations, FEW_MEASURED, Tuning::Done);
                }
                few if !is_frequent => {
                    return launched(locations, FEW, Tuning::Counting(MANY_LAUNCHES.div_ceil(few)));
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
                Surveyed::Building(build) => return launched(locations, BUILDING, Tuning::Building(build)),
                // The first submission counts.
                Surveyed::FirstRequest => return launched(locations, FIRST, Tuning::Waiting(2)),
            }
        };
        let cores = groups_at_once(queue.device().capabilities());
        let always = policy == InterpreterPolicy::Always;
        let plans = plans(flat, nodes, &survey.candidates, cores, always);
        let steps = prepare(source, locations, plans.first, &survey.programs)?;
        // Executables that measure each node take part in no race.
        let race = match options.profiling {
            false => Race::new(source, plans.others, &survey.programs)?,
            true => None,
        };
        let tuning = race.map_or(Tuning::Done, Tuning::Racing);
        Ok(Self { exec: PartitionExec::new(source, steps), tuning, is_frequent })
    }

    /// Takes the steps of another one that was made for the same nodes.
    pub(in crate::graph) fn replace_steps(&mut self, new: Self) {
        self.exec.replace_steps(new.exec);
        (self.tuning, self.is_frequent) = (new.tuning, new.is_frequent);
    }

    /// Why the next replay should not use the present steps: a build in the background has ended, a
    /// race is over, or there were many replays by now. Counts the replay.
    pub(in crate::graph) fn retune(&mut self) -> Option<Retune> {
        let is_due = match &mut self.tuning {
            Tuning::Done => false,
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
        match std::mem::replace(&mut self.tuning, Tuning::Done) {
            Tuning::Racing(race) => race.winner().map(|winner| Retune::Steps(Box::new(winner))),
            _ => Some(Retune::Rebuild),
        }
    }

    /// Its nodes are not what they were: what other plans were prepared for is gone.
    pub(in crate::graph) fn cancel_race(&mut self) {
        if matches!(self.tuning, Tuning::Racing(_)) {
            self.tuning = Tuning::Done;
        }
    }

    /// Gives its nodes other values and memory, in its own steps and in those of other plans.
    /// The function gets the steps and what nodes became there.
    ///
    /// # Errors
    /// When its own steps do not take them. A race with others that do not is cancelled.
    pub(in crate::graph) fn set_arguments(
        &mut self,
        locations: &[Option<Location>],
        patches: &mut Patches,
        set: impl Fn(&mut PreparedPart, &[Option<Location>], &mut Patches) -> Result<()>,
    ) -> Result<()> {
        set(&mut self.exec.steps, locations, patches)?;
        let Tuning::Racing(race) = &mut self.tuning else { return Ok(()) };
        // Nothing of these is recorded.
        let set = |other: &mut Contender| set(&mut other.steps, &other.locations, &mut Patches::default());
        if let Err(error) = race.contenders.iter_mut().try_for_each(set) {
            log::warn!("other plans are given up, as their steps do not take an update: {error:#}");
            self.tuning = Tuning::Done;
        }
        Ok(())
    }

    /// Puts it on a queue, after events and its last run.
    pub(in crate::graph) fn run(
        &mut self,
        queue: &Arc<driver::Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        let race = match &mut self.tuning {
            Tuning::Racing(race) => race.wants_another().then_some(race),
            _ => None,
        };
        self.exec.run(queue, after, |exec, after| match race {
            Some(race) => race.run(&exec.steps.sequence, queue, after, mode),
            None => exec.replay.replay(&exec.steps.sequence, queue, after, mode),
        })
    }
}

pub(super) fn policy(queue: &Queue, options: Options) -> InterpreterPolicy {
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

fn survey(Source { flat, commands, nodes, queue, .. }: Source<'_>, at_once: bool) -> Result<Surveyed> {
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        let missing = || Error::bug(format!("node {node} of {} is not there", flat.len()));
        all.push((flat.origin(*node as usize), commands.get(*node as usize).ok_or_else(missing)?));
    }
    Survey::of(queue, all.iter().map(|(origin, command)| (*origin, &***command)), at_once, false)
}

/// How many kernels are small by their range, as far as that matters.
fn small_kernels(Source { commands, nodes, .. }: Source<'_>) -> usize {
    let is_small = |node: &&u32| match commands.range(**node as usize) {
        Some(range) => {
            let items = range.global().sizes().iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
            items.is_some_and(|items| items <= MANY_ITEMS)
        }
        None => false,
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
