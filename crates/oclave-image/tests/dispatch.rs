//! Linking of virtual calls: the generated dispatchers, levels, the report of faults. Modules as
//! `tests/virtual_linking` of the runtime runs them on devices.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use oclave_image::passes::{
    DeviceTarget, VIRTUAL_FAULT, VirtualProgram, ahead_of_time, legalize, needs_dispatchers, signatures,
};
use oclave_image::{
    Aspects, DeviceImage, DeviceProfile, Dispatcher, ImageError, Requirements, SlotKey, VirtualFunction,
    VirtualFunctions, VirtualOffset, VirtualSlot,
};
use oclave_spirv::check;
use oclave_spirv::transform::strip;
use oclave_spirv::{Module, Op};

const APPLY: &str = "i32_p8_i32";

fn image(name: &str) -> DeviceImage {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/virtual");
    let module = Module::from_bytes(&std::fs::read(path.join(format!("{name}.spv"))).unwrap()).unwrap();
    let kernels = signatures(&module).unwrap();
    let spirv = strip::strip(&module, |_| false).unwrap().into_words();
    DeviceImage { name: name.to_owned(), spirv, kernels, ..DeviceImage::default() }
}

fn dispatcher(signature: &str, slot: u32) -> Dispatcher {
    Dispatcher::new(signature.parse().unwrap(), SlotKey { slot: Some(slot), class: None })
}

fn kernels() -> DeviceImage {
    let mut image = image("kernels");
    let dispatchers = vec![dispatcher("i32_p8", 1), dispatcher(APPLY, 0)];
    let offsets = vec![VirtualOffset { code: 7, value: -16 }];
    image.set_virtual_functions(&VirtualFunctions { dispatchers, offsets, ..VirtualFunctions::default() });
    image
}

fn function(name: &str, wrapper: &str, code: u64, calls: &[Dispatcher]) -> VirtualFunction {
    VirtualFunction {
        name: name.to_owned(),
        code: code | 0xffff,
        wrapper: wrapper.to_owned(),
        signature: APPLY.parse().unwrap(),
        calls: calls.iter().map(|dispatcher| dispatcher.name.clone()).collect(),
    }
}

fn slot(name: &str, code: u64) -> VirtualSlot {
    VirtualSlot { code, function: name.to_owned(), slot: Some(0), classes: Vec::new() }
}

fn sum() -> DeviceImage {
    let mut image = image("set_sum");
    image.set_virtual_functions(&VirtualFunctions {
        provides: Some("sum".to_owned()),
        functions: vec![
            function("add", "__vfw_sum_add", 0x10000, &[]),
            function("mul", "__vfw_sum_mul", 0x20000, &[]),
        ],
        slots: vec![slot("add", 0x10000), slot("mul", 0x20000), slot("mul", 0x30000)],
        ..VirtualFunctions::default()
    });
    image
}

fn tree(depth: u32) -> DeviceImage {
    let mut image = image("set_tree");
    let again = dispatcher(APPLY, 0);
    image.set_virtual_functions(&VirtualFunctions {
        provides: Some("tree".to_owned()),
        functions: vec![function("tree", "__vfw_tree_sum", 0x40000, std::slice::from_ref(&again))],
        slots: vec![slot("tree", 0x40000)],
        dispatchers: vec![again],
        depth: Some(depth),
        ..VirtualFunctions::default()
    });
    image
}

fn link(sets: &[&DeviceImage], report_faults: bool) -> Result<DeviceImage, ImageError> {
    let kernels = kernels();
    let all: Vec<VirtualFunctions> =
        [&kernels].into_iter().chain(sets.iter().copied()).map(|i| i.virtual_functions().unwrap()).collect();
    let known: Vec<&VirtualFunctions> = all.iter().collect();
    VirtualProgram { kernels: &kernels, sets, own_sets: 0, known: &known, report_faults }.link()
}

/// The linked module, valid as it is and as devices get it.
fn sound(sets: &[&DeviceImage], report_faults: bool) -> Module {
    let linked = link(sets, report_faults).unwrap();
    assert!(!needs_dispatchers(&linked).unwrap());
    let module = Module::from_words(linked.spirv.clone()).unwrap();
    check::check(&module).unwrap();
    support::assert_valid("linked", &module);
    let target = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
    support::assert_valid("legal", &Module::from_words(legalize(&linked, &target).unwrap()).unwrap());
    module
}

