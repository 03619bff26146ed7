//! Events: waiting for commands, asking where they are, measuring them.

mod future;
mod latch;
mod native;
mod promise;
mod recorded;

/// The types of the standard library that `latch` uses.
mod sync {
    pub(super) use crate::driver::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use std::sync::{Arc, OnceLock};
}

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::future::EventFuture;
pub(crate) use self::promise::{Outcome, Promise, Times, now_ns};
pub(crate) use self::recorded::{NodeOwner, Recorded, Waited};
use crate::MakeError as _;
pub use crate::driver::event::Profiling;
use crate::driver::event::{self as driver, Status};
use crate::driver::queue::Queue;
use crate::{Device, Error, ErrorKind, Result, runtime, trace};

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

/// A command that was put on a queue. Clones are of the same command; the command goes on without
/// its event.
///
/// An event can be awaited, see [`EventFuture`].
///
/// The event of a recorded command stands for its node in the graph. Only commands recorded into
/// the same graph can depend on it. All other functions of the event return [`ErrorKind::Invalid`].
///
/// ```no_run
/// # use oclave::{Queue, Result, UsmSlice};
/// # fn f(queue: &Queue, other: &Queue, x: &UsmSlice<f32>, y: &UsmSlice<f32>) -> Result<()> {
/// let filled = queue.fill(x, 1.0)?;
/// let copied = other.after(&filled).copy(x, y)?; // waits on the device, for another queue
/// println!("{:?}", copied.status()?);
/// copied.wait()?; // returns the error if the fill or the copy failed
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Event(State);

#[derive(Clone)]
enum State {
    Native(driver::Event),
    Promised(Arc<Promise>),
    Graph(Arc<GraphRun>),
    /// In a box, so that events are two words.
    Recorded(Box<Recorded>),
}

/// A submission of a graph of several partitions.
struct GraphRun {
    /// Of the executable graph.
    graph: u64,
    /// Whether it was finalized with profiling.
    measured: bool,
    /// The event after all of them.
    end: Event,
    parts: Vec<Event>,
    /// Whether its loops are to end.
    cancelled: Arc<AtomicBool>,
}

