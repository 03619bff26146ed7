//! Fingerprints the sources. Binaries of adapted modules are cached across versions of this library. When a
//! transformation changes, binaries of the old one must not be used any more. `oclave-image` and `oclave-ptx`
//! link to this file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut sources = Vec::new();
    find(Path::new("src"), &mut sources)?;
    sources.sort();
    let mut hasher = DefaultHasher::new();
    for source in sources {
        std::fs::read(source)?.hash(&mut hasher);
    }
    println!("cargo::rustc-env=OCLAVE_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn find(folder: &Path, sources: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { find(&path, sources)? } else { sources.push(path) }
    }
    Ok(())
}
