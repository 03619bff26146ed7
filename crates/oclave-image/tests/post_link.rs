//! Post-link on compiled kernels: golden dumps, what it refuses, and modules that are damaged.
//!
//! `OCLAVE_BLESS=1 cargo test` writes the golden files again.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oclave_image::passes::{
    GLOBAL_ACCESS_KERNEL, add_global_access_kernel, image_scope_initial_values,
    lower_globals_to_hidden_argument, signatures,
};
use oclave_image::{
    Aspects, DeviceImage, DeviceTarget, ImageError, InitialValue, PostLinkOptions, SplitMode,
    TranslationUnit, disassemble, legalize, post_link,
};
use oclave_spirv::transform::strip;
use oclave_spirv::{Instruction, Module, Op, StorageClass, Version};
use proptest::prelude::*;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn fixture(name: &str) -> Module {
    Module::from_bytes(&std::fs::read(folder("fixtures").join(format!("{name}.spv"))).unwrap()).unwrap()
}

fn options(split: SplitMode) -> PostLinkOptions {
    let mut options = PostLinkOptions::default();
    options.split = split;
    options
}

fn link(name: &str, split: SplitMode) -> oclave_image::Result<Vec<DeviceImage>> {
    let stem = name.split('.').next().unwrap();
    post_link(&[TranslationUnit::new(stem, fixture(name))], &options(split))
}

fn module_of(image: &DeviceImage) -> Module {
    Module::from_words(image.spirv.clone()).unwrap()
}

fn golden(name: &str, text: &str) {
    let path = folder("golden").join(name);
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

#[test]
fn dumps_of_all_fixtures() {
    for name in [
        "globals.O2",
        "globals.O0",
        "globals32.O2",
        "features.O2",
        "signatures.O2",
        "constants.O2",
        "classes.O2",
        "class_globals.O2",
    ] {
        let images = link(name, SplitMode::PerSource).unwrap();
        let dumps: Vec<String> = images.iter().map(DeviceImage::dump).collect();
        golden(&format!("{name}.txt"), &dumps.join("\n"));
    }
}

#[test]
fn rewritten_code() {
    let images = link("globals.O2", SplitMode::PerKernel).unwrap();
    let plain = images.iter().find(|image| image.name == "globals.plain").unwrap();
    golden("globals.plain.spvasm", &disassemble(&module_of(plain)));
    // Addresses that are constant expressions of the module become instructions.
    let images = link("globals.expr", SplitMode::PerKernel).unwrap();
    let address = images.iter().find(|image| image.name == "globals.address").unwrap();
    let module = module_of(address);
    assert!(fixture("globals.expr").instructions().any(|i| i.is(Op::SpecConstantOp)), "the fixture has some");
    assert!(!module.instructions().any(|i| i.is(Op::SpecConstantOp)));
    golden("globals.address.spvasm", &disassemble(&module));
}

#[test]
fn images_survive_the_container_and_are_the_same_every_time() {
    for name in ["globals.O2", "features.O2", "signatures.O2", "constants.O2", "classes.O0"] {
        let images = link(name, SplitMode::PerKernel).unwrap();
        assert_eq!(images, link(name, SplitMode::PerKernel).unwrap());
        for image in images {
            assert_eq!(DeviceImage::from_bytes(&image.to_bytes()).unwrap(), image);
        }
    }
}

/// What spirv-val of SPIRV-Tools says of everything that post-link writes.
#[test]
fn results_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let validate = |name: &str, module: &Module| {
        let path = folder.path().join("module.spv");
        std::fs::write(&path, module.to_bytes()).unwrap();
        let output = std::process::Command::new("spirv-val").arg(&path).output()?;
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {text}\n{}", disassemble(module));
        Ok::<(), std::io::Error>(())
    };
    let mut validated = 0;
    for name in [
        "globals.O2",
        "globals.O0",
        "globals.expr",
        "globals32.O2",
        "shared.O2",
        "shared.expr",
        "features.O2",
        "signatures.O2",
        "constants.O2",
        "weak_exchange.O2",
        "classes.O0",
        "classes.O2",
        "class_globals.O2",
        "literal_members.O0",
    ] {
        for split in [SplitMode::PerSource, SplitMode::PerKernel, SplitMode::Off] {
            for image in link(name, split).unwrap() {
                // The validator may be older than the decorations of global variables.
                let module = strip::strip(&module_of(&image), |_| false).unwrap();
                if validate(&image.name, &module).is_err() {
                    println!("skipped: spirv-val is not installed");
                    return;
                }
                let access = add_global_access_kernel(&module, &image.device_globals().unwrap()).unwrap();
                validate(&image.name, &access).unwrap();
                validated += 2;
                if let Ok(lowered) =
                    lower_globals_to_hidden_argument(&module, &image.device_globals().unwrap())
                {
                    validate(&image.name, &lowered.module).unwrap();
                    validated += 1;
                }
            }
        }
    }
    assert!(validated > 50, "{validated} modules");
}

