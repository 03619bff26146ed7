//! Threads of the library, of which a process has none until a command must wait for what no driver knows.
//!
//! ```text
//! pool       runs host tasks, a few at a time; grows while tasks wait for something
//! dispatch   one thread that learns from drivers what has ended, and puts on queues what waited for it; runs no user code
//! ```

mod dispatch;
mod pool;

pub(crate) use dispatch::{start, when_ended};
pub(crate) use pool::{blocking, in_host_task, spawn};

/// Work for a thread of the library.
type Job = Box<dyn FnOnce() + Send>;
