//! User events for outside, and why those failed that did.
//!
//! OpenCL's events carry a code only. So the library keeps the error of each user event that it
//! ends with one. A program that gives it such an event again gets this error as the cause.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::context::Context;
use super::native::EventHandle;
use crate::api;
use crate::sync::{Mutex, MutexGuard};
use crate::sys::{CL_COMPLETE, cl_event, cl_int};
use crate::{Error, Result};

/// `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST`: what user events end with whose command failed
/// without a code of OpenCL.
const FAILED: cl_int = -14;

/// How many failed events are kept. Of more, the oldest are forgotten.
const MOST: usize = 64;

/// A failed user event. The reference keeps the driver from using the handle for another event.
struct Failed {
    event: Arc<EventHandle>,
    context: Weak<Context>,
    cause: Error,
}

static FAILURES: Mutex<VecDeque<Failed>> = Mutex::new(VecDeque::new());

fn failures() -> MutexGuard<'static, VecDeque<Failed>> {
    FAILURES.lock()
}

/// An event for raw commands that depend on what the driver does not know.
#[derive(Debug)]
pub struct UserEvent {
    handle: Arc<EventHandle>,
    context: Weak<Context>,
}

impl UserEvent {
    /// A new event, which has not ended.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(context: &Arc<Context>) -> Result<Self> {
        // SAFETY: the context is alive; the call gives a reference.
        let handle = unsafe { EventHandle::from_raw(context.api().clCreateUserEvent(context.raw())?) }?;
        Ok(Self { handle: Arc::new(handle), context: Arc::downgrade(context) })
    }

    /// Another reference.
    pub fn handle(&self) -> Result<EventHandle> {
        self.handle.try_clone()
    }

    /// It ends in this way.
    pub fn end(self, outcome: &Result<()>) {
        // Its end forgets the event. So it must not come between the next steps.
        let _context = self.context.upgrade();
        let status = match outcome {
            Ok(()) => CL_COMPLETE,
            Err(error) => {
                // First: others may ask for the cause as soon as the status is set.
                self.keep(error);
                error.root_code().filter(|code| *code < 0).unwrap_or(FAILED)
            }
        };
        // SAFETY: the event is alive, and its status was not set before.
        let set = api().and_then(|api| unsafe { api.clSetUserEventStatus(self.handle.raw(), status) });
        if let Err(error) = set {
            log::error!("a user event stays as it is: {error:#}");
        }
    }

    /// Keeps why it failed, as long as its context lives.
    fn keep(&self, cause: &Error) {
        if self.context.strong_count() == 0 {
            return;
        }
        let (event, context) = (Arc::clone(&self.handle), self.context.clone());
        let mut failures = failures();
        let oldest = if failures.len() == MOST { failures.pop_front() } else { None };
        failures.push_back(Failed { event, context, cause: cause.clone() });
        drop(failures);
        // Released without the lock.
        drop(oldest);
    }
}

/// Why an event failed, if it is a user event of the library.
pub(super) fn cause_of(event: cl_event) -> Option<Error> {
    failures().iter().find(|failed| failed.event.raw() == event).map(|failed| failed.cause.clone())
}

/// Releases the failed events of contexts that are gone.
pub(super) fn forget() {
    let mut failures = failures();
    let (kept, gone) = failures.drain(..).partition(|failed| failed.context.strong_count() > 0);
    *failures = kept;
    drop(failures);
    drop::<VecDeque<_>>(gone);
}
