//! Interpreter modules: sound for every module of the corpus; what is left out, and why; odd uses
//! of built-ins.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;

use oclave_image::passes::interpreter::{
    FlowOp, FlowTask, INTERPRETER_FLOW, INTERPRETER_SEQ, INTERPRETER_WI, InterpreterArgumentKind,
    InterpreterLayout, InterpreterUnit, JoinPart, flow_module, interpreter_module, join_images, joined_name,
};
use oclave_image::{DeviceImage, DeviceTarget, PostLinkOptions, SplitMode, TranslationUnit, post_link};
use oclave_spirv::check;
use oclave_spirv::transform::strip;
use oclave_spirv::{Module, Op, Version};
use support::{assemble, assert_valid, with_string};

const LOCAL_MEMORY: u64 = 32 << 10;

/// The interpreter module for devices whose work-items run side by side; those for devices where
/// they take turns, and for wide groups, have the same layout.
fn interpreted(name: &str, module: &Module) -> (Module, InterpreterLayout) {
    let [side_by_side, in_turn] = [false, true].map(|serial_work_items| {
        let target = DeviceTarget { serial_work_items, ..DeviceTarget::default() };
        interpreted_for(name, module, &target)
    });
    assert_eq!(side_by_side.1, in_turn.1, "{name}");
    let wide = DeviceTarget { wide_groups: true, ..DeviceTarget::default() };
    assert_eq!(side_by_side.1, interpreted_for(name, module, &wide).1, "{name}");
    side_by_side
}

fn interpreted_for(name: &str, module: &Module, target: &DeviceTarget) -> (Module, InterpreterLayout) {
    let stripped = strip::strip(module, |_| true).unwrap();
    let made =
        interpreter_module(&stripped, target, LOCAL_MEMORY).unwrap_or_else(|error| panic!("{name}: {error}"));
    check::check(&made.module).unwrap_or_else(|error| panic!("{name}: {error}"));
    // What llvm-spirv writes does not always please the validator to begin with.
    if support::is_valid(&stripped) == Some(true) {
        assert_valid(name, &made.module);
    }
    (made.module, made.layout)
}

fn entry_points(module: &Module) -> Vec<String> {
    let entries = module.instructions().filter(|i| i.is(Op::EntryPoint));
    entries.map(|i| i.string(2).unwrap().into_owned()).collect()
}

#[test]
fn modules_with_jumps_have_a_third_kernel_and_are_sound() {
    let task = FlowTask { op: FlowOp::While, ..FlowTask::default() };
    let mut seen = 0;
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        let stripped = strip::strip(&module, |_| true).unwrap();
        if name.contains("physical32") || check::check(&stripped).is_err() {
            continue;
        }
        for (serial_work_items, wide_groups) in [(false, false), (true, false), (false, true)] {
            let target = DeviceTarget { serial_work_items, wide_groups, ..DeviceTarget::default() };
            let made = flow_module(&stripped, &target, LOCAL_MEMORY).unwrap();
            check::check(&made.module).unwrap_or_else(|error| panic!("{name}: {error}"));
            if support::is_valid(&stripped) == Some(true) {
                assert_valid(&name, &made.module);
            }
            assert_eq!(entry_points(&made.module), [INTERPRETER_SEQ, INTERPRETER_WI, INTERPRETER_FLOW]);
            let plain = interpreter_module(&stripped, &target, LOCAL_MEMORY).unwrap().layout;
            assert_eq!(made.layout.kernels(), plain.kernels(), "{name}");
            assert!(made.layout.flow(&task).is_some() && plain.flow(&task).is_none());
        }
        seen += 1;
    }
    assert!(seen > 10, "only {seen} modules");
}

#[test]
fn the_corpus_can_be_interpreted() {
    let mut included = 0;
    for (name, bytes) in support::corpus() {
        let module = Module::from_bytes(&bytes).unwrap();
        if name.contains("physical32") {
            let stripped = strip::strip(&module, |_| true).unwrap();
            let error = interpreter_module(&stripped, &DeviceTarget::default(), LOCAL_MEMORY).unwrap_err();
            assert!(error.to_string().contains("64 bits"), "{error}");
            continue;
        }
        if check::check(&strip::strip(&module, |_| true).unwrap()).is_err() {
            println!("{name}: not sound before post-link");
            continue;
        }
        let kernels = entry_points(&module).len();
        let (module, layout) = interpreted(&name, &module);
        assert_eq!(entry_points(&module), [INTERPRETER_SEQ, INTERPRETER_WI]);
        assert_eq!(layout.module_kernels() + layout.excluded().len(), kernels, "{name}");
        for kernel in layout.excluded() {
            println!("{name}: {}: {}", kernel.name, kernel.reason);
        }
        for (index, kernel) in layout.kernels().iter().enumerate().take(layout.module_kernels()) {
            println!(
                "{name}: {index} {} {:?} groups {} {:?}",
                kernel.name, kernel.unit, kernel.needs_groups, kernel.cost
            );
            assert_eq!(layout.kernel_index(&kernel.name), Some(index as u32));
            assert_eq!(layout.why_excluded(&kernel.name), None);
        }
        included += layout.module_kernels();
    }
    assert!(included >= 15, "{included} kernels");
}

