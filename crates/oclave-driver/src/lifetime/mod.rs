//! Memory that commands use, and how long it lives: allocations, host memory, and what waits for
//! commands to end.

pub mod exit;
pub mod fault;
pub mod host;
pub mod loan;
pub mod prints;
pub mod retired;
mod settled;
pub mod slots;
pub mod spare;
pub mod task_memory;
pub mod usm;
mod watched;

/// What `settled` uses of the standard library.
mod sync {
    pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
}
