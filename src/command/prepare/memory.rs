//! The memory of a prepared command while it is deferred: busy for the host from its submission
//! on.

use super::prepared::PreparedCommand;
use crate::Result;
use crate::driver::queue::Queue;

impl PreparedCommand {
    /// Holds the memory for a queue; `in_loop`: for a command that a loop puts there.
    ///
    /// # Errors
    /// When the queue cannot use it, or the host accesses it. Nothing is held then.
    pub(in crate::command) fn hold(&self, queue: &Queue, in_loop: bool) -> Result<()> {
        let allocations = self.allocations();
        for (done, allocation) in allocations.iter().enumerate() {
            if let Err(error) = allocation.hold(queue, in_loop) {
                allocations.iter().take(done).for_each(|allocation| allocation.release());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes [`PreparedCommand::hold`] back.
    pub(in crate::command) fn release(&self) {
        self.allocations().iter().for_each(|allocation| allocation.release());
    }

    /// Turns holds into uses, for [`PreparedCommand::execute`] to enqueue it; `false`: not while host
    /// tasks access the memory.
    pub(in crate::command) fn try_use_held(&self) -> bool {
        let allocations = self.allocations();
        for (done, allocation) in allocations.iter().enumerate() {
            if !allocation.try_use_held() {
                allocations.iter().take(done).for_each(|allocation| allocation.hold_used());
                return false;
            }
        }
        true
    }

    /// Ends what [`PreparedCommand::try_use_held`] began.
    pub(in crate::command) fn end_held_use(&self) {
        self.allocations().iter().for_each(|allocation| allocation.end_held_use());
    }
}
