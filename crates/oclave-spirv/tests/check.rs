//! The structural check: what compilers write passes, what breaks a rule does not.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_spirv::check;
use oclave_spirv::transform::strip;
use oclave_spirv::{Module, Op, Version};
use support::{assemble, with_string};

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

/// Opcodes and operands, result type and result id among them.
type Instructions = Vec<(Op, Vec<u32>)>;

/// A sound module, as instructions: a kernel with a loop, and a function that it calls.
fn sound() -> Instructions {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    vec![
        o(Op::Capability, &[4]),
        o(Op::Capability, &[5]),
        o(Op::Capability, &[6]),
        (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
        o(Op::MemoryModel, &[2, 2]),
        (Op::EntryPoint, with_string(&[6, 20], "k", &[12])),
        o(Op::ExecutionMode, &[20, 17, 8, 1, 1]),
        o(Op::Decorate, &[12, 11, 30]),
        o(Op::TypeVoid, &[1]),
        o(Op::TypeInt, &[3, 32, 0]),
        o(Op::TypeBool, &[4]),
        o(Op::TypeFloat, &[5, 32]),
        o(Op::TypePointer, &[6, 5, 3]),
        o(Op::TypePointer, &[7, 1, 3]),
        o(Op::TypeFunction, &[8, 1, 6]),
        o(Op::TypeFunction, &[9, 3, 3, 3]),
        o(Op::Constant, &[3, 10, 7]),
        o(Op::Constant, &[3, 11, 0]),
        o(Op::ConstantTrue, &[4, 18]),
        o(Op::Variable, &[7, 12, 1]),
        o(Op::Function, &[3, 30, 0, 9]),
        o(Op::FunctionParameter, &[3, 31]),
        o(Op::FunctionParameter, &[3, 32]),
        o(Op::Label, &[33]),
        o(Op::IAdd, &[3, 34, 31, 32]),
        o(Op::ReturnValue, &[34]),
        o(Op::FunctionEnd, &[]),
        o(Op::Function, &[1, 20, 0, 8]),
        o(Op::FunctionParameter, &[6, 21]),
        o(Op::Label, &[22]),
        o(Op::Load, &[3, 40, 12, 2, 4]),
        o(Op::Branch, &[23]),
        o(Op::Label, &[23]),
        o(Op::Phi, &[3, 24, 11, 22, 25, 23]),
        o(Op::FunctionCall, &[3, 25, 30, 24, 40]),
        o(Op::SLessThan, &[4, 26, 25, 10]),
        o(Op::BranchConditional, &[26, 23, 27]),
        o(Op::Label, &[27]),
        o(Op::Store, &[21, 25, 2, 4]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]
}

#[test]
fn each_rule_that_is_broken_is_named() {
    let whole = sound();
    check::check(&assemble(Version::V1_2, &whole)).unwrap();
    support::assert_valid("the sound module", &assemble(Version::V1_2, &whole));
    let find = |op: Op, first: u32| {
        let at = whole.iter().position(|(o, operands)| *o == op && operands.contains(&first));
        at.unwrap_or_else(|| panic!("no {op:?} with {first}"))
    };
    let wrong = std::cell::RefCell::new(Vec::new());
    let broken = |why: &str, change: &dyn Fn(&mut Instructions)| {
        let mut module = whole.clone();
        change(&mut module);
        let verdict = check::check(&assemble(Version::V1_2, &module));
        let error = verdict.err().map_or_else(|| "nothing".to_owned(), |e| e.to_string());
        if !error.contains(why) {
            wrong.borrow_mut().push(format!("expected \"{why}\", got \"{error}\""));
        }
    };
    let replaced = |why: &str, op: Op, id: u32, with: (Op, &[u32])| {
        let at = find(op, id);
        broken(why, &|m| m[at] = (with.0, with.1.to_vec()));
    };
    let removed = |why: &str, op: Op, id: u32| {
        let at = find(op, id);
        broken(why, &|m| _ = m.remove(at));
    };
    let inserted = |why: &str, op: Op, id: u32, new: (Op, &[u32])| {
        let at = find(op, id);
        broken(why, &|m| m.insert(at, (new.0, new.1.to_vec())));
    };

    // Layout and ids.
    removed("no OpMemoryModel", Op::MemoryModel, 2);
    removed("OpCapability Kernel", Op::Capability, 6);
    broken("stands after the section", &|m| m.insert(9, (Op::Capability, vec![11])));
    inserted("outside of a function", Op::TypeBool, 4, (Op::IAdd, &[3, 90, 3, 3]));
    inserted("may not stand in a function", Op::IAdd, 34, (Op::TypeEvent, &[90]));
    inserted("already defined", Op::IAdd, 34, (Op::ISub, &[3, 31, 31, 32]));
    replaced("not in 1..1000", Op::IAdd, 34, (Op::IAdd, &[3, 1000, 31, 32]));
    replaced("%77 is not defined", Op::IAdd, 34, (Op::IAdd, &[3, 34, 77, 32]));
    replaced("another function", Op::IAdd, 34, (Op::IAdd, &[3, 34, 24, 32]));
    replaced("before it is defined", Op::TypePointer, 6, (Op::TypePointer, &[6, 5, 9]));
    replaced("missing or left over", Op::IAdd, 34, (Op::IAdd, &[3, 34, 31]));
    broken("no OpFunctionEnd", &|m| _ = m.pop());
    broken("has no terminator", &|m| _ = m.remove(m.len() - 2));
    broken("outside of a block", &|m| m.insert(m.len() - 1, (Op::Return, vec![])));

    // Types, constants, variables.
    replaced("33 bits", Op::TypeInt, 3, (Op::TypeInt, &[3, 33, 0]));
    replaced("%1 is no type of parameters", Op::TypeFunction, 8, (Op::TypeFunction, &[8, 1, 1]));
    replaced("not as wide", Op::Constant, 10, (Op::Constant, &[3, 10, 7, 0]));
    replaced("not the one of its type", Op::Variable, 12, (Op::Variable, &[7, 12, 7]));
    inserted("storage class", Op::IAdd, 34, (Op::Variable, &[6, 90, 5]));

    // Annotations.
    replaced("no function with a body", Op::EntryPoint, 20, (Op::EntryPoint, &[6, 21, 0x6b, 12]));
    replaced("returns a value", Op::EntryPoint, 20, (Op::EntryPoint, &[6, 30, 0x6b, 12]));
    replaced("is no entry point", Op::ExecutionMode, 20, (Op::ExecutionMode, &[30, 17, 8, 1, 1]));
    replaced("local size of 0", Op::ExecutionMode, 20, (Op::ExecutionMode, &[20, 17, 8, 0, 1]));
    replaced("does not take 2 operands", Op::ExecutionMode, 20, (Op::ExecutionMode, &[20, 17, 8, 1]));
    replaced("SubgroupDispatch", Op::ExecutionMode, 20, (Op::ExecutionMode, &[20, 35, 8]));
    replaced("built-in", Op::Decorate, 12, (Op::Decorate, &[12, 11, 27]));
    replaced("no power of two", Op::Decorate, 12, (Op::Decorate, &[21, 44, 3]));
    replaced("not for the type", Op::Decorate, 12, (Op::Decorate, &[31, 38, 5]));
    replaced("instruction set", Op::ExtInstImport, 2, (Op::ExtInstImport, &[2, 0x41]));

    // Control flow.
    replaced("no label of its function", Op::Branch, 23, (Op::Branch, &[33]));
    replaced("first block", Op::Branch, 23, (Op::Branch, &[22]));
    replaced("no value for one of the ways", Op::Phi, 24, (Op::Phi, &[3, 24, 11, 22]));
    replaced("does not go to this block", Op::Phi, 24, (Op::Phi, &[3, 24, 11, 22, 25, 27]));
    replaced("on the way through", Op::Phi, 24, (Op::Phi, &[3, 24, 25, 22, 25, 23]));
    replaced("not defined on every way", Op::SLessThan, 26, (Op::SLessThan, &[4, 26, 26, 26]));
    replaced("does not return", Op::ReturnValue, 34, (Op::Return, &[]));
    replaced("calls itself", Op::IAdd, 34, (Op::FunctionCall, &[3, 34, 30, 31, 32]));
    replaced("arguments", Op::FunctionCall, 25, (Op::FunctionCall, &[3, 25, 30, 24]));

    // Operands.
    replaced("no Int", Op::IAdd, 34, (Op::IAdd, &[5, 34, 31, 32]));
    replaced("different types", Op::SLessThan, 26, (Op::IEqual, &[4, 26, 25, 21]));
    replaced("may not be used here", Op::IAdd, 34, (Op::IAdd, &[3, 34, 31, 3]));
    replaced("points to", Op::Store, 21, (Op::Store, &[21, 26, 2, 4]));
    replaced("no power of two", Op::Store, 21, (Op::Store, &[21, 25, 2, 3]));
    replaced("none of kernels", Op::Store, 21, (Op::Store, &[21, 25, 0x40]));
    replaced("may not be used here", Op::Store, 21, (Op::Store, &[12, 25, 2, 4]));
    replaced("OpenCL.std", Op::IAdd, 34, (Op::ExtInst, &[3, 34, 2, 141, 31, 32]));
    replaced("OpenCL.std has no instruction 9999", Op::IAdd, 34, (Op::ExtInst, &[3, 34, 2, 9999, 31, 32]));
    replaced("without parts", Op::Store, 21, (Op::AccessChain, &[6, 90, 21, 11]));

    // Words too many: Intel's compiler dies of such labels.
    let left_over = "missing or left over";
    replaced(left_over, Op::Label, 33, (Op::Label, &[33, 7, 7]));
    broken(left_over, &|m| m.last_mut().unwrap().1.push(7));
    replaced("does not take", Op::Decorate, 12, (Op::Decorate, &[12, 11, 30, 7]));

    // Capabilities.
    let capability = |number| (Op::Capability, vec![number]);
    broken("not known", &|m| m[0] = capability(4242));
    broken("not a module for OpenCL", &|m| m.insert(0, capability(1)));
    removed("capability Addresses", Op::Capability, 4);
    replaced("capability Int64", Op::TypeInt, 3, (Op::TypeInt, &[3, 64, 0]));
    replaced("capability Float64", Op::TypeFloat, 5, (Op::TypeFloat, &[5, 64]));
    replaced("GenericPointer", Op::TypePointer, 6, (Op::TypePointer, &[6, 8, 3]));
    inserted("capability Groups", Op::IAdd, 34, (Op::GroupIAdd, &[3, 90, 11, 0, 31]));
    inserted("GroupNonUniform", Op::IAdd, 34, (Op::GroupNonUniformElect, &[4, 90, 11]));

    // Decorations.
    let decorated = |why, operands: &[u32]| inserted(why, Op::Decorate, 12, (Op::Decorate, operands));
    decorated("is not known", &[34, 4242]);
    decorated("Shader", &[34, 0]);
    decorated("stands twice", &[12, 11, 30]);
    decorated("no operation on integers", &[31, 4469]);
    decorated("is no variable", &[31, 22]);
    decorated("neither a variable nor", &[34, 21]);
    decorated("is no struct", &[3, 10]);

    // Literals, files, phis, entry points.
    replaced("signedness 1", Op::TypeInt, 3, (Op::TypeInt, &[3, 32, 1]));
    broken("bits beyond its type", &|m| {
        m.insert(9, (Op::TypeInt, vec![90, 8, 0]));
        m.insert(0, capability(39));
        m.insert(find(Op::Constant, 10) + 2, (Op::Constant, vec![90, 91, 256]));
    });
    broken("is no OpString", &|m| m.insert(7, (Op::Source, vec![3, 100_000, 12])));
    replaced("twice in its interface", Op::EntryPoint, 20, (Op::EntryPoint, &[6, 20, 0x6b, 12, 12]));
    inserted("operands of one width", Op::IAdd, 34, (Op::UConvert, &[3, 90, 31]));
    inserted("a scope is unknown", Op::IAdd, 34, (Op::ControlBarrier, &[10, 11, 11]));
    inserted("semantics are none", Op::IAdd, 34, (Op::MemoryBarrier, &[11, 10]));
    inserted("different types", Op::IAdd, 34, (Op::ExtInst, &[3, 90, 2, 166, 18]));
    replaced("the result is no Float", Op::IAdd, 34, (Op::ExtInst, &[3, 34, 2, 0, 31]));
    assert!(wrong.borrow().is_empty(), "{:#?}", wrong.borrow());
}

#[test]
fn a_long_chain_of_types_is_refused_before_a_driver_recurses() {
    let mut module = sound();
    let at = module.iter().position(|(op, _)| *op == Op::Function).unwrap();
    module.splice(at..at, (0..800).map(|i| (Op::TypeStruct, vec![100 + i, if i == 0 { 3 } else { 99 + i }])));
    let error = check::check(&assemble(Version::V1_2, &module)).unwrap_err().to_string();
    assert!(error.contains("nests deeper"), "{error}");
}
