//! Kernels in the form that PoCL's compiler is right for: what is changed, and that the rest stays
//! as it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oclave_faults::Fault;
use oclave_faults::passes::{Image, LegalBarriers, Passes, kernels_with_tangled_barriers};
use oclave_image::DeviceTarget;
use oclave_image::passes::interpreter::interpreter_module;
use oclave_spirv::check;
use oclave_spirv::{Capability, Decoration, Instruction, Module, Op, Version};
use support::{assemble, assert_valid, of_kernel, with_string};

const TEST: Image<'_> = Image { name: "test", uniform_work_groups: false };

/// The modules that compilers made for the other tests.
fn modules() -> Vec<(String, Module)> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../oclave-image/tests")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "spv") {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if let Ok(module) = Module::from_bytes(&std::fs::read(&path).unwrap()) {
                    found.push((name, module));
                }
            }
        }
    }
    found
}

fn legalize_barriers(module: Module, target: &DeviceTarget) -> oclave_faults::passes::Result<LegalBarriers> {
    Passes::new(target.for_passes(), TEST, &mut |_| ()).legalize_barriers(module)
}

fn insert_fences(module: Module, target: &DeviceTarget) -> oclave_faults::passes::Result<Module> {
    Passes::new(target.for_passes(), TEST, &mut |_| ()).insert_fences(module)
}

fn barriers(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::ControlBarrier)).count()
}

#[test]
fn devices_without_the_faults_get_the_module_as_it_is() {
    for (name, module) in modules() {
        assert_eq!(
            legalize_barriers(module.clone(), &DeviceTarget::default()).unwrap().module,
            module,
            "{name}"
        );
    }
}

/// Accesses that the compiler would join are kept apart, and no others are.
#[test]
fn fences_stand_where_accesses_would_be_joined() {
    let target = DeviceTarget { faults: [Fault::Q13, Fault::Q15, Fault::Q16].into(), ..pocl6() };
    for level in ["O0", "O2"] {
        let path =
            format!("{}/../oclave-image/tests/fixtures/neighbours.{level}.spv", env!("CARGO_MANIFEST_DIR"));
        let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let names: Vec<(u32, String)> = module.names().collect();
        let legal = insert_fences(module, &target).unwrap();
        check::check(&legal).unwrap();
        let mut fences: Vec<(String, usize)> = Vec::new();
        for instruction in legal.instructions() {
            if instruction.is(Op::Function) {
                let name = names.iter().find(|(id, _)| Some(*id) == instruction.result_id());
                fences.push((name.map(|(_, name)| name.clone()).unwrap_or_default(), 0));
            }
            if instruction.is(Op::MemoryBarrier) {
                fences.last_mut().unwrap().1 += 1;
            }
        }
        let of = |kernel: &str| -> usize { fences.iter().filter(|(n, _)| n == kernel).map(|(_, f)| f).sum() };
        assert!(["stores", "loads", "kept"].iter().all(|kernel| of(kernel) > 0), "{level}: {fences:?}");
        assert!(level == "O0" || of("apart") == 0, "{level}: {fences:?}");
    }
}

fn pocl6() -> DeviceTarget {
    DeviceTarget { faults: [Fault::Q13, Fault::Q15].into(), ..DeviceTarget::default() }
}

/// Barriers under conditions are one barrier afterwards, in all kernels that have them.
#[test]
fn barriers_on_some_ways_become_one() {
    let mut gathered = Vec::new();
    // Loops of that one get their ends before (`loops_without_ends_get_one` of `legalize`).
    // The kernel of the other chooses between versions.
    let left_out = ["endless.O2.spv", "versions.O2.spv"];
    for (name, module) in modules().into_iter().filter(|(name, _)| !left_out.contains(&name.as_str())) {
        let before = kernels_with_tangled_barriers(&module);
        let legal = legalize_barriers(module, &pocl6()).unwrap();
        assert_eq!(legal.refused_kernels, [""; 0], "{name}");
        assert_eq!(kernels_with_tangled_barriers(&legal.module), [""; 0], "{name}");
        gathered.extend(before);
    }
    for kernel in ["some_rounds", "some_ways", "shortest", "sum_in_branches"] {
        assert!(gathered.iter().any(|name| name == kernel), "{kernel} is not among {gathered:?}");
    }
}

