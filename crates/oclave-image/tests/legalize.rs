//! Stripping, lowering and legalization: what goes, what is refused and by which name.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;

use oclave_faults::{Fault, FaultSet};
use oclave_image::passes::signatures;
use oclave_image::{Aspects, DeviceTarget, ImageError, legalize, legalize_with};
use oclave_spirv::check;
use oclave_spirv::transform::dce;
use oclave_spirv::transform::specialize::specialize;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::version;
use oclave_spirv::{Capability, Decoration, Definitions, Instruction, Module, Op, Version};
use support::lowered::{image, missing, rich};
use support::{assemble, golden, module, of_kernel, with_string};

/// A 1.4 module with all that lowering changes: interfaces, comparisons and difference of pointers,
/// wrap decorations, loop controls, memory operands.
fn new_features() -> Module {
    const VOID: u32 = 1;
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_4,
        &[
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            o(Op::Capability, &[Capability::Int64 as u32]),
            o(Op::Capability, &[Capability::DenormPreserve as u32]),
            (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], "k", &[10, 11])),
            o(Op::Decorate, &[10, 11, 28]),
            o(Op::Decorate, &[34, 4469]),
            o(Op::Decorate, &[34, 4470]),
            o(Op::TypeVoid, &[VOID]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypeInt, &[4, 64, 0]),
            o(Op::TypeBool, &[5]),
            o(Op::TypeVector, &[6, 4, 3]),
            o(Op::TypePointer, &[7, 1, 6]),
            o(Op::TypePointer, &[8, 5, 3]),
            o(Op::TypeFunction, &[9, VOID, 8, 8]),
            o(Op::Variable, &[7, 10, 1]),
            o(Op::Constant, &[3, 12, 7]),
            o(Op::Variable, &[8, 11, 5, 12]),
            o(Op::Function, &[VOID, 20, 0, 9]),
            o(Op::FunctionParameter, &[8, 21]),
            o(Op::FunctionParameter, &[8, 22]),
            o(Op::Label, &[23]),
            o(Op::Load, &[6, 24, 10, 2, 32]),
            o(Op::PtrEqual, &[5, 30, 21, 22]),
            o(Op::PtrNotEqual, &[5, 31, 21, 11]),
            o(Op::PtrDiff, &[4, 32, 21, 22]),
            o(Op::PtrDiff, &[3, 33, 21, 22]),
            o(Op::IAdd, &[4, 34, 32, 32]),
            o(Op::CopyMemory, &[21, 22, 3, 8, 2, 4]),
            o(Op::CopyMemory, &[21, 22, 0, 2, 4]),
            o(Op::Branch, &[25]),
            o(Op::Label, &[25]),
            o(Op::LoopMerge, &[27, 26, 0x41, 3]),
            o(Op::BranchConditional, &[30, 27, 26]),
            o(Op::Label, &[26]),
            o(Op::Branch, &[25]),
            o(Op::Label, &[27]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ],
    )
}

#[test]
fn lowering_rewrites_what_came_with_1_4() {
    let module = new_features();
    check::check(&module).unwrap();
    support::assert_valid("the module before", &module);
    let lowered = version::lower(&module, Version::V1_2).unwrap();
    check::check(&lowered).unwrap();
    support::assert_valid("the lowered module", &lowered);
    golden("lowered_to_1_2", &lowered);
    assert!(version::lower(&module, Version::V1_4).unwrap() == module, "nothing to do");
    // With the extension, wrap decorations stay.
    let wraps = |module: &Module| {
        module
            .instructions()
            .filter(|i| i.is(Op::Decorate) && matches!(i.operand(1), Some(4469 | 4470)))
            .count()
    };
    let kept = version::lower_with(&module, Version::V1_2, true).unwrap();
    check::check(&kept).unwrap();
    support::assert_valid("the lowered module with decorations", &kept);
    let has_extension = kept.instructions().any(|i| i.is(Op::Extension) && i.string_is(0, version::WRAPS));
    assert!(wraps(&module) > 0 && wraps(&lowered) == 0 && has_extension);
    assert_eq!(wraps(&kept), wraps(&module));
}

