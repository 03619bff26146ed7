//! Commands, checked and looked up for the context and device of a queue.
//!
//! ```text
//! check.rs         what a graph checks when a node is added
//! resolve.rs       places → memory
//! launch.rs        calls → kernels with arguments (arguments.rs) and an index space (index_space.rs)
//! image.rs         copies and fills of images; fill.rs patterns of any size
//! prepared.rs      PreparedCommand: its memory, its execution, its step; memory.rs while it is deferred
//! from_command.rs  commands → prepared commands; boxes.rs some of them by kernels of the library
//! form.rs          commands as the interpreter could run them; byte_box.rs their boxes of bytes
//! slices.rs        the check of memory that is given to kernels in Rust
//! graph_part.rs, control.rs, native_kernel.rs
//! ```

mod arguments;
mod boxes;
mod byte_box;
mod check;
pub(super) mod control;
mod fill;
pub(super) mod form;
mod from_command;
pub(super) mod graph_part;
mod image;
mod index_space;
pub(super) mod launch;
mod memory;
pub(super) mod native_kernel;
pub(super) mod prepared;
mod resolve;
mod slices;
