//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn frame() {
    run::run(env!("CARGO_BIN_EXE_frame"), &[concat!(env!("CARGO_TARGET_TMPDIR"), "/frame.json")]);
}