/// `select i1 %c, <3 x float> %a, <3 x float> %b`, and one of structs that hold vectors and arrays.
#[test]
fn selects_of_whole_values_are_lowered() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    for version in [Version::V1_4, Version::new(1, 1)] {
        let module = assemble(
            version,
            &of_kernel(
                &[Capability::Linkage],
                [
                    (Op::Decorate, with_string(&[20, 41], "f", &[0])),
                    o(Op::TypeFloat, &[1, 32]),
                    o(Op::TypeInt, &[2, 32, 0]),
                    o(Op::TypeBool, &[3]),
                    o(Op::TypeVector, &[4, 1, 3]),
                    o(Op::Constant, &[2, 5, 2]),
                    o(Op::TypeArray, &[6, 2, 5]),
                    o(Op::TypeStruct, &[7, 4, 6, 1]),
                    o(Op::TypeFunction, &[8, 7, 3, 4, 7, 7]),
                    o(Op::Function, &[7, 20, 0, 8]),
                    o(Op::FunctionParameter, &[3, 21]),
                    o(Op::FunctionParameter, &[4, 22]),
                    o(Op::FunctionParameter, &[7, 23]),
                    o(Op::FunctionParameter, &[7, 24]),
                    o(Op::Label, &[25]),
                    o(Op::CompositeExtract, &[4, 26, 23, 0]),
                    o(Op::Select, &[4, 27, 21, 26, 22]),
                    o(Op::CompositeInsert, &[7, 28, 27, 23, 0]),
                    o(Op::Select, &[7, 29, 21, 28, 24]),
                    o(Op::ReturnValue, &[29]),
                    o(Op::FunctionEnd, &[]),
                ],
            ),
        );
        let lowered = version::lower(&module, Version::V1_2).unwrap();
        check::check(&lowered).unwrap();
        support::assert_valid("the lowered selects", &lowered);
        let selects = lowered.instructions().filter(|i| i.is(Op::Select)).count();
        // One of vectors; and of the struct: a vector, two elements of an array, a scalar.
        assert_eq!(selects, 5, "{version}");
    }
}

/// Forty types name 2⁴⁰ parts.
#[test]
fn selects_of_too_many_parts_are_refused() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut code = vec![
        (Op::Decorate, with_string(&[20, 41], "f", &[0])),
        o(Op::TypeBool, &[3]),
        o(Op::TypeInt, &[100, 32, 0]),
    ];
    code.extend((101..=140).map(|ty| o(Op::TypeStruct, &[ty, ty - 1, ty - 1])));
    code.extend([
        o(Op::TypeFunction, &[8, 140, 3, 140, 140]),
        o(Op::Function, &[140, 20, 0, 8]),
        o(Op::FunctionParameter, &[3, 21]),
        o(Op::FunctionParameter, &[140, 22]),
        o(Op::FunctionParameter, &[140, 23]),
        o(Op::Label, &[25]),
        o(Op::Select, &[140, 29, 21, 22, 23]),
        o(Op::ReturnValue, &[29]),
        o(Op::FunctionEnd, &[]),
    ]);
    let module = assemble(Version::V1_4, &of_kernel(&[Capability::Linkage], code));
    let error = version::lower(&module, Version::V1_2).unwrap_err();
    assert!(matches!(&error, oclave_spirv::Error::Unsupported(what) if what.contains("Select")), "{error}");
}

#[test]
fn what_cannot_be_lowered_is_named() {
    let module = assemble(Version::new(1, 3), &of_kernel(&[Capability::GroupNonUniform], []));
    let error = version::lower(&module, Version::V1_2).unwrap_err();
    assert!(
        matches!(&error, oclave_spirv::Error::Unsupported(what) if what.contains("GroupNonUniform")),
        "{error}"
    );
    let what = missing(legalize(&image(&module), &rich()));
    assert!(what.contains("SPIR-V 1.3") && what.contains("GroupNonUniform"), "{what}");
}

#[test]
fn every_kernel_that_can_run_becomes_legal_in_1_2_and_valid() {
    for (name, bytes) in support::corpus() {
        if name.starts_with("virtual") {
            continue;
        }
        let before = Module::from_bytes(&bytes).unwrap();
        let address_bits = if name.contains("physical32") { 32 } else { 64 };
        let words = legalize(&image(&before), &DeviceTarget { address_bits, ..rich() })
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let after = Module::from_words(words).unwrap();
        assert!(after.version() <= Version::V1_2);
        if support::is_valid(&strip::strip(&before, |_| true).unwrap()) != Some(false) {
            support::assert_valid(&name, &after);
        }
    }
}

