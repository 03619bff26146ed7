//! Loading bundles, which is `unsafe`, in one place for all tests.

#![allow(dead_code, reason = "not every test loads both")]
#![allow(
    unsafe_code,
    reason = "the kernels are this repository's own, or bytes that the test expects to be refused"
)]

use oclave::{Context, ImageTable, KernelBundle, Result};

/// [`KernelBundle::from_spirv`], of kernels of this repository or of bytes that are to be refused.
pub(crate) fn spirv(context: &Context, bytes: &[u8]) -> Result<KernelBundle> {
    // SAFETY: tests launch kernels of this repository only, with memory that they stay within.
    unsafe { KernelBundle::from_spirv(context, bytes) }
}

/// [`KernelBundle::from_image`], the same way.
pub(crate) fn image(context: &Context, bytes: &[u8]) -> Result<KernelBundle> {
    // SAFETY: as above.
    unsafe { KernelBundle::from_image(context, bytes) }
}

/// [`ImageTable::new`], the same way.
pub(crate) const fn table(name: &'static str, containers: &'static [&'static [u8]]) -> ImageTable {
    // SAFETY: as above.
    unsafe { ImageTable::new(name, containers) }
}
