//! Virtual functions: from vtables and calls through function pointers to codes, wrappers and
//! dispatchers.
//!
//! What clang and llvm-spirv write needs function pointers, and vtables with their addresses, which
//! devices lack. After `lower` there are neither:
//!
//! - the address of a vtable is a number, its *code*, made from its name (`codes.rs`, `vtables.rs`,
//!   `symbols.rs`);
//! - types of function pointers, and of pointers to such, are 64-bit integers (`types.rs`);
//! - calls know the classes that they go through (`call_classes.rs`, `class_markers.rs`);
//! - a slot is not loaded; its code is passed on instead. A call through a function pointer becomes
//!   a call of an imported dispatcher, with that code as first argument (`rewrite.rs`, `calls.rs`);
//! - each function that may be called gets an exported wrapper, without the types that callers may
//!   see differently (`wrappers.rs`).
//!
//! The rest of post-link sees an ordinary module. How images tell of all this:
//! [`crate::VirtualFunctions`].

mod call_classes;
mod calls;
mod class_markers;
mod codes;
pub(crate) mod demangle;
pub(crate) mod dummy;
mod hierarchy;
pub(crate) mod images;
mod levels;
mod lower;
mod rewrite;
mod sets;
mod symbols;
mod types;
mod vtables;
pub(crate) mod wrappers;

pub use class_markers::CLASS_MARKER;
pub use levels::at_level;
pub(crate) use lower::lower;
pub use oclave_spirv::transform::merge_types::merge_types;
pub(crate) use types::type_of;
pub use vtables::FUNCTION_PLACEHOLDER;