#[test]
fn annotations_go_and_variables_stay() {
    let before = module("globals.O2.spv");
    let after = strip::strip(&before, |_| true).unwrap();
    support::assert_valid("globals.O2 stripped", &after);
    golden("globals_stripped", &after);
}

/// llvm-spirv writes debug information between phis. Passes then write code between them, and most drivers do not take the instruction set.
#[test]
fn debug_information_goes_and_lines_stay() {
    for name in ["control.debug.spv", "saxpy.debug.spv"] {
        let before = module(name);
        let after = strip::strip(&before, |_| true).unwrap();
        support::assert_valid(name, &after);
        check::check(&after).unwrap();
        let set = Definitions::new(&after).opencl_std();
        let is_other = |i: &Instruction<'_>| i.is(Op::ExtInst) && i.operand(0) != set;
        assert!(
            before.instructions().any(|i| is_other(&i)) && !after.instructions().any(|i| is_other(&i)),
            "{name}"
        );
        let imports = after.instructions().filter(|i| i.is(Op::ExtInstImport)).filter_map(|i| i.result_id());
        assert_eq!(imports.collect::<Vec<_>>(), Vec::from_iter(set), "{name}");
        let lines = |module: &Module| module.instructions().filter(|i| i.is(Op::Line)).count();
        assert!(lines(&after) > 0 && lines(&after) == lines(&before), "{name}");
    }
}

#[test]
fn groups_of_decorations_become_decorations() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let (alignment, volatile) = (Decoration::Alignment as u32, Decoration::Volatile as u32);
    let before = assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::Linkage],
            [
                o(Op::Decorate, &[3, alignment, 16]),
                o(Op::DecorationGroup, &[3]),
                o(Op::Decorate, &[4, volatile]),
                o(Op::DecorationGroup, &[4]),
                o(Op::GroupDecorate, &[3, 10, 11]),
                o(Op::GroupMemberDecorate, &[4, 6, 1]),
                o(Op::TypeInt, &[5, 32, 0]),
                o(Op::TypeStruct, &[6, 5, 5]),
                o(Op::TypePointer, &[7, 5, 6]),
                o(Op::ConstantNull, &[6, 8]),
                o(Op::Variable, &[7, 10, 5, 8]),
                o(Op::Variable, &[7, 11, 5, 8]),
            ],
        ),
    );
    let after = strip::strip(&before, |_| true).unwrap();
    support::assert_valid("the module without groups", &after);
    let all: Vec<_> = after
        .instructions()
        .filter(|i| matches!(i.op(), Some(Op::Decorate | Op::MemberDecorate | Op::DecorationGroup)))
        .map(|i| i.operands().to_vec())
        .collect();
    assert_eq!(all, [vec![10, alignment, 16], vec![11, alignment, 16], vec![6, 1, volatile]]);
}

#[test]
fn hints_go_where_the_device_does_not_take_them() {
    let before = hints();
    check::check(&before).unwrap();
    assert!(strip::strip(&before, |_| true).unwrap() == before, "a device that takes all of them gets them");
    let after = strip::strip(&before, |_| false).unwrap();
    check::check(&after).unwrap();
    support::assert_valid("the stripped module", &after);
    golden("hints_stripped", &after);
}

#[test]
fn what_the_device_lacks_is_named() {
    let bare = DeviceTarget { aspects: Aspects::PROGRAM_SCOPE_VARIABLES, ..DeviceTarget::default() };
    let name = |file: &str, target: &DeviceTarget| missing(legalize(&image(&module(file)), target));
    assert!(name("fp64.O2.spv", &bare).contains("Float64"));
    assert!(name("images.O2.spv", &bare).contains("ImageBasic"));
    let no_globals = DeviceTarget { aspects: Aspects::all() - Aspects::PROGRAM_SCOPE_VARIABLES, ..rich() };
    assert!(name("globals.O2.spv", &no_globals).contains("program-scope variables"));
    assert!(name("saxpy.physical32.spv", &rich()).contains("32-bit addresses"));
    let told = DeviceTarget { capabilities: Some(BTreeSet::from([Capability::Kernel as u32])), ..rich() };
    assert!(name("fp64.O2.spv", &told).contains("Float64"), "its own word counts, not the aspects");
    let sets = DeviceTarget { instruction_sets: Some(BTreeSet::new()), ..rich() };
    assert!(name("vectors.O2.spv", &sets).contains("OpenCL.std"));
    assert!(legalize(&image(&module("fp64.O2.spv")), &rich()).is_ok());
}

