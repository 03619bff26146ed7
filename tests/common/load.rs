//! Loading bundles, which is `unsafe`, in one place for all tests.

#![allow(dead_code, reason = "not every test loads both")]
#![allow(
    unsafe_code,
    reason = "the kernels are this repository's own, or bytes that the test expects to be refused"
)]

use oclave::kernel::{ImageTable, KernelBundle, KernelSource};
use oclave::{Context, Result};

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

/// [`KernelBundle::from_source`], the same way.
pub(crate) fn source(context: &Context, source: &KernelSource) -> Result<KernelBundle> {
    // SAFETY: as above.
    unsafe { KernelBundle::from_source(context, source) }
}

/// Whether there is a compiler for [`source`], after saying so if not: the roots that some drivers are
/// in have none.
pub(crate) fn has_compiler() -> bool {
    let is_translator = |entry: std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with("llvm-spirv"))
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::var_os("OCLAVE_LLVM_SPIRV").is_some()
        || std::env::split_paths(&folders)
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .any(|entries| entries.flatten().any(is_translator));
    if !found {
        println!("skipped: there is no llvm-spirv where the device is");
    }
    found
}

/// [`ImageTable::new`], the same way.
pub(crate) const fn table(name: &'static str, containers: &'static [&'static [u8]]) -> ImageTable {
    // SAFETY: as above.
    unsafe { ImageTable::new(name, containers) }
}
