//! Programs: from the images of a kernel to a driver kernel that can be launched.

mod disk;
mod flight;
mod spec;

pub use disk::ProgramCache;
pub use spec::{SpecConstant, SpecType};
pub(crate) use spec::{SpecValue, set_spec};