#[test]
fn devices_that_call_mad_get_a_multiplication_and_an_addition() {
    let before = Module::from_bytes(include_bytes!("../../../benches/kernels/small_nodes.spv")).unwrap();
    let count = |module: &Module, op: Op| module.instructions().filter(|i| i.is(op)).count();
    for functions_are_called in [false, true] {
        let faults = if functions_are_called { Fault::Q9.into() } else { FaultSet::NONE };
        let target = DeviceTarget { faults, ..rich() };
        let after = Module::from_words(legalize(&image(&before), &target).unwrap()).unwrap();
        support::assert_valid("small_nodes", &after);
        let mads = count(&before, Op::ExtInst);
        let expanded = if functions_are_called { mads } else { 0 };
        assert_eq!((mads, count(&after, Op::ExtInst)), (6, mads - expanded));
        let added = |op| count(&after, op) - count(&before, op);
        assert_eq!([added(Op::FMul), added(Op::FAdd)], [expanded; 2]);
    }
}

#[test]
fn the_aspects_of_the_signatures_count() {
    let mut image = image(&module("saxpy.O2.spv"));
    image.kernels.push(oclave_image::KernelSignature {
        name: "saxpy".to_owned(),
        parameters: Vec::new(),
        required_work_group_size: None,
        uniform_work_groups: false,
        required_sub_group_size: None,
        aspects: Aspects::FP16,
        device_globals: Vec::new(),
    });
    let what = missing(legalize(&image, &DeviceTarget::default()));
    assert!(what.contains("fp16") && what.contains("\"test\""), "{what}");
}

#[test]
fn the_callers_pass_runs_between_and_is_checked() {
    let saxpy = image(&module("saxpy.O2.spv"));
    let without = legalize_with(&saxpy, &rich(), |m| Ok(dce::eliminate(&m, |_| false)?)).unwrap().words;
    assert!(!Module::from_words(without).unwrap().instructions().any(|i| i.is(Op::EntryPoint)));
    let broken = legalize_with(&saxpy, &rich(), |m| {
        let mut words = m.into_words();
        words.truncate(words.len() - 1);
        Ok(Module::from_words(words)?)
    });
    assert!(matches!(broken, Err(ImageError::Spirv { .. })), "{broken:?}");
}

#[test]
fn a_capability_stays_that_declares_another_which_is_needed() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    for head in [
        [Capability::Addresses, Capability::Kernel, Capability::Int64Atomics],
        [Capability::GenericPointer, Capability::Kernel, Capability::Int64],
    ] {
        let mut instructions: Vec<_> = head.iter().map(|&c| o(Op::Capability, &[c as u32])).collect();
        instructions.extend([o(Op::MemoryModel, &[2, 2]), o(Op::TypeInt, &[1, 64, 0])]);
        let module = assemble(Version::V1_2, &instructions);
        check::check(&module).unwrap();
        check::check(&oclave_spirv::transform::capabilities::prune(&module).unwrap()).unwrap();
    }
}

