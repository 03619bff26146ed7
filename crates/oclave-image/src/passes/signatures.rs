//! Kernel signatures from a module alone.

use crate::spirv::Module;
use crate::{ImageError, KernelSignature, Result};

/// The signatures of all kernels of a module, in the order of its entry points.
///
/// # Errors
/// [`ImageError::Spirv`] where an entry point or its function is malformed.
pub fn signatures(module: &Module) -> Result<Vec<KernelSignature>> {
    let _ = module;
    Err(ImageError::Unsupported("kernel signatures are not written yet".to_owned()))
}