/// A kernel `void k(global ulong *out)` whose body uses the built-in variable %10, of type
/// `v3ulong` or `ulong`.
fn with_body(builtin: u32, vector: bool, body: &[(Op, Vec<u32>)]) -> Module {
    let pointee = if vector { 4 } else { 2 };
    let mut instructions = vec![
        (Op::Capability, vec![4]),
        (Op::Capability, vec![6]),
        (Op::Capability, vec![11]),
        (Op::Capability, vec![22]),
        (Op::MemoryModel, vec![2, 2]),
        (Op::EntryPoint, with_string(&[6, 20], "k", &[10])),
        (Op::Name, with_string(&[30], "loaded", &[])),
        (Op::Decorate, vec![10, 11, builtin]),
        (Op::TypeVoid, vec![1]),
        (Op::TypeInt, vec![2, 64, 0]),
        (Op::TypeInt, vec![3, 32, 0]),
        (Op::TypeVector, vec![4, 2, 3]),
        (Op::TypePointer, vec![5, 1, pointee]),
        (Op::TypePointer, vec![6, 1, 2]),
        (Op::TypePointer, vec![7, 5, 2]),
        (Op::TypeFunction, vec![8, 1, 7]),
        (Op::Constant, vec![2, 11, 1, 0]),
        (Op::Constant, vec![3, 12, 2]),
        (Op::Variable, vec![5, 10, 1]),
        (Op::Function, vec![1, 20, 0, 8]),
        (Op::FunctionParameter, vec![7, 21]),
        (Op::Label, vec![22]),
    ];
    instructions.extend_from_slice(body);
    instructions.extend([(Op::Return, vec![]), (Op::FunctionEnd, vec![])]);
    let module = assemble(Version::V1_0, &instructions);
    check::check(&module).unwrap();
    module
}

const GLOBAL_ID: u32 = 28;

#[test]
fn odd_uses_of_built_ins() {
    let load = |ty: u32| (Op::Load, vec![ty, 30, 10]);
    let store = |value: u32| (Op::Store, vec![21, value]);
    let bodies = [
        // A component; the usual case.
        (true, vec![load(4), (Op::CompositeExtract, vec![2, 31, 30, 1]), store(31)]),
        // The component with an index that is computed.
        (true, vec![load(4), (Op::VectorExtractDynamic, vec![2, 31, 30, 12]), store(31)]),
        // The vector computed with, beside a component.
        (
            true,
            vec![
                load(4),
                (Op::IAdd, vec![4, 31, 30, 30]),
                (Op::CompositeExtract, vec![2, 32, 31, 0]),
                (Op::CompositeExtract, vec![2, 33, 30, 2]),
                (Op::IAdd, vec![2, 34, 32, 33]),
                store(34),
            ],
        ),
        // A pointer to a component.
        (true, vec![(Op::InBoundsAccessChain, vec![6, 30, 10, 12]), (Op::Load, vec![2, 31, 30]), store(31)]),
        // A value that nothing uses.
        (true, vec![load(4), store(11)]),
    ];
    for (index, (vector, body)) in bodies.into_iter().enumerate() {
        let (module, layout) = interpreted(&format!("body {index}"), &with_body(GLOBAL_ID, vector, &body));
        // Which would be undefined beyond the third component.
        assert!(module.instructions().all(|i| !i.is(Op::VectorExtractDynamic)));
        assert_eq!(layout.module_kernels(), 1, "{:?}", layout.excluded());
        assert_eq!(layout.kernels()[0].unit, InterpreterUnit::Items);
    }
    // Scalars, in a phi before they are defined, too.
    let looped = [
        (Op::Branch, vec![40]),
        (Op::Label, vec![40]),
        (Op::Phi, vec![2, 41, 11, 22, 30, 42]),
        (Op::Branch, vec![42]),
        (Op::Label, vec![42]),
        load(2),
        store(41),
        (Op::Branch, vec![40]),
        (Op::Label, vec![43]),
    ];
    for (number, unit) in [(34, InterpreterUnit::Items), (29, InterpreterUnit::Groups)] {
        let (_, layout) = interpreted("looped", &with_body(number, false, &looped));
        assert_eq!(layout.kernels()[0].unit, unit);
        assert!(layout.kernels()[0].cost.has_loops);
    }
}

