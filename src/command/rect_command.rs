//! Prepared copies and fills of memory that does not lie side by side: boxes of arrays.

use std::sync::Arc;

use super::call::Value;
use super::fill;
use crate::Result;
use crate::driver::event::Event;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::queue::Queue;
use crate::driver::usm::Allocation;
use crate::memory::Block;

/// A copy or fill, at least one end of which lies in rows.
#[derive(Debug)]
pub(crate) enum RectCommand {
    Copy {
        from: Block,
        to: Block,
    },
    Write {
        from: HostSource,
        to: Block,
    },
    Read {
        from: Block,
        to: HostSink,
    },
    /// The pattern divides the rows.
    Fill {
        to: Block,
        pattern: Value,
    },
}

impl RectCommand {
    /// As [`Prepared::execute`](super::Prepared::execute).
    pub(super) fn execute(&self, queue: &Arc<Queue>, after: &[&Event], held: bool) -> Result<Event> {
        match self {
            Self::Copy { from, to } => queue.copy_rows(from.span(held)?, to.span(held)?, after),
            Self::Write { from, to } => queue.write_rows(from, to.span(held)?, after),
            Self::Read { from, to } => queue.read_rows(from.span(held)?, to, after),
            Self::Fill { to, pattern } => fill::fill_rows(queue, to.span(held)?, pattern.bytes(), after),
        }
    }

    /// The memory that it names; once for each time.
    pub(super) fn allocations(&self) -> Vec<&Arc<Allocation>> {
        match self {
            Self::Copy { from, to } => vec![from.region.allocation(), to.region.allocation()],
            Self::Write { to: memory, .. }
            | Self::Read { from: memory, .. }
            | Self::Fill { to: memory, .. } => vec![memory.region.allocation()],
        }
    }
}
