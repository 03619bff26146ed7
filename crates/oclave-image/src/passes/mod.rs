//! Passes over SPIR-V modules, one file each: most read a [`Module`](crate::spirv::Module) and write a new one.

pub mod capabilities;
pub mod dce;
mod global_access;
mod signatures;

pub use global_access::{GLOBAL_ACCESS_KERNEL, add_global_access_kernel};
pub use signatures::signatures;
