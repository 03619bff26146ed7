//! What the tests of the examples share.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::Command;

/// Runs a program that checks itself. Passes, after saying why, where the device lacks something.
pub(crate) fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let [text, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    println!("{text}");
    let lacks = ["feature not supported", "no OpenCL loader", "found no driver", "takes no SPIR-V"];
    match errors.lines().find(|line| lacks.iter().any(|lack| line.contains(lack))) {
        Some(line) if !output.status.success() => println!("skipped: {line}"),
        _ => assert!(output.status.success(), "{errors}"),
    }
}
