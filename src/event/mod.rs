//! Events: waiting for commands, asking where they are, measuring them.

mod recorded;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::recorded::Recorded;
pub use crate::driver::event::Profiling;
use crate::driver::event::{self as driver, Status};
use crate::driver::queue::Queue;
use crate::{Error, ErrorKind, Result};

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
///
/// The event of a command that was recorded stands for its node in the graph: it can be depended on by what is recorded
/// into the same graph, and nothing else; all that is asked of it is [`ErrorKind::Invalid`].
#[derive(Clone)]
pub struct Event(State);

#[derive(Clone)]
enum State {
    Native(driver::Event),
    Recorded(Recorded),
}

impl Event {
    pub(crate) fn native(event: driver::Event) -> Self {
        Self(State::Native(event))
    }

    /// The event of a node.
    pub(crate) fn of_node(node: Recorded) -> Self {
        Self(State::Recorded(node))
    }

    /// The node that it stands for.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match &self.0 {
            State::Recorded(node) => Some(node),
            State::Native(_) => None,
        }
    }

    /// As the driver has it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it was recorded.
    pub(crate) fn driver(&self) -> Result<&driver::Event> {
        match &self.0 {
            State::Native(event) => Ok(event),
            State::Recorded(_) => {
                Err(Error::invalid("the event's command was recorded into a graph, and has not run")
                    .remedy("wait for an event of the graph's submission"))
            }
        }
    }

    /// Whether the command is known to have ended, however it did.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status(), Ok(EventStatus::Complete | EventStatus::Failed(_)))
    }

    /// The queue, if its commands run in the order in which they were submitted.
    pub(crate) fn in_order_queue(&self) -> Option<&Arc<Queue>> {
        self.driver().ok().map(driver::Event::queue).filter(|queue| !queue.properties().out_of_order)
    }

    /// Waits until the command has ended.
    ///
    /// Of a queue that discards events, waits for everything that was put on the queue until now.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] when the command, or one that it depends on, failed.
    pub fn wait(&self) -> Result<()> {
        self.driver()?.wait()
    }

    /// Where the command is. Does not wait, and makes sure that asking again and again sees it end.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn status(&self) -> Result<EventStatus> {
        self.driver()?.status().map(EventStatus::from)
    }

    /// Whether the command has ended without failure.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] when it failed; else as [`Event::status`].
    pub fn is_complete(&self) -> Result<bool> {
        match self.status()? {
            EventStatus::Complete => Ok(true),
            EventStatus::Failed(code) => Err(Error::cl("clGetEventInfo", code)
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
        self.driver()?.profiling()
    }
}

impl From<Status> for EventStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Queued => Self::Queued,
            Status::Submitted => Self::Submitted,
            Status::Running => Self::Running,
            Status::Complete => Self::Complete,
            Status::Failed(code) => Self::Failed(code),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            State::Native(event) => {
                f.debug_struct("Event").field("queue", event.queue()).finish_non_exhaustive()
            }
            State::Recorded(node) => f.debug_tuple("Event").field(node).finish(),
        }
    }
}
