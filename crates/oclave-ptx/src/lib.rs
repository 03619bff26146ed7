//! SPIR-V kernels as PTX, the assembly language of NVIDIA GPUs. No LLVM, no OpenCL, no `unsafe`.
//!
//! NVIDIA's OpenCL driver takes no SPIR-V, but it takes PTX as a program's binary. Clang has
//! already optimised the modules of OpenCL kernels, and NVIDIA's assembler optimises again. So each
//! instruction of SPIR-V becomes the few instructions of PTX with the same meaning.
//!
//! ```
//! use oclave_spirv::Module;
//! use oclave_ptx::{PtxTarget, translate};
//! # fn ptx(bytes: &[u8]) -> Result<String, Box<dyn std::error::Error>> {
//! let module = Module::from_bytes(bytes)?;
//! let target: PtxTarget = "sm_90".parse()?;
//! let ptx = translate(&module, &target)?;
//! # Ok(ptx)
//! # }
//! ```
//! The text and its terminating zero are what `clCreateProgramWithBinary` takes.
//!
//! # How SPIR-V becomes PTX
//!
//! | SPIR-V | PTX |
//! |---|---|
//! | values | untyped registers, one for each scalar; vectors, structs and arrays are taken apart |
//! | phis | copies at the end of the predecessors |
//! | private variables | registers, or `.local` memory where they are indexed or passed on |
//! | local memory | `.shared`; its parameters are `.ptr .shared` |
//! | global and constant memory | `.global`; what nothing writes is loaded with `ld.global.nc` |
//! | generic pointers | generic addresses, made by `cvta` |
//! | calls | the function's blocks, where it is small or called once; else `.func` with `.param` |
//! | sub-groups | warps of 32 |
//! | `OpenCL.std` | PTX where it has the function, else the [`Library`] |
//! | images | `.texref` where kernels read them, `.surfref` where they write them |
//! | samplers | `.samplerref`: parameters, and variables for literal ones |
//! | `printf` | the driver's `vprintf` |
//!
//! # Limits
//! Addresses have 64 bits. Pipes, device queues, pointers to functions, and images that a kernel both
//! reads and writes have no PTX; a kernel that uses one is refused with its name. Kernels that require
//! sub-groups of another size than 32 are left out, and a comment in the PTX names them. Atomic
//! operations on private variables are loads and stores; through a generic pointer they reach global
//! and local memory only. Specialization constants count with their defaults: freeze others before.
//! Functions that no kernel reaches are left out, and so are their faults.
#![forbid(unsafe_code)]

mod body;
mod constants;
mod error;
mod extended;
mod facts;
mod image;
mod library;
mod module;
mod operand;
mod parameters;
mod sampler;
mod target;
mod types;
mod variables;

pub use error::PtxError;
pub use image::{
    LIBRARY_SET, PTX_SET, add_library, add_ptx, library_of, nvidia_profile, ptx_of, translate_for,
    translate_image,
};
pub use library::{LIBRARY_VARIABLE, Library, link, needs_library};
pub use parameters::with_addresses_as_numbers;
pub use target::PtxTarget;

use oclave_spirv::Module;
use oclave_spirv::check;
use oclave_spirv::transform::inline_calls::inline_calls;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::unroll::unroll;

/// Hash of the sources of this crate: part of the key of cached programs.
pub const SOURCES_FINGERPRINT: &str = env!("OCLAVE_SOURCES");

/// Result with a [`PtxError`].
pub type Result<T, E = PtxError> = std::result::Result<T, E>;

/// The PTX of a module's kernels.
///
/// Functions of the library that they call must be linked: see [`Library`] and [`link`]. A module
/// without kernels gives PTX without kernels.
///
/// # Errors
/// [`PtxError::Module`] for modules that are not sound. [`PtxError::Unsupported`], with kernel and
/// instruction, for instructions that PTX cannot express. [`PtxError::Refused`] for 32-bit
/// addresses and names that PTX cannot have.
pub fn translate(module: &Module, target: &PtxTarget) -> Result<String> {
    let module = strip::strip(module, |_| true)?;
    check::check(&module)?;
    module::translate(&unroll(inline_calls(module)?)?, *target)
}

/// The PTX of a module's kernels, with what they need of the library; it is looked for only if they
/// need it.
///
/// # Errors
/// As [`translate`], [`Library::installed`] and [`Library::part_for`].
pub fn translate_with_library(module: &Module, target: &PtxTarget) -> Result<String> {
    match part_from_installed(module)? {
        Some(part) => translate(&link(module, &part)?, target),
        None => translate(module, target),
    }
}

/// What a module needs of the installed library; `None` where it needs nothing, installed or not.
///
/// # Errors
/// As [`Library::installed`] and [`Library::part_for`].
pub fn part_from_installed(module: &Module) -> Result<Option<Module>> {
    match needs_library(module)? {
        true => Library::installed()?.part_for(module),
        false => Ok(None),
    }
}
