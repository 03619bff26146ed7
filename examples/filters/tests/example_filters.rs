//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn filters() {
    run::run(
        env!("CARGO_BIN_EXE_filters"),
        &["--out", concat!(env!("CARGO_TARGET_TMPDIR"), "/filters"), "--runs", "1"],
    );
}
