//! Events: waiting, status, profiling.

mod clock;
mod raw;

use oclave_faults::Fault;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

pub use self::clock::device_now;
pub use self::raw::{Ended, RawEvent, Status, Then};
use crate::MakeError as _;
use crate::queue::Queue;
use crate::sys::{
    CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START,
    CL_PROFILING_COMMAND_SUBMIT,
};
use crate::{Error, ErrorKind, Result};

/// Times of a command on the device's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profiling {
    /// When the host put it on the queue.
    pub queued_ns: u64,
    /// When the host handed it to the device.
    pub submitted_ns: u64,
    /// When it began to run.
    pub started_ns: u64,
    /// When it had run.
    pub ended_ns: u64,
}

impl Profiling {
    /// Of the times in nanoseconds, in the order of the fields.
    #[doc(hidden)]
    pub fn new([queued_ns, submitted_ns, started_ns, ended_ns]: [u64; 4]) -> Self {
        Self { queued_ns, submitted_ns, started_ns, ended_ns }
    }

    /// The same on a clock that is ahead by so much.
    pub fn shifted(self, by_ns: i64) -> Self {
        let shift = |ns: u64| ns.saturating_add_signed(by_ns);
        Self {
            queued_ns: shift(self.queued_ns),
            submitted_ns: shift(self.submitted_ns),
            started_ns: shift(self.started_ns),
            ended_ns: shift(self.ended_ns),
        }
    }

    /// How long it ran.
    pub fn duration(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.ended_ns.saturating_sub(self.started_ns))
    }
}

/// A command of a queue: the driver's event, or its place in the queue when it was submitted
/// without one. Clones share it, so that cloning makes no call.
///
/// If a command has no event and one is needed after all, a marker behind everything that was
/// submitted until then serves. It completes no earlier than the command.
#[derive(Clone)]
pub struct Event(Form);

/// Two words, as events are moved often.
#[derive(Clone)]
enum Form {
    One(Arc<Submitted>),
    Several(Arc<Joint>),
}

/// An event that stands for several commands.
struct Joint {
    /// The last one. It does not know the others: one of them may be itself.
    last: Arc<Submitted>,
    several: Several,
}

struct Submitted {
    queue: Arc<Queue>,
    /// When this event is complete, so are all commands of the queue that were counted up to here.
    covers: u64,
    /// Complete when `queue.is_complete(count)`; for events without `own`.
    count: u64,
    own: Option<RawEvent>,
    /// A marker in place of `own`, created when it is first needed.
    marker: OnceLock<RawEvent>,
    /// The commands behind all of which it is complete, which end independently of each other;
    /// instead of `own`.
    joined: Vec<RawEvent>,
    /// Whether a wait has seen it end.
    seen: AtomicBool,
}

/// The least that can be said of all of them.
fn status_of_all(events: &[RawEvent]) -> Result<Status> {
    let all = events.iter().map(RawEvent::status).collect::<Result<Vec<_>>>()?;
    let has_begun = |status: &Status| !matches!(status, Status::Queued | Status::Submitted);
    let is_over = all.iter().all(|status| status.is_over());
    Ok(match all.iter().find(|status| matches!(status, Status::Failed(_))) {
        Some(failed) if is_over => *failed,
        None if is_over => Status::Complete,
        _ if all.contains(&Status::Queued) => Status::Queued,
        _ if all.iter().any(has_begun) => Status::Running,
        _ => Status::Submitted,
    })
}

/// The commands of an event that stands for more than one.
#[derive(Debug)]
pub enum Several {
    /// Nobody asked for their times. The event of the first one, where it has one.
    Unmeasured(Option<Event>),
    /// An event for each.
    Measured(Measured),
}

impl Several {
    /// Whether the first one runs, or has run.
    fn has_begun(&self) -> bool {
        let first = match self {
            Self::Unmeasured(first) => first.as_ref(),
            Self::Measured(measured) => measured.events.first(),
        };
        first.is_some_and(|first| matches!(first.status(), Ok(Status::Running | Status::Complete)))
    }
}

/// The events of the commands of a sequence.
#[derive(Debug)]
pub struct Measured {
    /// [`Sequence::id`](crate::sequence::Sequence::id).
    pub sequence: u64,
    /// In the order of the sequence.
    pub events: Vec<Event>,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("queue", self.queue()).finish_non_exhaustive()
    }
}

impl Event {
    /// The event of a command that is counted `count`, and that covers `covers` (see [`Queue`]).
    #[inline]
    pub(crate) fn new(queue: Arc<Queue>, raw: Option<RawEvent>, count: u64, covers: u64) -> Self {
        Self::make(queue, (covers, count), raw, Vec::new())
    }

    /// An event that is complete when all of these are, counted `count`.
    pub(crate) fn joined(queue: Arc<Queue>, events: Vec<RawEvent>, count: u64) -> Self {
        Self::make(queue, (0, count), None, events)
    }

