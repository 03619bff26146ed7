//! Races: the first replays of an executable run by several plans in turn, and the fastest stays.
//!
//! Whole replays are compared, on a queue of the library's own that measures them, of the same
//! order as the user's.

use std::sync::Arc;

use crate::driver::event::{Event, Several, Status};
use crate::driver::queue::{Properties, Queue};
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;
use crate::graph::exec::prepare::{Location, PreparedPart, Source, prepare};
use crate::graph::plan::unit::PartitionPlan;
use crate::program::InterpreterProgram;
use crate::{Context, Event as AnyEvent, Result};

/// Replays of each plan.
const TURNS: u32 = 3;
/// Plans that are faster by less do not win: times are not better than that.
const FASTER: f64 = 0.97;

/// Another plan for the nodes of a partition, prepared for the nodes as they are now.
pub(in crate::graph) struct Contender {
    pub(in crate::graph) steps: PreparedPart,
    /// The steps that the nodes became.
    pub(in crate::graph) locations: Vec<Option<Location>>,
}

/// Replays that are measured, by the present plan and others in turn.
pub(in crate::graph) struct Race {
    /// The plans that take turns with the present one.
    pub(in crate::graph) contenders: Vec<Contender>,
    /// The best times so far in nanoseconds, of the present plan and of each contender.
    best: Vec<f64>,
    /// Of the plans.
    context: Context,
    /// The queue that measures them, one of the context's internal queues.
    queue: Option<Arc<Queue>>,
    running: Option<Running>,
    round: u32,
}

/// A replay that runs: its begin and its end.
struct Running {
    begin: Event,
    end: Event,
}

impl Race {
    /// `None` without another plan.
    pub(in crate::graph) fn new(
        source: Source<'_>,
        plans: Vec<PartitionPlan>,
        programs: &[Arc<InterpreterProgram>],
    ) -> Result<Option<Self>> {
        let contender = |plan| {
            let mut locations = vec![None; source.flat.len()];
            Ok(Contender { steps: prepare(source, &mut locations, plan, programs)?, locations })
        };
        let contenders = plans.into_iter().map(contender).collect::<Result<Vec<_>>>()?;
        let best = vec![f64::INFINITY; contenders.len() + 1];
        let context = source.queue.context().clone();
        let race = Self { contenders, best, context, queue: None, running: None, round: 0 };
        Ok((!race.contenders.is_empty()).then_some(race))
    }

    fn rounds(&self) -> u32 {
        TURNS * self.best.len() as u32
    }

    /// Whose turn it is: 0 for the present plan.
    fn turn(&self) -> usize {
        self.round as usize % self.best.len()
    }

    /// Looks at the times of the last round, if it has ended; whether another one is to be
    /// measured.
    pub(in crate::graph) fn wants_another(&mut self) -> bool {
        if let Some(running) = self.running.take() {
            match running.end.status() {
                Ok(Status::Complete) => {
                    if let (Ok(begin), Ok(end)) = (running.begin.profiling(), running.end.profiling()) {
                        let (turn, time_ns) = (self.turn(), end.ended_ns.saturating_sub(begin.ended_ns));
                        if let Some(best) = self.best.get_mut(turn) {
                            *best = best.min(time_ns as f64);
                        }
                    }
                    self.round += 1;
                }
                Ok(Status::Failed(_)) | Err(_) => self.round = self.rounds(),
                Ok(_) => {
                    self.running = Some(running);
                    return false;
                }
            }
        }
        self.round < self.rounds()
    }

    pub(in crate::graph) fn is_over(&mut self) -> bool {
        !self.wants_another() && self.running.is_none()
    }

    /// The contender that was faster than all others, if one was.
    pub(in crate::graph) fn winner(mut self) -> Option<Contender> {
        log::debug!("plans took {:?} ns", self.best);
        winner(&self.best).map(|contender| self.contenders.swap_remove(contender))
    }

    /// Puts a sequence on a queue that measures it: that of the present plan, or of the contender
    /// whose turn it is. It runs after the events and, on an in-order queue, after earlier
    /// commands.
    pub(in crate::graph) fn run(
        &mut self,
        present: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        let contender = self.turn().checked_sub(1).and_then(|turn| self.contenders.get(turn));
        let sequence = contender.map_or(present, |contender| &contender.steps.sequence);
        let own = match &self.queue {
            Some(own) if own.is_in_order() == queue.is_in_order() => Arc::clone(own),
            _ => {
                let out_of_order = !queue.is_in_order();
                let properties = Properties { profiling: true, out_of_order, ..Properties::default() };
                let own = self.context.take_queue(queue.device(), properties, None)?;
                // Nothing runs on the other one, as a new round begins.
                if let Some(other) = self.queue.replace(Arc::clone(&own)) {
                    self.context.put_queue_back(other, None);
                }
                own
            }
        };
        let before = (queue.is_in_order()).then(|| queue.marker(after)).transpose()?;
        let after: Vec<&Event> = before.as_ref().map_or_else(|| after.to_vec(), |before| vec![before]);
        let put = || -> Result<(Event, Running)> {
            let begin = own.marker(&after)?;
            let mode = Mode { measure: false, ..mode };
            let event = own.run(sequence, 0..sequence.len(), &[&begin], mode)?;
            let end = own.marker(&[&event])?;
            let last = queue.marker(&[&end])?;
            Ok((last.of_several(Several::Unmeasured(Some(event))), Running { begin, end }))
        };
        // Nobody else would wait for what is there already.
        let (end, running) = put().inspect_err(|_| own.abandon())?;
        self.running = Some(running);
        Ok(end)
    }
}

impl Drop for Race {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            let last = self.running.take().map(|running| AnyEvent::native(running.end));
            self.context.put_queue_back(queue, last);
        }
    }
}

/// The number of the contender that is the fastest, by the times of the present plan and of each
/// contender.
fn winner(times: &[f64]) -> Option<usize> {
    let (now, contenders) = times.split_first()?;
    let (fastest, time) = contenders.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
    // A plan without a measurement counts as no slower.
    (now.is_finite() && *time < FASTER * now).then_some(fastest)
}

#[cfg(test)]
mod tests {
    use super::winner;

    #[test]
    fn the_fastest_contender_wins_if_it_is_faster_than_the_present_plan() {
        assert_eq!(winner(&[100.0, 90.0, 80.0]), Some(1));
        assert_eq!(winner(&[100.0, 90.0, 95.0]), Some(0));
        assert_eq!(winner(&[100.0, 99.0]), None);
        assert_eq!(winner(&[100.0, f64::INFINITY, 50.0]), Some(1));
        // Without times nobody does.
        assert_eq!(winner(&[f64::INFINITY, 90.0]), None);
        assert_eq!(winner(&[100.0, f64::INFINITY]), None);
        assert_eq!(winner(&[100.0]), None);
        assert_eq!(winner(&[]), None);
    }
}