/// Three or more blocks lead to the one barrier: PoCL 6.0 fails on phis that it finds there, and LLVM
/// makes them where two blocks store in variables.
#[test]
fn three_blocks_lead_to_the_one_barrier() {
    let (mut checked, mut parted) = (0, 0);
    for (name, module) in modules() {
        if kernels_with_tangled_barriers(&module).is_empty() {
            continue;
        }
        let legal = legalize_barriers(module, &pocl6()).unwrap().module;
        let (mut label, mut at_barrier) = (0, BTreeSet::new());
        let mut ways: BTreeMap<u32, usize> = BTreeMap::new();
        for instruction in legal.instructions() {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id().unwrap(),
                Some(Op::ControlBarrier) => _ = at_barrier.insert(label),
                Some(Op::Branch) => *ways.entry(instruction.operand(0).unwrap()).or_default() += 1,
                // What no work-item does on its way there.
                Some(Op::Store) => parted += usize::from(instruction.operand(2) == Some(1)),
                _ => {}
            }
        }
        for barrier in at_barrier.iter().filter(|label| ways.get(label).is_some_and(|ways| *ways > 1)) {
            assert!(ways[barrier] > 2, "{name}");
            checked += 1;
        }
    }
    assert!(checked > 0 && parted > 0, "{checked} barriers, {parted} ways");
}

/// A loop with a barrier and two exits. Behind a vote, work-items take different branches.
fn vote_in_loop() -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::Groups],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeBool, &[3]),
                o(Op::Constant, &[2, 4, 2]),
                o(Op::Constant, &[2, 5, 272]),
                o(Op::TypePointer, &[6, 5, 2]),
                o(Op::TypeFunction, &[7, 1, 6, 2]),
                o(Op::Function, &[1, 20, 0, 7]),
                o(Op::FunctionParameter, &[6, 21]),
                o(Op::FunctionParameter, &[2, 22]),
                o(Op::Label, &[23]),
                o(Op::Branch, &[24]),
                o(Op::Label, &[24]),
                o(Op::ControlBarrier, &[4, 4, 5]),
                o(Op::Load, &[2, 25, 21]),
                o(Op::IEqual, &[3, 26, 25, 22]),
                o(Op::BranchConditional, &[26, 30, 27]),
                o(Op::Label, &[27]),
                o(Op::GroupAny, &[3, 28, 4, 26]),
                o(Op::BranchConditional, &[28, 29, 30]),
                o(Op::Label, &[29]),
                o(Op::Store, &[21, 22]),
                o(Op::Branch, &[24]),
                o(Op::Label, &[30]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    )
}

#[test]
fn functions_of_work_groups_have_a_case_of_their_own() {
    let module = legalize_barriers(vote_in_loop(), &pocl6()).unwrap().module;
    assert_eq!(barriers(&module), 1);
    let code: Vec<Op> = module.instructions().filter_map(|i| i.op()).collect();
    let at = code.iter().position(|op| *op == Op::GroupAny).unwrap();
    let from = code[..at].iter().rposition(|op| *op == Op::Label).unwrap();
    let to = at + code[at..].iter().position(|op| *op == Op::Branch).unwrap();
    let others = code[from + 1..to].iter().filter(|op| !matches!(op, Op::Load | Op::Store | Op::GroupAny));
    assert_eq!(others.count(), 0, "{:?}", &code[from..=to]);
}

