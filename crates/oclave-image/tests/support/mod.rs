//! What the tests of this crate share.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

use std::io::Write;
use std::process::{Command, Stdio};

use oclave_image::spirv::Module;

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

/// One module of the corpus.
pub(crate) fn module(name: &str) -> Module {
    let (_, bytes) = corpus().into_iter().find(|(n, _)| n == name).unwrap();
    Module::from_bytes(&bytes).unwrap()
}

/// What `spirv-val` says; `None` where it is not installed.
pub(crate) fn validate(module: &Module) -> Option<Result<(), String>> {
    let mut validator = Command::new("spirv-val")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // A validator that does not read to the end closes the pipe; its words tell why.
    let _ = validator.stdin.take().unwrap().write_all(&module.to_bytes());
    let output = validator.wait_with_output().unwrap();
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// Whether `spirv-val` accepts a module; `None` where it is not installed.
pub(crate) fn is_valid(module: &Module) -> Option<bool> {
    Some(validate(module)?.is_ok())
}

/// Fails where `spirv-val` is installed and refuses the module.
pub(crate) fn assert_valid(name: &str, module: &Module) {
    match validate(module) {
        None => println!("skipped: no spirv-val, {name} was not validated"),
        Some(Ok(())) => {}
        Some(Err(what)) => panic!("{name}: {what}"),
    }
}
