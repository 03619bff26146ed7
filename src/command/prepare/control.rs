//! Loops and conditions that the host decides, as prepared commands.

use std::sync::Arc;

use crate::Result;
use crate::driver::usm::Allocation;
use crate::event::Promise;

/// Called once, when all is over.
pub(crate) type Then = Box<dyn FnOnce(Result<()>) + Send>;

/// One submission of a loop or a condition.
pub(crate) trait RunControl: Send + Sync {
    /// Runs it. All that it comes after has ended. Does not wait: `then` is called when it is over,
    /// on this thread or on another one. `own` is its promise. May be called again when `then` was called.
    fn start(self: Arc<Self>, own: Arc<Promise>, then: Then);

    /// The allocations that it uses; the same ones each time.
    fn memory(&self) -> &[Arc<Allocation>];
}
