//! Queues and what is put on them.

mod call;
mod event;
mod fill;
mod index_space;
mod launch;
#[allow(clippy::module_inception, reason = "the queue of the queues")]
mod queue;
mod range;
mod submit;

pub(crate) use call::{Argument, CallTarget};
pub use call::{KernelCall, Local};
pub use event::{Event, EventStatus};
pub use queue::{Queue, QueueBuilder};
pub use range::{NdRange, Range};
pub use submit::{Advice, After};

pub use crate::driver::event::Profiling;
