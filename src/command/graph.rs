//! Executable graphs as commands: all that this layer knows of them.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::driver::event as driver;
use crate::driver::queue as driver_queue;
use crate::driver::usm::Allocation;
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Event, Queue, Result};

/// An executable graph. Its commands are divided into parts: host tasks, and sequences of commands
/// for the device.
pub(crate) trait GraphCommand: Any + fmt::Debug + Send + Sync {
    /// A number that no other executable graph of the process has, or had.
    fn id(&self) -> u64;

    /// What its commands do to parts of buffers.
    fn requirements(&self) -> Vec<Arc<Requirement>>;

    /// Checks that it was made for a context and device.
    fn check(&self, context: &Context, device: &Device) -> Result<()>;

    /// Submits it to a queue of its context and device, after events. It also runs after `behind`,
    /// whether or not that succeeds.
    fn submit(self: Arc<Self>, queue: &Queue, after: &[&Event], behind: &[&Event]) -> Result<Event>;

    /// The allocations that a part for the device uses; the same ones each time.
    fn part_memory(self: Arc<Self>, part: usize) -> Vec<Arc<Allocation>>;

    /// Puts a part for the device on a queue, as [`Prepared::execute`](super::Prepared::execute)
    /// does.
    fn run_part(self: Arc<Self>, part: &GraphPart, on: RunOn<'_>) -> Result<driver::Event>;

    /// Notes that a submission of a part is on a queue, or never will be.
    fn end_part(self: Arc<Self>, part: usize);
}

/// Where a part runs.
#[derive(Clone, Copy)]
pub(crate) struct RunOn<'a> {
    pub(crate) queue: &'a Arc<driver_queue::Queue>,
    pub(crate) after: &'a [&'a driver::Event],
    /// Whether the command was deferred, and has begun to use its memory.
    pub(crate) held: bool,
}

/// One submission of a part of a graph, for the device.
pub(crate) struct GraphPart {
    graph: Arc<dyn GraphCommand>,
    index: usize,
    submission: u64,
    /// Whether the graph knows that the submission is over.
    over: AtomicBool,
    /// What it uses, once somebody has asked.
    memory: OnceLock<Vec<Arc<Allocation>>>,
}

impl GraphPart {
    /// `submission` is the number of the submission among those of the part. A graph that does not
    /// count them (`None`) is not told of the end.
    pub(crate) fn new(graph: Arc<dyn GraphCommand>, index: usize, submission: Option<u64>) -> Self {
        let over = AtomicBool::new(submission.is_none());
        Self { graph, index, submission: submission.unwrap_or_default(), over, memory: OnceLock::new() }
    }

    /// The number of the part in its graph.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn submission(&self) -> u64 {
        self.submission
    }

    pub(super) fn run(&self, on: RunOn<'_>) -> Result<driver::Event> {
        let event = Arc::clone(&self.graph).run_part(self, on)?;
        self.end();
        Ok(event)
    }

    pub(super) fn memory(&self) -> &[Arc<Allocation>] {
        self.memory.get_or_init(|| Arc::clone(&self.graph).part_memory(self.index))
    }

    fn end(&self) {
        if !self.over.swap(true, Ordering::AcqRel) {
            Arc::clone(&self.graph).end_part(self.index);
        }
    }
}

impl Drop for GraphPart {
    fn drop(&mut self) {
        self.end();
    }
}