#[test]
fn kernels_that_ask_for_their_groups_run_by_groups() {
    // Number of groups, their size, which one it is; the size of the index space, where it begins.
    for (number, unit) in [24, 25, 26, 32]
        .map(|number| (number, InterpreterUnit::Groups))
        .into_iter()
        .chain([31, 33].map(|number| (number, InterpreterUnit::Items)))
    {
        let body = [
            (Op::Load, vec![4, 30, 10]),
            (Op::CompositeExtract, vec![2, 31, 30, 0]),
            (Op::Store, vec![21, 31]),
        ];
        let (_, layout) = interpreted("groups", &with_body(number, true, &body));
        assert_eq!(layout.kernels()[0].unit, unit, "built-in {number}");
    }
}

#[test]
fn what_cannot_be_interpreted_has_a_reason() {
    let refused = |module: &Module| {
        let (_, layout) = interpreted("refused", module);
        assert_eq!(layout.module_kernels(), 0);
        layout.why_excluded("k").unwrap().to_owned()
    };
    let load = (Op::Load, vec![2, 30, 10]);
    let sub_group = with_body(41, false, &[load, (Op::Store, vec![21, 30])]);
    assert_eq!(refused(&sub_group), "it asks for the built-in SubgroupLocalInvocationId");
    let copied = with_body(GLOBAL_ID, true, &[(Op::CopyObject, vec![5, 30, 10])]);
    assert_eq!(refused(&copied), "it takes the address of the built-in GlobalInvocationId");
    let barrier = with_body(
        GLOBAL_ID,
        true,
        &[
            (Op::Load, vec![4, 30, 10]),
            (Op::CompositeExtract, vec![2, 31, 30, 0]),
            (Op::Store, vec![21, 31]),
            (Op::ControlBarrier, vec![12, 12, 12]),
        ],
    );
    let (_, layout) = interpreted("barrier", &barrier);
    assert!(layout.kernels()[0].needs_groups);

    let (_, images) = interpreted("images", &support::module("images.O2.spv"));
    assert!(
        images.excluded().iter().any(|kernel| kernel.reason.contains("image")),
        "{:?}",
        images.excluded()
    );
}

/// The instructions of a function of a module, from the entry point of this name.
fn instructions_of(module: &Module, entry: &str) -> Vec<Op> {
    let entries = module.instructions().filter(|i| i.is(Op::EntryPoint));
    let function = entries.filter(|i| i.string(2).unwrap() == entry).find_map(|i| i.operand(1));
    let from = module.instructions().skip_while(|i| !(i.is(Op::Function) && i.result_id() == function));
    from.take_while(|i| !i.is(Op::FunctionEnd)).filter_map(|i| i.op()).collect()
}

#[test]
fn the_first_work_item_runs_tasks_without_groups_where_work_items_take_turns() {
    let stores = [
        (Op::Load, vec![4, 30, 10]),
        (Op::CompositeExtract, vec![2, 31, 30, 0]),
        (Op::Store, vec![21, 31]),
        (Op::ControlBarrier, vec![12, 12, 12]),
    ];
    // Without its barrier, and with it.
    for (body, groups) in [(&stores[..3], 0), (&stores[..], 1)] {
        let module = with_body(GLOBAL_ID, true, body);
        let target = |serial_work_items| DeviceTarget { serial_work_items, ..DeviceTarget::default() };
        let (side_by_side, layout) = interpreted_for("side by side", &module, &target(false));
        let (in_turn, _) = interpreted_for("in turn", &module, &target(true));
        let count = |module: &Module, entry: &str, op: Op| {
            instructions_of(module, entry).into_iter().filter(|other| *other == op).count()
        };
        // Each of their cases begins with the question for the first one, and nothing else asks for
        // it.
        let alone = layout.kernels().iter().filter(|kernel| !kernel.needs_groups).count();
        assert_eq!(layout.kernels().len() - alone, groups);
        assert_eq!(count(&in_turn, INTERPRETER_WI, Op::IEqual), alone);
        assert_eq!(count(&side_by_side, INTERPRETER_WI, Op::IEqual), 0);
        // All of them meet behind a task, and where groups do.
        for module in [&side_by_side, &in_turn] {
            assert_eq!(count(module, INTERPRETER_WI, Op::ControlBarrier), 1 + groups);
        }
        assert_eq!(
            instructions_of(&side_by_side, INTERPRETER_SEQ),
            instructions_of(&in_turn, INTERPRETER_SEQ)
        );
    }
}

