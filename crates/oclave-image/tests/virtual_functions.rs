//! The lowering of virtual functions on compiled kernels: golden dumps and code, validity, damaged
//! modules.
//!
//! `OCLAVE_BLESS=1 cargo test` writes the golden files again.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "support/mod.rs"]
mod support;

use std::path::Path;

use oclave_image::passes::virtual_functions;
use oclave_image::{
    DeviceImage, ImageError, PostLinkOptions, SplitMode, TranslationUnit, disassemble, post_link,
};
use oclave_spirv::check;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::version;
use oclave_spirv::{Module, Op, StorageClass, Version};
use proptest::prelude::*;
use support::assert_valid;

const FIXTURES: [&str; 3] = ["virtual_basic.O0", "virtual_basic.O2", "virtual_inherit.O2"];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn fixture(name: &str) -> Module {
    Module::from_bytes(&std::fs::read(folder().join(format!("tests/fixtures/{name}.spv"))).unwrap()).unwrap()
}

fn link(module: Module, split: SplitMode) -> oclave_image::Result<Vec<DeviceImage>> {
    let mut options = PostLinkOptions::default();
    options.split = split;
    post_link(&[TranslationUnit::new("unit", module)], &options)
}

fn module_of(image: &DeviceImage) -> Module {
    Module::from_words(image.spirv.clone()).unwrap()
}

/// The module as devices get it.
fn for_device(image: &DeviceImage) -> Module {
    let stripped = strip::strip(&module_of(image), |_| false).unwrap();
    version::lower(&stripped, Version::V1_2).unwrap()
}

fn golden(name: &str, text: &str) {
    let path = folder().join("tests/golden").join(name);
    if std::env::var_os("OCLAVE_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{} differs; OCLAVE_BLESS=1 writes it again. New text:\n{text}",
        path.display()
    );
}

/// LLVM 19 has one type of pointers, and its translator guesses the others: `this` is a pointer to
/// a pointer there. The offset of a virtual base lies in front of what that leads to, and no device
/// has such a place.
#[test]
fn offsets_of_virtual_bases_are_asked_for_through_opaque_pointers() {
    let images = link(fixture("virtual_bases.llvm19"), SplitMode::PerSource).unwrap();
    let mut asked = 0;
    for module in images.iter().map(module_of) {
        assert_valid("an image", &module);
        let ids = |op| module.instructions().filter(move |i| i.is(op)).filter_map(|i| i.result_id());
        let variables: Vec<u32> = ids(Op::Variable).collect();
        let offsets: Vec<u32> =
            module.names().filter(|(_, name)| name == "__vfo_i64").map(|(id, _)| id).collect();
        let integer = |id: u32| module.instructions().any(|i| i.result_id() == Some(id) && i.is(Op::TypeInt));
        for instruction in module.instructions() {
            let operand = instruction.operand(0);
            asked += usize::from(
                instruction.is(Op::FunctionCall) && operand.is_some_and(|id| offsets.contains(&id)),
            );
            let Some((of, pointer)) = instruction.result_type().zip(operand) else { continue };
            if instruction.is(Op::Load) && integer(of) {
                let ty =
                    module.instructions().find(|i| i.result_id() == Some(pointer)).unwrap().result_type();
                let class =
                    module.instructions().find(|i| i.result_id() == ty).and_then(|i| i.operand(0)).unwrap();
                let is_private = class == StorageClass::Function as u32;
                assert!(!is_private || variables.contains(&pointer), "a load at word {}", instruction.at);
            }
        }
    }
    assert_eq!(asked, 16);
}

#[test]
fn what_images_tell() {
    for name in FIXTURES {
        let images = link(fixture(name), SplitMode::PerSource).unwrap();
        let dumps: Vec<String> = images.iter().map(DeviceImage::dump).collect();
        golden(&format!("{name}.txt"), &dumps.join("\n"));
    }
}

#[test]
fn lowered_code() {
    let images = link(fixture("virtual_basic.O2"), SplitMode::PerKernel).unwrap();
    for name in ["unit.use", "unit.make", "unit.set.shapes"] {
        let image = images.iter().find(|image| image.name == name).unwrap();
        golden(&format!("virtual.{name}.spvasm"), &disassemble(&module_of(image)));
    }
}

#[test]
fn results_are_valid_and_have_no_function_pointers() {
    for name in FIXTURES {
        for split in [SplitMode::PerSource, SplitMode::PerKernel] {
            for image in link(fixture(name), split).unwrap() {
                let module = for_device(&image);
                check::check(&module).unwrap_or_else(|error| panic!("{name}, {}: {error}", image.name));
                assert_valid(&format!("{name}, {}", image.name), &module);
                let text = disassemble(&module);
                for gone in ["FunctionPointer", "_ZTV", "6409", "oclave:"] {
                    assert!(!text.contains(gone), "{name}, {}: {gone} in\n{text}", image.name);
                }
            }
        }
    }
}

