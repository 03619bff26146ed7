//! What post-link starts from.

use std::collections::BTreeMap;

use oclave_spirv::Module;

/// One linked module and what is known about its sources.
#[derive(Debug, Clone)]
pub struct TranslationUnit {
    /// Stem of the source, or of the program when several sources are linked: the first part of its
    /// images' names.
    pub name: String,
    /// The translator's output, annotations included.
    pub module: Module,
    /// Kernel → stem of the source that defines it. Kernels that are not listed belong to the
    /// source `name`.
    pub kernel_sources: BTreeMap<String, String>,
    /// Where `llvm-link` made the module of several sources: what the translator makes of each.
    /// Linking takes structs that look alike for one type, and loses the names of classes. Only
    /// needed where there are virtual functions.
    pub sources: Vec<Module>,
}

impl TranslationUnit {
    /// A unit made from one source of stem `name`.
    pub fn new(name: impl Into<String>, module: Module) -> Self {
        Self { name: name.into(), module, kernel_sources: BTreeMap::new(), sources: Vec::new() }
    }
}
