//! Memory that commands use, and how long it lives: allocations, host memory, and what waits for
//! commands to end.

pub mod borrowed_host;
pub(crate) mod deferred_free;
pub mod exit;
pub mod fault;
pub mod free_pool;
pub mod host;
mod host_target_lock;
mod host_visible;
pub mod prints;
pub(crate) mod queue_bits;
pub mod task_memory;
pub mod usm;

/// What `host_target_lock` uses of the standard library.
mod sync {
    pub(super) use crate::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::Arc;
}
