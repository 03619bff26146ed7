//! Events: waiting, status, profiling.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::queue::Queue;
use super::sys::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_QUEUED,
    CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_SUBMIT, CL_QUEUED, CL_RUNNING, CL_SUBMITTED, cl_event,
    cl_int, cl_profiling_info,
};
use super::{Api, info};
use crate::error::{Error, ErrorKind, Result};

/// Where a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Queued,
    Submitted,
    Running,
    Complete,
    /// Ended with this (negative) code.
    Failed(i32),
}

/// One reference to a `cl_event`.
pub(crate) struct RawEvent {
    api: &'static Api,
    raw: cl_event,
}

// SAFETY: OpenCL's functions on events are thread-safe (specification, appendix A.2); the handle is only read.
unsafe impl Send for RawEvent {}
// SAFETY: as above.
unsafe impl Sync for RawEvent {}

impl RawEvent {
    /// # Safety
    /// `raw` is an event, one reference to which passes to the result.
    pub(crate) unsafe fn new(api: &'static Api, raw: cl_event) -> Self {
        Self { api, raw }
    }

    pub(crate) fn raw(&self) -> cl_event {
        self.raw
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        // SAFETY: the event is alive.
        unsafe { self.api.clRetainEvent(self.raw) }?;
        Ok(Self { api: self.api, raw: self.raw })
    }

    pub(crate) fn status(&self) -> Result<Status> {
        let status: cl_int = info::value(|size, value, ret| {
            // SAFETY: the event is alive; `value` has room for `size` bytes.
            unsafe { self.api.clGetEventInfo(self.raw, CL_EVENT_COMMAND_EXECUTION_STATUS, size, value, ret) }
        })?;
        Ok(match status {
            CL_COMPLETE => Status::Complete,
            CL_RUNNING => Status::Running,
            CL_SUBMITTED => Status::Submitted,
            CL_QUEUED => Status::Queued,
            code if code < 0 => Status::Failed(code),
            _ => Status::Submitted,
        })
    }

    /// How it has ended; `None` while it has not.
    pub(crate) fn outcome(&self) -> Result<Option<Result<()>>> {
        Ok(match self.status()? {
            Status::Complete => Some(Ok(())),
            Status::Failed(code) => Some(Err(failed(code))),
            _ => None,
        })
    }

    /// Blocks until the command has ended.
    pub(crate) fn wait(&self) -> Result<()> {
        // SAFETY: the event is alive.
        let waited = unsafe { self.api.clWaitForEvents(&[self.raw]) };
        // The wait only says that something failed; the event says how.
        match self.status() {
            Ok(Status::Failed(code)) => Err(failed(code)),
            _ => waited,
        }
    }

    /// Blocks until the command has ended, however it ended.
    ///
    /// # Errors
    /// When the driver does not say. Every way to ask has been tried then.
    pub(crate) fn wait_for_end(&self) -> Result<()> {
        let ended = |event: &Self| {
            event.status().map(|status| matches!(status, Status::Complete | Status::Failed(_)))
        };
        if self.wait().is_ok() || matches!(ended(self), Ok(true)) {
            return Ok(());
        }
        while !ended(self)? {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        Ok(())
    }

    fn profile(&self, name: cl_profiling_info) -> Result<u64> {
        info::value(|size, value, ret| {
            // SAFETY: the event is alive; `value` has room for `size` bytes.
            unsafe { self.api.clGetEventProfilingInfo(self.raw, name, size, value, ret) }
        })
    }
}

impl Drop for RawEvent {
    fn drop(&mut self) {
        // SAFETY: the reference is this object's own.
        if let Err(error) = unsafe { self.api.clReleaseEvent(self.raw) } {
            log::error!("an event was not released: {error}");
        }
    }
}

/// How a command ended, with the event: it is released when this is dropped, and not inside the driver's callback.
pub(crate) struct Ended {
    outcome: Result<()>,
    event: Option<RawEvent>,
}

impl Ended {
    /// How it ended. Asks the event itself, too: PoCL (6.0, 7.1) tells callbacks that all is well of user events that failed.
    pub(crate) fn outcome(self) -> Result<()> {
        match self.event.as_ref().map(RawEvent::status) {
            Some(Ok(Status::Failed(code))) if self.outcome.is_ok() => Err(failed(code)),
            _ => self.outcome,
        }
    }
}

/// Called, on a thread of the driver, when a command has ended. It must neither wait nor call OpenCL.
pub(crate) type Then = Box<dyn FnOnce(Ended) + Send>;

struct Callback {
    then: Then,
    event: RawEvent,
}

impl RawEvent {
    /// Calls `then` once, when the command has ended; at once when the driver refuses.
    pub(crate) fn when_ended(&self, then: Then) {
        let event = match self.try_clone() {
            Ok(event) => event,
            Err(error) => return then(Ended { outcome: Err(error), event: None }),
        };
        let data = Box::into_raw(Box::new(Callback { then, event })).cast::<c_void>();
        // SAFETY: the event is alive, and so is its reference in the box, which goes to `ended` or is taken back below.
        let set = unsafe { self.api.clSetEventCallback(self.raw, CL_COMPLETE, Some(ended), data) };
        if let Err(error) = set {
            // SAFETY: the box was made above, and the driver did not take the callback.
            let callback = unsafe { Box::from_raw(data.cast::<Callback>()) };
            (callback.then)(Ended { outcome: Err(error), event: Some(callback.event) });
        }
    }
}

/// What drivers call.
unsafe extern "C" fn ended(_: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: `data` is the box that `RawEvent::when_ended` gave away; drivers call once for each registration
    // (specification of clSetEventCallback).
    let callback = unsafe { Box::from_raw(data.cast::<Callback>()) };
    let outcome = if status < 0 { Err(failed(status)) } else { Ok(()) };
    (callback.then)(Ended { outcome, event: Some(callback.event) });
}

fn failed(code: i32) -> Error {
    Error::cl("clWaitForEvents", code)
        .with_kind(ErrorKind::Kernel)
        .with_message("a command, or one that it depends on, failed while it ran")
}

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
    /// How long it ran.
    pub fn duration(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.ended_ns.saturating_sub(self.started_ns))
    }
}

