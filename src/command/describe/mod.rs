//! Commands and arguments as plain values. Nothing is looked up here.
//!
//! ```text
//! place.rs      what commands read and write, as users name it
//! argument.rs   arguments of kernels; parameter.rs values of graphs that they follow
//! passed.rs     what can be passed for a parameter; call.rs a kernel with its arguments
//! task.rs, native.rs, graph.rs, outside.rs   other things that commands do; control.rs loops and conditions
//! fold.rs       reductions and scans
//! command.rs    Command; name.rs what it is called
//! compare.rs    how two commands differ; follow.rs what of them follows parameters; memory.rs the memory of graphs in them
//! ```

pub(super) mod argument;
pub(super) mod call;
pub(super) mod command;
pub(super) mod compare;
pub(super) mod control;
pub(super) mod fold;
pub(super) mod follow;
pub(super) mod graph;
mod memory;
pub(super) mod name;
pub(super) mod native;
pub(super) mod outside;
pub(super) mod parameter;
pub(super) mod passed;
pub(super) mod place;
pub(super) mod task;
