//! What the tests of this crate share.
#![allow(clippy::unwrap_used)]

/// Every module of the corpus, by file name.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut modules: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "spv"))
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    modules.sort();
    assert!(modules.len() >= 20, "the corpus is there");
    modules
}