/// Modules have no private variables, so that of a vector literal becomes one of each function.
#[test]
fn private_variables_of_a_module_move_into_functions() {
    let is_private =
        |i: &Instruction<'_>| i.is(Op::Variable) && i.operand(0) == Some(StorageClass::Function as u32);
    let before_code = |module: &Module| -> usize { module.global_instructions().filter(is_private).count() };
    assert_eq!(before_code(&fixture("literal_members.O0")), 1, "the fixture has one");
    let image = link("literal_members.O0", SplitMode::PerKernel).unwrap().remove(0);
    let module = module_of(&image);
    assert_eq!(before_code(&module), 0);
    let initialised = module.instructions().filter(is_private).filter(|i| i.operands().len() == 2);
    assert_eq!(initialised.count(), 1);
    legalize(&image, &DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() }).unwrap();
}

/// The numbers of SPV_INTEL_global_variable_host_access and _fpga_decorations, or of the extension
/// before them, or none.
#[test]
fn weak_exchanges_become_strong() {
    let module = fixture("weak_exchange.O2");
    let count = |module: &Module, op: Op| module.instructions().filter(|i| i.is(op)).count();
    assert_eq!(count(&module, Op::AtomicCompareExchangeWeak), 1);
    let images = link("weak_exchange.O2", SplitMode::Off).unwrap();
    let linked = module_of(&images[0]);
    assert_eq!(count(&linked, Op::AtomicCompareExchangeWeak), 0);
    assert_eq!(count(&linked, Op::AtomicCompareExchange), 1);
}

#[test]
fn devices_get_the_decorations_that_they_take() {
    let image = link("class_globals.O2", SplitMode::Off).unwrap().remove(0);
    let decorations = |taken: &[u32]| {
        let basic = [4, 5, 6, 11, 38, 39].into_iter().chain(taken.iter().copied());
        let target = DeviceTarget {
            spirv_version: Version::V1_4,
            aspects: Aspects::all(),
            capabilities: Some(basic.collect()),
            ..DeviceTarget::default()
        };
        let module = Module::from_words(legalize(&image, &target).unwrap()).unwrap();
        let numbers = |op: Op, operand: usize| {
            let found = module.instructions().filter(|i| i.is(op)).filter_map(|i| i.operand(operand));
            found.filter(|number| (6146..=6191).contains(number)).collect::<Vec<u32>>()
        };
        let mut decorations = numbers(Op::Decorate, 1);
        decorations.sort_unstable();
        (numbers(Op::Capability, 0), decorations)
    };
    let count = image.device_globals().unwrap().len();
    let all = |host_access, others: [u32; 2]| [vec![host_access; count], others.to_vec()].concat();
    assert_eq!(decorations(&[6187, 6189]), (vec![6187, 6189], all(6188, [6190, 6191])));
    assert_eq!(decorations(&[6146]), (vec![6146], all(6147, [6148, 6149])));
    assert_eq!(decorations(&[6146, 6189]), (vec![6189, 6146], all(6147, [6190, 6191])));
    assert_eq!(decorations(&[6187]), (vec![6187], vec![6188; count]));
    assert_eq!(decorations(&[]), (vec![], vec![]));
    let module = module_of(&image);
    let named =
        module.instructions().find(|i| i.operand(1) == Some(6188) && i.string_is(3, "shared")).unwrap();
    assert_eq!(named.operand(2), Some(2), "host_access_write");
}

#[test]
fn aspects_are_those_of_what_a_kernel_calls() {
    let kernels = signatures(&fixture("features.O2")).unwrap();
    let aspects: BTreeMap<&str, Aspects> = kernels.iter().map(|k| (k.name.as_str(), k.aspects)).collect();
    for (kernel, expected) in [
        ("nothing", Aspects::empty()),
        ("storage", Aspects::GENERIC_POINTER),
        ("doubles", Aspects::FP64),
        ("halves", Aspects::FP16),
        ("atomics32", Aspects::empty()),
        ("atomics64", Aspects::ATOMIC64 | Aspects::GENERIC_POINTER),
        ("reads", Aspects::IMAGE),
        ("writes3d", Aspects::IMAGE | Aspects::IMAGE_3D_WRITE),
        ("read_writes", Aspects::IMAGE | Aspects::IMAGE_READ_WRITE),
        ("sub_groups", Aspects::SUB_GROUPS),
        ("sub_group_ids", Aspects::SUB_GROUPS),
        ("collectives", Aspects::WORK_GROUP_COLLECTIVES),
        ("copies", Aspects::GENERIC_POINTER),
        ("generic_pointers", Aspects::GENERIC_POINTER),
        ("variables", Aspects::PROGRAM_SCOPE_VARIABLES),
        ("constants", Aspects::empty()),
    ] {
        assert_eq!(aspects.get(kernel), Some(&expected), "{kernel}");
    }
}

