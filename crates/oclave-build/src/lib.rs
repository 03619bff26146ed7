//! Compiles kernels to SPIR-V device images and typed Rust from a build script.
#![forbid(unsafe_code)]