/// llvm-spirv decorates `restrict` parameters twice.
#[test]
fn repeated_decorations_are_written_once() {
    const VOID: u32 = 1;
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let no_alias = || o(Op::Decorate, &[21, 38, 4]);
    let module = assemble(
        Version::V1_0,
        &of_kernel(
            &[],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                no_alias(),
                o(Op::Decorate, &[21, 38, 5]),
                no_alias(),
                o(Op::TypeVoid, &[VOID]),
                o(Op::TypeInt, &[3, 32, 0]),
                o(Op::TypePointer, &[8, 5, 3]),
                o(Op::TypeFunction, &[9, VOID, 8]),
                o(Op::Function, &[VOID, 20, 0, 9]),
                o(Op::FunctionParameter, &[8, 21]),
                o(Op::Label, &[23]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    );
    assert!(check::check(&module).is_err());
    let words = legalize(&image(&module), &rich()).unwrap();
    let decorations = Module::from_words(words).unwrap();
    assert_eq!(decorations.instructions().filter(|i| i.is(Op::Decorate)).count(), 2);
}

/// A loop whose header stands behind its body, as llvm-spirv writes it.
#[test]
fn blocks_stand_behind_what_dominates_them() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let module = |order: [usize; 3]| {
        let blocks = [
            // The body, the header, the end.
            vec![o(Op::Label, &[32]), o(Op::IAdd, &[3, 33, 34, 11]), o(Op::Branch, &[31])],
            vec![
                o(Op::Label, &[31]),
                o(Op::Phi, &[3, 34, 10, 30, 33, 32]),
                o(Op::ULessThan, &[5, 35, 34, 11]),
                o(Op::BranchConditional, &[35, 32, 36]),
            ],
            vec![o(Op::Label, &[36]), o(Op::Return, &[])],
        ];
        let mut all = of_kernel(
            &[],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[3, 32, 0]),
                o(Op::TypeBool, &[5]),
                o(Op::TypeFunction, &[9, 1]),
                o(Op::Constant, &[3, 10, 0]),
                o(Op::Constant, &[3, 11, 1]),
                o(Op::Function, &[1, 20, 0, 9]),
                o(Op::Label, &[30]),
                o(Op::Branch, &[31]),
            ],
        );
        all.extend(order.into_iter().flat_map(|at| blocks[at].clone()));
        all.push(o(Op::FunctionEnd, &[]));
        assemble(Version::V1_0, &all)
    };
    let sorted = module([1, 0, 2]);
    support::assert_valid("blocks in order", &sorted);
    assert_eq!(legalize(&image(&sorted), &rich()).unwrap(), sorted.words(), "nothing to do");
    for order in [[0, 1, 2], [2, 0, 1], [0, 2, 1]] {
        let legal = Module::from_words(legalize(&image(&module(order)), &rich()).unwrap()).unwrap();
        support::assert_valid("blocks that were sorted", &legal);
    }
}

/// A kernel of SPIR-V 1.4 that reads a constant table. Its interface may lack the table, and the
/// negative of a parameter may stand before its variable: llvm-spirv writes both.
fn table_and_variable(interface: &[u32], is_variable_first: bool) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let mut all = of_kernel(
        &[],
        [
            (Op::EntryPoint, with_string(&[6, 20], "k", interface)),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypePointer, &[7, 7, 3]),
            o(Op::TypePointer, &[8, 0, 3]),
            o(Op::TypeFunction, &[9, 1, 3]),
            o(Op::Constant, &[3, 10, 0]),
            o(Op::Constant, &[3, 12, 7]),
            o(Op::Variable, &[8, 11, 0, 12]),
            o(Op::Function, &[1, 20, 0, 9]),
            o(Op::FunctionParameter, &[3, 21]),
            o(Op::Label, &[30]),
        ],
    );
    let mut start = [o(Op::ISub, &[3, 31, 10, 21]), o(Op::Variable, &[7, 32, 7])];
    start.rotate_left(usize::from(is_variable_first));
    all.extend(start);
    all.extend([
        o(Op::Load, &[3, 33, 11]),
        o(Op::IAdd, &[3, 34, 33, 31]),
        o(Op::Store, &[32, 34]),
        o(Op::Return, &[]),
        o(Op::FunctionEnd, &[]),
    ]);
    assemble(Version::V1_4, &all)
}

/// rusticl refuses kernels of SPIR-V 1.4 whose interface lacks a variable that they use.
#[test]
fn interfaces_list_all_variables_from_1_4_on() {
    let target = DeviceTarget { spirv_version: Version::V1_4, ..rich() };
    let complete = table_and_variable(&[11], true);
    support::assert_valid("a whole interface", &complete);
    assert_eq!(legalize(&image(&complete), &target).unwrap(), complete.words(), "nothing to do");
    let lacks = table_and_variable(&[], true);
    assert_eq!(legalize(&image(&lacks), &target).unwrap(), complete.words());
    let lowered = Module::from_words(legalize(&image(&lacks), &rich()).unwrap()).unwrap();
    support::assert_valid("no interface before 1.4", &lowered);
}

/// Passes look for the variables of a function at its start.
#[test]
fn variables_stand_before_all_else() {
    let target = DeviceTarget { spirv_version: Version::V1_4, ..rich() };
    let sorted = table_and_variable(&[11], true);
    let legal = legalize(&image(&table_and_variable(&[11], false)), &target).unwrap();
    assert_eq!(legal, sorted.words());
}

