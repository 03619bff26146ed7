//! Helpers of the tests of this crate.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, unused_imports)]

pub(crate) mod fuzz;
pub(crate) mod lowered;
pub(crate) mod mutate;
#[path = "../../../oclave-spirv/tests/support/mod.rs"]
mod spirv;

pub(crate) use spirv::*;

/// Every module that was compiled from a source of the fixtures, by file name.
pub(crate) fn fixtures() -> Vec<(String, Vec<u8>)> {
    modules_in("oclave-image/tests/fixtures")
}
