//! Queues: where commands are put.

mod copies;
mod native;
mod order;
#[cfg(test)]
mod order_tests;
#[allow(clippy::module_inception, reason = "the queue of the queues")]
mod queue;
mod traced;

/// The types of the standard library that `order` uses.
mod sync {
    pub(super) use crate::driver::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::Arc;
    pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
}

pub(crate) use order::{Order, Rank, Ticket};
pub use queue::{Queue, QueueBuilder};

pub use crate::handles::Handles;
