//! The driver's events: references to them, what they tell, and callbacks.

use std::ffi::c_void;
use std::fmt;
use std::time::Duration;

use crate::MakeError as _;
use crate::objects::user_event;
use crate::sys::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_QUEUED, CL_RUNNING, CL_SUBMITTED, cl_event, cl_int,
    cl_profiling_info,
};
use crate::{Api, Error, ErrorKind, Result, info};

/// Where a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// On the queue.
    Queued,
    /// Handed to the device.
    Submitted,
    /// Runs.
    Running,
    /// Ended well.
    Complete,
    /// Ended with this (negative) code.
    Failed(i32),
}

impl Status {
    /// Whether the command has ended, however it did.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Complete | Self::Failed(_))
    }

    /// How the command has ended; `None` while it has not.
    pub(super) fn outcome(self) -> Option<Result<()>> {
        match self {
            Self::Complete => Some(Ok(())),
            Self::Failed(code) => Some(Err(failed(code))),
            _ => None,
        }
    }
}

/// A driver that does not say so often in a row where a command is never will.
const REFUSALS: u32 = 100;

/// One reference to a `cl_event`.
pub struct RawEvent {
    api: &'static Api,
    raw: cl_event,
}

// SAFETY: OpenCL's functions on events are thread-safe (specification, appendix A.2); the handle is
// only read.
unsafe impl Send for RawEvent {}
// SAFETY: as above.
unsafe impl Sync for RawEvent {}

impl RawEvent {
    /// # Safety
    /// `raw` is an event, one reference to which passes to the result.
    #[inline]
    pub(crate) unsafe fn new(api: &'static Api, raw: cl_event) -> Self {
        Self { api, raw }
    }

    #[inline]
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
    pub fn outcome(&self) -> Result<Option<Result<()>>> {
        self.status().map(|status| match status {
            Status::Failed(code) => Some(Err(self.failed(code))),
            status => status.outcome(),
        })
    }

    /// The error of its code, with the cause where the library knows it.
    fn failed(&self, code: i32) -> Error {
        let error = failed(code);
        match user_event::cause_of(self.raw) {
            Some(cause) => error.with_source(cause),
            None => error,
        }
    }

    /// Whether it has ended, however it did, as far as the driver says.
    pub(crate) fn has_ended(&self) -> bool {
        self.status().is_ok_and(Status::is_over)
    }

    /// Whether it has ended without a failure, as far as the driver says.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.status().is_ok_and(|status| status == Status::Complete)
    }

    /// Blocks until the command has ended.
    pub(crate) fn wait(&self) -> Result<()> {
        // SAFETY: the event is alive.
        let Err(error) = (unsafe { self.api.clWaitForEvents(&[self.raw]) }) else { return Ok(()) };
        // The wait only says that something failed; the event says how, but on Intel's CPU runtime.
        match self.status() {
            Ok(Status::Failed(code)) => Err(self.failed(code)),
            _ => Err(error),
        }
    }

    /// How the command has ended, which a wait for its queue has seen. Blocks if the driver does not
    /// say.
    pub(super) fn outcome_or_wait(&self) -> Result<()> {
        match self.outcome() {
            Ok(Some(outcome)) => outcome,
            _ => self.wait(),
        }
    }

    /// Blocks until the command has ended, however it ended.
    ///
    /// # Errors
    /// When the driver does not say. Every way to ask has been tried then.
    pub(crate) fn wait_for_end(&self) -> Result<()> {
        if self.wait().is_ok() || self.has_ended() {
            return Ok(());
        }
        let mut refusals = 0;
        loop {
            match self.status() {
                Ok(status) if status.is_over() => return Ok(()),
                Ok(_) => refusals = 0,
                Err(error) if refusals == REFUSALS => return Err(error),
                Err(_) => refusals += 1,
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    pub(super) fn profile(&self, name: cl_profiling_info) -> Result<u64> {
        info::value(|size, value, ret| {
            // SAFETY: the event is alive; `value` has room for `size` bytes.
            unsafe { self.api.clGetEventProfilingInfo(self.raw, name, size, value, ret) }
        })
    }
}

impl fmt::Debug for RawEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawEvent").field(&self.raw).finish()
    }
}

impl Drop for RawEvent {
    fn drop(&mut self) {
        // SAFETY: the reference is this object's own.
        if let Err(error) = unsafe { self.api.clReleaseEvent(self.raw) } {
            log::error!("an event was not released: {error:#}");
        }
    }
}

/// How a command ended.
#[derive(Debug)]
pub enum Ended {
    /// For who found out without the driver's callback.
    Seen(Result<()>),
    /// The status that the callback was told, with the event. That is released when this is
    /// dropped, and not inside the driver's callback.
    Told(cl_int, RawEvent),
}

impl Ended {
    /// How it ended. Asks the event itself, too, because of Q72.
    pub fn outcome(self) -> Result<()> {
        match self {
            Self::Seen(outcome) => outcome,
            Self::Told(code, event) if code < 0 => Err(event.failed(code)),
            Self::Told(_, event) => match event.status() {
                Ok(Status::Failed(code)) => Err(event.failed(code)),
                _ => Ok(()),
            },
        }
    }
}

/// Called, on a thread of the driver, when a command has ended. It must neither wait nor call
/// OpenCL.
pub type Then = Box<dyn FnOnce(Ended) + Send>;

struct Callback {
    then: Then,
    event: RawEvent,
}

impl RawEvent {
    /// Calls `then` once, when the command has ended. Gives it back where the driver refuses: the
    /// command may run on.
    pub fn when_ended(&self, then: Then) -> Result<(), Then> {
        let Ok(event) = self.try_clone() else { return Err(then) };
        let data = Box::into_raw(Box::new(Callback { then, event })).cast::<c_void>();
        // SAFETY: the event is alive, and so is its reference in the box, which goes to `ended` or
        // is taken back below.
        let set = unsafe { self.api.clSetEventCallback(self.raw, CL_COMPLETE, Some(ended), data) };
        if let Err(error) = set {
            log::warn!(
                "an event is asked again and again, as the driver does not tell when it has ended: {error}"
            );
            // SAFETY: the box was made above, and the driver did not take the callback.
            return Err(unsafe { Box::from_raw(data.cast::<Callback>()) }.then);
        }
        Ok(())
    }
}

/// What drivers call.
unsafe extern "C" fn ended(_: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: `data` is the box that `RawEvent::when_ended` gave away; drivers call once for each
    // registration (specification of clSetEventCallback).
    let callback = unsafe { Box::from_raw(data.cast::<Callback>()) };
    (callback.then)(Ended::Told(status, callback.event));
}

fn failed(code: i32) -> Error {
    Error::cl("clWaitForEvents", code)
        .with_kind(ErrorKind::Kernel)
        .with_message("a command, or one that it depends on, failed while it ran")
}
