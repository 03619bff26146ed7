//! `cargo +nightly fuzz run translate -- -max_len=16384`, with `tests/fixtures` as a second corpus
//! folder.
//!
//! The body is that of the bounded test `tests/fuzz.rs`, which runs on the stable toolchain.
#![no_main]

#[path = "../../tests/support/fuzz.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::everything(bytes));
