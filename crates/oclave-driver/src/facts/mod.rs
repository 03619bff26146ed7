//! The properties of platforms and devices, and which faults of their drivers the library works
//! around.

pub(crate) mod capabilities;
pub(crate) mod device;
pub(crate) mod faults;
pub(crate) mod global_access;
pub(crate) mod images;
pub mod mask;
pub(crate) mod platform;
pub(crate) mod query;
pub(crate) mod select;
pub(crate) mod unified_svm;
pub(crate) mod version;