/// The status of an event, without waiting.
pub(crate) enum Known<'a> {
    /// The driver has the command.
    Native(&'a driver::Event),
    /// It has ended, and the driver never knew it.
    Done,
    Failed(&'a Error),
    /// The driver does not know it yet, if it ever will.
    Unknown(&'a Arc<Promise>),
}

impl<'a> Known<'a> {
    fn of(promise: &'a Arc<Promise>) -> Self {
        match promise.outcome() {
            Some(Outcome::Native(event)) => Self::Native(event),
            Some(Outcome::Done(_)) => Self::Done,
            Some(Outcome::Failed(error)) => Self::Failed(error),
            None => Self::Unknown(promise),
        }
    }
}

impl Event {
    pub(crate) fn native(event: driver::Event) -> Self {
        Self(State::Native(event))
    }

    /// The event of a node.
    pub(crate) fn of_node(node: Recorded) -> Self {
        Self(State::Recorded(Box::new(node)))
    }

    /// The event of what no driver has yet.
    pub(crate) fn promised(promise: Arc<Promise>) -> Self {
        Self(State::Promised(promise))
    }

    /// The event of a graph of several partitions: `end` comes after all of them.
    /// `cancelled` tells its loops to end.
    pub(crate) fn of_graph(
        graph: u64,
        measured: bool,
        end: Self,
        parts: Vec<Self>,
        cancelled: Arc<AtomicBool>,
    ) -> Self {
        Self(State::Graph(Arc::new(GraphRun { graph, measured, end, parts, cancelled })))
    }

    /// Ends the loops of a graph's submission, before their next iteration. A loop that was ended
    /// like that has failed, and with it the submission: [`Event::wait`] returns an error. The next
    /// submission of the graph runs. A loop that the interpreter runs in one launch ends at the next
    /// launch, some 50 ms later.
    ///
    /// Returns whether there was anything to end. That is `false` for events of other commands, and
    /// of submissions that have ended. It is also `false` for graphs without loops, conditions and
    /// host tasks. Commands outside of loops run on.
    ///
    /// ```no_run
    /// # use oclave::graph::ExecutableGraph;
    /// # use oclave::{Queue, Result};
    /// # fn f(queue: &Queue, solver: &ExecutableGraph) -> Result<()> {
    /// let solved = queue.submit_graph(solver)?;
    /// // ...
    /// solved.cancel();
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel(&self) -> bool {
        match &self.0 {
            State::Graph(run) if !self.has_ended() => {
                run.cancelled.store(true, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    /// The events of the partitions, of a submission of an executable graph that has several.
    pub(crate) fn parts_of(&self, graph: u64) -> Option<&[Self]> {
        match &self.0 {
            State::Graph(run) if run.graph == graph => Some(&run.parts),
            _ => None,
        }
    }

    /// The events of the commands that it stands for, when they are measured.
    pub(crate) fn measured(&self) -> Option<&driver::Measured> {
        self.native_event().and_then(driver::Event::measured)
    }

    /// More facts about the command, for those who know their type.
    pub(crate) fn detail(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        match &self.0 {
            State::Promised(promise) => promise.detail(),
            State::Native(_) | State::Graph(_) | State::Recorded(_) => None,
        }
    }

    /// The node that it stands for.
    #[inline]
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match &self.0 {
            State::Recorded(node) => Some(node),
            State::Native(_) | State::Promised(_) | State::Graph(_) => None,
        }
    }

    /// The events that it waits for, while no driver knows it.
    pub(crate) fn promise(&self) -> Option<Arc<Promise>> {
        match self.known() {
            Ok(Known::Unknown(promise)) => Some(Arc::clone(promise)),
            _ => None,
        }
    }

    /// The driver's event, when the driver has the command.
    pub(crate) fn native_event(&self) -> Option<&driver::Event> {
        match self.known() {
            Ok(Known::Native(event)) => Some(event),
            _ => None,
        }
    }

    /// Whether it is known to be complete, so that nothing must be asked.
    pub(crate) fn is_behind(&self) -> bool {
        match self.known() {
            Ok(Known::Native(event)) => event.is_behind(),
            Ok(Known::Done) => true,
            _ => false,
        }
    }

    /// Whether it is known to be complete without the driver, or to have failed.
    pub(crate) fn is_done_or_failed(&self) -> bool {
        match self.known() {
            Ok(Known::Native(event)) => event.has_failed(),
            Ok(Known::Done | Known::Failed(_)) => true,
            Ok(Known::Unknown(_)) | Err(_) => false,
        }
    }

    /// Whether both are the same event, and of no recorded command.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (State::Native(a), State::Native(b)) => a.is_same(b),
            (State::Promised(a), State::Promised(b)) => Arc::ptr_eq(a, b),
            (State::Graph(a), State::Graph(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Its status.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it was recorded.
    #[inline]
    pub(crate) fn known(&self) -> Result<Known<'_>> {
        match &self.0 {
            State::Native(event) => Ok(Known::Native(event)),
            State::Promised(promise) => Ok(Known::of(promise)),
            State::Graph(run) => run.end.known(),
            State::Recorded(_) => Err(was_recorded()),
        }
    }

    /// Whether the command is known to have ended, however it did.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status(), Ok(EventStatus::Complete | EventStatus::Failed(_)))
    }

    /// The queue, if its commands run in the order in which they were submitted.
    pub(crate) fn in_order_queue(&self) -> Option<&Arc<Queue>> {
        self.native_event().map(driver::Event::queue).filter(|queue| !queue.properties().out_of_order)
    }

    /// Waits until the driver has the command, or it has ended without.
    pub(crate) fn wait_known(&self) -> Result<Known<'_>> {
        match &self.0 {
            State::Promised(promise) => promise.wait_known().map(drop)?,
            State::Graph(run) => run.end.wait_known().map(drop)?,
            State::Native(_) | State::Recorded(_) => {}
        }
        self.known()
    }

    /// Waits until the command has ended.
    ///
    /// Of a queue that discards events, waits for everything that was put on the queue until now.
    ///
    /// # Errors
    /// [`ErrorKind::Kernel`] when the command, or one that it depends on, failed;
    /// [`ErrorKind::HostTask`] when that is a host task, and any other when the driver refused a
    /// command that had to be deferred. [`ErrorKind::Invalid`] inside a host task, when the
    /// command waits for the task.
    pub fn wait(&self) -> Result<()> {
        match &self.0 {
            State::Native(event) => trace::wait("event", || runtime::blocking(|| event.wait())),
            State::Promised(promise) => trace::wait("event", || promise.wait()),
            State::Graph(run) => run.end.wait(),
            State::Recorded(node) => {
                let recorded = node.owner().and_then(|owner| owner.wait_recorded(Waited::Node(node.node())));
                recorded.unwrap_or_else(|| Err(was_recorded()))
            }
        }
    }

    /// As [`Event::wait`], of a command that is known to have ended.
    fn wait_for_ended(&self) -> Result<()> {
        match self.known()? {
            Known::Native(event) => event.wait_for_ended(),
            Known::Done => Ok(()),
            Known::Failed(error) => Err(error.clone()),
            Known::Unknown(_) => self.wait(),
        }
    }

    /// Where the command is. Does not wait, and makes sure that asking again and again sees it end.
    ///
    /// # Errors
    /// When the driver does not say.
    pub fn status(&self) -> Result<EventStatus> {
        match &self.0 {
            State::Native(event) => event.status().map(EventStatus::from),
            State::Promised(promise) => promise.status(),
            State::Graph(run) => run.status(),
            State::Recorded(_) => Err(was_recorded()),
        }
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

    /// When the command was queued, submitted, started and ended. Host tasks are measured on the
    /// host's clock, others on the device's.
    ///
    /// # Errors
    /// [`ErrorKind::Profiling`] when the queue was built without
    /// [`profiling`](crate::queue::QueueBuilder::profiling) or discards events, and while the command has
    /// not ended.
    pub fn profiling(&self) -> Result<Profiling> {
        match &self.0 {
            State::Native(event) => event.profiling(),
            State::Promised(promise) => promise.profiling(),
            State::Graph(run) => run.profiling(),
            State::Recorded(_) => Err(was_recorded()),
        }
    }
}

impl GraphRun {
    /// It runs once a partition does.
    fn status(&self) -> Result<EventStatus> {
        let status = self.end.status()?;
        if matches!(status, EventStatus::Complete | EventStatus::Failed(_)) {
            return Ok(status);
        }
        let has_begun =
            |part: &Event| matches!(part.status(), Ok(EventStatus::Running | EventStatus::Complete));
        Ok(if self.parts.iter().any(has_begun) { EventStatus::Running } else { status })
    }

    /// From the first start to the last end of all parts. If anything ran on the device, host tasks
    /// count by the device's clock. They are left out if the driver does not report that clock.
    fn profiling(&self) -> Result<Profiling> {
        // Only where the queue that it was submitted to is one with profiling, and it has ended.
        self.end.profiling()?;
        if !self.measured {
            return Err(driver::Event::unmeasured());
        }
        let (device, host): (Vec<_>, Vec<_>) =
            self.parts.iter().partition(|part| matches!(part.known(), Ok(Known::Native(_))));
        let shift = match device.iter().find_map(|part| part.native_event()) {
            Some(event) => shift_to(event.queue().device()),
            None => Some(0),
        };
        let host = host.into_iter().filter_map(|part| shift.map(|by| Ok(part.profiling()?.shifted(by))));
        driver::Event::profiling_of(device.iter().map(|part| part.profiling()).chain(host))
    }
}

/// From the clock of host tasks to that of a device.
fn shift_to(device: &Device) -> Option<i64> {
    let before = now_ns();
    let now = driver::device_now(device)?;
    // In the middle of the time that the question took.
    Some(now.wrapping_sub(before.midpoint(now_ns())) as i64)
}

#[cold]
fn was_recorded() -> Error {
    Error::invalid("the event's command was recorded into a graph, and has not run")
        .remedy("use an event of the graph's submission; `Graph::builder(..).waits(Waits::AsBarriers)` records waits as barriers")
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
            State::Promised(promise) => f.debug_tuple("Event").field(promise).finish(),
            State::Graph(run) => fmt::Debug::fmt(&run.end, f),
            State::Recorded(node) => f.debug_tuple("Event").field(node).finish(),
        }
    }
}