#[test]
fn images_hold_what_their_kernels_need_and_no_more() {
    let images = link("globals.O2", SplitMode::PerSource).unwrap();
    let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    assert_eq!(names, ["globals", "globals.fp64"]);
    let ids =
        |image: &DeviceImage| image.device_globals().unwrap().into_iter().map(|g| g.id).collect::<Vec<_>>();
    // No kernel uses never_used, but the host may read its initial value.
    assert_eq!(ids(&images[0]), ["counter", "never_used"]);
    assert!(!ids(&images[1]).contains(&"never_used".to_owned()));
    let capabilities = |image: &DeviceImage| {
        let module = module_of(image);
        module
            .instructions()
            .filter(|i| i.is(Op::Capability))
            .filter_map(|i| i.operand(0))
            .collect::<Vec<_>>()
    };
    let fp64 = 10;
    assert!(!capabilities(&images[0]).contains(&fp64));
    assert!(capabilities(&images[1]).contains(&fp64));
    // The function around which llvm-spirv wraps the kernel, and what it calls, are not for other
    // modules.
    let text = disassemble(&module_of(&images[1]));
    let exports: Vec<&str> = text.lines().filter(|line| line.contains("Export")).collect();
    assert_eq!(exports.len(), 7, "only device globals are exported: {exports:#?}");
    assert!(!text.contains("UserSemantic \"oclave:"), "{text}");
}

#[test]
fn kernels_follow_their_sources() {
    let mut unit = TranslationUnit::new("program", fixture("globals.O2"));
    for (kernel, source) in [("count", "first"), ("address", "first"), ("plain", "second")] {
        unit.kernel_sources.insert(kernel.to_owned(), source.to_owned());
    }
    let names = |split| {
        let images = post_link(std::slice::from_ref(&unit), &options(split)).unwrap();
        images.into_iter().map(|image| image.name).collect::<Vec<_>>()
    };
    assert_eq!(names(SplitMode::PerSource), ["first", "second"]);
    assert_eq!(names(SplitMode::PerKernel), ["first.address", "first.count", "second.plain"]);
    assert_eq!(names(SplitMode::Off), ["program", "program.fp64"]);
}

