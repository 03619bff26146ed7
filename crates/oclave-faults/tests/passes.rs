//! What the passes against faults change, and that they leave other code as it is.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use oclave_faults::{Fault, FaultSet};
use oclave_image::passes::signatures;
use oclave_image::{DeviceTarget, legalize};
use oclave_spirv::{
    BuiltIn, Capability, Decoration, Definitions, Instruction, Module, Op, SourceLanguage, Version,
};
use support::lowered::{added, functions_of, image, legal_fixture, missing, rich};
use support::{assemble, of_kernel, with_string};

/// Calls of each function of OpenCL.std that becomes instructions, of scalars and of vectors.
#[test]
fn devices_that_call_simple_functions_get_instructions() {
    let floats = [(23, 1), (42, 3), (95, 3), (97, 2), (98, 2), (99, 3)];
    let [roots, inverse_roots] = [[61, 79, 93], [56, 77, 91]];
    let roots = roots.into_iter().chain(inverse_roots).map(|number| (number, 1));
    let others = [(12, 1), (13, 2), (25, 1), (26, 3), (27, 2), (28, 2), (53, 1), (66, 1)];
    let integers = [
        (141, 1),
        (149, 3),
        (150, 3),
        (153, 3),
        (156, 2),
        (157, 2),
        (158, 2),
        (159, 2),
        (160, 2),
        (161, 2),
        (203, 2),
        (204, 3),
    ];
    let of_24_bits = [(167, 3), (168, 3), (169, 2), (170, 2)];
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = vec![
        o(Op::Capability, &[Capability::Addresses as u32]),
        o(Op::Capability, &[Capability::Kernel as u32]),
        o(Op::Capability, &[Capability::Linkage as u32]),
        (Op::ExtInstImport, with_string(&[1], "OpenCL.std", &[])),
        o(Op::MemoryModel, &[2, 2]),
        (Op::Decorate, with_string(&[20, 41], "f", &[0])),
        o(Op::TypeVoid, &[2]),
        o(Op::TypeFloat, &[3, 32]),
        o(Op::TypeInt, &[4, 32, 0]),
        o(Op::TypeVector, &[5, 3, 3]),
        o(Op::TypeVector, &[6, 4, 4]),
        o(Op::TypeFunction, &[7, 2, 3, 4, 5, 6]),
        o(Op::Function, &[2, 20, 0, 7]),
        o(Op::FunctionParameter, &[3, 23]),
        o(Op::FunctionParameter, &[4, 24]),
        o(Op::FunctionParameter, &[5, 25]),
        o(Op::FunctionParameter, &[6, 26]),
        o(Op::Label, &[27]),
    ];
    let floats = floats.into_iter().chain(roots).chain(others);
    let all = floats.map(|(number, count)| (number, count, [3, 5]));
    let all =
        all.chain(integers.into_iter().chain(of_24_bits).map(|(number, count)| (number, count, [4, 6])));
    for (at, (number, count, types)) in all.enumerate() {
        for (lanes, ty) in types.into_iter().enumerate() {
            let mut words = vec![ty, 100 + 2 * at as u32 + lanes as u32, 1, number];
            words.extend(std::iter::repeat_n(20 + ty, count));
            code.push((Op::ExtInst, words));
        }
    }
    code.extend([o(Op::Dot, &[3, 99, 25, 25]), o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    let before = assemble(Version::V1_2, &code);
    support::assert_valid("the calls", &before);
    let count =
        |module: &Module| module.instructions().filter(|i| i.is(Op::ExtInst) || i.is(Op::Dot)).count();
    for functions_are_called in [false, true] {
        let faults = if functions_are_called { Fault::Q9.into() } else { FaultSet::NONE };
        let target = DeviceTarget { faults, ..rich() };
        let after = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("the instructions", &after);
        assert_eq!((count(&before), count(&after)), (73, if functions_are_called { 0 } else { 73 }));
        let linkage = Decoration::LinkageAttributes as u32;
        let named = after.instructions().filter(|i| i.is(Op::Decorate) && i.operand(1) == Some(linkage));
        let names: BTreeSet<String> = named
            .filter_map(|i| i.string(2))
            .filter(|name| name != "f")
            .map(|name| name.into_owned())
            .collect();
        let intrinsics = ["ceil", "copysign", "floor", "fma", "maxnum", "minnum", "rint", "sqrt", "trunc"];
        let wanted =
            intrinsics.iter().flat_map(|name| ["f32", "v3f32"].map(|ty| format!("llvm.{name}.{ty}")));
        let wanted: BTreeSet<String> = wanted.filter(|_| functions_are_called).collect();
        assert_eq!(names, wanted);
    }
}

/// `vstore3` of a vector that `vload3` loaded, both of bytes, and the same of 16 numbers of 64 bits.
fn vector_accesses() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = vec![
        o(Op::Capability, &[Capability::Addresses as u32]),
        o(Op::Capability, &[Capability::Kernel as u32]),
        o(Op::Capability, &[Capability::Linkage as u32]),
        o(Op::Capability, &[Capability::Int8 as u32]),
        o(Op::Capability, &[Capability::Int64 as u32]),
        o(Op::Capability, &[Capability::Vector16 as u32]),
        (Op::ExtInstImport, with_string(&[1], "OpenCL.std", &[])),
        o(Op::MemoryModel, &[2, 2]),
        (Op::Name, with_string(&[41], "store", &[])),
        (Op::Decorate, with_string(&[20, 41], "f", &[0])),
        o(Op::TypeVoid, &[2]),
        o(Op::TypeInt, &[3, 8, 0]),
        o(Op::TypeInt, &[4, 64, 0]),
        o(Op::TypeVector, &[5, 3, 3]),
        o(Op::TypeVector, &[6, 4, 16]),
        o(Op::TypePointer, &[7, 5, 3]),
        o(Op::TypePointer, &[8, 7, 4]),
        o(Op::TypeFunction, &[9, 2, 4, 7, 8]),
        o(Op::Function, &[2, 20, 0, 9]),
        o(Op::FunctionParameter, &[4, 21]),
        o(Op::FunctionParameter, &[7, 22]),
        o(Op::FunctionParameter, &[8, 23]),
        o(Op::Label, &[30]),
    ];
    for (vector, pointer, lanes, id) in [(5, 22, 3, 40), (6, 23, 16, 50)] {
        code.push(o(Op::ExtInst, &[vector, id, 1, 171, 21, pointer, lanes]));
        code.push(o(Op::ExtInst, &[2, id + 1, 1, 172, id, 21, pointer]));
    }
    code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    assemble(Version::V1_2, &code)
}

/// A module for a device with a fault, whose pass alone changes it.
fn changed(before: &Module, fault: Fault) -> Module {
    support::assert_valid("the module", before);
    assert_eq!(legalize(&image(before), &rich()).unwrap(), before.words());
    let target = DeviceTarget { faults: fault.into(), ..rich() };
    let after = Module::from_words(legalize(&image(before), &target).unwrap()).unwrap();
    support::assert_valid("the module, changed", &after);
    after
}

#[test]
fn vectors_are_loaded_and_stored_as_aligned_as_their_elements() {
    let after = changed(&vector_accesses(), Fault::Q77);
    assert!(!after.instructions().any(|i| i.is(Op::ExtInst)));
    let definitions = Definitions::new(&after);
    // What follows the address and the value.
    let accesses = |op: Op| -> Vec<Vec<u32>> {
        let all = after.instructions().filter(|i| i.is(op));
        all.map(|i| i.operands()[i.operands().len() - 2..].to_vec()).collect()
    };
    assert_eq!([accesses(Op::Load), accesses(Op::Store)], [(); 2].map(|()| vec![vec![2, 1], vec![2, 8]]));
    let lanes: Vec<u32> = after
        .instructions()
        .filter(|i| i.is(Op::IMul))
        .map(|i| definitions.instruction(i.operand(1).unwrap()).unwrap().operands()[0])
        .collect();
    assert_eq!(lanes, [3, 3, 16, 16]);
}

/// `void k(ulong n)` with two loops, one behind the other: `for (i = 7; i != id; i++)` with `uint i`, and `for (j = 0; j != n; j++)`.
fn counters() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::Int64],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[10])),
                o(Op::Decorate, &[10, 11, 28]),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 64, 0]),
                o(Op::TypeInt, &[3, 32, 0]),
                o(Op::TypeBool, &[9]),
                o(Op::TypeVector, &[4, 2, 3]),
                o(Op::TypePointer, &[5, 1, 4]),
                o(Op::TypeFunction, &[8, 1, 2]),
                o(Op::Constant, &[2, 11, 0, 0]),
                o(Op::Constant, &[2, 12, 1, 0]),
                o(Op::Constant, &[3, 13, 7]),
                o(Op::Constant, &[3, 14, 1]),
                o(Op::Variable, &[5, 10, 1]),
                o(Op::Function, &[1, 20, 0, 8]),
                o(Op::FunctionParameter, &[2, 21]),
                o(Op::Label, &[30]),
                o(Op::Load, &[4, 22, 10]),
                o(Op::CompositeExtract, &[2, 23, 22, 0]),
                o(Op::UConvert, &[3, 24, 23]),
                o(Op::Branch, &[31]),
                o(Op::Label, &[31]),
                o(Op::Phi, &[3, 40, 13, 30, 41, 31]),
                o(Op::IAdd, &[3, 41, 40, 14]),
                o(Op::INotEqual, &[9, 42, 41, 24]),
                o(Op::BranchConditional, &[42, 31, 32]),
                o(Op::Label, &[32]),
                o(Op::Branch, &[33]),
                o(Op::Label, &[33]),
                o(Op::Phi, &[2, 50, 11, 32, 51, 33]),
                o(Op::IAdd, &[2, 51, 50, 12]),
                o(Op::INotEqual, &[9, 52, 51, 21]),
                o(Op::BranchConditional, &[52, 33, 34]),
                o(Op::Label, &[34]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    )
}

