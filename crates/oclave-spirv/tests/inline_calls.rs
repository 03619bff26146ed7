//! Calls that become part of the function that makes them: which go, and which stay.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;

use oclave_spirv::check;
use oclave_spirv::transform::inline_calls::inline_calls;
use oclave_spirv::{Capability, Module, Op, Version};
use support::{assemble, assert_valid, corpus, is_valid, of_kernel, with_string};

const VOID: u32 = 1;
const UINT: u32 = 2;
const BYTE: u32 = 3;
const TO_VOID: u32 = 4;
const TO_UINT: u32 = 5;
const SEVEN: u32 = 6;
const MANY: u32 = 7;
const ARRAY: u32 = 8;
const PRIVATE: u32 = 9;
const DONT_INLINE: u32 = 2;

type Instructions = Vec<(Op, Vec<u32>)>;

fn o(op: Op, operands: &[u32]) -> (Op, Vec<u32>) {
    (op, operands.to_vec())
}

/// A module of kernels, by name and function, and functions.
fn module(kernels: &[(&str, u32)], functions: &[Instructions]) -> Module {
    module_with(kernels, &[], functions)
}

/// The same with more types.
fn module_with(kernels: &[(&str, u32)], types: &[(Op, Vec<u32>)], functions: &[Instructions]) -> Module {
    let mut all = of_kernel(&[Capability::Linkage, Capability::Int8, Capability::ImageBasic], []);
    all.extend(kernels.iter().map(|(name, id)| (Op::EntryPoint, with_string(&[6, *id], name, &[]))));
    all.extend([
        o(Op::TypeVoid, &[VOID]),
        o(Op::TypeInt, &[UINT, 32, 0]),
        o(Op::TypeInt, &[BYTE, 8, 0]),
        o(Op::Constant, &[UINT, SEVEN, 7]),
        o(Op::Constant, &[UINT, MANY, 4096]),
        o(Op::TypeArray, &[ARRAY, BYTE, MANY]),
        o(Op::TypePointer, &[PRIVATE, 7, ARRAY]),
        o(Op::TypeFunction, &[TO_VOID, VOID]),
        o(Op::TypeFunction, &[TO_UINT, UINT, UINT]),
    ]);
    all.extend_from_slice(types);
    all.extend(functions.iter().flatten().cloned());
    assemble(Version::V1_2, &all)
}

