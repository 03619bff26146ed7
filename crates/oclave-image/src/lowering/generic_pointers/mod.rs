//! Generic pointers resolved to the address spaces that they point into, for devices without the
//! generic address space.
//!
//! Each function is cloned for the address spaces of the generic pointers that it is called with.
//! Within a clone, the address space of a pointer follows from where it comes from: an argument, a
//! cast, another pointer. It does not follow where a pointer comes from memory or from several
//! address spaces. Such a pointer is an integer with a tag, and each access reads the tag (`uses`).

mod body;
mod infer;
mod rewrite;
mod uses;

use crate::Result;
use oclave_spirv::transform::{capabilities, dce};
use oclave_spirv::{Definitions, Module};

/// The module without generic pointers.
///
/// # Errors
/// [`ImageError::DeviceLacks`](crate::ImageError::DeviceLacks), with function and pointer named,
/// where the address space of a pointer does not follow from the module; as
/// [`Editor::finish`](oclave_spirv::Editor::finish).
pub(crate) fn resolve(module: &Module) -> Result<Module> {
    let definitions = Definitions::new(module);
    let inferred = infer::infer(&definitions)?;
    let resolved = rewrite::rewrite(&definitions, &inferred)?;
    // Types that nothing uses any more may still be generic.
    let live = dce::eliminate(&resolved, |_| true)?;
    Ok(capabilities::prune(&live)?)
}
