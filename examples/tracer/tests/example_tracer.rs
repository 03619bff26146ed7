//! The example runs on the selected device, and compares its picture with the host's.

#[path = "../../run.rs"]
mod run;

#[test]
fn tracer() {
    run::run(env!("CARGO_BIN_EXE_tracer"), &["--width", "64", "--samples", "4"]);
}
