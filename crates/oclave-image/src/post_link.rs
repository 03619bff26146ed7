//! Post-link: modules as the translator wrote them become device images.

use std::collections::BTreeMap;

use crate::spirv::Module;
use crate::{DeviceImage, ImageError, Result};

/// One linked module and what is known about its sources.
#[derive(Debug, Clone)]
pub struct TranslationUnit {
    /// Stem of the source, or of the program when several sources are linked: the first part of its images' names.
    pub name: String,
    /// The translator's output, annotations included.
    pub module: Module,
    /// Kernel → stem of the source that defines it. Kernels that are not listed belong to the source `name`.
    pub kernel_sources: BTreeMap<String, String>,
}

impl TranslationUnit {
    /// A unit made from one source of stem `name`.
    pub fn new(name: impl Into<String>, module: Module) -> Self {
        Self { name: name.into(), module, kernel_sources: BTreeMap::new() }
    }
}

/// How kernels are distributed over images. In every mode kernels of different aspects end in different images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitMode {
    /// One image for each source, named as the source.
    #[default]
    PerSource,
    /// One image for each kernel, named `source.kernel`.
    PerKernel,
    /// One image for each unit, named as the unit.
    Off,
}

/// Choices of [`post_link`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PostLinkOptions {
    /// How kernels are distributed over images.
    pub split: SplitMode,
}

/// Turns modules into device images: reads the markers of `oclave.h`, rewrites device globals, splits, and writes kernel
/// signatures and property sets. The images of one call are one program; they are sorted by unit, then by name.
///
/// # Errors
/// [`ImageError::Diagnostic`] for what the kernels' author must change; [`ImageError::Spirv`] for malformed modules;
/// [`ImageError::Unsupported`] for sound ones that post-link cannot express.
pub fn post_link(units: &[TranslationUnit], options: &PostLinkOptions) -> Result<Vec<DeviceImage>> {
    let _ = options;
    match units.first() {
        None => Ok(Vec::new()),
        Some(unit) => Err(ImageError::Unsupported(format!("post-link of {} is not written yet", unit.name))),
    }
}
