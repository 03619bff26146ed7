//! Queues: where commands are put.

mod copies;
mod native;
mod order;
#[allow(clippy::module_inception, reason = "the queue of the queues")]
mod queue;

pub(crate) use order::{Order, Rank, Ticket};
pub use queue::{Queue, QueueBuilder};