/// `switch (a) { case 1: v = 2; break; case 0: v = 1; default: unreachable }`, where `a` has so many bits.
fn switch_without_default(bits: u32) -> Module {
    let o = |op, operands: &[u32]| (op, operands.to_vec());
    let case =
        |literal: u32, label: u32| if bits == 64 { vec![literal, 0, label] } else { vec![literal, label] };
    assemble(
        Version::V1_0,
        &of_kernel(
            &[Capability::Int64],
            [
                (Op::EntryPoint, with_string(&[6, 20], "k", &[])),
                o(Op::TypeVoid, &[1]),
                o(Op::TypeInt, &[2, 32, 0]),
                o(Op::TypeInt, &[3, 64, 0]),
                o(Op::Constant, &[2, 4, 1]),
                o(Op::Constant, &[2, 5, 2]),
                o(Op::TypePointer, &[6, 5, 2]),
                o(Op::TypeFunction, &[7, 1, 6, if bits == 64 { 3 } else { 2 }]),
                o(Op::Function, &[1, 20, 0, 7]),
                o(Op::FunctionParameter, &[6, 21]),
                o(Op::FunctionParameter, &[if bits == 64 { 3 } else { 2 }, 22]),
                o(Op::Label, &[23]),
                (Op::Switch, [vec![22, 24], case(1, 25), case(0, 26)].concat()),
                o(Op::Label, &[24]),
                o(Op::Unreachable, &[]),
                o(Op::Label, &[25]),
                o(Op::Branch, &[26]),
                o(Op::Label, &[26]),
                o(Op::Phi, &[2, 27, 4, 23, 5, 25]),
                o(Op::Store, &[21, 27]),
                o(Op::Return, &[]),
                o(Op::FunctionEnd, &[]),
            ],
        ),
    )
}

/// LLVM wants a value of a phi for each edge, so a switch must not get a second one to the same block.
#[test]
fn the_last_case_takes_the_place_of_a_default_that_never_comes() {
    for bits in [32, 64] {
        let before = switch_without_default(bits);
        assert_valid("the switch", &before);
        let after = legalize_barriers(before, &pocl6()).unwrap().module;
        assert_valid("the switch, changed", &after);
        let switch = after.instructions().find(|i| i.is(Op::Switch)).unwrap();
        let one: &[u32] = if bits == 64 { &[1, 0, 25] } else { &[1, 25] };
        assert_eq!(switch.operands(), [&[22, 26], one].concat());
    }
}

#[test]
fn what_is_written_passes_the_checks() {
    let everywhere = DeviceTarget { faults: [Fault::Q13, Fault::Q48].into(), ..DeviceTarget::default() };
    let (mut looped, mut ended) = (0, 0);
    for (name, module) in modules() {
        if check::check(&module).is_err() {
            continue;
        }
        for target in [&pocl6(), &pocl7(), &everywhere] {
            let legal = legalize_barriers(module.clone(), target).unwrap().module;
            check::check(&legal).unwrap_or_else(|error| panic!("{name}: {error}"));
            looped += barriers(&legal).saturating_sub(barriers(&module));
            let ors = |m: &Module| {
                m.instructions().filter(|i| matches!(i.op(), Some(Op::LogicalOr | Op::LogicalAnd))).count()
            };
            ended += ors(&legal) - ors(&module);
        }
    }
    // Some of the modules have loops in loops: a test in which nothing is changed would say
    // nothing.
    assert!(looped > 0 && ended > 0, "{looped} barriers and {ended} ends were added");
}

/// Kernels with barriers take in what they call. A struct by value is a variable then, which keeps
/// its alignment.
#[test]
fn structs_by_value_keep_their_alignment() {
    let path = format!("{}/../oclave-image/tests/fixtures/by_value.O0.spv", env!("CARGO_MANIFEST_DIR"));
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let aligned = |module: &Module| -> Vec<u32> {
        let to_64 = |i: &Instruction<'_>| match *i.operands() {
            [id, kind, 64] if kind == Decoration::Alignment as u32 => Some(id),
            _ => None,
        };
        module.instructions().filter(|i| i.is(Op::Decorate)).filter_map(|i| to_64(&i)).collect()
    };
    let copied = |module: &Module| -> Vec<u32> {
        module.instructions().filter(|i| i.is(Op::CopyMemory)).filter_map(|i| i.operand(0)).collect()
    };
    assert!(copied(&module).is_empty());
    let legal = legalize_barriers(module, &pocl6()).unwrap().module;
    check::check(&legal).unwrap();
    let copied = copied(&legal);
    assert!(!copied.is_empty(), "nothing was taken in");
    assert!(copied.iter().all(|variable| aligned(&legal).contains(variable)), "{copied:?}");
}