/// Of each switch, how many words tell its cases: two a case over numbers of functions, three over
/// codes.
fn switches(module: &Module) -> Vec<usize> {
    module.instructions().filter(|i| i.is(Op::Switch)).map(|i| i.operands().len() - 2).collect()
}

fn compared(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::Select)).count()
}

#[test]
fn a_dispatcher_knows_exactly_what_is_linked() {
    for faults in [false, true] {
        let module = sound(&[&sum()], faults);
        // Three slots lead to two functions; nothing has slot 1 of the other signature.
        assert_eq!((switches(&module), compared(&module)), (vec![2 * 2], 3));
        let names: Vec<String> = module.names().map(|(_, name)| name).collect();
        assert_eq!(names.iter().any(|name| name == VIRTUAL_FAULT), faults);
        assert!(!names.iter().any(|name| name.contains("__vfo_")), "nobody asks for offsets");
        assert_eq!(switches(&sound(&[], faults)), [0; 0], "without sets there is only the default");
    }
}

#[test]
fn many_codes_are_a_switch_themselves() {
    for (slots, words, comparisons) in [(16, 2 * 2, 16), (17, 17 * 3, 0)] {
        let mut set = sum();
        let mut all = set.virtual_functions().unwrap();
        all.slots = (0..slots).map(|i| slot(if i == 3 { "add" } else { "mul" }, (i + 1) << 16)).collect();
        set.set_virtual_functions(&all);
        let module = sound(&[&set], true);
        assert_eq!((switches(&module), compared(&module)), (vec![words], comparisons));
    }
}

#[test]
fn only_calls_that_do_not_know_their_slot_take_codes_of_functions() {
    let mut set = sum();
    let mut all = set.virtual_functions().unwrap();
    let any = Dispatcher::new(APPLY.parse().unwrap(), SlotKey::default());
    for function in &mut all.functions {
        function.calls.push(any.name.clone());
    }
    all.dispatchers.push(any.clone());
    set.set_virtual_functions(&all);
    let kernels = kernels();
    let known = [&kernels, &set].map(|image| image.virtual_functions().unwrap());
    let known: Vec<&VirtualFunctions> = known.iter().collect();
    let program =
        VirtualProgram { kernels: &kernels, sets: &[&set], own_sets: 0, known: &known, report_faults: true };
    let plan = program.plan().unwrap();
    assert_eq!(plan.codes_of(&any.name), Some(5));
    assert_eq!(plan.codes_of(&dispatcher(APPLY, 0).name), Some(3));
}

#[test]
fn a_cycle_is_linked_level_by_level() {
    for faults in [false, true] {
        let module = sound(&[&tree(3), &sum()], faults);
        assert_eq!((switches(&module), compared(&module)), (vec![2 * 3; 3], 3 * 4));
        let wrappers: Vec<String> =
            module.names().map(|(_, name)| name).filter(|name| name.starts_with("__vfw_tree")).collect();
        assert_eq!(wrappers.len(), 3, "{wrappers:?}");
    }
}

#[test]
fn ahead_of_time_only_what_a_target_runs_is_there() {
    let mut kernels = kernels();
    let mut all = kernels.virtual_functions().unwrap();
    all.calls = ["sum".to_owned()].into();
    kernels.set_virtual_functions(&all);
    let mut sum = sum();
    sum.set_requirements(&Requirements { aspects: Aspects::FP64 });
    let mut dummy = image("set_sum");
    dummy.name = "set_sum.dummy".to_owned();
    let of_set = VirtualFunctions { dummy: true, ..sum.virtual_functions().unwrap() };
    dummy.set_virtual_functions(&of_set);
    let images = [kernels, sum, dummy];
    let device = |aspects| DeviceProfile { aspects, ..DeviceProfile::default() };
    let names = |aspects| {
        let made = ahead_of_time(&images, &device(aspects), true).unwrap();
        assert!(made.iter().all(|image| image.virtual_functions().unwrap().is_empty()));
        made.into_iter().map(|image| image.name).collect::<Vec<_>>()
    };
    assert_eq!(names(Aspects::all()), ["kernels"]);
    assert_eq!(names(Aspects::all() - Aspects::FP64), [""; 0], "the dummy does not serve calls");
    let text = ahead_of_time(&images[..1], &device(Aspects::all()), true).unwrap_err().to_string();
    assert!(text.contains("set `sum`"), "{text}");
}
