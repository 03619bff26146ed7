//! What the first replays of an executable are used for: they run on a queue of the library's own that measures them.
//!
//! With kernels that this process did not measure yet, they tell what these [cost](super::costs); the executable is planned anew if the
//! estimates were wrong. Where after that other steps may be faster, these and the [rivals](super::contest) run in turns, and the fastest stay.

use std::sync::Arc;

use super::contest::{Contest, Rival};
use super::costs::Costs;
use crate::Result;
use crate::driver::event::{Event, Several, Status};
use crate::driver::queue::{Properties, Queue};
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;

/// Replays that tell what kernels cost.
const ROUNDS: u32 = 4;

/// Some replays that are measured.
pub(crate) struct Trial {
    /// What they tell, the first at the end.
    subjects: Vec<Subject>,
    may_change: bool,
    queue: Option<Arc<Queue>>,
    running: Option<Running>,
    /// Of the subject that is its turn.
    rounds: u32,
}

pub(in crate::graph) enum Subject {
    /// What kernels cost.
    Costs(Costs),
    /// Which steps are the fastest.
    Contest(Contest),
}

/// A replay on its way: where it begins, if steps are not measured one by one, and its end.
struct Running {
    begin: Option<Event>,
    end: Event,
}

/// What came of it.
pub(crate) enum Verdict {
    /// The steps are good.
    Keep,
    /// Others may be better, by what is known now.
    PlanAnew,
    /// These are faster.
    Replace(Box<Rival>),
}

impl Subject {
    fn rounds(&self) -> u32 {
        match self {
            Self::Costs(_) => ROUNDS,
            Self::Contest(contest) => contest.rounds(),
        }
    }

    /// Looks at the times of a round.
    fn note(&mut self, round: u32, Running { begin, end }: &Running) {
        match self {
            Self::Costs(costs) => costs.note(end),
            Self::Contest(contest) => {
                if let Some(Ok(begin)) = begin.as_ref().map(Event::profiling)
                    && let Ok(end) = end.profiling()
                {
                    contest.note(round, end.ended_ns.saturating_sub(begin.ended_ns) as f64);
                }
            }
        }
    }

    /// What it has shown. Estimates are corrected.
    fn verdict(self) -> Verdict {
        match self {
            Self::Costs(costs) => match costs.learn() {
                true => Verdict::PlanAnew,
                false => Verdict::Keep,
            },
            Self::Contest(contest) => {
                contest.winner().map_or(Verdict::Keep, |rival| Verdict::Replace(Box::new(rival)))
            }
        }
    }
}

impl Trial {
    /// Of these subjects, the last one first; `None` if there are none. `may_change`: whether the steps may be made anew for it.
    pub(in crate::graph) fn new(subjects: Vec<Subject>, may_change: bool) -> Option<Self> {
        let new = Self { subjects, may_change, queue: None, running: None, rounds: 0 };
        (!new.is_over()).then_some(new)
    }

    /// Puts the sequence, or a rival, on a queue that measures it, behind events and, on a queue in order, what is there.
    pub(crate) fn run(
        &mut self,
        sequence: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event> {
        let (sequence, steps) = match self.subjects.last() {
            Some(Subject::Contest(contest)) => (contest.sequence(self.rounds).unwrap_or(sequence), false),
            _ => (sequence, true),
        };
        let out_of_order = !steps && !queue.is_in_order();
        let own = match &self.queue {
            Some(own) if own.is_in_order() != out_of_order => Arc::clone(own),
            _ => {
                let properties = Properties { profiling: true, out_of_order, ..Properties::default() };
                let own = Queue::new(queue.context(), queue.device(), properties)?;
                Arc::clone(self.queue.insert(own))
            }
        };
        let before = (queue.is_in_order()).then(|| queue.marker(after)).transpose()?;
        let after: Vec<&Event> = before.as_ref().map_or_else(|| after.to_vec(), |before| vec![before]);
        let mode = Mode { measure: steps, ..mode };
        let outcome = Self::put(&own, sequence, &after, mode).and_then(|(event, running)| {
            let end = queue.marker(&[&running.end])?;
            Ok((end.of_several(Several::unmeasured(Some(event))), running))
        });
        // Nobody else would wait for what is there already.
        let (end, running) = outcome.inspect_err(|_| own.abandon())?;
        self.running = Some(running);
        Ok(end)
    }

    /// Puts a sequence on a queue that measures it: each step, or what is around it, as measuring steps would cost launches more than lists.
    fn put(own: &Arc<Queue>, sequence: &Sequence, after: &[&Event], mode: Mode) -> Result<(Event, Running)> {
        let steps = 0..sequence.len();
        if mode.measure {
            let end = own.run(sequence, steps, after, mode)?;
            return Ok((end.clone(), Running { begin: None, end }));
        }
        let begin = own.marker(after)?;
        let event = own.run(sequence, steps, &[&begin], mode)?;
        let end = own.marker(&[&event])?;
        Ok((event, Running { begin: Some(begin), end }))
    }

    /// Looks at the times of the last round, if it has ended; whether another one is to be measured.
    pub(crate) fn wants_another(&mut self) -> bool {
        let Some(subject) = self.subjects.last_mut() else { return false };
        if let Some(running) = self.running.take() {
            match running.end.status() {
                Ok(Status::Complete) => {
                    subject.note(self.rounds, &running);
                    self.rounds += 1;
                }
                Ok(Status::Failed(_)) | Err(_) => self.rounds = subject.rounds(),
                Ok(_) => {
                    self.running = Some(running);
                    return false;
                }
            }
        }
        self.rounds < subject.rounds()
    }

    /// What the rounds of a subject have shown, if they are over; then it is the next one's turn.
    pub(crate) fn verdict(&mut self) -> Verdict {
        let is_over = |subject: &mut Subject| self.running.is_none() && self.rounds >= subject.rounds();
        let Some(subject) = self.subjects.pop_if(is_over) else { return Verdict::Keep };
        self.rounds = 0;
        match subject.verdict() {
            verdict if self.may_change => verdict,
            _ => Verdict::Keep,
        }
    }

    /// The rivals that run in turns, or will.
    pub(crate) fn rivals(&mut self) -> impl Iterator<Item = &mut Rival> {
        self.subjects.iter_mut().flat_map(|subject| match subject {
            Subject::Contest(contest) => contest.rivals.as_mut_slice(),
            Subject::Costs(_) => &mut [],
        })
    }

    /// Whether it has shown everything.
    pub(crate) fn is_over(&self) -> bool {
        self.subjects.is_empty()
    }
}
