//! Queues and what is put on them.

mod call;
mod range;

#[allow(unused_imports, reason = "used as programs and launches land")]
pub(crate) use call::{Argument, CallTarget};
pub use call::{KernelCall, Local};
pub use range::{NdRange, Range};