    #[inline]
    fn make(
        queue: Arc<Queue>,
        (covers, count): (u64, u64),
        own: Option<RawEvent>,
        joined: Vec<RawEvent>,
    ) -> Self {
        let (marker, seen) = (OnceLock::new(), AtomicBool::new(false));
        Self(Form::One(Arc::new(Submitted { queue, covers, count, own, marker, joined, seen })))
    }

    #[inline]
    fn one(&self) -> &Arc<Submitted> {
        match &self.0 {
            Form::One(one) => one,
            Form::Several(joint) => &joint.last,
        }
    }

    fn several(&self) -> Option<&Several> {
        match &self.0 {
            Form::One(_) => None,
            Form::Several(joint) => Some(&joint.several),
        }
    }

    /// Whether both are the same event.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.one(), other.one())
    }

    /// Whether a wait has proven that it has ended, so that nothing must be asked.
    #[inline]
    pub fn is_behind(&self) -> bool {
        let Submitted { queue, count, own, seen, .. } = &**self.one();
        seen.load(Ordering::Acquire) || own.is_none() && queue.is_complete(*count)
    }

    /// The event of several commands, the last of which it was.
    pub fn of_several(self, several: Several) -> Self {
        let last = Arc::clone(self.one());
        Self(Form::Several(Arc::new(Joint { last, several })))
    }

    /// The events of the commands that it stands for, when they are measured.
    pub fn measured(&self) -> Option<&Measured> {
        match self.several() {
            Some(Several::Measured(measured)) => Some(measured),
            _ => None,
        }
    }

    #[inline]
    fn known(&self) -> Option<&RawEvent> {
        self.one().own.as_ref().or_else(|| self.one().marker.get())
    }

    /// The queue of the command.
    #[inline]
    pub fn queue(&self) -> &Arc<Queue> {
        &self.one().queue
    }

    /// The driver's event; made when there is none.
    pub(crate) fn raw(&self) -> Result<&RawEvent> {
        if let Some(raw) = self.known() {
            return Ok(raw);
        }
        let marker = self.one().queue.marker_event(&self.one().joined)?;
        Ok(self.one().marker.get_or_init(|| marker))
    }

    /// Waits until the command has ended.
    ///
    /// # Errors
    /// When it failed, or the driver refuses to wait.
    pub fn wait(&self) -> Result<()> {
        let Submitted { queue, count, joined, .. } = &**self.one();
        let events = match (joined.as_slice(), self.known()) {
            ([], Some(raw)) => std::slice::from_ref(raw),
            ([], None) if queue.is_complete(*count) => return Ok(()),
            ([], None) => return queue.finish(),
            (joined, _) => joined,
        };
        let by_queue =
            joined.is_empty() && queue.is_last(*count) && queue.context().driver_faults().has(Fault::Q29);
        let outcome = match events {
            [last] if by_queue => queue.core.finish().and_then(|()| last.outcome_or_wait()), // Q29
            events => events.iter().map(RawEvent::wait).fold(Ok(()), Result::and),
        };
        self.waited(outcome)
    }

    /// As [`Event::wait`], of a command that has ended, for callers that must not be kept waiting:
    /// it asks the events alone. Their end is no synchronization point before one waits for them.
    ///
    /// # Errors
    /// As [`Event::wait`].
    pub fn wait_for_ended(&self) -> Result<()> {
        let outcome = match (self.one().joined.as_slice(), self.known()) {
            ([], Some(raw)) => raw.wait(),
            ([], None) => return self.wait(),
            (joined, _) => joined.iter().map(RawEvent::wait).fold(Ok(()), Result::and),
        };
        self.waited(outcome)
    }

    /// Notes what a wait has proven.
    fn waited(&self, outcome: Result<()>) -> Result<()> {
        let Submitted { queue, covers, seen, .. } = &**self.one();
        if outcome.is_err() {
            return queue.check_faults_after(outcome);
        }
        seen.store(true, Ordering::Release);
        queue.completed(*covers);
        queue.check_faults()
    }

    /// Returns when the command has ended, however it did, whatever that takes.
    pub(crate) fn end(&self) {
        let has_ended = || self.raw().and_then(RawEvent::wait_for_end);
        if self.is_behind() || has_ended().is_ok() {
            return;
        }
        self.one().queue.end_borrowed();
    }

    /// Calls `then` when the command has ended; see [`RawEvent::when_ended`]. What cannot be flushed
    /// may stay queued for ever, and nobody would be called. Gives `then` back also where the driver would call late.
    pub fn when_ended(&self, then: Then) -> Result<(), Then> {
        let Ok(raw) = self.raw() else { return Err(then) };
        if let Err(error) = self.one().queue.flush_once() {
            self.one().queue.context().keep_error(error);
            return Err(then);
        }
        if self.one().queue.context().driver_faults().has(Fault::Q71) {
            return Err(then);
        }
        raw.when_ended(then)
    }

    /// Blocks until the command has ended, and tells how, as callbacks are told. It proves nothing more: that is
    /// what [`Event::wait`] is for.
    pub fn wait_for_outcome(&self) -> Result<()> {
        if self.is_behind() {
            return Ok(());
        }
        let raw = self.raw()?;
        raw.wait().or_else(|error| {
            raw.wait_for_end()?;
            raw.outcome().ok().flatten().unwrap_or(Err(error))
        })
    }

    /// How it has ended; `None` while it has not.
    pub fn outcome(&self) -> Result<Option<Result<()>>> {
        self.status().map(Status::outcome)
    }

    /// Where the command is.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn status(&self) -> Result<Status> {
        if self.known().is_none() && self.one().queue.is_complete(self.one().count) {
            return Ok(Status::Complete);
        }
        let status = match self.one().joined.as_slice() {
            [] => self.raw()?.status()?,
            events => status_of_all(events)?,
        };
        match status {
            Status::Complete => self.one().queue.completed(self.one().covers),
            // A command that was never flushed may stay queued for ever.
            Status::Queued => self.one().queue.flush()?,
            _ => {}
        }
        Ok(match status {
            Status::Queued | Status::Submitted if self.has_begun() => Status::Running,
            status => status,
        })
    }

    /// Whether it has ended with a failure, as far as the driver says. Creates no marker to find out.
    pub fn has_failed(&self) -> bool {
        let Submitted { own, joined, .. } = &**self.one();
        let status = match own {
            _ if self.is_behind() => return false,
            Some(own) => own.status(),
            None if joined.is_empty() => return false,
            None => status_of_all(joined),
        };
        matches!(status, Ok(Status::Failed(_)))
    }

    /// Whether it has ended, however it did, as far as the driver says.
    pub(crate) fn has_ended(&self) -> bool {
        self.status().is_ok_and(Status::is_over)
    }

    fn has_begun(&self) -> bool {
        self.several().is_some_and(Several::has_begun)
    }

    /// When it ran.
    ///
    /// # Errors
    /// [`ErrorKind::Profiling`] when it was not measured.
    pub fn profiling(&self) -> Result<Profiling> {
        if !self.one().queue.properties().profiling {
            return Err(Error::new(ErrorKind::Profiling, "the queue was built without profiling")
                .remedy("build it with `Queue::builder(&context).profiling()`"));
        }
        match self.several() {
            None => self.own_profiling(),
            Some(Several::Unmeasured(_)) => Err(Self::unmeasured()),
            // There was nothing to do: of the marker in its place.
            Some(Several::Measured(measured)) if measured.events.is_empty() => self.own_profiling(),
            Some(Several::Measured(measured)) => {
                Self::profiling_of(measured.events.iter().map(Self::own_profiling))
            }
        }
    }

    /// Of a graph the times of which nobody asked for.
    pub fn unmeasured() -> Error {
        Error::new(ErrorKind::Profiling, "the graph was finalized without profiling")
            .remedy("finalize it with `graph.finalizer().profiling()`")
    }

    /// From the first start to the last end.
    pub fn profiling_of(mut times: impl Iterator<Item = Result<Profiling>>) -> Result<Profiling> {
        let none = || Error::new(ErrorKind::Profiling, "the graph put no command on a device");
        let first = times.next().ok_or_else(none)??;
        times.try_fold(first, |all, one| {
            let one = one?;
            Ok(Profiling {
                queued_ns: all.queued_ns.min(one.queued_ns),
                submitted_ns: all.submitted_ns.min(one.submitted_ns),
                started_ns: all.started_ns.min(one.started_ns),
                ended_ns: all.ended_ns.max(one.ended_ns),
            })
        })
    }

    fn own_profiling(&self) -> Result<Profiling> {
        let Some(raw) = &self.one().own else {
            return Err(Error::new(ErrorKind::Profiling, "the queue discards events")
                .remedy("build it without `discard_events()`"));
        };
        let profile = |name| raw.profile(name).map_err(|error| error.with_kind(ErrorKind::Profiling));
        let started_ns = profile(CL_PROFILING_COMMAND_START)?;
        // Intel's CPU runtime leaves out the first two of some commands, of those with command
        // buffers among them.
        let given = |ns: u64, next: u64| if ns == 0 { next } else { ns };
        let submitted_ns = given(profile(CL_PROFILING_COMMAND_SUBMIT)?, started_ns);
        let queued_ns = given(profile(CL_PROFILING_COMMAND_QUEUED)?, submitted_ns);
        Ok(Profiling { queued_ns, submitted_ns, started_ns, ended_ns: profile(CL_PROFILING_COMMAND_END)? })
    }
}
