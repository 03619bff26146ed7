//! Ids and sizes of dimensions that are not constant. The piglit test `global-offset` runs such a kernel on devices.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use oclave_spirv::transform::dimensions;
use oclave_spirv::{BuiltIn, Definitions, Module, Op, Version, check};
use support::{assemble, assert_valid, with_string};

/// `void k(ulong dimension)`, which takes a part of a vector of `ulong` that is built in.
fn kernel(what: BuiltIn) -> Module {
    assemble(
        Version::V1_0,
        &[
            (Op::Capability, vec![4]),
            (Op::Capability, vec![6]),
            (Op::Capability, vec![11]),
            (Op::MemoryModel, vec![2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], "k", &[10])),
            (Op::Decorate, vec![10, 11, what as u32]),
            (Op::TypeVoid, vec![1]),
            (Op::TypeInt, vec![2, 64, 0]),
            (Op::TypeVector, vec![4, 2, 3]),
            (Op::TypePointer, vec![5, 1, 4]),
            (Op::TypeFunction, vec![8, 1, 2]),
            (Op::Variable, vec![5, 10, 1]),
            (Op::Function, vec![1, 20, 0, 8]),
            (Op::FunctionParameter, vec![2, 21]),
            (Op::Label, vec![22]),
            (Op::Load, vec![4, 23, 10]),
            (Op::VectorExtractDynamic, vec![2, 24, 23, 21]),
            (Op::IAdd, vec![2, 25, 24, 24]),
            (Op::Return, vec![]),
            (Op::FunctionEnd, vec![]),
        ],
    )
}

#[test]
fn dimensions_that_do_not_exist_have_a_value() {
    for (what, wanted) in [
        (BuiltIn::GlobalInvocationId, 0),
        (BuiltIn::GlobalOffset, 0),
        (BuiltIn::WorkgroupId, 0),
        (BuiltIn::GlobalSize, 1),
        (BuiltIn::NumWorkgroups, 1),
        (BuiltIn::WorkgroupSize, 1),
    ] {
        let module = dimensions::complete(&kernel(what)).unwrap().unwrap();
        check::check(&module).unwrap();
        assert_valid("dimensions", &module);
        let definitions = Definitions::new(&module);
        let select = definitions.instruction(24).unwrap();
        assert!(select.is(Op::Select));
        let &[condition, part, other] = select.operands() else { panic!("{select:?}") };
        let [condition, part, other] =
            [condition, part, other].map(|id| definitions.instruction(id).unwrap());
        assert!(condition.is(Op::ULessThan) && condition.operand(0) == Some(21));
        assert!(part.is(Op::VectorExtractDynamic) && part.operands() == [23, 21]);
        assert_eq!(other.operands(), [wanted, 0], "{what:?}");
        let three = definitions.instruction(condition.operand(1).unwrap()).unwrap();
        assert_eq!(three.operands(), [3, 0]);
    }
}

#[test]
fn other_vectors_stay() {
    assert!(dimensions::complete(&kernel(BuiltIn::SubgroupSize)).unwrap().is_none());
}
