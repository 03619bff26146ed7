//! Events: waiting for commands, asking where they are, measuring them.

use std::fmt;

use crate::driver::event::{self, Profiling, Status};
use crate::{ErrorKind, Result};

/// Where a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventStatus {
    /// Put on the queue, waits there.
    Queued,
    /// Handed to the device.
    Submitted,
    /// Runs.
    Running,
    /// Has ended.
    Complete,
    /// Has ended with this OpenCL code, which is negative; [`Event::wait`] gives the error.
    Failed(i32),
}

/// A command that was put on a queue. Clones are of the same command; the command goes on without its event.
#[derive(Clone)]
pub struct Event(event::Event);

impl Event {
    pub(crate) fn new(event: event::Event) -> Self {
        Self(event)
    }

    pub(crate) fn driver(&self) -> &event::Event {
        &self.0
    }

    /// Waits until the command has ended.
    ///
    /// Of a queue that discards events, waits for everything that was put on the queue until now.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] when the command, or one that it depends on, failed.
    pub fn wait(&self) -> Result<()> {
        self.0.wait()
    }

    /// Where the command is. Does not wait, and makes sure that asking again and again sees it end.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn status(&self) -> Result<EventStatus> {
        self.0.status().map(|status| match status {
            Status::Queued => EventStatus::Queued,
            Status::Submitted => EventStatus::Submitted,
            Status::Running => EventStatus::Running,
            Status::Complete => EventStatus::Complete,
            Status::Failed(code) => EventStatus::Failed(code),
        })
    }

    /// Whether the command has ended without failure.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] when it failed; else as [`Event::status`].
    pub fn is_complete(&self) -> Result<bool> {
        match self.status()? {
            EventStatus::Complete => Ok(true),
            EventStatus::Failed(code) => Err(crate::Error::cl("clGetEventInfo", code)
                .with_kind(ErrorKind::Kernel)
                .with_message("a command failed")),
            _ => Ok(false),
        }
    }

    /// When the command was queued, submitted, started and ended.
    ///
    /// # Errors
    /// [`ErrorKind::Profiling`] when the queue was built without
    /// [`profiling`](crate::QueueBuilder::profiling) or discards events, and while the command has not ended.
    pub fn profiling(&self) -> Result<Profiling> {
        self.0.profiling()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("queue", self.0.queue()).finish_non_exhaustive()
    }
}
