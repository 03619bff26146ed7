//! `kernel-suites totals` and `results`, by which `ci/test` counts what the kernels of others did.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

/// Rows: program, case, device, mode, outcome, reason. The second case is worse than the driver's own
/// compiler, the third one is wrong in both.
const ROWS: &str = "sums\tof 9\tintel\tsource\tpass\t\n\
    sums\tof 9\tintel\tlaunch\tpass\tequal\n\
    sums\tof 32\tintel\tsource\tpass\t\n\
    sums\tof 32\tintel\tlaunch\tcrash\tsignal 11\n\
    sums\tof 64\tintel\tsource\tfail\twrong\n\
    sums\tof 64\tintel\tlaunch\tfail\twrong\n";
const EXCEPTIONS: &str =
    "# device, mode, program, case, reason\nintel\t*\tsums\t* 32\tits compiler crashes\n";

/// Runs a command of `kernel-suites` on rows and exceptions.
fn run(command: &[&str], rows: &str, exceptions: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let (rows, exceptions) = (file("rows.tsv", rows), file("exceptions", exceptions));
    let program = env!("CARGO_BIN_EXE_kernel-suites");
    Command::new(program).args(command).arg("--exceptions").args([exceptions, rows]).output().unwrap()
}

fn text(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn a_case_that_is_worse_fails() {
    let output = run(&["totals"], ROWS, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("WORSE intel launch sums: of 32: crash: signal 11"), "{output:?}");
    assert!(text(&output).contains("1 rows are worse"), "{output:?}");
}

#[test]
fn a_named_exception_does_not_fail() {
    let output = run(&["totals"], ROWS, EXCEPTIONS);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output).contains("exception: 1 rows: its compiler crashes"), "{output:?}");
}

#[test]
fn each_case_has_a_result() {
    let output = run(&["results", "classics"], ROWS, "");
    assert_eq!(
        text(&output),
        "fail\tclassics-launch\tsums: of 32\tcrash: signal 11\n\
         skip\tclassics-launch\tsums: of 64\tthe driver's own compiler is wrong, too\n\
         pass\tclassics-launch\tsums: of 9\t\n"
    );
    let excused = run(&["results", "classics"], ROWS, EXCEPTIONS);
    assert!(text(&excused).starts_with("skip\tclassics-launch\tsums: of 32\tits compiler crashes\n"));
}

#[test]
fn a_run_without_rows_is_an_error() {
    let output = run(&["totals"], "", EXCEPTIONS);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing ran"), "{output:?}");
}
