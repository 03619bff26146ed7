//! The memory of a prepared command while it is deferred: busy for the host from its submission
//! on.

use std::sync::Arc;

use super::Argument;
use super::prepare::Prepared;
use crate::Result;
use crate::driver::queue::Queue;
use crate::driver::usm::Allocation;
use crate::memory::Region;

impl Prepared {
    /// The memory that it names; once for each time.
    pub(super) fn allocations(&self) -> Vec<&Arc<Allocation>> {
        match self {
            Self::Kernel(kernel) => {
                kernel.arguments.iter().filter_map(Argument::region).map(Region::allocation).collect()
            }
            Self::Copy { from, to } => vec![from.allocation(), to.allocation()],
            Self::Write { to: memory, .. }
            | Self::Read { from: memory, .. }
            | Self::Fill { to: memory, .. }
            | Self::Prefetch(memory)
            | Self::Advise(memory) => vec![memory.allocation()],
            Self::Rect(rows) => rows.allocations(),
            Self::Image(command) => command.allocations(),
            Self::Native { memory, .. } => memory.iter().map(Region::allocation).collect(),
            Self::Part(part) => part.memory().iter().collect(),
            Self::HostTask(_)
            | Self::Graph(_)
            | Self::GraphEnd
            | Self::Marker
            | Self::Barrier
            | Self::Empty => Vec::new(),
        }
    }

    /// Holds the memory for a queue.
    ///
    /// # Errors
    /// When the queue cannot use it, or the host accesses it. Nothing is held then.
    pub(super) fn hold(&self, queue: &Queue) -> Result<()> {
        let allocations = self.allocations();
        for (done, allocation) in allocations.iter().enumerate() {
            if let Err(error) = allocation.hold(queue) {
                allocations.iter().take(done).for_each(|allocation| allocation.release());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes [`Prepared::hold`] back.
    pub(super) fn release(&self) {
        self.allocations().iter().for_each(|allocation| allocation.release());
    }

    /// Turns holds into uses, for [`Prepared::execute`] to enqueue it; `false`: not while host
    /// tasks access the memory.
    pub(super) fn try_use_held(&self) -> bool {
        let allocations = self.allocations();
        for (done, allocation) in allocations.iter().enumerate() {
            if !allocation.try_use_held() {
                allocations.iter().take(done).for_each(|allocation| allocation.hold_used());
                return false;
            }
        }
        true
    }

    /// Ends what [`Prepared::try_use_held`] began.
    pub(super) fn end_held_use(&self) {
        self.allocations().iter().for_each(|allocation| allocation.end_held_use());
    }
}
