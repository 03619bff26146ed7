//! Bytes as a device image: `cargo +nightly fuzz run container -- -max_len=16384`.
#![no_main]
#![allow(dead_code)]

#[path = "../../tests/support/fuzz.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::container(bytes));
