//! What is done with bytes of any kind: the body of the fuzz target, and of the bounded test that
//! runs without it.

use oclave_faults::{Driver, Family, FaultSet, Version};
use oclave_image::passes::{LinkInput, interpreter, link_modules, signatures};
use oclave_image::{
    Aspects, DeviceImage, DeviceTarget, PostLinkOptions, TranslationUnit, legalize, post_link,
};
use oclave_spirv::check;
use oclave_spirv::transform::capabilities;
use oclave_spirv::transform::dce;
use oclave_spirv::transform::strip;
use oclave_spirv::transform::unroll::unroll;
use oclave_spirv::transform::version;
use oclave_spirv::{Definitions, Editor, Module, Op, Type, TypeTable};

/// Reads `bytes` as a module and as a device image, and runs every pass. Must not panic, whatever
/// they are.
pub(crate) fn everything(bytes: &[u8]) {
    if let Ok(image) = DeviceImage::from_bytes(bytes) {
        let _ = image.dump();
    }
    let Ok(module) = Module::from_bytes(bytes) else { return };
    assert_eq!(module.to_bytes(), bytes, "the round trip is exact");
    look_at_everything(&module);

    let sound = check::check(&module).is_ok();
    let copied = copy(&module);
    let still_sound = |name: &str, result: Option<Module>| {
        let Some(after) = result else { return };
        if sound && let Err(error) = check::check(&after) {
            panic!("{name} broke a sound module: {error}");
        }
    };
    if sound {
        assert!(copied.as_ref() == Some(&module), "a sound module is copied exactly");
    }
    still_sound("copying", copied);
    still_sound("dce of everything", dce::eliminate(&module, |_| true).ok());
    still_sound("dce of exports", dce::eliminate(&module, |root| matches!(root, dce::Root::Export(_))).ok());
    still_sound(
        "dce of kernels",
        dce::eliminate(&module, |root| matches!(root, dce::Root::EntryPoint(_))).ok(),
    );
    still_sound("pruning", capabilities::prune(&module).ok());
    still_sound("stripping", strip::strip(&module, |_| false).ok());
    still_sound("unrolling", unroll(module.clone()).ok());
    still_sound("lowering to 1.0", version::lower(&module, oclave_spirv::Version::V1_0).ok());
    still_sound("lowering to 1.2", version::lower(&module, oclave_spirv::Version::V1_2).ok());

    still_sound("linking", link_modules(&[part("fuzz", &module), part("library", library())], |_| true).ok());
    let _ = link_modules(&[part("fuzz", &module), part("itself", &module)], |_| true);
    for (serial_work_items, wide_groups) in [(false, false), (true, false), (false, true)] {
        let target = DeviceTarget { serial_work_items, wide_groups, ..DeviceTarget::default() };
        still_sound(
            "interpreter",
            interpreter::interpreter_module(&module, &target, 1 << 20).map(|made| made.module).ok(),
        );
    }

    let _ = signatures(&module);
    let image = DeviceImage { spirv: module.words().to_vec(), ..DeviceImage::default() };
    for (name, target) in targets() {
        if let Ok(words) = legalize(&image, &target) {
            let legal = Module::from_words(words).unwrap();
            check::check(&legal).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(legal.version() <= target.spirv_version, "{name}");
        }
    }
    let unit = TranslationUnit::new("fuzz", module);
    let _ = post_link(&[unit], &PostLinkOptions::default());
}

