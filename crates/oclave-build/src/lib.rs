//! Compiles OpenCL kernels to SPIR-V device images and typed Rust, from a build script.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     oclave_build::compile(&["kernels/saxpy.cl"])?;
//!     Ok(())
//! }
//! ```
//! and in the program: `mod kernels { oclave::include_kernels!(); }`, then
//! `kernels::saxpy::saxpy(2.0, &x, &y)`.
//!
//! Sources are OpenCL C 3.0 (`.cl`), C++ for OpenCL 2021 (`.clcpp`) and Rust (`.rs`, with the crate
//! `oclave-kernel`). The sources of one call are
//! one program. They are compiled one by one, linked, translated to SPIR-V once and split into
//! device images. Each source gets one Rust module. [`Config`] has the choices. `#include
//! <oclave/oclave.h>` gives kernels the markers of device globals and specialization constants.
//!
//! # Compilers
//! For sources in Rust, the rustc of the cargo that runs the build script, and nothing else. For the
//! others, a `clang` and an `llvm-spirv` of one version, 14 or later but not 16. The variables
//! `OCLAVE_CLANG` and `OCLAVE_LLVM_SPIRV` name them. Otherwise the highest pair on `PATH` is used
//! (`clang-N` or `clang`). Several sources need `llvm-link` of that version too
//! (`OCLAVE_LLVM_LINK`). `opt` of that version (`OCLAVE_OPT`) makes faster kernels than clang alone. It is optional, and in
//! the same package as `llvm-link`. Where there is no compiler, [`Config::checked_in`] images serve.
#![forbid(unsafe_code)]

mod ast;
mod cargo;
mod checked_in;
mod codegen;
mod command;
mod compile;
mod config;
mod depfile;
mod device_config;
mod environment;
mod error;
mod files;
mod headers;
mod host;
mod ir;
mod overlay;
mod pipeline;
mod program;
mod rust;
mod source;
mod toolchain;
mod translate;
mod undefined;
mod without_fp64;

use std::path::Path;

pub use config::{Config, Panics};
pub use device_config::DeviceConfig;
pub use error::{Error, ErrorKind, Result};
pub use oclave_image::SplitMode as Split;
pub use oclave_ptx::PtxTarget;
pub use program::{Images, Output};
pub use source::sources_in;
pub use toolchain::TOOL_VARIABLES;

/// Compiles a program with the defaults of [`Config`].
///
/// # Errors
/// As [`Config::compile`].
pub fn compile<P: AsRef<Path>>(sources: &[P]) -> Result<Output> {
    Config::new().compile(sources)
}
