//! The foreign-function interface: tables of OpenCL's functions and how each call is checked.
//!
//! ```text
//! loader   finds and opens libOpenCL, once per process
//! table    the macro that turns declarations into tables of function pointers with checked, recorded methods
//! api      the core functions; ext/ one table per extension and platform
//! hook     where every call passes; does nothing unless the feature `record` is on
//! record   (feature `record`) counts, live objects, fault injection
//! shared   calls of functions that kernels and the Rust program share
//! ```

#[macro_use]
pub(crate) mod table;

pub(crate) mod api;
pub(crate) mod ext;
pub mod hook;
pub(crate) mod info;
pub(crate) mod loader;
#[cfg(feature = "record")]
pub mod record;
mod shared;
#[cfg(test)]
mod signatures;
