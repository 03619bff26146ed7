//! A small picture on the device, which the program compares with the host's.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::Command;

#[test]
fn device_and_host_see_the_same() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tracer"));
    let output = program.args(["--width", "64", "--samples", "4"]).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("all pixels are equal, bit by bit"), "{text}");
}