/// Interpreter modules call kernels from a loop with a barrier: what these do in groups becomes part
/// of it, and the barriers one.
#[test]
fn kernels_of_interpreter_modules_are_written_like_launched_ones() {
    let target = DeviceTarget {
        serial_work_items: true,
        faults: [Fault::Q13, Fault::Q15, Fault::Q16].into(),
        ..pocl6()
    };
    let mut gathered = 0;
    for name in [
        "oclave-image/tests/fixtures/in_groups.O2",
        "oclave-image/tests/fixtures/work_items.O0",
        "../tests/fixtures/odd",
    ] {
        let path = format!("{}/../{name}.spv", env!("CARGO_MANIFEST_DIR"));
        let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let made = interpreter_module(&module, &target, 1 << 20).unwrap();
        assert!(!made.layout.kernels().is_empty(), "{name}");
        gathered += usize::from(!kernels_with_tangled_barriers(&made.module).is_empty());
        let legal = legalize_barriers(made.module, &target).unwrap().module;
        check::check(&legal).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(kernels_with_tangled_barriers(&legal), [""; 0], "{name}");
    }
    assert_eq!(gathered, 3);
}

/// The interpreter's own choice of a kernel is the same for all work-items of a group. Where no kernel
/// has barriers under conditions, that choice changes no barriers.
#[test]
fn interpreter_modules_of_kernels_with_plain_barriers_keep_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/kernels/small_groups.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    for target in [pocl6(), pocl7()] {
        let target = DeviceTarget { serial_work_items: true, ..target };
        let made = interpreter_module(&module, &target, 1 << 20).unwrap();
        assert_eq!(kernels_with_tangled_barriers(&made.module), ["__oclave_interpreter_wi"]);
        let legal = legalize_barriers(made.module.clone(), &target).unwrap();
        check::check(&legal.module).unwrap();
        assert_eq!(legal.refused_kernels, [""; 0]);
        assert!(barriers(&legal.module) >= barriers(&made.module));
    }
}

/// A kernel that only chooses between two versions keeps the barriers of the version whose barriers all work-items
/// reach together. Those of the other become one, and one version gets a barrier at its end.
#[test]
fn versions_of_a_kernel_keep_plain_barriers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/versions.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let of = |function: &str| count(&module, function, &[Op::ControlBarrier]);
    assert_eq!((of("checked"), of("unchecked")), (2, 2));
    let [six, seven] =
        [pocl6(), pocl7()].map(|target| legalize_barriers(module.clone(), &target).unwrap().module);
    for legal in [&six, &seven] {
        check::check(legal).unwrap();
    }
    // One of `checked`, two of `unchecked`, one at the end, and those that each device gets around loops and conditions.
    // A kernel that does not only choose would have one.
    let of = |legal: &Module| count(legal, "versions", &[Op::ControlBarrier]);
    assert_eq!((of(&six), of(&seven)), (4 + 2, 4 + 4));
}

/// A loop with barriers that ends by what is in memory, inside another loop, gets the forms for tangled barriers (Q85).
#[test]
fn inner_loops_that_memory_ends_are_tangled() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/inner_loop.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    // In `alone`, the same loop is inside no other one. In `counted`, a counter ends the inner loop.
    assert_eq!(kernels_with_tangled_barriers(&module), ["inner"]);
    let [six, seven] =
        [pocl6(), pocl7()].map(|target| legalize_barriers(module.clone(), &target).unwrap().module);
    let of = |module: &Module, kernel: &str| count(module, kernel, &[Op::ControlBarrier]);
    // One barrier, and a loop with two.
    assert_eq!((of(&module, "inner"), of(&six, "inner"), of(&seven, "inner")), (4, 1, 4 + 2));
    for legal in [six, seven] {
        check::check(&legal).unwrap();
    }
}

fn pocl7() -> DeviceTarget {
    DeviceTarget { faults: [Fault::Q13, Fault::Q14, Fault::Q48].into(), ..DeviceTarget::default() }
}

/// How many of these instructions a kernel has.
fn count(module: &Module, kernel: &str, wanted: &[Op]) -> usize {
    let mut is_inside = false;
    let mut found = 0;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            let is_it = |(id, name): (u32, String)| Some(id) == instruction.result_id() && name == kernel;
            is_inside = module.names().any(is_it);
        }
        found += usize::from(is_inside && wanted.iter().any(|op| instruction.is(*op)));
    }
    found
}

