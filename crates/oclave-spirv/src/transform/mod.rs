//! Changes to modules that do not depend on a device.

pub mod block_layout;
pub mod capabilities;
pub mod dce;
pub mod hints;
pub mod interfaces;
pub mod merge_types;
mod select;
pub mod strip;
pub mod version;
