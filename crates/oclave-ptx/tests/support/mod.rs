//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::{Path, PathBuf};

/// The modules of this crate's and of `oclave-image`'s tests, by file name. `OCLAVE_CRATES` names a
/// copy of the folder with both crates (`ci/ptx-pack`).
pub(crate) fn modules() -> Vec<(String, Vec<u8>)> {
    let packed = std::env::var_os("OCLAVE_CRATES").map(PathBuf::from);
    let crates = packed.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let mut modules = Vec::new();
    for folder in ["oclave-ptx/tests/fixtures", "oclave-spirv/tests/corpus", "oclave-image/tests/fixtures"] {
        for entry in std::fs::read_dir(crates.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "spv") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                modules.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    modules.sort();
    assert!(modules.len() > 50, "the modules are there");
    modules
}
