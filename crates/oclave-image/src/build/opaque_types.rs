//! Images and samplers that the translator wrote as pointers.
//!
//! The translator of LLVM 16 does this with arguments of functions in C++ at `-O0`. Kernels would
//! then have other parameters than their sources say.

use crate::spirv::{Definitions, Module, Op, Type, TypeTable};
use crate::{ImageError, Result};

/// Refuses a module in which something becomes an image or a sampler by a cast, which SPIR-V does
/// not allow.
///
/// # Errors
/// [`ImageError::Diagnostic`] for such a cast.
pub(crate) fn check_casts(module: &Module) -> Result<()> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let is_image = |id: u32| matches!(types.ty(id), Some(Type::Image | Type::Sampler | Type::SampledImage));
    let is_opaque = |id: u32| match types.ty(id) {
        Some(Type::Pointer { pointee, .. }) => is_image(pointee),
        _ => is_image(id),
    };
    let casts = module.instructions().filter(|instruction| instruction.is(Op::Bitcast));
    match casts.filter_map(|cast| cast.result_type()).any(is_opaque) {
        false => Ok(()),
        true => Err(ImageError::Diagnostic(
            "the translator wrote an image or a sampler as a pointer, as that of LLVM 16 does; use another \
             version of LLVM, or optimise the source (`Config::opt_level`)"
                .to_owned(),
        )),
    }
}
