//! The structural check: what compilers write passes, what breaks a rule does not.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_image::passes::{check, strip};
use oclave_image::spirv::Module;

#[test]
fn what_compilers_write_passes_once_stripped() {
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        let stripped = strip::strip(&module, |_| true).unwrap();
        if name.starts_with("virtual") {
            // Vtables are module-scope variables of storage class Function until they are lowered.
            let error = check::check(&stripped).unwrap_err().to_string();
            assert!(error.contains("storage class 7"), "{error}");
            continue;
        }
        check::check(&stripped).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn annotation_leftovers_do_not_pass() {
    let error = check::check(&support::module("globals.O2.spv")).unwrap_err().to_string();
    assert!(error.contains("storage class 7") || error.contains("annotation"), "{error}");
}
