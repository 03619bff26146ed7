//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn planets() {
    run::run(env!("CARGO_BIN_EXE_planets"), &["--steps", "50", "--replays", "4"]);
}