/// A kernel that calls functions, one after the other.
fn kernel(id: u32, callees: &[u32]) -> Instructions {
    let mut all = vec![o(Op::Function, &[VOID, id, 0, TO_VOID]), o(Op::Label, &[id + 1])];
    for (callee, at) in callees.iter().zip(id + 3..) {
        all.push(o(Op::FunctionCall, &[UINT, at, *callee, SEVEN]));
    }
    all.extend([o(Op::IAdd, &[UINT, id + 2, SEVEN, SEVEN]), o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    all
}

/// A function that adds 7 so many times, and what it calls.
fn adds(id: u32, control: u32, times: u32, callees: &[u32]) -> Instructions {
    let mut all = vec![
        o(Op::Function, &[UINT, id, control, TO_UINT]),
        o(Op::FunctionParameter, &[UINT, id + 1]),
        o(Op::Label, &[id + 2]),
    ];
    let mut last = id + 1;
    for (callee, at) in callees.iter().zip(id + 3..) {
        all.push(o(Op::FunctionCall, &[UINT, at, *callee, last]));
        last = at;
    }
    for at in id + 10..id + 10 + times {
        all.push(o(Op::IAdd, &[UINT, at, last, SEVEN]));
        last = at;
    }
    all.extend([o(Op::ReturnValue, &[last]), o(Op::FunctionEnd, &[])]);
    all
}

/// The functions that a function still calls, each once.
fn calls_of(module: &Module, function: u32) -> BTreeSet<u32> {
    let body = module.instructions().skip_while(|i| i.result_id() != Some(function) || !i.is(Op::Function));
    let body = body.take_while(|i| !i.is(Op::FunctionEnd));
    body.filter(|i| i.is(Op::FunctionCall)).filter_map(|i| i.operand(0)).collect()
}

fn inlined(module: Module) -> Module {
    check::check(&module).unwrap();
    let module = inline_calls(module).unwrap();
    check::check(&module).unwrap();
    assert_valid("inlined", &module);
    module
}

#[test]
fn small_functions_go_wherever_they_are_called_with_what_they_call() {
    let functions = [kernel(100, &[200, 200]), adds(200, 0, 3, &[300, 300]), adds(300, 0, 5, &[])];
    let module = inlined(module(&[("k", 100)], &functions));
    assert_eq!(calls_of(&module, 100), BTreeSet::new());
    let body = module.instructions().skip_while(|i| i.result_id() != Some(100)).skip(1);
    let body = body.take_while(|i| !i.is(Op::FunctionEnd));
    // Two calls of three additions and two calls of five; one addition is the kernel's own.
    assert_eq!(body.filter(|i| i.is(Op::IAdd)).count(), 2 * (3 + 2 * 5) + 1);
}

#[test]
fn large_functions_go_where_there_is_one_call() {
    let large = adds(300, 0, 600, &[]);
    let once = module(&[("k", 100)], &[kernel(100, &[300]), large.clone()]);
    assert_eq!(calls_of(&inlined(once), 100), BTreeSet::new());
    let twice = module(&[("k", 100), ("l", 150)], &[kernel(100, &[300]), kernel(150, &[300]), large]);
    let twice = inlined(twice);
    assert_eq!(calls_of(&twice, 100), BTreeSet::from([300]));
    assert_eq!(calls_of(&twice, 150), BTreeSet::from([300]));
}

#[test]
fn functions_with_many_private_bytes_go_where_there_is_one_call() {
    let mut wide = adds(300, 0, 3, &[]);
    wide.insert(3, o(Op::Variable, &[PRIVATE, 350, 7]));
    let twice = module(&[("k", 100)], &[kernel(100, &[300, 300]), wide.clone()]);
    assert_eq!(calls_of(&inlined(twice), 100), BTreeSet::from([300]));
    let once = module(&[("k", 100)], &[kernel(100, &[300]), wide]);
    assert_eq!(calls_of(&inlined(once), 100), BTreeSet::new());
}

#[test]
fn recursion_and_functions_that_are_marked_stay() {
    let functions = [
        kernel(100, &[200, 300, 400]),
        adds(200, 0, 3, &[250]),
        adds(250, 0, 3, &[200]),
        adds(300, DONT_INLINE, 3, &[]),
        adds(400, 0, 3, &[]),
    ];
    // `check` refuses recursion.
    let module = inline_calls(module(&[("k", 100)], &functions)).unwrap();
    assert_eq!(calls_of(&module, 100), BTreeSet::from([200, 300]));
}

/// Its pointers have the decorations of the kernel's arguments only there.
#[test]
fn the_function_of_a_kernel_that_only_calls_it_stays_and_takes_in_others() {
    let only = vec![
        o(Op::Function, &[VOID, 100, 0, TO_VOID]),
        o(Op::Label, &[101]),
        o(Op::FunctionCall, &[VOID, 102, 200]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ];
    let module = inlined(module(&[("k", 100)], &[only, kernel(200, &[300, 300]), adds(300, 0, 3, &[])]));
    assert_eq!(calls_of(&module, 100), BTreeSet::from([200]));
    assert_eq!(calls_of(&module, 200), BTreeSet::new());
}

/// Each function calls the one before it twice: in full, that is a million copies.
#[test]
fn modules_do_not_grow_without_bound() {
    let id = |n: u32| 150 + 40 * n;
    let mut functions = vec![kernel(100, &[id(19)]), adds(id(0), 0, 20, &[])];
    functions.extend((1..20).map(|n| adds(id(n), 0, 20, &[id(n - 1); 2])));
    let module = module(&[("k", 100)], &functions);
    let before = module.words().len();
    let module = inlined(module);
    assert!(module.words().len() <= before + 2 * (1 << 16), "{} words", module.words().len());
    assert!(module.instructions().any(|i| i.is(Op::FunctionCall)));
}

#[test]
fn modules_stay_sound() {
    let mut changed = Vec::new();
    for (name, bytes) in corpus() {
        let Ok(module) = Module::from_bytes(&bytes) else { continue };
        if check::check(&module).is_err() {
            continue;
        }
        // At -O0 clang marks every function.
        let mut words = module.words().to_vec();
        module.instructions().filter(|i| i.is(Op::Function)).for_each(|i| words[i.at + 3] &= !DONT_INLINE);
        let module = Module::from_words(words).unwrap();
        let inlined = inline_calls(module.clone()).unwrap();
        if inlined != module {
            changed.push(name.clone());
            check::check(&inlined).unwrap_or_else(|error| panic!("{name}: {error}"));
            // LLVM puts an instruction behind the hint of a loop in one of them.
            if is_valid(&module) != Some(false) {
                assert_valid(&name, &inlined);
            }
        }
    }
    assert!(changed.len() >= 3, "calls go in {changed:?} only");
}

/// PTX names images in its instructions, which only kernels can.
#[test]
fn functions_with_images_go_whatever_they_are_marked_and_however_large_they_are() {
    const IMAGE: u32 = 10;
    const TO_IMAGE: u32 = 11;
    const TO_IMAGE_VOID: u32 = 12;
    let mut asks = vec![
        o(Op::Function, &[UINT, 200, DONT_INLINE, TO_IMAGE]),
        o(Op::FunctionParameter, &[IMAGE, 201]),
        o(Op::Label, &[202]),
    ];
    asks.extend((210..990).map(|at| o(Op::IAdd, &[UINT, at, SEVEN, SEVEN])));
    asks.extend([o(Op::ReturnValue, &[SEVEN]), o(Op::FunctionEnd, &[])]);
    let kernel = vec![
        o(Op::Function, &[VOID, 100, 0, TO_IMAGE_VOID]),
        o(Op::FunctionParameter, &[IMAGE, 101]),
        o(Op::Label, &[102]),
        o(Op::FunctionCall, &[UINT, 103, 200, 101]),
        o(Op::FunctionCall, &[UINT, 104, 200, 101]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ];
    let types = [
        // Of two dimensions, to be read.
        o(Op::TypeImage, &[IMAGE, VOID, 1, 0, 0, 0, 0, 0, 0]),
        o(Op::TypeFunction, &[TO_IMAGE, UINT, IMAGE]),
        o(Op::TypeFunction, &[TO_IMAGE_VOID, VOID, IMAGE]),
    ];
    let module = module_with(&[("k", 100)], &types, &[kernel, asks]);
    assert_eq!(calls_of(&inlined(module), 100), BTreeSet::new());
}
