//! Queues: where commands are put.

mod after;
#[allow(clippy::module_inception, reason = "the queue of the queues")]
mod queue;

pub use after::After;
pub use queue::{Queue, QueueBuilder};