/// Conditions around loops into which the device's compiler puts barriers get one of ours. Loops whose
/// ways meet elsewhere get an end that depends on the work-item, and so no such barrier.
#[test]
fn conditions_around_loops_are_isolated() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/conditions.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let [six, seven] =
        [pocl6(), pocl7()].map(|target| legalize_barriers(module.clone(), &target).unwrap().module);
    let added =
        |of: &Module, kernel: &str, wanted: &[Op]| count(of, kernel, wanted) - count(&module, kernel, wanted);
    let barriers = |of: &Module, kernel: &str| added(of, kernel, &[Op::ControlBarrier]);
    let ends = |of: &Module, kernel: &str| added(of, kernel, &[Op::LogicalOr, Op::LogicalAnd]);
    // Before the outer condition, at the start of its branch and where its branches meet. 6.0 puts barriers only beside others.
    assert_eq!((barriers(&seven, "loops_in_loops"), barriers(&six, "loops_in_loops")), (3, 0));
    assert_eq!((barriers(&seven, "one_loop"), barriers(&six, "one_loop")), (0, 0));
    assert_eq!((barriers(&seven, "before_a_loop"), barriers(&six, "before_a_loop")), (0, 1));
    assert_eq!((barriers(&seven, "shared_way"), ends(&seven, "shared_way")), (0, 1));
    assert_eq!(ends(&seven, "loops_in_loops"), 0);
}

/// Bounds of loops are followed into functions that are called once, as these become part of their kernels. The parameters of others may
/// be different in each work-item, so their kernels get continuations.
#[test]
fn functions_that_are_called_once_are_looked_into() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/called_once.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let seven = legalize_barriers(module.clone(), &pocl7()).unwrap().module;
    let has = |kernel: &str, op| count(&seven, kernel, &[op]);
    assert_eq!((has("once", Op::FunctionCall), has("once", Op::ControlBarrier)), (0, 0));
    assert_eq!((has("twice", Op::FunctionCall), has("twice", Op::ControlBarrier)), (2, 2));
    // 6.0 puts barriers only beside others.
    assert_eq!(legalize_barriers(module.clone(), &pocl6()).unwrap().module, module);
}

/// PoCL sees that work-items leave a loop at different times, if each begins with its id and all have the same bound. So the kernel stays
/// as it is. Other kernels with such loops get continuations.
#[test]
fn loops_that_begin_with_the_id_stay() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/from_ids.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let seven = legalize_barriers(module, &pocl7()).unwrap().module;
    let barriers =
        ["from_id", "from_zero", "to_id"].map(|kernel| count(&seven, kernel, &[Op::ControlBarrier]));
    assert_eq!(barriers, [0, 2, 2]);
}

/// The work-item that no group has leaves a loop where the compiler drops a condition that would keep it
/// there.
#[test]
fn ends_that_depend_on_the_work_item_leave_the_loop() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/uneven.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let count = |module: &Module, op: Op| module.instructions().filter(|i| i.is(op)).count();
    let added = |faults: &[Fault]| {
        let target = DeviceTarget { faults: faults.iter().copied().collect(), ..pocl6() };
        let legal = legalize_barriers(module.clone(), &target).unwrap().module;
        check::check(&legal).unwrap();
        [Op::LogicalAnd, Op::LogicalOr].map(|op| count(&legal, op) - count(&module, op))
    };
    let ([stay_and, stay_or], [leave_and, leave_or]) =
        (added(&[Fault::Q13, Fault::Q15]), added(&[Fault::Q13, Fault::Q15, Fault::Q53]));
    assert_eq!((stay_and, stay_or), (leave_or, leave_and));
    assert!(stay_and + stay_or > 0);
}

/// PoCL 7.1 would put a barrier between a `switch` and its cases, or copy the paths behind a loop. Such
/// loops get an end that depends on the work-item, so PoCL adds no barrier. For 6.0 nothing changes.
#[test]
fn loops_beside_ways_that_go_wrong_get_an_end() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/ways.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let [six, seven] =
        [pocl6(), pocl7()].map(|target| legalize_barriers(module.clone(), &target).unwrap().module);
    check::check(&seven).unwrap();
    assert_eq!(six, module);
    let added = |kernel: &str, wanted: &[Op]| count(&seven, kernel, wanted) - count(&module, kernel, wanted);
    for (kernel, ends, barriers) in [
        ("loop_in_a_switch", 1, 0),
        ("loops_in_a_switch", 1, 0),
        ("guarded_loop_in_a_switch", 0, 2),
        ("ways_behind_a_loop", 1, 0),
        ("ways_to_the_end", 0, 0),
    ] {
        assert_eq!(added(kernel, &[Op::LogicalOr, Op::LogicalAnd]), ends, "{kernel}");
        assert_eq!(added(kernel, &[Op::ControlBarrier]), barriers, "{kernel}");
    }
}

