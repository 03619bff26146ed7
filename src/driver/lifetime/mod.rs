//! Memory that commands use, and how long it lives: allocations, host memory, and what waits for
//! commands to end.

pub(crate) mod exit;
pub(crate) mod fault;
pub(crate) mod host;
pub(crate) mod loan;
pub(crate) mod prints;
pub(crate) mod retired;
pub(crate) mod slots;
pub(crate) mod spare;
pub(crate) mod task_memory;
pub(crate) mod usm;
mod watched;
