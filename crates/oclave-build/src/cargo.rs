//! What a build script tells cargo: on what its result depends, and warnings.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

const WARNING: &str = "cargo::warning=";

/// Writes cargo's instructions, each once.
pub(crate) struct Cargo<'a> {
    out: &'a mut dyn Write,
    told: BTreeSet<String>,
    warnings: Vec<String>,
}

impl<'a> Cargo<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, told: BTreeSet::new(), warnings: Vec::new() }
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
        if self.told.insert(format!("{WARNING}{text}")) {
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                self.warnings.push(line.to_owned());
                self.write(&format!("{WARNING}{line}"));
            }
        }
    }

    /// The lines of the warnings.
    pub(crate) fn warnings(self) -> Vec<String> {
        self.warnings
    }

    fn tell(&mut self, line: String) {
        if self.told.insert(line.clone()) {
            self.write(&line);
        }
    }

    fn write(&mut self, line: &str) {
        // Where standard output is closed there is no cargo to tell.
        let _ = writeln!(self.out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_once_and_keep_their_lines() {
        let mut out = Vec::new();
        let mut cargo = Cargo::new(&mut out);
        for text in ["b.cl:1: warning: x\n  |\n\n", "a.cl:2: warning: y\n  |", "b.cl:1: warning: x\n  |\n\n"]
        {
            cargo.warning(text);
        }
        let lines = ["b.cl:1: warning: x", "  |", "a.cl:2: warning: y", "  |"];
        assert_eq!(cargo.warnings(), lines);
        assert_eq!(String::from_utf8(out).unwrap(), lines.map(|line| format!("{WARNING}{line}\n")).concat());
    }
}
