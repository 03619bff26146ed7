//! Passes over SPIR-V modules, one file each.

mod global_access;
mod signatures;

pub use global_access::{GLOBAL_ACCESS_KERNEL, add_global_access_kernel};
pub use signatures::signatures;
