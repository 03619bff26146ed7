//! Executable graphs: finalized, submitted, run.
//!
//! ```text
//! handle.rs     ExecutableGraph; what its handles share, and the order of the locks
//! layout.rs     what of it never changes; names.rs what its nodes are called
//! prepared.rs   what of it changes: one value behind one lock; part.rs a partition of it
//! memory.rs     the memory of graphs, allocated once for each executable
//! versions.rs   what deferred submissions must not see
//! finalizer.rs  how a graph becomes executable
//! submit.rs     how it is submitted; command.rs as a command; bound.rs with events from outside
//! awaited.rs    promises of events of nodes, which the next submission fulfils
//! control.rs    loops and conditions that the host decides; flows.rs those that the interpreter runs;
//!               loops.rs when they ran; body.rs executables as their bodies
//! ```

mod awaited;
pub(super) mod body;
pub(super) mod bound;
mod command;
mod control;
pub(super) mod finalizer;
mod flows;
pub(super) mod handle;
pub(super) mod layout;
pub(super) mod loops;
mod memory;
pub(super) mod names;
pub(super) mod part;
pub(super) mod prepared;
mod put;
mod submit;
pub(super) mod versions;
