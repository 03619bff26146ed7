//! Helpers of the tests of this crate.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, unused_imports)]

#[path = "../../../oclave-image/tests/support/lowered.rs"]
pub(crate) mod lowered;
#[path = "../../../oclave-spirv/tests/support/mod.rs"]
mod spirv;

pub(crate) use spirv::*;