#[test]
fn images_are_the_same_every_time_and_survive_the_container() {
    for name in FIXTURES {
        let images = link(fixture(name), SplitMode::PerKernel).unwrap();
        assert_eq!(images, link(fixture(name), SplitMode::PerKernel).unwrap());
        for image in images {
            assert_eq!(DeviceImage::from_bytes(&image.to_bytes()).unwrap(), image);
        }
    }
}

/// What one image imports another exports, or a dispatcher is made of it; the levels of a set do
/// not meet.
#[test]
fn exports_are_those_that_images_tell_of() {
    for name in FIXTURES {
        let images = link(fixture(name), SplitMode::PerSource).unwrap();
        for image in &images {
            let told = image.virtual_functions().unwrap();
            let linkage = |module: &Module, kind: &str| -> Vec<String> {
                let text = disassemble(module);
                let lines =
                    text.lines().filter(|line| line.contains("LinkageAttributes") && line.ends_with(kind));
                let mut names: Vec<String> =
                    lines.filter_map(|l| Some(l.split('"').nth(1)?.to_owned())).collect();
                names.retain(|name| !name.starts_with("__spirv_BuiltIn") && name != "__vfo_i64");
                names.sort();
                names
            };
            let module = module_of(image);
            let wrappers: Vec<&str> = told.functions.iter().map(|f| f.wrapper.as_str()).collect();
            let mut exports = linkage(&module, "Export");
            assert_eq!(exports.len(), wrappers.len(), "{name}, {}", image.name);
            assert!(wrappers.iter().all(|wrapper| exports.contains(&(*wrapper).to_owned())));
            let dispatchers: Vec<&str> = told.dispatchers.iter().map(|d| d.name.as_str()).collect();
            assert_eq!(linkage(&module, "Import"), dispatchers, "{name}, {}", image.name);
            let third = virtual_functions::at_level(&module, 2).unwrap();
            exports.iter_mut().for_each(|name| name.push_str("__d2"));
            assert_eq!(linkage(&third, "Export"), exports);
            assert!(linkage(&third, "Import").iter().all(|name| name.ends_with("__d3")));
        }
    }
}

#[test]
fn one_name_in_two_programs_is_one_code_unless_it_is_hidden() {
    let of = |unit: &str| {
        let unit = TranslationUnit::new(unit, fixture("virtual_inherit.O2"));
        let images = post_link(&[unit], &PostLinkOptions::default()).unwrap();
        images.iter().flat_map(|image| image.virtual_functions().unwrap().slots).collect::<Vec<_>>()
    };
    let (first, second) = (of("first"), of("second"));
    let codes = |slots: &[oclave_image::VirtualSlot], hidden: bool| -> Vec<u64> {
        let chosen = slots.iter().filter(|slot| slot.function.contains("Hidden") == hidden);
        chosen.map(|slot| slot.code).collect()
    };
    // The hidden class inherits functions: their slots are its own, too.
    let shared = codes(&first, false).iter().filter(|code| codes(&second, false).contains(code)).count();
    assert!(shared >= 12, "{shared}");
    assert!(codes(&first, true).iter().all(|code| !codes(&second, true).contains(code)));
    assert!(!codes(&first, true).is_empty());
}

#[test]
fn functions_in_two_sets_are_exported_by_both() {
    let images = link(fixture("virtual_inherit.O2"), SplitMode::PerSource).unwrap();
    let providers: Vec<String> = images
        .iter()
        .flat_map(|image| image.virtual_functions().unwrap().functions)
        .filter(|function| function.name.contains("1B1gE"))
        .map(|function| function.wrapper)
        .collect();
    assert_eq!(providers.len(), 2);
    assert_ne!(providers[0], providers[1]);
}

/// Equal types that came from different ones are one again.
#[test]
fn types_are_merged() {
    let module = for_device(&link(fixture("virtual_basic.O0"), SplitMode::PerSource).unwrap()[0]);
    let pointers: Vec<&[u32]> =
        module.instructions().filter(|i| i.is(Op::TypePointer)).map(|i| i.operands()).collect();
    assert!(pointers.iter().enumerate().all(|(i, a)| !pointers[..i].contains(a)), "{pointers:?}");
    assert_eq!(virtual_functions::merge_types(&module).unwrap(), module);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_modules_give_errors_or_images(
        which in 0..FIXTURES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u32..1024), 1..8),
    ) {
        let mut words = fixture(FIXTURES[which]).into_words();
        for (at, value) in edits {
            let at = 5 + at.index(words.len() - 5);
            words[at] = if value < 512 { words[at] ^ (1 << (value % 32)) } else { value - 512 };
        }
        if let Ok(module) = Module::from_words(words) {
            match link(module, SplitMode::PerSource) {
                Ok(images) => images.iter().for_each(|image| { let _ = image.dump(); }),
                Err(ImageError::Container { .. }) => prop_assert!(false, "not of containers"),
                Err(_) => {}
            }
        }
    }
}