/// In wide groups a work-item runs several of a small kernel's at once: it loads for all of them
/// before it stores for one. Kernels with branches run one after the other.
#[test]
fn small_kernels_without_branches_run_for_several_work_items_at_once() {
    let add = [
        (Op::Load, vec![4, 30, 10]),
        (Op::CompositeExtract, vec![2, 31, 30, 0]),
        (Op::InBoundsPtrAccessChain, vec![7, 32, 21, 31]),
        (Op::Load, vec![2, 33, 32]),
        (Op::IAdd, vec![2, 34, 33, 11]),
        (Op::Store, vec![32, 34]),
    ];
    let wide = DeviceTarget { wide_groups: true, ..DeviceTarget::default() };
    let of = |body: &[(Op, Vec<u32>)]| {
        let (module, layout) = interpreted_for("several", &with_body(GLOBAL_ID, true, body), &wide);
        let steps = [Op::InBoundsPtrAccessChain, Op::Load, Op::IAdd, Op::Store];
        let in_step: Vec<Op> = steps.into_iter().flat_map(|op| [op; 4]).collect();
        let has = instructions_of(&module, INTERPRETER_WI).windows(16).any(|ops| ops == in_step);
        (has, layout.kernel(0).unwrap().is_straight)
    };
    assert_eq!(of(&add), (true, true));
    let branch = [(Op::Branch, vec![40]), (Op::Label, vec![40])];
    assert_eq!(of(&[&branch[..], &add].concat()), (false, false));
}

#[test]
fn arguments_are_laid_out_as_in_c() {
    let (_, layout) = interpreted("saxpy", &support::module("saxpy.O2.spv"));
    let saxpy = layout.kernel(layout.kernel_index("saxpy").unwrap()).unwrap();
    assert!(saxpy.arguments.iter().any(|argument| argument.kind == InterpreterArgumentKind::Pointer));
    for kernel in layout.kernels() {
        let mut end = 0;
        for argument in &kernel.arguments {
            assert!(argument.offset_bytes >= end);
            end = argument.offset_bytes + argument.kind.size_bytes();
        }
        assert!(end <= kernel.block_bytes && kernel.block_bytes.is_multiple_of(kernel.block_align));
    }
}

fn fixture(name: &str) -> Module {
    let found = support::fixtures().into_iter().find(|(of, _)| of == name);
    Module::from_bytes(&found.unwrap_or_else(|| panic!("no {name}")).1).unwrap()
}

fn image(stem: &str) -> DeviceImage {
    let mut options = PostLinkOptions::default();
    options.split = SplitMode::Off;
    let unit = TranslationUnit::new(stem, fixture(&format!("{stem}.O2.spv")));
    post_link(&[unit], &options).unwrap().remove(0)
}

/// The values of the constants of 32 bits.
fn words(module: &Module) -> BTreeSet<u32> {
    let constants = module.instructions().filter(|i| i.is(Op::Constant) && i.operands().len() == 1);
    constants.filter_map(|i| i.operand(0)).collect()
}

#[test]
fn kernels_of_several_images_become_one_image() {
    let (constants, globals) = (image("constants"), image("globals"));
    let all = BTreeSet::from(["all".to_owned()]);
    let of_globals: BTreeSet<String> = globals.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    // Twice the same kernel, with a value of a constant and without. Values of constants that it does not use are no fault.
    let wide = 4242_u32.to_le_bytes();
    let given: [(u32, &[u8]); 2] = [(0, &wide), (8, &[1, 0])];
    let parts = [
        JoinPart { image: &constants, kernels: &all, specs: &given },
        JoinPart { image: &globals, kernels: &of_globals, specs: &[] },
        JoinPart { image: &constants, kernels: &all, specs: &[] },
    ];
    let joined = join_images(&parts).unwrap();
    let module = Module::from_words(joined.spirv.clone()).unwrap();
    check::check(&module).unwrap();
    // The validator does not know all hints of the translator.
    assert_valid("joined", &strip::strip(&module, |_| false).unwrap());
    let expected = || {
        let first = std::iter::once(joined_name(0, "all"));
        first.chain(of_globals.iter().map(|name| joined_name(1, name))).chain([joined_name(2, "all")])
    };
    assert_eq!(entry_points(&module).into_iter().collect::<BTreeSet<_>>(), expected().collect());
    let described: BTreeSet<String> = joined.kernels.iter().map(|kernel| kernel.name.clone()).collect();
    assert_eq!(described, expected().collect());
    assert_eq!(joined.device_globals().unwrap(), globals.device_globals().unwrap());
    // 16 is what the constant is without a value.
    assert!(words(&module).is_superset(&BTreeSet::from([16, 4242])), "{:?}", words(&module));
    assert!(!module.instructions().any(|i| i.is(Op::SpecConstant)));
    assert_eq!(module.spec_ids().count(), 0);
    // One with other addresses does not link.
    let narrow = DeviceImage {
        spirv: fixture("globals32.O2.spv").into_words(),
        kernels: globals.kernels.clone(),
        ..DeviceImage::default()
    };
    let other = JoinPart { image: &narrow, kernels: &of_globals, specs: &[] };
    let error = join_images(&[parts[0], other]).unwrap_err();
    assert!(error.to_string().contains("widths of addresses"), "{error}");
}