/// A command of a queue: the driver's event, or its place in the queue when it was submitted without one. Clones share it, so that
/// cloning makes no call.
///
/// Without an event, and where one is needed after all, a marker behind everything that was submitted until then
/// serves: it completes no earlier than the command.
#[derive(Clone)]
pub(crate) struct Event {
    one: Arc<Submitted>,
    /// Of an event that stands for several commands. Not shared: one of those may be `one` itself.
    several: Option<Several>,
}

struct Submitted {
    queue: Arc<Queue>,
    /// When this event is complete, so are all commands of the queue that were counted up to here.
    covers: u64,
    /// Complete when `queue.is_complete(count)`; for events without `own`.
    count: u64,
    own: Option<RawEvent>,
    /// Stands in for `own` once one was needed.
    marker: OnceLock<RawEvent>,
    /// The commands behind all of which it is complete, which end independently of each other; instead of `own`.
    joined: Vec<RawEvent>,
    /// Whether a wait has seen all of `joined` end.
    seen: AtomicBool,
}

/// The least that can be said of all of them.
fn status_of_all(events: &[RawEvent]) -> Result<Status> {
    let all = events.iter().map(RawEvent::status).collect::<Result<Vec<_>>>()?;
    let has_begun = |status: &Status| !matches!(status, Status::Queued | Status::Submitted);
    let is_over = all.iter().all(|status| matches!(status, Status::Complete | Status::Failed(_)));
    Ok(match all.iter().find(|status| matches!(status, Status::Failed(_))) {
        Some(failed) if is_over => *failed,
        None if is_over => Status::Complete,
        _ if all.contains(&Status::Queued) => Status::Queued,
        _ if all.iter().any(has_begun) => Status::Running,
        _ => Status::Submitted,
    })
}

/// The commands of an event that stands for more than one.
#[derive(Clone)]
pub(crate) enum Several {
    /// Nobody asked for their times. The event of the first one, where it has one.
    Unmeasured(Option<Arc<Event>>),
    /// An event for each.
    Measured(Arc<Measured>),
}

impl Several {
    pub(crate) fn measured(events: Measured) -> Self {
        Self::Measured(Arc::new(events))
    }

    /// With the event of the first one, where it is not that of the last.
    pub(crate) fn unmeasured(first: Option<Event>) -> Self {
        Self::Unmeasured(first.map(Arc::new))
    }

    /// Whether the first one runs, or has run.
    fn has_begun(&self) -> bool {
        let first = match self {
            Self::Unmeasured(first) => first.as_deref(),
            Self::Measured(measured) => measured.events.first(),
        };
        first.is_some_and(|first| matches!(first.status(), Ok(Status::Running | Status::Complete)))
    }
}

/// The events of the commands of a sequence.
pub(crate) struct Measured {
    /// [`Sequence::id`](super::sequence::Sequence::id).
    pub(crate) sequence: u64,
    pub(crate) events: Vec<Event>,
}

impl Event {
    /// The event of a command that is counted `count`, and that covers `covers` (see [`Queue`]).
    pub(crate) fn new(queue: Arc<Queue>, raw: Option<RawEvent>, count: u64, covers: u64) -> Self {
        Self::make(queue, (covers, count), raw, Vec::new())
    }

    /// An event that is complete when all of these are, counted `count`.
    pub(super) fn joined(queue: Arc<Queue>, events: Vec<RawEvent>, count: u64) -> Self {
        Self::make(queue, (0, count), None, events)
    }