/// The ways of a `switch` behind such a loop, and two conditions around both, lead to the same block. Barriers
/// before the conditions would go wrong in PoCL 7.1, so the loop gets an end instead.
#[test]
fn ways_that_meet_the_conditions_around_them_get_no_barriers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/nested_ways.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let seven = legalize_barriers(module.clone(), &pocl7()).unwrap().module;
    check::check(&seven).unwrap();
    let added = |wanted: &[Op]| count(&seven, "nested_ways", wanted) - count(&module, "nested_ways", wanted);
    assert_eq!(added(&[Op::LogicalOr, Op::LogicalAnd]), 1);
    assert_eq!(added(&[Op::ControlBarrier]), 0);
}

/// LLVM may copy a block that chooses by its phi to the end of a loop. Work-items part behind the loop
/// then, and PoCL 6.0 gets that wrong. So the loop gets an end there.
#[test]
fn loops_before_blocks_that_choose_by_a_phi_get_ends() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/chosen_ways.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    for (target, ends) in [(pocl6(), 1), (pocl7(), 0)] {
        let legal = legalize_barriers(module.clone(), &target).unwrap().module;
        check::check(&legal).unwrap();
        let count = |module| count(module, "way_of_a_phi", &[Op::LogicalOr, Op::LogicalAnd]);
        assert_eq!(count(&legal) - count(&module), ends);
    }
}

/// All loops to which work-items come one by one get an end that depends on the work-item. So do rounds
/// that leave a value as it is. A loop gets an end instead of barriers if work-items part behind it.
#[test]
fn loops_that_work_items_come_to_one_by_one_get_ends() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/lone_loops.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let six = legalize_barriers(module.clone(), &pocl6()).unwrap().module;
    check::check(&six).unwrap();
    let added = |kernel: &str, wanted: &[Op]| count(&six, kernel, wanted) - count(&module, kernel, wanted);
    for (kernel, ends) in [("idle_rounds", 2), ("emptied_loop", 3), ("ways_to_a_join", 1)] {
        assert_eq!(added(kernel, &[Op::LogicalOr, Op::LogicalAnd]), ends, "{kernel}");
        assert_eq!(added(kernel, &[Op::ControlBarrier]), 0, "{kernel}");
    }
}

/// Several edges may lead from behind barriers of the source to where a way past them leads. Then both
/// PoCL let all work-items take the way of the first one. Such kernels are rewritten, and no others are.
#[test]
fn kernels_whose_work_items_part_behind_barriers_are_written_anew() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oclave-image/tests/fixtures/behind_barriers.O2.spv");
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let wrong = ["two_choices", "choice_before_a_condition"];
    assert_eq!(kernels_with_tangled_barriers(&module), wrong);
    let [six, seven] =
        [pocl6(), pocl7()].map(|target| legalize_barriers(module.clone(), &target).unwrap().module);
    assert_eq!(kernels_with_tangled_barriers(&six), [""; 0]);
    for legal in [&six, &seven] {
        check::check(legal).unwrap();
    }
    for kernel in
        ["one_choice", "choice_before_a_barrier", "common_choices", "no_way_past"].into_iter().chain(wrong)
    {
        let switches = |m: &Module| count(m, kernel, &[Op::Switch]);
        let barriers = |m: &Module| count(m, kernel, &[Op::ControlBarrier]);
        let is_wrong = wrong.contains(&kernel);
        assert_eq!(switches(&six) > switches(&module), is_wrong, "{kernel}");
        // Continuations, by a loop with two barriers.
        assert_eq!(barriers(&seven) == barriers(&module) + 2, is_wrong, "{kernel}");
    }
}