#[test]
fn counters_of_loops_that_work_items_leave_apart_depend_on_the_work_item() {
    let after = changed(&counters(), Fault::Q78);
    let definitions = Definitions::new(&after);
    let phis: Vec<Vec<u32>> =
        after.instructions().filter(|i| i.is(Op::Phi)).map(|i| i.operands().to_vec()).collect();
    let start = |phi: usize| definitions.instruction(phis[phi][0]).unwrap();
    let sum = start(0);
    assert!(sum.is(Op::IAdd), "{sum:?}");
    assert_eq!(definitions.int_constant(sum.operand(0).unwrap()), Some(7));
    let zero = definitions.instruction(sum.operand(1).unwrap()).unwrap();
    let sign = definitions.instruction(zero.operand(0).unwrap()).unwrap();
    assert!(zero.is(Op::UConvert) && sign.is(Op::ShiftRightLogical));
    assert_eq!(definitions.int_constant(sign.operand(1).unwrap()), Some(63));
    assert!(start(1).is(Op::Constant), "all work-items leave the second loop together");
}

/// A kernel that stores 5 to the first elements of `uint[32]`, and 6 to one more.
fn filled(elements: u32) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = of_kernel(
        &[],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[2, 32, 0]),
            o(Op::TypeFunction, &[3, 1]),
            o(Op::Constant, &[2, 4, 32]),
            o(Op::Constant, &[2, 5, 5]),
            o(Op::Constant, &[2, 6, 6]),
            o(Op::Constant, &[2, 7, 0]),
            o(Op::TypeArray, &[8, 2, 4]),
            o(Op::TypePointer, &[9, 7, 8]),
            o(Op::TypePointer, &[10, 7, 2]),
        ],
    );
    code.extend((0..=elements).map(|i| o(Op::Constant, &[2, 100 + i, i])));
    code.extend([o(Op::Function, &[1, 20, 0, 3]), o(Op::Label, &[30]), o(Op::Variable, &[9, 31, 7])]);
    for i in 0..=elements {
        code.push(o(Op::InBoundsPtrAccessChain, &[10, 200 + i, 31, 7, 100 + i]));
        code.push(o(Op::Store, &[200 + i, if i == elements { 6 } else { 5 }, 2, 4]));
    }
    code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    assemble(Version::V1_0, &code)
}

#[test]
fn numbers_that_fill_arrays_are_hidden() {
    let few = filled(15);
    assert_eq!(changed(&few, Fault::Q79).words(), few.words());
    let module = changed(&filled(16), Fault::Q79);
    let definitions = Definitions::new(&module);
    let stores: Vec<u32> =
        module.instructions().filter(|i| i.is(Op::Store)).map(|i| i.operand(1).unwrap()).collect();
    let sum = definitions.instruction(stores[0]).unwrap();
    assert!(sum.is(Op::IAdd) && definitions.int_constant(sum.operand(0).unwrap()) == Some(5));
    assert_eq!(stores[..16], [stores[0]; 16]);
    assert_eq!(definitions.int_constant(stores[16]), Some(6));
}

