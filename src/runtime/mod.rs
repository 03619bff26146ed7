//! Threads of the library, of which a process has none until a command must wait for what no driver
//! knows.
//!
//! ```text
//! pool       runs host tasks, a few at a time; grows while tasks wait for something
//! dispatch   one thread that learns from drivers what has ended, and puts on queues what waited for it; runs no user code
//! help       threads of users that wait, and meanwhile do what they wait for
//! exit       waits for what is in flight when the process exits, and stops the others
//! watch      asks events whether they have ended, where a driver does not tell
//! ```

mod dispatch;
mod exit;
mod help;
mod pool;
mod watch;

pub(crate) use dispatch::{Continuation, dispose, start, when_ended, when_raw_ended, when_told};
pub(crate) use exit::{Counted, is_exiting, prepare as prepare_exit, stop_if_exiting};
pub(crate) use help::{Helper, Key, Step, is_waking, offer, takes_steps, while_waking};
pub(crate) use pool::{blocking, in_host_task, spawn, spawn_for};
pub(crate) use watch::watch;

/// Work for a thread of the library.
type Job = Box<dyn FnOnce() + Send>;
