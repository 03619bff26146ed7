//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn solver() {
    run::run(env!("CARGO_BIN_EXE_solver"), &["--solves", "3"]);
}
