//! Modules as devices get them.

use std::collections::BTreeMap;

use oclave_image::{Aspects, DeviceImage, DeviceTarget, ImageError, legalize};
use oclave_spirv::{Instruction, Module, Op, check};

/// An image of one module.
pub(crate) fn image(module: &Module) -> DeviceImage {
    DeviceImage { name: "test".to_owned(), spirv: module.words().to_vec(), ..DeviceImage::default() }
}

/// A device with all optional features.
pub(crate) fn rich() -> DeviceTarget {
    DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() }
}

/// What the device lacks, as the error says.
pub(crate) fn missing(result: Result<Vec<u32>, ImageError>) -> String {
    match result {
        Err(ImageError::DeviceLacks { what }) => what,
        other => panic!("not refused for something that the device lacks: {other:?}"),
    }
}

/// A fixture, and what is handed to a device of it.
pub(crate) fn legal_fixture(name: &str, target: &DeviceTarget) -> (Module, Module) {
    let path = format!("{}/../oclave-image/tests/fixtures/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let module = Module::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    let legal = Module::from_words(legalize(&image(&module), target).unwrap()).unwrap();
    check::check(&legal).unwrap();
    (module, legal)
}

/// The name of the function of each wanted instruction, in their order.
pub(crate) fn functions_of(
    module: &Module,
    mut is_wanted: impl FnMut(&Instruction<'_>) -> bool,
) -> Vec<String> {
    let names: BTreeMap<u32, String> = module.names().collect();
    let (mut function, mut found) = (0, Vec::new());
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id().unwrap();
        }
        if is_wanted(&instruction) {
            found.push(names.get(&function).cloned().unwrap_or_else(|| format!("%{function}")));
        }
    }
    found
}

/// How many more instructions functions of a fixture have for a device, where they have more.
pub(crate) fn added(
    name: &str,
    target: &DeviceTarget,
    is: impl Fn(&Instruction<'_>) -> bool,
) -> BTreeMap<String, usize> {
    let (module, legal) = legal_fixture(name, target);
    super::assert_valid(name, &legal);
    let plain = Module::from_words(legalize(&image(&module), &rich()).unwrap()).unwrap();
    let mut counts = BTreeMap::new();
    functions_of(&legal, &is).into_iter().for_each(|function| *counts.entry(function).or_insert(0) += 1);
    for function in functions_of(&plain, &is) {
        counts.entry(function).and_modify(|count: &mut usize| *count = count.saturating_sub(1));
    }
    counts.retain(|_, count| *count > 0);
    counts
}