/// llvm-spirv writes the type twice where kernels have literal samplers and samplers as arguments.
#[test]
fn one_type_of_samplers_is_left() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let module = assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::ImageBasic, Capability::LiteralSampler],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeSampler, &[2]),
                o(Op::ConstantSampler, &[2, 3, 2, 0, 0]),
                o(Op::TypeSampler, &[4]),
                o(Op::TypeFunction, &[5, 1, 4]),
                o(Op::Function, &[1, 20, 0, 5]),
                o(Op::FunctionParameter, &[4, 21]),
                o(Op::Label, &[22]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    );
    let legal = Module::from_words(legalize(&image(&module), &rich()).unwrap()).unwrap();
    support::assert_valid("one type of samplers", &legal);
    let samplers: Vec<u32> =
        legal.instructions().filter(|i| i.is(Op::TypeSampler)).filter_map(|i| i.result_id()).collect();
    assert_eq!(samplers, [2]);
    let parameter = legal.instructions().find(|i| i.is(Op::FunctionParameter)).unwrap();
    assert_eq!(parameter.result_type(), Some(2));
}

/// Constants of each type with the ids 1 to 5, and a sum of the first and itself.
fn specializable() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let spec_id = |id, spec_id| o(Op::Decorate, &[id, 1, spec_id]);
    assemble(
        Version::V1_2,
        &of_kernel(
            &[Capability::Linkage, Capability::Int8, Capability::Int64],
            [
                spec_id(11, 1),
                spec_id(12, 2),
                spec_id(13, 3),
                spec_id(14, 4),
                spec_id(15, 5),
                o(Op::TypeInt, &[1, 32, 0]),
                o(Op::TypeInt, &[2, 64, 0]),
                o(Op::TypeInt, &[3, 8, 0]),
                o(Op::TypeFloat, &[4, 32]),
                o(Op::TypeBool, &[5]),
                o(Op::SpecConstant, &[1, 11, 7]),
                o(Op::SpecConstant, &[2, 12, 7, 0]),
                o(Op::SpecConstant, &[3, 13, 7]),
                o(Op::SpecConstant, &[4, 14, 0]),
                o(Op::SpecConstantTrue, &[5, 15]),
                o(Op::SpecConstantOp, &[1, 16, Op::IAdd as u32, 11, 11]),
            ],
        ),
    )
}

