//! Generic pointers on devices without the generic address space: resolved, tagged, or refused with
//! function and pointer named. What kernels compute with them is in `tests/optional_features.rs` of
//! `oclave`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_image::{Aspects, DeviceImage, DeviceTarget, ImageError, legalize};
use oclave_spirv::check;
use oclave_spirv::{Capability, Module, Op, Version};
use support::{assemble, of_kernel, with_string};

type Line = (Op, Vec<u32>);

fn o(op: Op, operands: &[u32]) -> Line {
    (op, operands.to_vec())
}

/// Without generic pointers.
fn poor() -> DeviceTarget {
    DeviceTarget { aspects: Aspects::all() - Aspects::GENERIC_POINTER, ..DeviceTarget::default() }
}

fn image(module: &Module) -> DeviceImage {
    DeviceImage { name: "test".to_owned(), spirv: module.words().to_vec(), ..DeviceImage::default() }
}

/// A kernel `k(global uint *%21, local uint *%22)` and the function `set(uint *%41)`, which has a
/// generic pointer.
///
/// Types: 1 void, 3 uint, 7 global, 8 local, 9 generic pointer to uint, 15 global pointer to
/// generic pointers.
fn module(kernel: &[Line], function: &[Line]) -> Module {
    // A parameter of this type stays what it is, so only the kernel that uses it has it.
    let loads = kernel.iter().any(|(op, _)| *op == Op::Load);
    let third = if loads { 15 } else { 7 };
    let mut lines = of_kernel(
        &[Capability::GenericPointer],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            (Op::Name, with_string(&[40], "set", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypePointer, &[7, 5, 3]),
            o(Op::TypePointer, &[8, 4, 3]),
            o(Op::TypePointer, &[9, 8, 3]),
            o(Op::TypePointer, &[15, 5, 9]),
            o(Op::TypeFunction, &[10, 1, 7, 8, third]),
            o(Op::TypeFunction, &[11, 1, 9]),
            o(Op::Constant, &[3, 12, 7]),
            o(Op::ConstantNull, &[9, 13]),
            o(Op::Function, &[1, 20, 0, 10]),
            o(Op::FunctionParameter, &[7, 21]),
            o(Op::FunctionParameter, &[8, 22]),
            o(Op::FunctionParameter, &[third, 23]),
            o(Op::Label, &[24]),
        ],
    );
    if kernel.iter().any(|(_, operands)| operands.get(1) == Some(&42)) {
        lines.insert(6, (Op::Name, with_string(&[42], "next", &[])));
    }
    lines.extend_from_slice(kernel);
    lines.extend([
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
        o(Op::Function, &[1, 40, 0, 11]),
        o(Op::FunctionParameter, &[9, 41]),
        o(Op::Label, &[43]),
    ]);
    lines.extend_from_slice(function);
    lines.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    let module = assemble(Version::V1_0, &lines);
    check::check(&module).unwrap();
    support::assert_valid("the module before", &module);
    module
}

fn store() -> Vec<Line> {
    vec![o(Op::Store, &[41, 12, 2, 4])]
}

fn legal(module: &Module) -> Module {
    let words = legalize(&image(module), &poor()).unwrap();
    let legal = Module::from_words(words).unwrap();
    support::assert_valid("the resolved module", &legal);
    let is_generic = |i: oclave_spirv::Instruction<'_>| {
        i.is(Op::PtrCastToGeneric) || i.is(Op::TypePointer) && i.operand(0) == Some(8)
    };
    assert!(!legal.instructions().any(is_generic), "something is generic still");
    legal
}

fn functions(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::Function)).count()
}