/// Units of one program that were not linked together.
#[test]
fn units_must_agree_on_a_variable() {
    for (other, wanted) in [
        ("other_size", ["two sizes", "4 in globals, 8 in other_size"]),
        ("other_scope", ["two scopes", "none in globals, device_image_scope in other_scope"]),
    ] {
        let units = ["globals", other].map(|name| TranslationUnit::new(name, fixture(&format!("{name}.O2"))));
        let error = post_link(&units, &options(SplitMode::PerSource)).unwrap_err();
        assert!(matches!(error, ImageError::Diagnostic(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("`counter`") && wanted.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn linked_sources_share_externals_and_keep_statics_apart() {
    let mut unit = TranslationUnit::new("program", fixture("linked.O2"));
    unit.kernel_sources.insert("one".to_owned(), "linked_first".to_owned());
    unit.kernel_sources.insert("two".to_owned(), "linked_second".to_owned());
    let images = post_link(&[unit], &PostLinkOptions::default()).unwrap();
    let ids = |image: &DeviceImage| {
        image.device_globals().unwrap().into_iter().map(|g| (g.id, g.initial)).collect::<Vec<_>>()
    };
    let global = |id: &str, initial: u8| (id.to_owned(), InitialValue::from(vec![initial, 0, 0, 0]));
    assert_eq!(
        images.iter().map(|image| image.name.as_str()).collect::<Vec<_>>(),
        ["linked_first", "linked_second"]
    );
    assert_eq!(ids(&images[0]), [global("linked_first.own", 3), global("total", 7)]);
    assert_eq!(ids(&images[1]), [global("linked_second.own", 3), global("total", 7)]);
}

#[test]
fn the_access_kernel_wants_the_variables() {
    let images = link("globals.O2", SplitMode::PerSource).unwrap();
    let globals = images[1].device_globals().unwrap();
    let module = add_global_access_kernel(&module_of(&images[1]), &globals).unwrap();
    assert!(
        signatures(&module)
            .unwrap()
            .iter()
            .any(|k| k.name == GLOBAL_ACCESS_KERNEL && k.parameters.len() == 1)
    );
    let error = add_global_access_kernel(&module_of(&images[0]), &globals).unwrap_err().to_string();
    assert!(error.contains("no such variable"), "{error}");
    // Before post-link a variable is no pointer.
    let error = add_global_access_kernel(&fixture("globals.O2"), &globals[..1]).unwrap_err().to_string();
    assert!(error.contains("no pointer"), "{error}");
}

#[test]
fn a_hidden_argument_takes_the_place_of_the_variables() {
    let image = link("shared.O2", SplitMode::PerSource).unwrap().remove(0);
    let globals = image.device_globals().unwrap();
    let lowered = lower_globals_to_hidden_argument(&module_of(&image), &globals).unwrap();
    assert_eq!(lowered.kernels.iter().collect::<Vec<_>>(), ["address", "count"]);
    golden("shared.hidden.spvasm", &disassemble(&lowered.module));
    let in_global_memory = |module: &Module| {
        module.instructions().filter(|i| i.is(Op::Variable) && i.operand(0) == Some(5)).count()
    };
    assert_eq!((in_global_memory(&module_of(&image)), in_global_memory(&lowered.module)), (3, 0));
    let parameters = |module: &Module| {
        signatures(module)
            .unwrap()
            .into_iter()
            .map(|k| (k.name, k.parameters.len()))
            .collect::<BTreeMap<_, _>>()
    };
    for (kernel, before) in parameters(&module_of(&image)) {
        let hidden = usize::from(lowered.kernels.contains(&kernel));
        assert_eq!(parameters(&lowered.module).get(&kernel), Some(&(before + hidden)), "{kernel}");
    }
}

#[test]
fn variables_with_device_image_scope_get_their_place_from_the_hidden_argument() {
    let image = link("scopes.O2", SplitMode::Off).unwrap().remove(0);
    let globals = image.device_globals().unwrap();
    let lowered = lower_globals_to_hidden_argument(&module_of(&image), &globals).unwrap();
    assert_eq!(lowered.kernels.iter().collect::<Vec<_>>(), ["a", "b"]);
    golden("scopes.hidden.spvasm", &disassemble(&lowered.module));
    assert_eq!(
        image_scope_initial_values(&module_of(&image), &globals).unwrap(),
        [InitialValue::from(9_i32.to_le_bytes().to_vec())]
    );
    // Shared ones have their values in the property sets.
    let shared = link("shared.O2", SplitMode::PerSource).unwrap().remove(0);
    let globals = shared.device_globals().unwrap();
    let values = image_scope_initial_values(&module_of(&shared), &globals).unwrap();
    assert!(values.len() == globals.len() && values.iter().all(InitialValue::is_zero), "{values:?}");
}

#[test]
fn diagnostics_name_the_variable_and_the_remedy() {
    for (name, wanted) in [
        ("bad_constant", ["`numbers`", "declare it __global"]),
        ("bad_extern", ["`elsewhere`", "no source of the program defines it"]),
        ("bad_address", ["`pointer`", "address of device global `target`"]),
        ("bad_value", ["`pointer`", "address"]),
        ("bad_const_write", ["`fixed`", "drop const"]),
        ("bad_property", ["`typo`", "\"device_scope\" is not known"]),
        ("bad_class_array", ["`array`", "device_global<T[N]>"]),
        ("bad_class_static", ["inside", "declared in a function"]),
        ("bad_class_dynamic", ["bad_class_dynamic.clcpp", "no constant"]),
        ("bad_function", ["`k`", "before a variable"]),
        ("bad_spec_id", ["FIRST", "share the id 3"]),
    ] {
        let error = link(&format!("{name}.O2"), SplitMode::Off).unwrap_err();
        assert!(matches!(error, ImageError::Diagnostic(_)), "{name}: {error:?}");
        let text = error.to_string();
        assert!(wanted.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
}

#[test]
fn variables_with_one_instance_for_each_program_stay_in_one() {
    assert_eq!(link("scopes.O2", SplitMode::Off).unwrap().len(), 1);
    let error = link("scopes.O2", SplitMode::PerKernel).unwrap_err().to_string();
    assert_eq!(
        error,
        "device_global variable own with property \"device_image_scope\" is used in more than one device image: \
         scopes.a, scopes.b (declared in source `scopes`)"
    );
    let images = link("plain.O2", SplitMode::Off).unwrap();
    let kernels = |image: &DeviceImage| image.kernels.iter().map(|k| k.name.clone()).collect::<Vec<_>>();
    // What uses no such variable is for devices that have none, too.
    let [alone, users] = &images[..] else { panic!("{} images", images.len()) };
    assert_eq!(
        (kernels(alone), kernels(users)),
        (vec!["c".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
    let error = link("plain.O2", SplitMode::PerKernel).unwrap_err().to_string();
    assert!(error.contains("`tally`") && error.contains("plain.a, plain.b)"), "{error}");
}

#[test]
fn units_must_agree_on_sizes() {
    let units = [("a", "globals.O2"), ("b", "globals.O2")]
        .map(|(stem, name)| TranslationUnit::new(stem, fixture(name)));
    assert_eq!(post_link(&units, &PostLinkOptions::default()).unwrap().len(), 4);
    let mut units = units.to_vec();
    units[1].module = halved_table(&units[1].module);
    let error = post_link(&units, &PostLinkOptions::default()).unwrap_err().to_string();
    assert!(error.contains("`zeroes`") && error.contains("8000") && error.contains("4000"), "{error}");
}

/// The module with 500 where it has the constant 1000.
fn halved_table(module: &Module) -> Module {
    let mut words = module.words().to_vec();
    for instruction in module.instructions() {
        if instruction.is(Op::Constant) && instruction.operand(0) == Some(1000) {
            words[instruction.at + 3] = 500;
        }
    }
    Module::from_words(words).unwrap()
}

/// Runs everything that takes a module. Errors are welcome, panics are not.
fn exercise(module: &Module) {
    let _ = disassemble(module);
    let _ = signatures(module);
    for split in [SplitMode::PerSource, SplitMode::PerKernel] {
        let Ok(images) = post_link(&[TranslationUnit::new("m", module.clone())], &options(split)) else {
            continue;
        };
        for image in images {
            let _ = image.dump();
            let module = Module::from_words(image.spirv.clone()).unwrap();
            if let Ok(globals) = image.device_globals() {
                let _ = add_global_access_kernel(&module, &globals);
                let _ = lower_globals_to_hidden_argument(&module, &globals);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_modules_never_panic(
        which in 0usize..9,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0u8..4), 1..8),
    ) {
        let names =
            ["globals.O2", "globals.expr", "features.O2", "signatures.O2", "constants.O2", "classes.O0", "globals32.O2", "scopes.O2", "shared.expr"];
        let mut words = fixture(names[which]).into_words();
        let bound = words[3];
        for (at, value, how) in edits {
            let at = at.index(words.len());
            match how {
                0 => words[at] = value,
                // Another id, another small number, another word count or opcode: what looks sound
                // at first sight.
                1 => words[at] = value % bound,
                2 => words[at] = words[at] & 0xffff_0000 | (value % 400),
                _ => words[at] ^= 1 << (value % 32),
            }
        }
        if let Ok(module) = Module::from_words(words) {
            exercise(&module);
        }
    }

    #[test]
    fn shuffled_instructions_never_panic(seed in any::<[u64; 4]>(), which in 0usize..3) {
        let module = fixture(["globals.expr", "constants.O2", "classes.O2"][which]);
        let mut parts: Vec<&[u32]> = module.instructions().map(|i| i.words).collect();
        for (i, s) in seed.iter().enumerate() {
            let length = parts.len();
            let a = (*s as usize) % length;
            let b = ((*s >> 32) as usize + i) % length;
            parts.swap(a, b);
        }
        let mut words = module.words()[..5].to_vec();
        parts.iter().for_each(|part| words.extend_from_slice(part));
        exercise(&Module::from_words(words).unwrap());
    }
}

/// `globals_addresses.cl` and `globals_cpp_define.clcpp` of `kernels/tests`. From opaque pointers,
/// translators write bytes as indices and calls that change the type of a pointer.
#[test]
fn variables_are_the_same_from_typed_and_from_opaque_pointers() {
    for name in ["globals_addresses", "globals_cpp_define"] {
        let [typed, others @ ..] = ["llvm15", "llvm18", "llvm19", "llvm22"].map(|of| {
            let images = link(&format!("{name}.{of}"), SplitMode::PerSource).unwrap();
            let target = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
            images.iter().for_each(|image| drop(legalize(image, &target).unwrap()));
            images.iter().map(|image| image.device_globals().unwrap()).collect::<Vec<_>>()
        });
        assert!(!typed.concat().is_empty());
        others.iter().for_each(|opaque| assert_eq!(&typed, opaque, "{name}"));
    }
}
