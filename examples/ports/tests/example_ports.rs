//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn ports() {
    run::run(env!("CARGO_BIN_EXE_ports"), &["--size", "24"]);
}