fn refused(module: &Module) -> String {
    match legalize(&image(module), &poor()) {
        Err(ImageError::DeviceLacks { what }) => what,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn functions_are_cloned_for_what_they_are_called_with() {
    let call = |result, pointer| o(Op::FunctionCall, &[1, result, 40, pointer]);
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 21]),
            o(Op::PtrCastToGeneric, &[9, 31, 22]),
            call(32, 30),
            call(33, 31),
            call(34, 30),
            call(35, 13),
        ],
        &store(),
    );
    // The kernel, and one of each address space; null counts as global memory.
    assert_eq!(functions(&legal(&module)), 3);
    // Where there are generic pointers, nothing changes.
    let rich = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
    assert_eq!(legalize(&image(&module), &rich).unwrap(), module.words());
}

#[test]
fn casts_back_are_what_was_cast() {
    let module = module(
        &[o(Op::PtrCastToGeneric, &[9, 30, 21]), o(Op::FunctionCall, &[1, 32, 40, 30])],
        &[
            o(Op::GenericCastToPtr, &[7, 44, 41]),
            o(Op::Store, &[44, 12, 2, 4]),
            o(Op::GenericCastToPtrExplicit, &[8, 45, 41, 4]),
        ],
    );
    let legal = legal(&module);
    assert!(!legal.instructions().any(|i| i.is(Op::GenericCastToPtr) || i.is(Op::GenericCastToPtrExplicit)));
}

fn count(module: &Module, op: Op) -> usize {
    module.instructions().filter(|i| i.is(op)).count()
}

#[test]
fn what_is_loaded_from_memory_is_global_where_nothing_else_is_stored() {
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 22]),
            o(Op::FunctionCall, &[1, 32, 40, 30]),
            o(Op::Load, &[9, 42, 23, 2, 8]),
            o(Op::Store, &[42, 12, 2, 4]),
        ],
        &store(),
    );
    let legal = legal(&module);
    assert_eq!(count(&legal, Op::ConvertUToPtr), 1);
    assert_eq!(count(&legal, Op::BranchConditional), 0);
}

#[test]
fn what_is_loaded_from_memory_says_where_it_points_to() {
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 22]),
            o(Op::Store, &[23, 30, 2, 8]),
            o(Op::Load, &[9, 42, 23, 2, 8]),
            o(Op::Load, &[3, 44, 42, 2, 4]),
            o(Op::FunctionCall, &[1, 45, 40, 42]),
            o(Op::Store, &[42, 44, 2, 4]),
        ],
        &store(),
    );
    let legal = legal(&module);
    // The load, the store, and the store in the function.
    assert_eq!(count(&legal, Op::BranchConditional), 3);
    assert_eq!(count(&legal, Op::Phi), 1);
    assert_eq!(functions(&legal), 2);
}

#[test]
fn what_a_clone_loads_has_an_id_of_its_own() {
    let call = |result, pointer| o(Op::FunctionCall, &[1, result, 40, pointer]);
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 21]),
            o(Op::PtrCastToGeneric, &[9, 31, 22]),
            o(Op::Store, &[23, 31, 2, 8]),
            o(Op::Load, &[9, 42, 23, 2, 8]),
            call(32, 30),
            call(33, 31),
            call(34, 42),
        ],
        &[o(Op::Load, &[3, 46, 41, 2, 4]), o(Op::Store, &[41, 46, 2, 4])],
    );
    // The clone that is given the tagged pointer is not the first.
    assert_eq!(functions(&legal(&module)), 4);
}

#[test]
fn pointers_into_several_address_spaces_meet() {
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 21]),
            o(Op::PtrCastToGeneric, &[9, 31, 22]),
            o(Op::Branch, &[37]),
            o(Op::Label, &[37]),
            // Null in the first turn: `38` ends in a block of its own.
            o(Op::Phi, &[9, 42, 30, 24, 31, 38]),
            o(Op::Phi, &[9, 46, 13, 24, 42, 38]),
            o(Op::Switch, &[12, 39, 1, 38]),
            o(Op::Label, &[38]),
            o(Op::Store, &[42, 12, 2, 4]),
            o(Op::CopyMemory, &[46, 42, 2, 4]),
            o(Op::Branch, &[37]),
            o(Op::Label, &[39]),
        ],
        &store(),
    );
    let legal = legal(&module);
    // One for the store, three for the four ways of the copy.
    assert_eq!(count(&legal, Op::BranchConditional), 4);
    assert_eq!(count(&legal, Op::CopyMemory), 4);
}

