//! Changes to modules that do not depend on a device.

pub mod block_layout;
pub mod block_order;
pub mod capabilities;
mod counted_loops;
pub mod dce;
mod decoration_groups;
mod decorations;
pub mod dimensions;
pub mod function_controls;
pub mod hints;
pub mod inline;
pub mod inline_calls;
pub mod interfaces;
pub mod localize;
pub mod merge_types;
mod select;
pub mod specialize;
pub mod strip;
pub mod unroll;
pub mod version;
