//! Executing: from a prepared command and the driver's events to the driver's event.

use std::sync::Arc;

use super::prepare::{Prepared, PreparedKernel};
use super::{RunOn, fill, launch};
use crate::driver::event::Event;
use crate::driver::queue::Queue;
use crate::{Error, Result};

impl Prepared {
    /// Puts the command on a queue, after events of the queue's context. The command was prepared
    /// for this context and device. A deferred command has begun to use its memory (`held`).
    ///
    /// # Errors
    /// When the host accesses the memory, or the driver refuses. Host tasks are not for the driver.
    pub(crate) fn execute(&self, queue: &Arc<Queue>, after: &[&Event], held: bool) -> Result<Event> {
        match self {
            Self::Kernel(PreparedKernel { kernel, arguments, size }) => {
                launch::execute(queue, kernel, arguments, size.as_ref(), after, held)
            }
            Self::Copy { from, to } => queue.copy(from.held_span(held)?, to.held_span(held)?, after),
            Self::Write { from, to } => queue.write_later(from, to.held_span(held)?, after),
            Self::Read { from, to } => queue.read_later(from.held_span(held)?, to, after),
            Self::Fill { to, pattern } => fill::fill(queue, to.held_span(held)?, pattern.bytes(), after),
            Self::Rect(rows) => rows.execute(queue, after, held),
            Self::Image(command) => command.execute(queue, after, held),
            Self::Native { enqueue, memory } => {
                let memory = memory.iter().map(|region| region.tail().held(held));
                queue.native(enqueue, memory, after)
            }
            Self::Prefetch(memory) => queue.prefetch(memory.held_span(held)?, after),
            Self::Advise(memory) => queue.advise(memory.held_span(held)?, after),
            Self::Marker | Self::Empty | Self::GraphEnd => queue.marker(after),
            Self::Barrier => queue.barrier(after),
            Self::Part(part) => part.run(RunOn { queue, after, held }),
            Self::HostTask(_) | Self::Graph(_) => {
                Err(Error::invalid("host tasks and graphs are no commands of a device"))
            }
        }
    }
}
