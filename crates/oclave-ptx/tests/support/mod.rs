//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;

/// The modules of this crate's and of `oclave-image`'s tests, by file name.
pub(crate) fn modules() -> Vec<(String, Vec<u8>)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut modules = Vec::new();
    for folder in ["tests/fixtures", "../oclave-image/tests/corpus", "../oclave-image/tests/fixtures"] {
        for entry in std::fs::read_dir(own.join(folder)).unwrap() {
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