    fn make(
        queue: Arc<Queue>,
        (covers, count): (u64, u64),
        own: Option<RawEvent>,
        joined: Vec<RawEvent>,
    ) -> Self {
        let (marker, seen) = (OnceLock::new(), AtomicBool::new(false));
        let one = Submitted { queue, covers, count, own, marker, joined, seen };
        Self { one: Arc::new(one), several: None }
    }

    /// Whether a wait has proven that it has ended, so that nothing must be asked.
    pub(crate) fn is_behind(&self) -> bool {
        let Submitted { queue, count, own, seen, .. } = &*self.one;
        seen.load(Ordering::Acquire) || own.is_none() && queue.is_complete(*count)
    }

    /// The event of several commands, the last of which it was.
    pub(crate) fn of_several(mut self, several: Several) -> Self {
        self.several = Some(several);
        self
    }

    /// The events of the commands that it stands for, when they are measured.
    pub(crate) fn measured(&self) -> Option<&Measured> {
        match &self.several {
            Some(Several::Measured(measured)) => Some(measured),
            _ => None,
        }
    }

    fn known(&self) -> Option<&RawEvent> {
        self.one.own.as_ref().or_else(|| self.one.marker.get())
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.one.queue
    }

    /// The driver's event; made when there is none.
    pub(crate) fn raw(&self) -> Result<&RawEvent> {
        if let Some(raw) = self.known() {
            return Ok(raw);
        }
        let marker = self.one.queue.marker_event(&self.one.joined)?;
        Ok(self.one.marker.get_or_init(|| marker))
    }

    pub(crate) fn wait(&self) -> Result<()> {
        if !self.one.joined.is_empty() {
            self.one.joined.iter().map(RawEvent::wait).fold(Ok(()), Result::and)?;
            self.one.seen.store(true, Ordering::Release);
            return self.one.queue.check_faults();
        }
        let Some(raw) = self.known() else {
            return if self.one.queue.is_complete(self.one.count) { Ok(()) } else { self.one.queue.finish() };
        };
        raw.wait()?;
        self.one.queue.completed(self.one.covers);
        self.one.queue.check_faults()
    }

    /// Calls `then` when the command has ended; see [`RawEvent::when_ended`].
    pub(crate) fn when_ended(&self, then: Then) {
        match self.raw() {
            Ok(raw) => raw.when_ended(then),
            Err(error) => return then(Ended { outcome: Err(error), event: None }),
        }
        // What was never flushed may stay queued for ever.
        if let Err(error) = self.one.queue.flush_once() {
            self.one.queue.context().keep_error(error);
        }
    }

    pub(crate) fn status(&self) -> Result<Status> {
        if self.known().is_none() && self.one.queue.is_complete(self.one.count) {
            return Ok(Status::Complete);
        }
        let status = match self.one.joined.as_slice() {
            [] => self.raw()?.status()?,
            events => status_of_all(events)?,
        };
        match status {
            Status::Complete => self.one.queue.completed(self.one.covers),
            // What was never flushed may stay queued for ever.
            Status::Queued => self.one.queue.flush()?,
            _ => {}
        }
        Ok(match status {
            Status::Queued | Status::Submitted if self.has_begun() => Status::Running,
            status => status,
        })
    }

    fn has_begun(&self) -> bool {
        self.several.as_ref().is_some_and(Several::has_begun)
    }

    pub(crate) fn profiling(&self) -> Result<Profiling> {
        if !self.one.queue.properties().profiling {
            return Err(Error::new(ErrorKind::Profiling, "the queue was built without profiling")
                .remedy("build it with `Queue::builder(&context).profiling()`"));
        }
        match &self.several {
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
    pub(crate) fn unmeasured() -> Error {
        Error::new(ErrorKind::Profiling, "the graph was finalized without profiling")
            .remedy("finalize it with `graph.finalizer().profiling()`")
    }

    /// From the first start to the last end.
    pub(crate) fn profiling_of(mut times: impl Iterator<Item = Result<Profiling>>) -> Result<Profiling> {
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
        let Some(raw) = &self.one.own else {
            return Err(Error::new(ErrorKind::Profiling, "the queue discards events")
                .remedy("build it without `discard_events()`"));
        };
        let profile = |name| raw.profile(name).map_err(|error| error.with_kind(ErrorKind::Profiling));
        Ok(Profiling {
            queued_ns: profile(CL_PROFILING_COMMAND_QUEUED)?,
            submitted_ns: profile(CL_PROFILING_COMMAND_SUBMIT)?,
            started_ns: profile(CL_PROFILING_COMMAND_START)?,
            ended_ns: profile(CL_PROFILING_COMMAND_END)?,
        })
    }
}
