//! The example runs on the selected device, and checks itself.

#[path = "../../run.rs"]
mod run;

#[test]
fn search() {
    run::run(env!("CARGO_BIN_EXE_search"), &["--size", "40", "--searches", "3"]);
}
