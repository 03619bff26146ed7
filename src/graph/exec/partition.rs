//! A partition for the device: its prepared steps, and the way that they are put on queues.

use std::sync::Arc;

use super::background::Build;
use super::contest::Rival;
use super::prepare::{Place, PreparedPart, Source, prepare};
use super::strategy;
use super::strategy::{Replay, ReplayStrategy};
use super::trial::{Trial, Verdict};
use crate::Result;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue;
use crate::driver::run::Mode;
use crate::graph::plan::interpreter;
use crate::graph::plan::interpreter::{Lessons, Occasion, Outcome, Way, Wish};
use crate::graph::update::versions::Pending;

/// Why a list is not thought of.
const FEW: &str = "there are fewer than 32 small kernels, which were not launched often yet";
const FEW_MEASURED: &str = "there are fewer than 32 small kernels, which are measured one by one";

/// A partition for the device.
pub(in crate::graph) struct DevicePart {
    pub(in crate::graph) steps: PreparedPart,
    pub(in crate::graph) replay: Box<dyn Replay>,
    /// Replay programs that it waits for.
    build: Option<Build>,
    /// What is being learned from its replays.
    trial: Option<Trial>,
    /// The steps that were seen to be faster, until they take the place of these.
    winner: Option<Box<Rival>>,
    /// Replays until it counts as one that is replayed often, where that matters.
    replays_left: Option<usize>,
    /// What its next run comes behind: the event of its last run, and of those that failed half-way and may run on.
    last: Vec<Event>,
    pub(in crate::graph) pending: Pending,
}

impl DevicePart {
    /// Prepares the nodes; `places` tells where they went.
    ///
    /// # Errors
    /// What a queue would refuse a command for, with the node.
    pub(in crate::graph) fn new(source: Source<'_>, places: &mut [Option<Place>]) -> Result<Self> {
        Self::planned(source, places, false)
    }

