//! Dead-code elimination on compiled kernels: what goes, what stays, and that the rest is still
//! valid.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_spirv::transform::capabilities;
use oclave_spirv::transform::dce;
use oclave_spirv::{Capability, Module, Op};
use support::module;

fn entry_points(module: &Module) -> Vec<String> {
    module
        .instructions()
        .filter(|i| i.is(Op::EntryPoint))
        .map(|i| i.string(2).unwrap().into_owned())
        .collect()
}

fn functions(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::Function)).count()
}

#[test]
fn an_fp64_kernel_takes_its_capability_with_it() {
    for opt in ["O0", "O2"] {
        let both = module(&format!("fp64.{opt}.spv"));
        let has_fp64 = |m: &Module| capabilities::declared(m).any(|c| c == Capability::Float64 as u32);
        assert!(has_fp64(&both));
        let float = dce::eliminate(&both, |r| r == dce::Root::EntryPoint("in_float")).unwrap();
        assert_eq!(entry_points(&float), ["in_float"]);
        assert!(!has_fp64(&float), "{opt}");
        assert!(!float.instructions().any(|i| i.is(Op::TypeFloat) && i.operand(0) == Some(64)));
        assert!(functions(&float) < functions(&both));
        let double = dce::eliminate(&both, |r| r == dce::Root::EntryPoint("in_double")).unwrap();
        assert!(has_fp64(&double));
        support::assert_valid(&format!("fp64.{opt} in_float"), &float);
        support::assert_valid(&format!("fp64.{opt} in_double"), &double);
    }
}

#[test]
fn keeping_everything_keeps_what_the_kernels_need_and_stays_valid() {
    for (name, bytes) in support::corpus() {
        let before = Module::from_bytes(&bytes).unwrap();
        let after = dce::eliminate(&before, |_| true).unwrap();
        assert_eq!(entry_points(&after), entry_points(&before), "{name}");
        assert!(after.words().len() <= before.words().len());
        if support::is_valid(&before) != Some(false) {
            support::assert_valid(&name, &after);
        }
        let again = dce::eliminate(&after, |_| true).unwrap();
        assert!(again == after, "{name}: a second pass finds nothing more");
    }
}

#[test]
fn a_kernel_alone_keeps_only_what_it_uses() {
    let module = module("globals.O0.spv");
    let variables =
        |m: &Module| m.names().map(|(_, n)| n).filter(|n| n == "table" || n == "weights").collect::<Vec<_>>();
    assert_eq!(variables(&module).len(), 2);
    let blur = dce::eliminate(&module, |r| r == dce::Root::EntryPoint("blur")).unwrap();
    assert_eq!(variables(&blur), ["weights"]);
    // The annotation's string is an invalid variable that nothing refers to: the result is valid
    // for the first time.
    support::assert_valid("globals.O0 blur", &blur);
    let nothing = dce::eliminate(&module, |_| false).unwrap();
    assert_eq!(functions(&nothing), 0);
    let exported = dce::eliminate(&module, |r| r == dce::Root::Export("table")).unwrap();
    assert_eq!(variables(&exported), ["table"]);
}
