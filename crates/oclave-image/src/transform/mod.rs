//! Changes that several phases make to a module.

pub(crate) mod block_layout;
pub mod capabilities;
pub mod dce;
pub(crate) mod hints;
pub(crate) mod interfaces;
pub(crate) mod localize;
pub(crate) mod merge_types;
pub mod strip;