/// A device without faults, and devices with all faults of each driver.
pub(crate) fn targets() -> [(&'static str, DeviceTarget); 5] {
    let plain = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
    let of = |family: Family, version: Version| {
        let faults = FaultSet::of(&Driver { family, version, is_cpu: true });
        DeviceTarget { faults, ..plain.clone() }
    };
    let pocl6 = DeviceTarget {
        serial_work_items: true,
        vector_argument_bytes: 16,
        ..of(Family::Pocl, Version(6, 0))
    };
    let pocl7 = DeviceTarget { serial_work_items: true, ..of(Family::Pocl, Version(7, 1)) };
    [
        ("legalizing for Intel", of(Family::IntelCpu, Family::IntelCpu.newest_seen())),
        ("legalizing for PoCL 6", pocl6),
        ("legalizing for PoCL 7", pocl7),
        ("legalizing for rusticl", of(Family::Rusticl, Version(25, 0))),
        ("legalizing", plain),
    ]
}

/// Reads `bytes` as a device image: as they are, and with the size and the checksum that belong to
/// them.
pub(crate) fn container(bytes: &[u8]) {
    container_as_it_is(bytes);
    let mut repaired = bytes.to_vec();
    if repaired.len() >= 24 {
        let size = repaired.len() as u64;
        repaired[16..24].copy_from_slice(&size.to_le_bytes());
        let checksum = crc32fast::hash(&repaired[16..]);
        repaired[12..16].copy_from_slice(&checksum.to_le_bytes());
        container_as_it_is(&repaired);
    }
}

/// Reads everything that an image says. What was read is written and read again.
fn container_as_it_is(bytes: &[u8]) {
    let _ = DeviceImage::kernel_names(bytes);
    let Ok(image) = DeviceImage::from_bytes(bytes) else { return };
    let _ = (image.dump(), image.device_globals(), image.spec_constants(), image.requirements());
    let _ = image.virtual_functions();
    let again = DeviceImage::from_bytes(&image.to_bytes());
    assert!(again.as_ref() == Ok(&image), "an image that was read is written and read again");
}

/// Links the first half of `bytes` with the second, and each with the library.
pub(crate) fn link(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 8 * 4);
    let modules: Vec<Module> =
        [first, second].into_iter().filter_map(|b| Module::from_bytes(b).ok()).collect();
    let sound = modules.iter().all(|module| check::check(module).is_ok());
    let mut inputs: Vec<LinkInput<'_>> = modules.iter().map(|module| part("fuzz", module)).collect();
    inputs.push(part("library", library()));
    for merge in [false, true] {
        if let Ok(linked) = link_modules(&inputs, |_| merge)
            && sound
        {
            check::check(&linked).unwrap_or_else(|error| panic!("linking broke sound modules: {error}"));
        }
    }
}

/// Makes interpreter modules of `bytes`.
pub(crate) fn interpreted(bytes: &[u8]) {
    let Ok(module) = Module::from_bytes(bytes) else { return };
    let sound = check::check(&module).is_ok();
    for (serial_work_items, wide_groups) in [(false, false), (true, false), (false, true)] {
        let target = DeviceTarget { serial_work_items, wide_groups, ..DeviceTarget::default() };
        if let Ok(made) = interpreter::interpreter_module(&module, &target, 1 << 20)
            && sound
        {
            let verdict = check::check(&made.module);
            verdict.unwrap_or_else(|error| panic!("the interpreter pass broke a sound module: {error}"));
        }
    }
}

fn part<'m>(name: &'m str, module: &'m Module) -> LinkInput<'m> {
    LinkInput { name, module }
}

/// What modules are linked with.
fn library() -> &'static Module {
    static LIBRARY: std::sync::OnceLock<Module> = std::sync::OnceLock::new();
    LIBRARY.get_or_init(|| {
        let module = Module::from_bytes(include_bytes!("../fixtures/link_library.O2.spv"));
        strip::strip(&module.unwrap(), |_| false).unwrap()
    })
}

fn copy(module: &Module) -> Option<Module> {
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    edit.replace_uses(0, 0);
    edit.finish().ok().flatten()
}

/// Every accessor on every instruction.
fn look_at_everything(module: &Module) {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    for instruction in module.instructions() {
        for i in 0..instruction.words.len() + 1 {
            let _ = (instruction.string(i), instruction.after_string(i), instruction.operand(i));
            if i > 8 {
                break;
            }
        }
        instruction.visit_ids(&definitions, |index, _| {
            let Some(id) = instruction.word(index) else { return };
            let _ = (definitions.int_constant(id), definitions.type_of(id), types.align_bytes(id));
        });
        let Some(id) = instruction.result_id() else { continue };
        if let Some(Type::Struct { members }) = types.ty(id)
            && let Some(offsets) = types.member_offsets(id)
        {
            assert_eq!(members.len(), offsets.len());
            assert!(offsets.is_sorted(), "members follow each other");
        }
        assert!(types.align_bytes(id).is_power_of_two());
        let _ = (types.size_bytes(id), instruction.is(Op::Nop));
    }
}
