//! Executable graphs as commands: all that this layer knows of them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::driver::usm::Allocation;
use crate::driver::{event as driver, queue as driver_queue};
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Event, Queue, Result};

/// An executable graph. Its commands are divided into parts: host tasks, and sequences of commands
/// for the device.
pub(crate) trait GraphCommand: Any + fmt::Debug + Send + Sync {
    /// A number that no other executable graph of the process has, or had.
    fn id(&self) -> u64;

    /// Whether it is a submission with events of its own, which cannot be a node.
    fn is_bound(&self) -> bool;

    /// The accesses of its commands to parts of buffers.
    fn requirements(&self) -> Vec<Arc<Requirement>>;

    /// Checks that it was made for a context and device.
    fn check(&self, context: &Context, device: &Device) -> Result<()>;

    /// Submits it to a queue of its context and device, after events. It also runs after `behind`,
    /// whether or not that succeeds.
    fn submit(self: Arc<Self>, queue: &Queue, after: &[&Event], behind: &[&Event]) -> Result<Event>;

    /// The allocations that a part for the device uses; the same ones each time.
    fn part_memory(self: Arc<Self>, part: usize) -> Vec<Arc<Allocation>>;

    /// Puts a part for the device on a queue, as it was when this submission of it was made.
    fn run_part(self: Arc<Self>, part: usize, submission: u64, on: RunOn<'_>) -> Result<driver::Event>;

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