    /// Another one for its nodes, as they are now, and where these are in it: with steps that were seen to be faster, if some were.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(in crate::graph) fn anew(&mut self, source: Source<'_>) -> Result<(Self, Vec<Option<Place>>)> {
        if let Some(rival) = self.winner.take() {
            let Rival { steps, places } = *rival;
            return Ok((Self { replays_left: self.replays_left, ..Self::of(source, steps) }, places));
        }
        let mut places = vec![None; source.flat.len()];
        let new = Self::planned(source, &mut places, self.replays_left == Some(0))?;
        Ok((new, places))
    }

    fn planned(source: Source<'_>, places: &mut [Option<Place>], is_frequent: bool) -> Result<Self> {
        let Source { flat, nodes, queue, options, .. } = source;
        let wish = match (options.strategy, queue.context().graph_interpreter()) {
            (_, Some(false)) => Wish::Never("it is switched off"),
            (ReplayStrategy::Interpreter, _) | (ReplayStrategy::Auto, Some(true)) => Wish::Always,
            (ReplayStrategy::Auto, None) => Wish::Faster,
            (ReplayStrategy::Enqueue | ReplayStrategy::CommandBuffer, _) => {
                Wish::Never("another strategy was asked for")
            }
        };
        let in_background = options.in_background || is_frequent;
        let occasion = Occasion { wish, is_frequent, in_background };
        let mut build = None;
        let mut replays_left = is_frequent.then_some(0);
        let launches = |reason: &str| (Way::Launches(reason.to_owned()), Lessons::default());
        let (way, lessons) = match interpreter::plan(flat, nodes, queue, occasion)? {
            Outcome::Planned(way, lessons) => (*way, lessons),
            Outcome::Later(started) => {
                build = Some(started);
                launches("its replay program is being built")
            }
            Outcome::Few(replays) => {
                // What is measured node by node stays as it is.
                replays_left = (!options.profiling).then_some(replays);
                launches(if options.profiling { FEW_MEASURED } else { FEW })
            }
        };
        let steps = prepare(source, places, way)?;
        // What is measured node by node is measured as it is.
        let trial = match wish == Wish::Faster && !options.profiling {
            true => lessons.trial(source, &steps.sequence, places)?,
            false => None,
        };
        Ok(Self { build, trial, replays_left, ..Self::of(source, steps) })
    }

    /// With steps that nothing is to be learned from.
    fn of(source: Source<'_>, steps: PreparedPart) -> Self {
        let Source { queue, options, .. } = source;
        Self {
            steps,
            replay: strategy::choose(queue.context(), queue.device(), options),
            build: None,
            trial: None,
            winner: None,
            replays_left: None,
            last: Vec::new(),
            pending: Pending::default(),
        }
    }

    /// Takes the steps of another one that was made for the same nodes.
    pub(in crate::graph) fn replace_steps(&mut self, new: Self) {
        let Self { steps, replay, build, trial, replays_left, .. } = new;
        (self.steps, self.replay) = (steps, replay);
        (self.build, self.trial, self.winner, self.replays_left) = (build, trial, None, replays_left);
    }

    /// Whether there may be better steps for the next replay: what was being built is, what was estimated was wrong, or it is
    /// replayed often by now.
    pub(in crate::graph) fn is_outdated(&mut self) -> bool {
        let built = self.build.take_if(|build| build.is_over()).is_some();
        let verdict = self.trial.as_mut().map_or(Verdict::Keep, Trial::verdict);
        self.trial.take_if(|trial| trial.is_over());
        let has_better = match verdict {
            Verdict::Keep => false,
            Verdict::PlanAnew => true,
            Verdict::Replace(rival) => {
                self.winner = Some(rival);
                true
            }
        };
        let is_frequent = self.replays_left.as_mut().filter(|left| **left > 0).is_some_and(|left| {
            *left -= 1;
            *left == 0
        });
        built || has_better || is_frequent
    }

    /// Its nodes are not what they were: what their times tell is not known.
    pub(in crate::graph) fn stop_learning(&mut self) {
        (self.trial, self.winner) = (None, None);
    }

    /// Gives its nodes other values and memory in its own steps, and in those that run in turns with them, by a function that gets the
    /// steps and where nodes are in them.
    ///
    /// # Errors
    /// When its own steps do not take them. Others that do not are dropped.
    pub(in crate::graph) fn set_arguments(
        &mut self,
        places: &[Option<Place>],
        patches: &mut Patches,
        set: impl Fn(&mut PreparedPart, &[Option<Place>], &mut Patches) -> Result<()>,
    ) -> Result<()> {
        set(&mut self.steps, places, patches)?;
        // Nothing of these is recorded.
        let set = |rival: &mut Rival| set(&mut rival.steps, &rival.places, &mut Patches::default());
        let taken = self.rivals().try_for_each(set);
        if let Err(error) = taken {
            log::warn!("other steps are given up, as they do not take an update: {error:#}");
            self.stop_learning();
        }
        Ok(())
    }

    /// Other steps for its nodes.
    fn rivals(&mut self) -> impl Iterator<Item = &mut Rival> {
        self.trial.iter_mut().flat_map(Trial::rivals).chain(self.winner.as_deref_mut())
    }

    /// How it is put on queues.
    pub(in crate::graph) fn strategy(&self) -> ReplayStrategy {
        if self.steps.tasks.is_some() { ReplayStrategy::Interpreter } else { self.replay.strategy() }
    }

    /// Puts it on a queue, behind events and its last run.
    pub(in crate::graph) fn run(
        &mut self,
        queue: &Arc<queue::Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        // What is known to have ended needs no waiting for.
        let mut last = std::mem::take(&mut self.last);
        last.retain(|last| !last.is_behind());
        let all: Vec<&Event> = after.iter().copied().chain(&last).collect();
        let is_measured = self.trial.as_mut().is_some_and(Trial::wants_another);
        let event = match &mut self.trial {
            Some(trial) if is_measured => trial.run(&self.steps.sequence, queue, &all, mode),
            _ => self.replay.replay(&self.steps.sequence, queue, &all, mode),
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
