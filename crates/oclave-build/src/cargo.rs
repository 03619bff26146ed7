//! What a build script tells cargo: on what its result depends, and warnings.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

const WARNING: &str = "cargo::warning=";

/// Writes cargo's instructions, each once.
pub(crate) struct Cargo<'a> {
    out: &'a mut dyn Write,
    told: BTreeSet<String>,
}

impl<'a> Cargo<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, told: BTreeSet::new() }
    }

    pub(crate) fn rerun_if_changed(&mut self, path: &Path) {
        self.tell(format!("cargo::rerun-if-changed={}", path.display()));
    }

    pub(crate) fn rerun_if_env_changed(&mut self, variable: &str) {
        self.tell(format!("cargo::rerun-if-env-changed={variable}"));
    }

    /// Where the linker looks for static libraries.
    pub(crate) fn link_search(&mut self, folder: &Path) {
        self.tell(format!("cargo::rustc-link-search=native={}", folder.display()));
    }

    /// Where `oclave::include_kernels!` finds a program. Cargo forgets it when a later build does not
    /// tell it again, so that no file of an earlier build is included.
    pub(crate) fn program(&mut self, name: &str, rust: &Path) {
        self.tell(format!("cargo::rustc-env=OCLAVE_KERNELS_{name}={}", rust.display()));
    }

    /// A warning that the user sees, one line of cargo's for each line of it.
    pub(crate) fn warning(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.tell(format!("{WARNING}{line}"));
        }
    }

    /// The lines that were given as warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.told.iter().filter_map(|line| line.strip_prefix(WARNING)).map(str::to_owned).collect()
    }

    fn tell(&mut self, line: String) {
        if self.told.insert(line.clone()) {
            // Where standard output is closed there is no cargo to tell.
            let _ = writeln!(self.out, "{line}");
        }
    }
}
