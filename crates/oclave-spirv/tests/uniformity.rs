//! Which values are the same for all work-items of a group.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{BuiltIn, Capability, Decoration, Module, Op, Version};
use support::{assemble, assert_valid, of_kernel, with_string};

type Code = Vec<(Op, Vec<u32>)>;

fn o(op: Op, operands: &[u32]) -> (Op, Vec<u32>) {
    (op, operands.to_vec())
}

/// A module of `void (ulong)` functions: %3 is ulong, %4 bool, %5 a built-in variable of ids, %8 and %9 are 0 and 1.
fn module(kernels: &[u32], functions: Code) -> Module {
    let names = ["a", "b", "c"];
    let entries =
        kernels.iter().zip(names).map(|(id, name)| (Op::EntryPoint, with_string(&[6, *id], name, &[5])));
    let head = [
        o(Op::Decorate, &[5, Decoration::BuiltIn as u32, BuiltIn::GlobalInvocationId as u32]),
        o(Op::TypeVoid, &[2]),
        o(Op::TypeInt, &[3, 64, 0]),
        o(Op::TypeBool, &[4]),
        o(Op::TypeVector, &[6, 3, 3]),
        o(Op::TypePointer, &[7, 1, 6]),
        o(Op::Constant, &[3, 8, 0, 0]),
        o(Op::Constant, &[3, 9, 1, 0]),
        o(Op::TypeFunction, &[10, 2, 3]),
        o(Op::Variable, &[7, 5, 1]),
    ];
    let code = entries.chain(head).chain(functions);
    let module = assemble(Version::V1_0, &of_kernel(&[Capability::Int64], code));
    assert_valid("the module", &module);
    module
}

/// `void id(ulong n)` with parameter `id + 1`. It calls `callee` with an id of the work-item, or with `n`.
fn calling(id: u32, callee: u32, with_id: bool) -> Code {
    let mut code = vec![
        o(Op::Function, &[2, id, 0, 10]),
        o(Op::FunctionParameter, &[3, id + 1]),
        o(Op::Label, &[id + 2]),
    ];
    if with_id {
        code.extend([o(Op::Load, &[6, id + 3, 5]), o(Op::CompositeExtract, &[3, id + 4, id + 3, 0])]);
    }
    let argument = if with_id { id + 4 } else { id + 1 };
    code.extend([
        o(Op::FunctionCall, &[2, id + 5, callee, argument]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    code
}

fn empty(id: u32) -> Code {
    vec![
        o(Op::Function, &[2, id, 0, 10]),
        o(Op::FunctionParameter, &[3, id + 1]),
        o(Op::Label, &[id + 2]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]
}

/// The functions of kernels, and whether a value of a function is the same for all work-items.
fn uniform(module: &Module, function: u32, value: u32) -> (BTreeSet<u32>, bool) {
    let analyses = Analyses::new(module);
    let uniformity = Uniformity::new(analyses.definitions(), analyses.flows());
    let flow = analyses.flows().iter().find(|flow| flow.function == function).unwrap();
    (uniformity.kernels().clone(), uniformity.is_uniform(flow, vec![value]))
}

#[test]
fn parameters_are_uniform_where_kernels_pass_on_their_own() {
    let passed = module(&[20], [empty(40), calling(20, 40, false)].concat());
    assert_eq!(uniform(&passed, 40, 41), (BTreeSet::from([40]), true));
    let of_id = module(&[20], [empty(40), calling(20, 40, true)].concat());
    assert_eq!(uniform(&of_id, 40, 41), (BTreeSet::from([20]), false));
    let by_others = module(&[20, 30], [empty(40), calling(20, 40, false), calling(30, 40, true)].concat());
    assert_eq!(uniform(&by_others, 40, 41), (BTreeSet::from([20, 30]), false));
}

/// A kernel %20 of one parameter, %21. Its first block, %22, tells by %25 whether the id is 0, and goes on with `code`.
fn counting(code: Code) -> Module {
    let begin = [
        o(Op::Function, &[2, 20, 0, 10]),
        o(Op::FunctionParameter, &[3, 21]),
        o(Op::Label, &[22]),
        o(Op::Load, &[6, 23, 5]),
        o(Op::CompositeExtract, &[3, 24, 23, 0]),
        o(Op::IEqual, &[4, 25, 24, 8]),
    ];
    let end = [o(Op::Return, &[]), o(Op::FunctionEnd, &[])];
    module(&[20], begin.into_iter().chain(code).chain(end).collect())
}

/// `if (condition) counter = 1; else counter = start; do counter++; while (counter < n);` without a block before the loop.
#[test]
fn counters_with_several_starts_are_not_uniform() {
    for (start, is_uniform) in [(8, false), (9, true)] {
        let counts = counting(vec![
            o(Op::BranchConditional, &[25, 26, 27]),
            o(Op::Label, &[26]),
            o(Op::Branch, &[28]),
            o(Op::Label, &[27]),
            o(Op::Branch, &[28]),
            o(Op::Label, &[28]),
            o(Op::Phi, &[3, 29, 9, 26, start, 27, 30, 28]),
            o(Op::IAdd, &[3, 30, 29, 9]),
            o(Op::ULessThan, &[4, 31, 30, 21]),
            o(Op::BranchConditional, &[31, 28, 32]),
            o(Op::Label, &[32]),
        ]);
        assert_eq!(uniform(&counts, 20, 31).1, is_uniform, "the second start is %{start}");
    }
}

/// `for (counter = 0; counter < n; counter = id == 0 ? counter + 1 : next)`, with a way back for each value.
#[test]
fn counters_with_several_steps_are_not_uniform() {
    for (next, is_uniform) in [(21, false), (30, true)] {
        let counts = counting(vec![
            o(Op::Branch, &[26]),
            o(Op::Label, &[26]),
            o(Op::Phi, &[3, 27, 8, 22, 30, 28, next, 29]),
            o(Op::IAdd, &[3, 30, 27, 9]),
            o(Op::ULessThan, &[4, 31, 27, 21]),
            o(Op::BranchConditional, &[31, 32, 33]),
            o(Op::Label, &[32]),
            o(Op::BranchConditional, &[25, 28, 29]),
            o(Op::Label, &[28]),
            o(Op::Branch, &[26]),
            o(Op::Label, &[29]),
            o(Op::Branch, &[26]),
            o(Op::Label, &[33]),
        ]);
        assert_eq!(uniform(&counts, 20, 31).1, is_uniform, "the second value is %{next}");
    }
}