/// A kernel with a pointer to local memory and a number. It stores to some elements from there on in a loop with a barrier, and before it.
fn loop_with_barrier(elements: u32) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = of_kernel(
        &[Capability::Int64],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[2, 32, 0]),
            o(Op::TypeInt, &[3, 64, 0]),
            o(Op::TypeBool, &[4]),
            o(Op::TypePointer, &[5, 4, 2]),
            o(Op::TypeFunction, &[6, 1, 5, 3]),
            o(Op::Constant, &[2, 7, 2]),
            o(Op::Constant, &[2, 8, 0x108]),
        ],
    );
    code.extend((0..=elements.max(9)).map(|i| o(Op::Constant, &[3, 100 + i, i, 0])));
    code.extend([
        o(Op::Function, &[1, 20, 0, 6]),
        o(Op::FunctionParameter, &[5, 21]),
        o(Op::FunctionParameter, &[3, 22]),
        o(Op::Label, &[23]),
        o(Op::InBoundsPtrAccessChain, &[5, 24, 21, 22]),
        o(Op::Store, &[24, 7, 2, 4]),
        o(Op::Branch, &[25]),
        o(Op::Label, &[25]),
        o(Op::Phi, &[3, 26, 100, 23, 27, 25]),
    ]);
    for i in 0..elements {
        code.push(o(Op::IAdd, &[3, 200 + i, 22, 100 + i]));
        code.push(o(Op::InBoundsPtrAccessChain, &[5, 300 + i, 21, 200 + i]));
        code.push(o(Op::Store, &[300 + i, 7, 2, 4]));
    }
    code.extend([
        // It changes with the counter as it is.
        o(Op::InBoundsPtrAccessChain, &[5, 28, 21, 26]),
        o(Op::Store, &[28, 7, 2, 4]),
        o(Op::ControlBarrier, &[7, 7, 8]),
        o(Op::IAdd, &[3, 27, 26, 101]),
        o(Op::ULessThan, &[4, 29, 27, 109]),
        o(Op::BranchConditional, &[29, 25, 30]),
        o(Op::Label, &[30]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    assemble(Version::V1_0, &code)
}

#[test]
fn fixed_addresses_change_in_each_iteration_of_loops_with_barriers() {
    let few = loop_with_barrier(7);
    assert_eq!(changed(&few, Fault::Q80).words(), few.words());
    let module = changed(&loop_with_barrier(8), Fault::Q80);
    let definitions = Definitions::new(&module);
    let steps: Vec<Instruction<'_>> = module.instructions().filter(|i| i.is(Op::PtrAccessChain)).collect();
    // Each has two: one with the zero, and one with its constant.
    assert_eq!(steps.len(), 16);
    for pair in steps.chunks(2) {
        let sum = definitions.instruction(pair[0].operand(1).unwrap()).unwrap();
        let zero = definitions.instruction(sum.operand(1).unwrap()).unwrap();
        assert!(sum.is(Op::IAdd) && zero.is(Op::BitwiseAnd), "{sum:?}");
        let counter = definitions.instruction(zero.operand(0).unwrap()).unwrap();
        let mask = definitions.instruction(zero.operand(1).unwrap()).unwrap();
        assert!(counter.is(Op::Phi) && mask.is(Op::SNegate));
        assert_eq!(pair[1].operand(0), pair[0].result_id());
        assert!(definitions.int_constant(pair[1].operand(1).unwrap()).is_some());
    }
    // Those outside, and with the counter.
    assert_eq!(module.instructions().filter(|i| i.is(Op::InBoundsPtrAccessChain)).count(), 2);
}

/// A kernel with an array of vectors, an element of which is stored, and a loop with a barrier that has one exit, or two.
fn private_array(index: u32, exits: usize) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = of_kernel(
        &[],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[2, 32, 0]),
            o(Op::TypeBool, &[3]),
            o(Op::Constant, &[2, 4, 4]),
            o(Op::Constant, &[2, 5, 2]),
            o(Op::Constant, &[2, 6, 272]),
            o(Op::TypeVector, &[7, 2, 4]),
            o(Op::TypeArray, &[8, 7, 4]),
            o(Op::TypePointer, &[9, 7, 8]),
            o(Op::TypePointer, &[10, 7, 2]),
            o(Op::TypeFunction, &[11, 1, 2, 3, 3]),
            o(Op::Function, &[1, 20, 0, 11]),
            o(Op::FunctionParameter, &[2, 21]),
            o(Op::FunctionParameter, &[3, 22]),
            o(Op::FunctionParameter, &[3, 23]),
            o(Op::Label, &[24]),
            o(Op::Variable, &[9, 25, 7]),
            o(Op::InBoundsPtrAccessChain, &[10, 26, 25, 5, index, 5]),
            o(Op::Store, &[26, 21]),
            o(Op::Branch, &[27]),
            o(Op::Label, &[27]),
            o(Op::ControlBarrier, &[5, 5, 6]),
        ],
    );
    code.push(if exits == 2 { o(Op::BranchConditional, &[22, 28, 29]) } else { o(Op::Branch, &[28]) });
    code.extend([
        o(Op::Label, &[28]),
        o(Op::BranchConditional, &[23, 27, 29]),
        o(Op::Label, &[29]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    assemble(Version::V1_0, &code)
}

#[test]
fn private_arrays_of_loops_with_several_exits_are_loaded_at_both_ends() {
    let (constant, parameter) = (5, 21);
    for (index, exits) in [(parameter, 1), (constant, 2)] {
        let same = private_array(index, exits);
        assert_eq!(changed(&same, Fault::Q81).words(), same.words());
    }
    let module = changed(&private_array(parameter, 2), Fault::Q81);
    let mut label = 0;
    let mut loads = Vec::new();
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => label = instruction.result_id().unwrap(),
            Some(Op::Load) => {
                assert!(is_volatile_load(&instruction), "{instruction:?}");
                loads.push(label);
            }
            _ => {}
        }
    }
    assert_eq!(loads, [24, 29]);
}

/// A loop with a counter of 64 bits that begins with 3, grows by `step`, and is compared with `bound`. The loop is left where this holds.
fn wide_counter(step: u32, compare: Op, bound: u32) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::Int64],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 64, 0]),
                o(Op::TypeBool, &[3]),
                o(Op::Constant, &[2, 4, 3, 0]),
                o(Op::Constant, &[2, 5, step, 0]),
                o(Op::Constant, &[2, 6, bound, 0]),
                o(Op::TypePointer, &[7, 5, 2]),
                o(Op::TypeFunction, &[8, 1, 7, 2]),
                o(Op::Function, &[1, 20, 0, 8]),
                o(Op::FunctionParameter, &[7, 21]),
                o(Op::FunctionParameter, &[2, 22]),
                o(Op::Label, &[23]),
                o(Op::Branch, &[24]),
                o(Op::Label, &[24]),
                o(Op::Phi, &[2, 25, 4, 23, 26, 24]),
                o(Op::Phi, &[2, 29, 22, 23, 26, 24]),
                o(Op::InBoundsPtrAccessChain, &[7, 27, 21, 25]),
                o(Op::Store, &[27, 29, 2, 8]),
                o(Op::IAdd, &[2, 26, 25, 5]),
                o(compare, &[3, 28, 26, 6]),
                o(Op::BranchConditional, &[28, 30, 24]),
                o(Op::Label, &[30]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    )
}

#[test]
fn counters_with_a_known_last_value_have_32_bits() {
    // They pass the bound, are left for another reason, begin behind it, or get too large.
    for (step, compare, bound) in
        [(4, Op::IEqual, 14), (4, Op::INotEqual, 15), (4, Op::IEqual, 3), (4, Op::IEqual, 0x7fff_fffd)]
    {
        let same = wide_counter(step, compare, bound);
        assert_eq!(changed(&same, Fault::Q82).words(), same.words(), "{step} {compare:?} {bound}");
    }
    let module = changed(&wide_counter(4, Op::IEqual, 15), Fault::Q82);
    let definitions = Definitions::new(&module);
    for (id, inner) in [(25, Op::Phi), (26, Op::IAdd)] {
        let widened = definitions.instruction(id).unwrap();
        assert!(widened.is(Op::UConvert), "{widened:?}");
        let narrow = definitions.instruction(widened.operand(0).unwrap()).unwrap();
        let width = definitions.instruction(narrow.result_type().unwrap()).unwrap().operand(0);
        assert!(narrow.is(inner) && width == Some(32), "{narrow:?}");
    }
    // Others that take the sum stay.
    assert!(definitions.instruction(29).unwrap().operands().contains(&26));
}

/// A kernel with a struct by value: `{ uint, uint4[2] }`.
fn lanes_of_an_argument() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_0,
        &of_kernel(
            &[],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::Decorate, &[21, 38, 2]),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::Constant, &[2, 3, 0]),
                o(Op::Constant, &[2, 4, 1]),
                o(Op::Constant, &[2, 5, 2]),
                o(Op::TypeVector, &[6, 2, 4]),
                o(Op::TypeArray, &[7, 6, 5]),
                o(Op::TypeStruct, &[8, 2, 7]),
                o(Op::TypePointer, &[9, 7, 8]),
                o(Op::TypePointer, &[10, 7, 2]),
                o(Op::TypeFunction, &[12, 1, 9]),
                o(Op::Function, &[1, 20, 0, 12]),
                o(Op::FunctionParameter, &[9, 21]),
                o(Op::Label, &[22]),
                o(Op::Variable, &[9, 23, 7]),
                // A member, and lanes of the argument and of a variable.
                o(Op::InBoundsPtrAccessChain, &[10, 24, 21, 3, 3]),
                o(Op::InBoundsPtrAccessChain, &[10, 25, 21, 3, 4, 4, 5]),
                o(Op::AccessChain, &[10, 26, 21, 4, 3, 3]),
                o(Op::AccessChain, &[10, 27, 23, 4, 3, 3]),
                o(Op::Load, &[2, 28, 25, 2, 4]),
                o(Op::Store, &[26, 28, 2, 4]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    )
}

