//! What the tests of this crate share.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::{Path, PathBuf};

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

/// The assembler that `ci/setup ptxas` installs.
pub(crate) fn ptxas() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("OCLAVE_PTXAS") {
        return Some(path.into());
    }
    let home = std::env::var_os("OCLAVE_HOME").map(PathBuf::from).or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))?;
        Some(cache.join("oclave"))
    })?;
    let path = home.join("ptxas-1/nvidia/cuda_nvcc/bin/ptxas");
    path.is_file().then_some(path)
}
