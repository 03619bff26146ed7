//! `cargo +nightly fuzz run module -- -max_len=16384`, with `crates/oclave-spirv/tests/corpus` as a
//! second corpus folder.
//!
//! The body is that of the bounded test `tests/fuzz.rs`, which runs on the stable toolchain.
#![no_main]
#![allow(dead_code)]

#[path = "../../tests/support/fuzz.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::everything(bytes));
