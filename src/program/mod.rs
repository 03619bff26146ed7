//! Programs: from the images of a kernel to a driver kernel that can be launched.

mod spec;

pub(crate) use spec::SpecValue;
pub use spec::{SpecConstant, SpecType};