#[test]
fn specialization_changes_defaults() {
    let module = specializable();
    let (long, float) = (0x1234_5678_9abc_def0_u64.to_le_bytes(), 1.5_f32.to_le_bytes());
    let values: [(u32, &[u8]); 5] = [(1, &[1, 2, 3, 4]), (2, &long), (3, &[0xfe]), (4, &float), (5, &[0])];
    let made = specialize(&module, &values).unwrap();
    check::check(&made).unwrap();
    let constants: Vec<Vec<u32>> = made
        .instructions()
        .filter(|i| matches!(i.op(), Some(Op::SpecConstant | Op::SpecConstantFalse | Op::SpecConstantTrue)))
        .map(|i| i.words.to_vec())
        .collect();
    let word =
        |op: Op, operands: &[u32]| [&[(operands.len() as u32 + 1) << 16 | op as u32], operands].concat();
    assert_eq!(
        constants,
        [
            word(Op::SpecConstant, &[1, 11, 0x0403_0201]),
            word(Op::SpecConstant, &[2, 12, 0x9abc_def0, 0x1234_5678]),
            word(Op::SpecConstant, &[3, 13, 0xfe]),
            word(Op::SpecConstant, &[4, 14, 1.5_f32.to_bits()]),
            word(Op::SpecConstantFalse, &[5, 15]),
        ]
    );
    // What is not named stays.
    assert_eq!(specialize(&module, &[]).unwrap(), module);
    assert_eq!(specialize(&made, &[(5, &[1])]).unwrap().words().len(), module.words().len());
    for (id, bytes, why) in [(9, &[0; 4][..], "no specialization constant 9"), (2, &[0; 4], "another size")] {
        let error = specialize(&module, &[(id, bytes)]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn kernels_that_follow_pointers_are_found() {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let entry = |id, name| (Op::EntryPoint, with_string(&[6, id], name, &[]));
    let function = |id, body: &[(Op, Vec<u32>)]| {
        let start = [
            o(Op::Function, &[1, id, 0, 8]),
            o(Op::FunctionParameter, &[6, id + 1]),
            o(Op::FunctionParameter, &[3, id + 2]),
            o(Op::Label, &[id + 3]),
        ];
        [&start, body, &[o(Op::Return, &[]), o(Op::FunctionEnd, &[])]].concat()
    };
    let module = [
        of_kernel(
            &[Capability::Int64],
            [
                entry(20, "loads"),
                entry(30, "spills"),
                entry(40, "calls"),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeInt, &[3, 64, 0]),
                // global uint *, global uint * global *, and that in a private variable.
                o(Op::TypePointer, &[5, 5, 2]),
                o(Op::TypePointer, &[6, 5, 5]),
                o(Op::TypePointer, &[7, 7, 6]),
                o(Op::TypeFunction, &[8, 1, 6, 3]),
            ],
        ),
        function(50, &[o(Op::ConvertUToPtr, &[5, 54, 52])]),
        function(20, &[o(Op::Load, &[5, 24, 21, 2, 8])]),
        function(
            30,
            &[o(Op::Variable, &[7, 34, 7]), o(Op::Store, &[34, 31, 2, 8]), o(Op::Load, &[6, 35, 34, 2, 8])],
        ),
        function(40, &[o(Op::FunctionCall, &[1, 44, 50, 41, 42])]),
    ];
    let module = assemble(Version::V1_0, &module.concat());
    support::assert_valid("kernels with pointers", &module);
    let found = oclave_image::passes::kernels_that_follow_pointers(&module);
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["calls", "loads"]);
}

/// Structs with halves are copied on all devices. Arithmetic with halves is a feature.
#[test]
fn halves_that_are_only_moved_need_no_arithmetic() {
    type Code<'a> = &'a [(Op, &'a [u32])];
    let module = |code: Code<'_>| {
        let o = |op, operands: &[u32]| (op, operands.to_vec());
        let mut all = vec![
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            o(Op::Capability, &[Capability::Int64 as u32]),
            o(Op::Capability, &[Capability::Float16Buffer as u32]),
            o(Op::Capability, &[Capability::Float16 as u32]),
            (Op::ExtInstImport, with_string(&[2], "OpenCL.std", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeBool, &[3]),
            o(Op::TypeInt, &[4, 64, 0]),
            o(Op::TypeFloat, &[5, 16]),
            o(Op::TypeFloat, &[6, 32]),
            o(Op::TypeStruct, &[7, 5, 4]),
            o(Op::TypePointer, &[8, 5, 7]),
            o(Op::TypePointer, &[9, 5, 5]),
            o(Op::TypeFunction, &[10, 1, 8, 8, 9]),
            o(Op::ConstantTrue, &[3, 11]),
            o(Op::Constant, &[4, 12, 0, 0]),
            o(Op::Constant, &[5, 13, 0x3C00]),
            o(Op::Function, &[1, 20, 0, 10]),
            o(Op::FunctionParameter, &[8, 21]),
            o(Op::FunctionParameter, &[8, 22]),
            o(Op::FunctionParameter, &[9, 23]),
            o(Op::Label, &[25]),
            o(Op::Load, &[7, 30, 21]),
            o(Op::CompositeExtract, &[5, 31, 30, 0]),
            o(Op::Load, &[5, 32, 23]),
        ];
        all.extend(code.iter().map(|(op, operands)| (*op, operands.to_vec())));
        all.extend([o(Op::Store, &[22, 30]), o(Op::Return, &[]), o(Op::FunctionEnd, &[])]);
        assemble(Version::V1_0, &all)
    };
    let forms: [(Code<'_>, bool); 8] = [
        (&[], false),
        (&[(Op::Select, &[5, 33, 11, 31, 32]), (Op::Store, &[23, 33])], false),
        (&[(Op::CompositeInsert, &[7, 33, 13, 30, 0]), (Op::Store, &[22, 33])], false),
        // `vload_half` and `vstore_half`.
        (
            &[
                (Op::ExtInst, &[6, 33, 2, 173, 12, 23]),
                (Op::FAdd, &[6, 34, 33, 33]),
                (Op::ExtInst, &[1, 35, 2, 175, 34, 12, 23]),
            ],
            false,
        ),
        (&[(Op::FAdd, &[5, 33, 31, 32])], true),
        // Only an operand is a half, and only an argument of a function.
        (&[(Op::FConvert, &[6, 33, 31])], true),
        (&[(Op::FOrdLessThan, &[3, 33, 31, 32])], true),
        (&[(Op::ExtInst, &[5, 33, 2, 23, 31])], true),
    ];
    let plain = DeviceTarget::default();
    for (at, (code, computes)) in forms.into_iter().enumerate() {
        let before = module(code);
        let wanted = if computes { Aspects::FP16 } else { Aspects::empty() };
        assert_eq!(signatures(&before).unwrap()[0].aspects, wanted, "form {at}");
        let live = dce::eliminate(&before, |_| true).unwrap();
        support::assert_valid("halves", &live);
        let has = |capability: Capability| {
            live.instructions().any(|i| i.is(Op::Capability) && i.operand(0) == Some(capability as u32))
        };
        assert_eq!([has(Capability::Float16), has(Capability::Float16Buffer)], [computes, true], "form {at}");
        assert_eq!(legalize(&image(&live), &plain).is_ok(), !computes, "form {at}");
    }
}

/// A module with hints of extensions: host access, loop controls, aliasing, optnone, expectations,
/// fast math.
fn hints() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_2,
        &[
            o(Op::Capability, &[Capability::Addresses as u32]),
            o(Op::Capability, &[Capability::Kernel as u32]),
            o(Op::Capability, &[Capability::Linkage as u32]),
            o(Op::Capability, &[6187]),
            o(Op::Capability, &[5888]),
            o(Op::Capability, &[5910]),
            o(Op::Capability, &[6094]),
            o(Op::Capability, &[5629]),
            o(Op::Capability, &[5837]),
            (Op::Extension, with_string(&[], "SPV_INTEL_global_variable_host_access", &[])),
            (Op::Extension, with_string(&[], "SPV_INTEL_fpga_loop_controls", &[])),
            (Op::Extension, with_string(&[], "SPV_INTEL_memory_access_aliasing", &[])),
            (Op::Extension, with_string(&[], "SPV_INTEL_optnone", &[])),
            (Op::Extension, with_string(&[], "SPV_KHR_expect_assume", &[])),
            (Op::Extension, with_string(&[], "SPV_INTEL_fp_fast_math_mode", &[])),
            o(Op::MemoryModel, &[2, 2]),
            (Op::Decorate, with_string(&[10, 41], "g", &[0])),
            (Op::Decorate, with_string(&[10, 6188, 1], "g", &[])),
            o(Op::Decorate, &[34, 40, 0x3_0001]),
            o(Op::Decorate, &[31, 5914, 13]),
            o(Op::TypeVoid, &[1]),
            o(Op::TypeInt, &[3, 32, 0]),
            o(Op::TypeBool, &[5]),
            o(Op::TypeFloat, &[6, 32]),
            o(Op::TypePointer, &[8, 5, 3]),
            o(Op::TypeFunction, &[9, 1, 8, 5, 6]),
            o(Op::Variable, &[8, 10, 5]),
            o(Op::AliasDomainDeclINTEL, &[11]),
            o(Op::AliasScopeDeclINTEL, &[12, 11]),
            o(Op::AliasScopeListDeclINTEL, &[13, 12]),
            o(Op::Function, &[1, 20, 0x1_0001, 9]),
            o(Op::FunctionParameter, &[8, 21]),
            o(Op::FunctionParameter, &[5, 22]),
            o(Op::FunctionParameter, &[6, 23]),
            o(Op::Label, &[24]),
            o(Op::AssumeTrueKHR, &[22]),
            o(Op::Load, &[3, 31, 21, 0x1_0002, 4, 13]),
            o(Op::ExpectKHR, &[3, 32, 31, 31]),
            o(Op::IAdd, &[3, 33, 32, 32]),
            o(Op::Store, &[21, 33, 0x3_0002, 4, 13, 13]),
            o(Op::Store, &[21, 32, 0x1_0002, 4, 13]),
            o(Op::FAdd, &[6, 34, 23, 23]),
            o(Op::Branch, &[25]),
            o(Op::Label, &[25]),
            o(Op::LoopMerge, &[27, 26, 0x1_0001, 2]),
            o(Op::BranchConditional, &[22, 27, 26]),
            o(Op::Label, &[26]),
            o(Op::Branch, &[25]),
            o(Op::Label, &[27]),
            o(Op::Return, &[]),
            o(Op::FunctionEnd, &[]),
        ],
    )
}
