//! Events from outside, and for outside.

use std::sync::Arc;

use super::{Event, Known, Outcome, Promise};
use crate::driver::UserEvent;
use crate::driver::event::RawEvent;
use crate::driver::native::EventHandle;
use crate::{Context, Error, Result, runtime};

impl Event {
    /// An event of OpenCL, of a raw command or a user event. Commands on any queue of any context
    /// can depend on it, and it can be waited for. Its reference is released when it has ended.
    ///
    /// No driver is made to wait for it. Commands that depend on it are deferred until it has
    /// ended. So a user event that is never completed keeps no other command from running. Such an
    /// event is not measured ([`Event::profiling`] fails).
    ///
    /// # Errors
    /// When the driver refuses, or the system has no thread.
    pub fn from_native(handle: EventHandle) -> Result<Self> {
        runtime::start()?;
        let promise = Promise::new(false);
        let told = promise.clone();
        let tell = move |outcome: Result<()>| {
            told.settle(match outcome {
                Ok(()) => Outcome::done_now(),
                Err(error) => Outcome::Failed(error),
            });
        };
        let event = RawEvent::of_native(handle)?;
        if event.needs_asking()? {
            runtime::watch(move || event.outcome(), tell);
        } else {
            runtime::when_raw_ended(event, tell);
        }
        Ok(Self::promised(promise))
    }

    /// An event of OpenCL that raw commands of a context can wait for. It belongs to the caller.
    ///
    /// It is the command's own where the driver has the command, in this context. Otherwise (host
    /// tasks, deferred commands, other contexts) it is a user event, which is completed
    /// when the command ends. When that fails, the user event is set to the code of the first
    /// failure, or to `CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST` where that has none. While the
    /// context lives, [`Event::from_native`] of it gives the error again. The library keeps those
    /// of the last 64 user events that failed. Of a queue that discards events it stands for
    /// everything that was put on the queue until now.
    ///
    /// A deferred command still has to reach its own queue. So raw commands that wait for it must
    /// not be put on that queue: they would come before it.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for the event of a command that was recorded; when
    /// the driver refuses.
    pub fn to_native(&self, context: &Context) -> Result<EventHandle> {
        let driver = context.driver();
        match self.known()? {
            Known::Native(event) if Arc::ptr_eq(event.queue().context(), driver) => event.native(),
            _ => {
                runtime::start()?;
                let user = UserEvent::new(driver)?;
                let handle = user.handle()?;
                self.when_over(move |outcome| user.end(&outcome))?;
                Ok(handle)
            }
        }
    }

    /// As [`Event::when_over`], of a command that a promise waits for: a thread that waits for it may get to know.
    pub(crate) fn when_over_for(
        &self,
        waits: &Arc<Promise>,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) -> Result<()> {
        match self.known()? {
            Known::Native(event) => waits.when_ended(event, then),
            Known::Unknown(promise) => {
                let waits = Arc::clone(waits);
                promise.when_known(move |outcome| match outcome {
                    Outcome::Native(event) => waits.when_ended(event, then),
                    Outcome::Done(_) => then(Ok(())),
                    Outcome::Failed(error) => then(Err(error.clone())),
                });
            }
            Known::Done | Known::Failed(_) => return self.when_over(then),
        }
        Ok(())
    }

    /// Calls `then` once, when the command has ended: here and now, or on a thread that gets to
    /// know.
    pub(crate) fn when_over(&self, then: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        match self.known()? {
            Known::Native(event) => runtime::when_ended(event, then),
            Known::Done => then(Ok(())),
            Known::Failed(error) => then(Err(Error::clone(error))),
            Known::Unknown(promise) => promise.when_known(move |outcome| match outcome {
                Outcome::Native(event) => runtime::when_ended(event, then),
                Outcome::Done(_) => then(Ok(())),
                Outcome::Failed(error) => then(Err(error.clone())),
            }),
        }
        Ok(())
    }
}
