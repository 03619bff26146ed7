//! What needs no device: generated code, messages of rustc, the guide, PTX, and the layers of `src`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod compile_fail;
pub mod generated_code;
mod guide;
mod layers;
mod ptx;