#[test]
fn pointers_that_are_made_of_integers_are_refused_by_name() {
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 21]),
            o(Op::FunctionCall, &[1, 32, 40, 30]),
            o(Op::Load, &[9, 46, 23, 2, 8]),
            o(Op::ConvertUToPtr, &[9, 42, 12]),
            o(Op::Store, &[42, 12, 2, 4]),
        ],
        &store(),
    );
    let what = refused(&module);
    assert!(what.contains("`next`") && what.contains("made of an integer"), "{what}");
}

#[test]
fn a_kernel_of_one_address_space_needs_no_clone() {
    let module = module(
        &[
            o(Op::PtrCastToGeneric, &[9, 30, 21]),
            o(Op::PtrAccessChain, &[9, 31, 30, 12]),
            o(Op::Store, &[31, 12, 2, 4]),
        ],
        &store(),
    );
    // `set` is not called.
    assert_eq!(functions(&legal(&module)), 1);
}

/// A kernel calls the first of these functions, and each calls the next one `calls` times. Each has so many generic parameters. One of them
/// is a pointer to global memory in one call, and to local memory in the other.
fn levels(functions: u32, parameters: u32, calls: u32) -> Module {
    const FIRST: u32 = 1000;
    let first = |function: u32| FIRST + function * 100;
    let mut lines = of_kernel(
        &[Capability::GenericPointer],
        [
            (Op::EntryPoint, with_string(&[6, first(0)], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypePointer, &[7, 5, 3]),
            o(Op::TypePointer, &[8, 4, 3]),
            o(Op::TypePointer, &[9, 8, 3]),
            o(Op::TypeFunction, &[10, 1, 7, 8]),
            (Op::TypeFunction, [vec![11, 1, 7, 8], vec![9; parameters as usize]].concat()),
        ],
    );
    for function in 0..=functions {
        let id = first(function);
        let generic = |parameter: u32| if function == 0 { id + 4 } else { id + 10 + parameter };
        lines.push(o(Op::Function, &[1, id, 0, if function == 0 { 10 } else { 11 }]));
        lines.extend([(7, 1), (8, 2)].map(|(ty, at)| o(Op::FunctionParameter, &[ty, id + at])));
        if function > 0 {
            lines.extend((0..parameters).map(|parameter| o(Op::FunctionParameter, &[9, generic(parameter)])));
        }
        lines.push(o(Op::Label, &[id + 3]));
        lines
            .extend([(4, 1), (5, 2)].map(|(cast, from)| o(Op::PtrCastToGeneric, &[9, id + cast, id + from])));
        for call in 0..if function == functions { 0 } else { calls } {
            let passed = |at: u32| if at == function % parameters { id + 4 + call } else { generic(at) };
            let arguments = (0..parameters).map(passed);
            let head = [1, id + 6 + call, first(function + 1), id + 1, id + 2];
            lines.push((Op::FunctionCall, head.into_iter().chain(arguments).collect()));
        }
        lines.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    }
    let mut words = assemble(Version::V1_2, &lines).into_words();
    words[3] = first(functions + 1);
    Module::from_words(words).unwrap()
}

#[test]
fn too_many_copies_of_functions_and_too_deep_calls_are_refused() {
    let refusal = |module: &Module| match legalize(&image(module), &poor()) {
        Err(ImageError::DeviceLacks { what }) => what,
        other => panic!("not refused: {other:?}"),
    };
    legalize(&image(&levels(6, 12, 2)), &poor()).unwrap();
    assert!(refusal(&levels(14, 14, 2)).contains("4096 copies"));
    assert!(refusal(&levels(400, 1, 1)).contains("256 calls"));
}
