//! Spans and events for the crate `tracing`, with the feature `tracing`.
//!
//! No other file asks for the feature. Without it, these functions only call the closure that does
//! the work. Closures that describe the work are not called then.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{Track, build, compile, finalize, submit, wait};
#[cfg(feature = "tracing")]
pub(crate) use on::{Track, build, compile, finalize, submit, wait};

use crate::driver::event::Profiling;

/// When a command ran, or a node of a graph.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "nobody reads it then"))]
pub(crate) struct Ran {
    pub(crate) name: String,
    /// The numbers of the graph's nodes that it is.
    pub(crate) nodes: Vec<usize>,
    pub(crate) on_host: bool,
    pub(crate) times: Profiling,
    /// How long ago it started and ended, in nanoseconds, where that is known.
    pub(crate) ago_ns: Option<(u64, u64)>,
}

/// A command that is measured, and has perhaps not ended.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "nobody reads it then"))]
pub(crate) struct Measured {
    /// Whether it has ended.
    pub(crate) has_ended: Box<dyn Fn() -> bool + Send + Sync>,
    /// When it ran, once it has ended.
    pub(crate) ran: Box<dyn FnOnce() -> Vec<Ran> + Send + Sync>,
}