#[test]
fn lanes_of_arguments_are_reached_by_casts() {
    let module = lanes_of_an_argument();
    support::assert_valid("the module before", &module);
    let target = DeviceTarget { faults: Fault::Q17.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module with casts", &legal);
    let casts = legal.instructions().filter(|i| i.is(Op::Bitcast)).count();
    assert_eq!(casts, 2, "one for each lane of the argument");
    assert_eq!(legalize(&image(&module), &rich()).unwrap(), module.words());
}

/// A kernel that calls a function with a barrier, and one without. The first makes a private
/// pointer of an integer.
fn barrier_in_a_function() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let function = |control, id, body: &[(Op, Vec<u32>)]| {
        let start = [o(Op::Function, &[1, id, control, 6]), o(Op::Label, &[id + 1])];
        [&start, body, &[o(Op::Return, &[]), o(Op::FunctionEnd, &[])]].concat()
    };
    let module = [
        of_kernel(
            &[],
            [
                (Op::EntryPoint, with_string(&[6, 40], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::Constant, &[2, 3, 2]),
                o(Op::Constant, &[2, 4, 0x110]),
                o(Op::TypePointer, &[5, 7, 2]),
                o(Op::TypeFunction, &[6, 1]),
            ],
        ),
        function(
            2,
            20,
            &[
                o(Op::Variable, &[5, 22, 7]),
                o(Op::ControlBarrier, &[3, 3, 4]),
                o(Op::ConvertUToPtr, &[5, 23, 4]),
                o(Op::Store, &[23, 3, 2, 4]),
                o(Op::Store, &[22, 3, 2, 4]),
            ],
        ),
        function(2, 30, &[]),
        function(0, 40, &[o(Op::FunctionCall, &[1, 42, 20]), o(Op::FunctionCall, &[1, 43, 30])]),
    ];
    assemble(Version::V1_0, &module.concat())
}

#[test]
fn functions_with_barriers_are_to_be_inlined() {
    let module = barrier_in_a_function();
    support::assert_valid("the module before", &module);
    let target = DeviceTarget { faults: Fault::Q21.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module with hints", &legal);
    let functions = |module: &Module| -> Vec<(u32, u32)> {
        let all = module.instructions().filter(|i| i.is(Op::Function));
        all.map(|i| (i.result_id().unwrap(), i.operand(0).unwrap())).collect()
    };
    assert_eq!(functions(&legal), [(20, 1), (30, 2), (40, 0)]);
    let as_it_was = Module::from_words(legalize(&image(&module), &rich()).unwrap()).unwrap();
    assert_eq!(functions(&as_it_was), [(20, 2), (30, 2), (40, 0)]);
}

#[test]
fn functions_that_read_ids_are_to_be_inlined() {
    let module = support::module("control.O0.spv");
    let target = DeviceTarget { faults: Fault::Q58.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module with hints", &legal);
    let is_built_in =
        |i: &Instruction<'_>| i.is(Op::Decorate) && i.operand(1) == Some(Decoration::BuiltIn as u32);
    let built_ins: Vec<u32> = legal.instructions().filter(is_built_in).filter_map(|i| i.operand(0)).collect();
    let kernels: Vec<u32> =
        legal.instructions().filter(|i| i.is(Op::EntryPoint)).map(|i| i.operand(1).unwrap()).collect();
    let (mut function, mut control, mut readers) = (0, 0, 0);
    for instruction in legal.instructions() {
        if instruction.is(Op::Function) {
            (function, control) = (instruction.result_id().unwrap(), instruction.operand(0).unwrap());
        } else if instruction.is(Op::Load) && built_ins.contains(&instruction.operand(0).unwrap()) {
            readers += 1;
            assert!(kernels.contains(&function) || control & 2 == 0, "%{function}");
        }
    }
    assert!(readers > 0);
}

#[test]
fn functions_with_private_addresses_have_a_variable() {
    let module = barrier_in_a_function();
    let target = DeviceTarget { faults: Fault::Q22.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module with a variable", &legal);
    assert_eq!(legal.instructions().filter(|i| i.is(Op::Variable)).count(), 2, "one, and one of its own");
    let defined = |id: u32| legal.instructions().find(|i| i.result_id() == Some(id)).unwrap();
    // The pointer is made of the integer and of what comes from the variable's address.
    let converted = defined(23);
    let sum = defined(converted.operand(0).unwrap());
    assert!(sum.is(Op::IAdd) && sum.operand(0) == Some(4), "{sum:?}");
    let narrow = defined(sum.operand(1).unwrap());
    assert!(narrow.is(Op::UConvert), "{narrow:?}");
    assert!(defined(narrow.operand(0).unwrap()).is(Op::ShiftRightLogical));
}

#[test]
fn functions_without_a_name_get_one() {
    let module = barrier_in_a_function();
    assert_eq!(module.names().count(), 0);
    let target = DeviceTarget { faults: Fault::Q23.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module with names", &legal);
    assert_eq!(legal.names().map(|(id, _)| id).collect::<Vec<_>>(), [20, 30, 40]);
}

/// Such a constant, a cast of it and a variable that begins with it; two kernels store them.
#[test]
fn constant_pointers_of_integers_become_instructions() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let kernel = |id, stored| {
        vec![
            o(Op::Function, &[1, id, 0, 8]),
            o(Op::FunctionParameter, &[6, id + 1]),
            o(Op::Label, &[id + 2]),
            o(Op::Store, &[id + 1, stored, 2, 8]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ]
    };
    let module = [
        of_kernel(
            &[Capability::Int64],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                (Op::EntryPoint, with_string(&[6, 30], "l", &[])),
                (Op::Name, with_string(&[12], "cast", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeInt, &[3, 64, 0]),
                o(Op::TypePointer, &[4, 5, 3]),
                o(Op::TypePointer, &[5, 5, 2]),
                o(Op::TypePointer, &[6, 5, 5]),
                o(Op::TypePointer, &[7, 0, 5]),
                o(Op::TypeFunction, &[8, 1, 6]),
                o(Op::Constant, &[3, 9, 77, 0]),
                o(Op::SpecConstantOp, &[4, 10, Op::ConvertUToPtr as u32, 9]),
                o(Op::SpecConstantOp, &[5, 11, Op::ConvertUToPtr as u32, 9]),
                o(Op::SpecConstantOp, &[5, 12, Op::Bitcast as u32, 10]),
                o(Op::Variable, &[7, 13, 0, 11]),
            ],
        ),
        kernel(20, 12),
        kernel(30, 11),
    ];
    let module = assemble(Version::V1_0, &module.concat());
    support::assert_valid("the module before", &module);
    let target = DeviceTarget { faults: Fault::Q27.into(), ..rich() };
    let legal = Module::from_words(legalize(&image(&module), &target).unwrap()).unwrap();
    support::assert_valid("the module without such constants", &legal);
    let computed = |op: Op| legal.instructions().filter(|i| i.is(op)).collect::<Vec<_>>();
    let conversions = computed(Op::ConvertUToPtr);
    assert_eq!(conversions.iter().map(|i| i.operand(0)).collect::<Vec<_>>(), [Some(9), Some(9)]);
    let stored: Vec<_> = computed(Op::Store).iter().map(|i| i.operand(1)).collect();
    assert_eq!(stored, [computed(Op::Bitcast)[0].result_id(), conversions[1].result_id()]);
    // The variable's initial value stays a constant.
    assert_eq!(computed(Op::SpecConstantOp).iter().filter_map(|i| i.result_id()).collect::<Vec<_>>(), [11]);
    assert_eq!(legal.names().count(), 0);
}

fn is_volatile_load(instruction: &Instruction<'_>) -> bool {
    instruction.is(Op::Load) && instruction.operand(1).is_some_and(|access| access & 1 != 0)
}

/// Loops that crash Intel's compiler get a volatile access in kernels whose work-items it does not
/// vectorise. The others keep their speed.
#[test]
fn loops_that_would_crash_are_not_vectorised() {
    for level in ["O0", "O2"] {
        let target = DeviceTarget { faults: Fault::Q26.into(), ..rich() };
        let (_, legal) = legal_fixture(&format!("item_loops.{level}"), &target);
        let scalar: BTreeSet<String> = functions_of(&legal, is_volatile_load).into_iter().collect();
        let expected = ["in_corner", "in_first", "in_second", "in_some"].map(str::to_owned);
        assert_eq!(scalar, BTreeSet::from(expected), "{level}");
    }
}

/// Intel's compiler vectorises loops wrongly whose inner loop gives a value. The others keep their
/// speed, as do the loops of interpreter modules.
#[test]
fn loops_with_loops_inside_that_give_values_are_kept_right() {
    let target = DeviceTarget { faults: Fault::Q26.into(), ..rich() };
    let (_, legal) = legal_fixture("loops_inside.O2", &target);
    assert_eq!(functions_of(&legal, is_volatile_load), ["given", "given_to_a_store"]);
}

/// A block that does nothing but lead to itself or on, by a condition that stays, leads on for PoCL 6.0.
#[test]
fn loops_that_do_nothing_end_at_once() {
    let to_itself = |module: &Module| {
        let mut label = None;
        let is_one = |i: &Instruction<'_>| {
            label = i.result_id().filter(|_| i.is(Op::Label)).or(label);
            i.is(Op::BranchConditional)
                && i.operands().get(1..3).is_some_and(|to| to.contains(&label.unwrap()))
        };
        functions_of(module, is_one).iter().filter(|name| *name == "idle_or_endless").count()
    };
    let target = DeviceTarget { faults: Fault::Q53.into(), ..rich() };
    let (module, legal) = legal_fixture("lone_loops.O2", &target);
    // The other two count.
    assert_eq!((to_itself(&module), to_itself(&legal)), (3, 2));
}

/// A loop that nothing leads out of counts its rounds for PoCL 6.0, and has an end when the counter is zero.
#[test]
fn loops_without_ends_get_one() {
    let target = DeviceTarget { faults: Fault::Q53.into(), ..rich() };
    let more = |op: Op| added("endless.O2", &target, move |i| i.is(op));
    let once = |functions: &[&str]| functions.iter().map(|name| ((*name).to_owned(), 1)).collect();
    assert_eq!(more(Op::Return), once(&["endless_way"]));
    assert_eq!(more(Op::ReturnValue), once(&["never_back"]));
    assert_eq!(more(Op::Phi), once(&["endless_way", "never_back"]));
}

/// So it is if what leads back in it is a loop that does nothing.
#[test]
fn loops_around_loops_that_do_nothing_get_an_end() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let module = assemble(
        Version::V1_0,
        &of_kernel(
            &[],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeBool, &[3]),
                o(Op::TypeFunction, &[4, 1, 2]),
                o(Op::Constant, &[2, 5, 2]),
                o(Op::Function, &[1, 20, 0, 4]),
                o(Op::FunctionParameter, &[2, 21]),
                o(Op::Label, &[22]),
                o(Op::ULessThan, &[3, 23, 21, 5]),
                o(Op::Branch, &[24]),
                o(Op::Label, &[24]),
                o(Op::Branch, &[25]),
                o(Op::Label, &[25]),
                o(Op::BranchConditional, &[23, 25, 24]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    );
    let after = changed(&module, Fault::Q53);
    let count = |op: Op| after.instructions().filter(|i| i.is(op)).count();
    assert_eq!([Op::Phi, Op::BranchConditional, Op::Return].map(count), [1, 1, 1]);
}

/// What Intel's CPU runtime would take for the same in all work-items depends on the work-item.
#[test]
fn values_of_ways_with_loops_depend_on_the_work_item() {
    let target = DeviceTarget { faults: Fault::Q32.into(), ..rich() };
    // Four zeroes, each of which is the product of the same number.
    let squares = added("joined_values.O2", &target, |i| {
        i.is(Op::IMul) && matches!(i.operands(), [left, right] if left == right)
    });
    let changed = ["behind", "carried", "in_part", "never_differing", "selected", "two_loops"];
    assert_eq!(squares, changed.map(|name| (name.to_owned(), 4)).into());
    // Both values of a selection are changed, in different ways.
    let is_way =
        |i: &Instruction<'_>| matches!(i.op(), Some(Op::IAdd | Op::BitwiseXor | Op::ISub | Op::BitwiseOr));
    let ways = added("joined_values.O2", &target, is_way);
    assert_eq!(ways.get("behind"), Some(&(4 + 2)));
}

/// What llvmpipe would load for nobody gets an address that may differ.
#[test]
fn loads_behind_conditions_have_addresses_that_differ() {
    let (module, legal) =
        legal_fixture("guarded_loads.O2", &DeviceTarget { faults: Fault::Q46.into(), ..rich() });
    support::assert_valid("guarded loads", &legal);
    let numbers = |module: &Module| functions_of(module, |i| i.is(Op::Select));
    let before = numbers(&module);
    let added: Vec<String> = numbers(&legal).into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(added, ["behind_condition", "behind_break", "from_constant_memory"]);
}

/// What PoCL 7.1 would load again behind a barrier is volatile.
#[test]
fn loads_that_others_would_repeat_are_volatile() {
    let (_, legal) = legal_fixture("kept_loads.O2", &DeviceTarget { faults: Fault::Q33.into(), ..rich() });
    assert_eq!(
        functions_of(&legal, is_volatile_load),
        ["overwritten", "may_alias", "rounds", "summed_for_a_branch", "through_an_array", "through_an_array"]
    );
    // Behind a barrier that PoCL itself puts into a loop.
    let (_, legal) = legal_fixture("conditions.O2", &DeviceTarget { faults: Fault::Q33.into(), ..rich() });
    assert_eq!(functions_of(&legal, is_volatile_load), ["read_before_a_loop"]);
}

/// What Intel's CPU runtime would take for a bound of the group is compared and selected.
#[test]
fn bounds_of_integers_are_selected() {
    let module = |number: u32| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        assemble(
            Version::V1_0,
            &[
                o(Op::Capability, &[Capability::Addresses as u32]),
                o(Op::Capability, &[Capability::Kernel as u32]),
                (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
                o(Op::MemoryModel, &[2, 2]),
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[3, 32, 0]),
                o(Op::TypeFunction, &[9, 1, 3, 3]),
                o(Op::Function, &[1, 20, 0, 9]),
                o(Op::FunctionParameter, &[3, 21]),
                o(Op::FunctionParameter, &[3, 22]),
                o(Op::Label, &[30]),
                o(Op::ExtInst, &[3, 31, 2, number, 21, 22]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        )
    };
    let target = DeviceTarget { faults: Fault::Q35.into(), ..rich() };
    // `s_max`, `u_max`, `s_min`, `u_min`.
    let compares = [Op::SGreaterThan, Op::UGreaterThan, Op::SLessThan, Op::ULessThan];
    for (number, compare) in (156..).zip(compares) {
        let before = module(number);
        let legal = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("bounds", &legal);
        assert!(
            legal.instructions().any(|i| i.is(compare)) && legal.instructions().any(|i| i.is(Op::Select))
        );
        assert!(!legal.instructions().any(|i| i.is(Op::ExtInst)));
    }
}

/// Intel's CPU runtime makes wrong bounds of conditions beside one on a difference with an id.
#[test]
fn comparisons_of_differences_with_ids_are_hidden() {
    type Code<'a> = &'a [(Op, &'a [u32])];
    let module = |before: Code<'_>, form: Code<'_>| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        let mut code = of_kernel(
            &[Capability::Int64],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[10])),
                // The global id.
                o(Op::Decorate, &[10, 11, 28]),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[3, 32, 0]),
                o(Op::TypeInt, &[4, 64, 0]),
                o(Op::TypeBool, &[5]),
                o(Op::TypeVector, &[6, 4, 3]),
                o(Op::TypePointer, &[7, 1, 6]),
                o(Op::TypePointer, &[8, 5, 3]),
                o(Op::TypeFunction, &[9, 1, 3, 3, 8]),
                o(Op::Variable, &[7, 10, 1]),
                o(Op::Function, &[1, 20, 0, 9]),
                o(Op::FunctionParameter, &[3, 21]),
                o(Op::FunctionParameter, &[3, 22]),
                o(Op::FunctionParameter, &[8, 23]),
                o(Op::Label, &[30]),
                o(Op::Load, &[6, 31, 10]),
                o(Op::CompositeExtract, &[4, 32, 31, 0]),
                o(Op::UConvert, &[3, 33, 32]),
            ],
        );
        code.extend(before.iter().chain(form).map(|(op, operands)| o(*op, operands)));
        code.extend([
            o(Op::BranchConditional, &[49, 50, 51]),
            o(Op::Label, &[50]),
            o(Op::Return, &[]),
            o(Op::Label, &[51]),
            o(Op::Store, &[23, 22]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ]);
        assemble(Version::V1_0, &code)
    };
    let both: Code<'_> = &[(Op::LogicalOr, &[5, 49, 47, 48])];
    let is_over: (Op, &[u32]) = (Op::SGreaterThan, &[5, 47, 33, 22]);
    // Which code, and how many comparisons are hidden.
    let forms: [(Code<'_>, usize); 6] = [
        // id >= n
        (&[(Op::SGreaterThanEqual, &[5, 49, 33, 22])], 0),
        // d - id > n
        (&[(Op::ISub, &[3, 40, 21, 33]), (Op::SGreaterThan, &[5, 49, 40, 22])], 1),
        // n == -id
        (&[(Op::SNegate, &[3, 40, 33]), (Op::IEqual, &[5, 49, 22, 40])], 1),
        // id - d > n, alone
        (&[(Op::ISub, &[3, 40, 33, 21]), (Op::SGreaterThan, &[5, 49, 40, 22])], 0),
        // id > n || id + d > n
        (&[is_over, (Op::IAdd, &[3, 40, 33, 21]), (Op::SGreaterThan, &[5, 48, 40, 22]), both[0]], 1),
        // id > n || id + d >= n
        (&[is_over, (Op::IAdd, &[3, 40, 33, 21]), (Op::SGreaterThanEqual, &[5, 48, 40, 22]), both[0]], 0),
    ];
    let target = DeviceTarget { faults: Fault::Q61.into(), ..rich() };
    for (form, count) in forms {
        let before = module(&[], form);
        let legal = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("hidden comparisons", &legal);
        assert_eq!(legal.instructions().filter(|i| i.is(Op::BitwiseXor)).count(), count, "{form:?}");
        assert!(count > 0 || legal == before);
        // After a side effect there are no bounds.
        let after = module(&[(Op::Store, &[23, 22])], form);
        assert_eq!(legalize(&image(&after), &target).unwrap(), after.words());
    }
}

/// Intel's compiler takes wrong values of complements beside minima, in kernels with barriers.
#[test]
fn complements_beside_minima_depend_on_the_work_item() {
    type Code<'a> = &'a [(Op, &'a [u32])];
    // `min` of a complement, of its half, or of a sum with it; a complement of `min`.
    let forms: [(Code<'_>, bool); 4] = [
        (&[(Op::Not, &[3, 31, 21]), (Op::ExtInst, &[3, 32, 2, 159, 31, 22])], true),
        (
            &[
                (Op::Not, &[3, 31, 21]),
                (Op::ShiftRightLogical, &[3, 33, 31, 11]),
                (Op::ExtInst, &[3, 32, 2, 159, 33, 22]),
            ],
            true,
        ),
        (
            &[(Op::Not, &[3, 31, 21]), (Op::IAdd, &[3, 33, 31, 11]), (Op::ExtInst, &[3, 32, 2, 159, 33, 22])],
            false,
        ),
        (&[(Op::ExtInst, &[3, 32, 2, 159, 21, 22]), (Op::BitwiseXor, &[3, 31, 32, 12])], true),
    ];
    let module = |form: Code<'_>, has_barrier: bool| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        let mut code = vec![
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypeFunction, &[9, 1, 3, 3]),
            o(Op::Constant, &[3, 11, 2]),
            o(Op::Constant, &[3, 12, u32::MAX]),
            o(Op::Constant, &[3, 13, 0x110]),
            o(Op::Function, &[1, 20, 0, 9]),
            o(Op::FunctionParameter, &[3, 21]),
            o(Op::FunctionParameter, &[3, 22]),
            o(Op::Label, &[30]),
        ];
        code.extend(form.iter().map(|(op, operands)| o(*op, operands)));
        if has_barrier {
            code.push(o(Op::ControlBarrier, &[11, 11, 13]));
        }
        code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
        assemble(Version::V1_0, &code)
    };
    let target = DeviceTarget { faults: Fault::Q43.into(), ..rich() };
    for (form, goes) in forms {
        let before = module(form, true);
        let legal = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("complements", &legal);
        assert_eq!(legal.instructions().filter(|i| i.is(Op::Select)).count(), usize::from(goes), "{form:?}");
        let without = module(form, false);
        assert_eq!(legalize(&image(&without), &target).unwrap(), without.words());
    }
}

/// Mesa's drivers refuse phis with two values for one block.
#[test]
fn negations_across_barriers_depend_on_the_work_item() {
    let target = DeviceTarget { faults: Fault::Q43.into(), ..rich() };
    let selects = added("negations.O2", &target, |i| i.is(Op::Select));
    let once = ["by_one", "kept", "on_both_sides"].map(|kernel| (kernel.to_owned(), 1));
    assert_eq!(selects, BTreeMap::from(once));
}

#[test]
fn saturated_products_of_long_are_computed_with_128_bits() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let call = |width: u32| {
        let code = [
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            o(Op::Capability, &[Capability::Int64 as u32]),
            (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, width, 0]),
            o(Op::TypeFunction, &[9, 1, 3, 3]),
            o(Op::Function, &[1, 20, 0, 9]),
            o(Op::FunctionParameter, &[3, 21]),
            o(Op::FunctionParameter, &[3, 22]),
            o(Op::Label, &[30]),
            o(Op::ExtInst, &[3, 31, 2, 155, 21, 22, 21]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ];
        assemble(Version::V1_0, &code)
    };
    let target = DeviceTarget { faults: Fault::Q68.into(), ..rich() };
    for (width, goes) in [(64, true), (32, false)] {
        let legal = Module::from_words(legalize(&image(&call(width)), &target).unwrap()).unwrap();
        support::assert_valid("mad_sat", &legal);
        let is_left = legal.instructions().any(|i| i.is(Op::ExtInst) && i.operand(1) == Some(155));
        assert_eq!(is_left, !goes, "{width}");
    }
}

#[test]
fn phis_have_one_value_for_each_block() {
    let module = |phi: &[u32]| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        assemble(
            Version::V1_0,
            &of_kernel(
                &[],
                [
                    (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                    o(Op::TypeVoid, &[1]),
                    o(Op::TypeInt, &[3, 32, 0]),
                    o(Op::TypeFunction, &[9, 1, 3]),
                    o(Op::Function, &[1, 20, 0, 9]),
                    o(Op::FunctionParameter, &[3, 21]),
                    o(Op::Label, &[30]),
                    o(Op::Switch, &[21, 31, 1, 32, 2, 32]),
                    o(Op::Label, &[31]),
                    o(Op::Branch, &[32]),
                    o(Op::Label, &[32]),
                    o(Op::Phi, &[&[3, 33], phi].concat()),
                    o(Op::Return, &[]),
                    o(Op::FunctionEnd, &[]),
                ],
            ),
        )
    };
    let (repeated, single) = (module(&[21, 30, 21, 30, 21, 31]), module(&[21, 30, 21, 31]));
    let target = DeviceTarget { faults: Fault::Q36.into(), ..rich() };
    assert_eq!(legalize(&image(&repeated), &target).unwrap(), single.words());
    assert_eq!(legalize(&image(&single), &target).unwrap(), single.words());
    assert_eq!(legalize(&image(&repeated), &rich()).unwrap(), repeated.words(), "LLVM wants them");
}

/// PoCL takes lanes of products for undefined where they are zero.
#[test]
fn products_of_built_vectors_are_computed_lane_by_lane() {
    let module = |built: bool| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        let factor = if built { 31 } else { 24 };
        assemble(
            Version::V1_4,
            &of_kernel(
                &[],
                [
                    (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                    o(Op::Decorate, &[32, Decoration::NoUnsignedWrap as u32]),
                    o(Op::TypeVoid, &[1]),
                    o(Op::TypeInt, &[3, 32, 0]),
                    o(Op::TypeVector, &[4, 3, 2]),
                    o(Op::TypeFunction, &[9, 1, 3, 3, 4, 4]),
                    o(Op::Function, &[1, 20, 0, 9]),
                    o(Op::FunctionParameter, &[3, 21]),
                    o(Op::FunctionParameter, &[3, 22]),
                    o(Op::FunctionParameter, &[4, 23]),
                    o(Op::FunctionParameter, &[4, 24]),
                    o(Op::Label, &[30]),
                    o(Op::CompositeConstruct, &[4, 31, 21, 22]),
                    o(Op::IMul, &[4, 32, 23, factor]),
                    o(Op::Return, &[]),
                    o(Op::FunctionEnd, &[]),
                ],
            ),
        )
    };
    let target = DeviceTarget { faults: Fault::Q39.into(), spirv_version: Version::V1_4, ..rich() };
    for built in [true, false] {
        let before = module(built);
        let legal = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("lanes", &legal);
        let products: Vec<_> = legal.instructions().filter(|i| i.is(Op::IMul)).collect();
        let types: Vec<_> = products.iter().map(|i| i.result_type()).collect();
        assert_eq!(types, if built { vec![Some(3), Some(3)] } else { vec![Some(4)] });
        assert_eq!(legal == before, !built);
    }
}

/// LLVM 21 lets counters run on that masks hold back, where a variable is added to them in an address.
/// A zero that LLVM does not know joins such counters, and no others.
#[test]
fn masked_counters_beside_a_base_are_hidden() {
    let target = DeviceTarget { faults: Fault::Q45.into(), ..rich() };
    let with = |target: &DeviceTarget, of: &dyn Fn(&Instruction<'_>) -> bool| {
        functions_of(&legal_fixture("masked_counters.O2", target).1, of)
    };
    let is_square = |i: &Instruction<'_>| i.is(Op::IMul) && i.operand(0) == i.operand(1);
    assert_eq!(with(&target, &is_square), ["counter_beside_a_base", "id_beside_a_base"]);
    assert_eq!(with(&rich(), &is_square), [""; 0]);
    let joined = added("masked_counters.O2", &target, |i| i.is(Op::BitwiseOr));
    let once = ["counter_beside_a_base", "id_beside_a_base"].map(|name| (name.to_owned(), 1));
    assert_eq!(joined, BTreeMap::from(once));
}

/// A kernel that calls a function of OpenCL.std with vectors of `lanes` numbers: 30 and 31 are of
/// 64 bits, 32 of doubles. 21 is a pointer to such numbers, 22 one to a vector of doubles.
fn wide_call(lanes: u32, call: &[(Op, Vec<u32>)]) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = vec![
        o(Op::Capability, &[Capability::Addresses as u32]),
        o(Op::Capability, &[Capability::Kernel as u32]),
        o(Op::Capability, &[Capability::Int64 as u32]),
        o(Op::Capability, &[Capability::Float64 as u32]),
        o(Op::Capability, &[Capability::Float16Buffer as u32]),
        o(Op::Capability, &[Capability::Vector16 as u32]),
        (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
        o(Op::MemoryModel, &[2, 2]),
        (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
        o(Op::Decorate, &[40, Decoration::FPFastMathMode as u32, 16]),
        o(Op::TypeVoid, &[1]),
        o(Op::TypeInt, &[3, 64, 0]),
        o(Op::TypeFloat, &[4, 64]),
        o(Op::TypeFloat, &[5, 16]),
        o(Op::TypeVector, &[6, 3, lanes]),
        o(Op::TypeVector, &[7, 4, lanes]),
        o(Op::TypePointer, &[8, 5, 3]),
        o(Op::TypePointer, &[9, 5, 7]),
        o(Op::TypePointer, &[10, 5, 5]),
        o(Op::TypeFunction, &[11, 1, 8, 9, 10]),
        o(Op::Constant, &[3, 12, 5, 0]),
        o(Op::Undef, &[6, 30]),
        o(Op::Undef, &[6, 31]),
        o(Op::Undef, &[7, 32]),
        o(Op::Function, &[1, 20, 0, 11]),
        o(Op::FunctionParameter, &[8, 21]),
        o(Op::FunctionParameter, &[9, 22]),
        o(Op::FunctionParameter, &[10, 23]),
        o(Op::Label, &[25]),
    ];
    code.extend_from_slice(call);
    code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    if !call.iter().any(|(_, operands)| operands.get(1) == Some(&40)) {
        code.retain(|(op, _)| *op != Op::Decorate);
    }
    assemble(Version::V1_0, &code)
}

/// PoCL 6.0 passes vectors that are wider than a register wrongly.
#[test]
fn built_in_functions_get_parts_of_wide_vectors() {
    let ext = |ty: u32, rest: &[u32]| vec![(Op::ExtInst, [&[ty, 40, 2], rest].concat())];
    // The call; lanes; for registers of 64 and 16 bytes, the functions that take parts, with the
    // lanes of each.
    type Expected<'a> = (Vec<(Op, Vec<u32>)>, u32, &'a [u32], &'a [u32], u32);
    let forms: [Expected<'_>; 9] = [
        // `u_max`, and `cos` with a decoration.
        (ext(6, &[157, 30, 31]), 16, &[8; 2], &[2; 8], 157),
        (ext(7, &[14, 32]), 16, &[8; 2], &[2; 8], 14),
        // `popcount` of three lanes, which fit into 64 bytes.
        (ext(6, &[166, 30]), 3, &[3], &[2, 1], 166),
        // `vstoren`: the last lane is stored without a call.
        (ext(1, &[172, 30, 12, 21]), 16, &[8; 2], &[2; 8], 172),
        (ext(1, &[172, 30, 12, 21]), 3, &[3], &[2], 172),
        // `vstorea_halfn_r` becomes `vstore_halfn_r`, since parts are less aligned.
        (ext(1, &[181, 32, 12, 23, 1]), 16, &[8; 2], &[2; 8], 178),
        // `sincos`.
        (ext(7, &[58, 32, 22]), 16, &[8; 2], &[2; 8], 58),
        // `shuffle` and `shuffle2` need no call.
        (ext(6, &[182, 30, 31]), 16, &[], &[], 182),
        (ext(6, &[183, 30, 30, 31]), 16, &[], &[], 183),
    ];
    for (call, lanes, in_64, in_16, number) in forms {
        let before = wide_call(lanes, &call);
        for (most, expected) in [(64, in_64), (16, in_16)] {
            let target = DeviceTarget { faults: Fault::Q59.into(), vector_argument_bytes: most, ..rich() };
            let legal = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
            let name = format!("function {number} of {lanes} lanes, in {most} bytes");
            support::assert_valid(&name, &legal);
            let definitions = Definitions::new(&legal);
            let lanes_of = |id: u32| {
                let ty = definitions.instruction(definitions.type_of(id).unwrap()).unwrap();
                if ty.is(Op::TypeVector) { ty.operand(1).unwrap() } else { 1 }
            };
            let calls = legal.instructions().filter(|i| i.is(Op::ExtInst));
            let found: Vec<u32> = calls
                .map(|call| {
                    assert!(call.operand(1) == Some(number) || expected.len() == 1, "{name}");
                    lanes_of(call.operand(2).unwrap())
                })
                .collect();
            assert_eq!(found, expected, "{name}");
            let decorated = legal.instructions().filter(|i| i.is(Op::Decorate)).count();
            let wanted = if call[0].1[0] == 1 { decorated } else { expected.len() };
            assert_eq!(decorated, wanted, "{name}: decorations");
            let again = Module::from_words(legalize(&image(&legal), &target).unwrap()).unwrap();
            assert_eq!(again.words(), legal.words(), "{name}, again");
        }
    }
}

#[test]
fn functions_of_no_library_get_parts_of_wide_vectors() {
    let target = |most| DeviceTarget { faults: Fault::Q59.into(), vector_argument_bytes: most, ..rich() };
    let counted = |module: &Module, most: u32, op: Op| {
        let legal = Module::from_words(legalize(&image(module), &target(most)).unwrap()).unwrap();
        support::assert_valid("parts", &legal);
        legal.instructions().filter(|i| i.is(op)).count()
    };
    let bits = wide_call(16, &[(Op::BitCount, vec![6, 41, 30])]);
    assert_eq!([64, 32, 16, 8].map(|most| counted(&bits, most, Op::BitCount)), [2, 4, 8, 16]);
    let dot = wide_call(4, &[(Op::Dot, vec![4, 41, 32, 32])]);
    assert_eq!([32, 16].map(|most| counted(&dot, most, Op::Dot)), [1, 0]);
    // `length`.
    let length = wide_call(4, &[(Op::ExtInst, vec![4, 41, 2, 106, 32])]);
    assert!(legalize(&image(&length), &target(32)).is_ok());
    let what = missing(legalize(&image(&length), &target(16)));
    assert!(what.starts_with("`length` of vectors of more than 16 bytes"), "{what}");
    assert!(what.contains("compute it from the components"), "{what}");
}

/// A kernel of OpenCL C 3.0 that loads a built-in variable, and may have a barrier.
fn loads_a_built_in(what: BuiltIn, has_barrier: bool) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = of_kernel(
        &[],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", &[10])),
            o(Op::Source, &[SourceLanguage::OpenCL_C as u32, 300_000]),
            o(Op::Decorate, &[10, Decoration::BuiltIn as u32, what as u32]),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[2, 32, 0]),
            o(Op::TypeVector, &[4, 2, 3]),
            o(Op::TypePointer, &[5, 1, 4]),
            o(Op::TypeFunction, &[3, 1]),
            o(Op::Constant, &[2, 7, 2]),
            o(Op::Constant, &[2, 8, 272]),
            o(Op::Variable, &[5, 10, 1]),
            o(Op::Function, &[1, 20, 0, 3]),
            o(Op::Label, &[21]),
            o(Op::Load, &[4, 22, 10]),
        ],
    );
    code.extend(has_barrier.then(|| o(Op::ControlBarrier, &[7, 7, 8])));
    code.extend([o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
    assemble(Version::V1_0, &code)
}

#[test]
fn kernels_without_smaller_work_groups_are_of_opencl_c_1_2() {
    let versions = |what, has_barrier, uniform_work_groups| {
        let module = loads_a_built_in(what, has_barrier);
        let mut image = image(&module);
        image.kernels = signatures(&module).unwrap();
        image.kernels.iter_mut().for_each(|kernel| kernel.uniform_work_groups = uniform_work_groups);
        let target = DeviceTarget { faults: Fault::Q83.into(), ..rich() };
        let module = Module::from_words(legalize(&image, &target).unwrap()).unwrap();
        support::assert_valid("the module", &module);
        let sources = module.instructions().filter(|i| i.is(Op::Source));
        sources.map(|i| i.operands()[1]).collect::<Vec<_>>()
    };
    assert_eq!(versions(BuiltIn::WorkgroupSize, true, true), [102_000]);
    assert_eq!(versions(BuiltIn::WorkgroupSize, true, false), [300_000]);
    assert_eq!(versions(BuiltIn::WorkgroupSize, false, true), [300_000]);
    assert_eq!(versions(BuiltIn::EnqueuedWorkgroupSize, true, true), [300_000]);
}

/// A kernel with a parameter %22 of `uint4`, a constant vector %8, a block %23, and then `code`. %7 is true, and %5 is `uint4`.
fn of_vectors(code: Vec<(Op, Vec<u32>)>) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let bound = code.iter().filter_map(|(_, operands)| operands.get(1)).max().unwrap() + 100;
    let head = [
        (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
        o(Op::TypeVoid, &[1]),
        o(Op::TypeInt, &[2, 32, 0]),
        o(Op::TypeBool, &[3]),
        o(Op::TypeVector, &[5, 2, 4]),
        o(Op::TypeFunction, &[6, 1, 5]),
        o(Op::ConstantTrue, &[3, 7]),
        o(Op::ConstantNull, &[5, 8]),
        o(Op::Function, &[1, 20, 0, 6]),
        o(Op::FunctionParameter, &[5, 22]),
        o(Op::Label, &[23]),
    ];
    let module = assemble(Version::V1_0, &of_kernel(&[], head.into_iter().chain(code)));
    let mut words = module.into_words();
    words[3] = words[3].max(bound);
    Module::from_words(words).unwrap()
}

/// How many products of vectors a module has.
fn vector_products(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::IMul) && i.result_type() == Some(5)).count()
}

#[test]
fn products_of_phis_that_depend_on_each_other_are_written_lane_by_lane() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let module = of_vectors(vec![
        o(Op::Branch, &[30]),
        o(Op::Label, &[30]),
        o(Op::Phi, &[5, 31, 32, 30, 22, 23]),
        o(Op::Phi, &[5, 32, 31, 30, 8, 23]),
        o(Op::IMul, &[5, 33, 32, 22]),
        o(Op::IMul, &[5, 34, 31, 22]),
        o(Op::IMul, &[5, 35, 22, 22]),
        o(Op::BranchConditional, &[7, 30, 36]),
        o(Op::Label, &[36]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    assert_eq!(vector_products(&changed(&module, Fault::Q39)), 1, "only of vectors that may have zero lanes");
}

#[test]
fn products_of_long_chains_are_written_lane_by_lane() {
    const COUNT: u32 = 50_000;
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let copies = (0..COUNT).map(|i| o(Op::CopyObject, &[5, 100 + i, if i == 0 { 8 } else { 99 + i }]));
    let end = [o(Op::IMul, &[5, 100 + COUNT, 99 + COUNT, 22]), o(Op::Return, &[]), o(Op::FunctionEnd, &[])];
    let module = of_vectors(copies.chain(end).collect());
    assert_eq!(vector_products(&changed(&module, Fault::Q39)), 0);
}
