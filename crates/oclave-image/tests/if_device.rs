//! Programs that were compiled once for both sides: what post-link gives each of them.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use oclave_image::{
    Aspects, DeviceImage, ImageError, PostLinkOptions, PropertyValue, SIDES, Side, SplitMode,
    TranslationUnit, post_link,
};
use oclave_spirv::check;
use oclave_spirv::transform::capabilities;
use oclave_spirv::{Capability, Module, Op};

const LEVELS: [&str; 2] = ["sides.O0", "sides.O2"];

fn fixture(name: &str) -> Module {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("{name}.spv"));
    Module::from_bytes(&std::fs::read(path).unwrap()).unwrap()
}

fn link(name: &str, split: SplitMode) -> Vec<DeviceImage> {
    let mut options = PostLinkOptions::default();
    options.split = split;
    post_link(&[TranslationUnit::new("sides", fixture(name))], &options).unwrap()
}

fn module(image: &DeviceImage) -> Module {
    Module::from_words(image.spirv.clone()).unwrap()
}

fn image<'a>(images: &'a [DeviceImage], name: &str) -> &'a DeviceImage {
    images.iter().find(|image| image.name == name).unwrap()
}

fn doubles(module: &Module) -> usize {
    module.instructions().filter(|i| i.is(Op::TypeFloat) && i.operand(0) == Some(64)).count()
}

#[test]
fn each_side_has_its_images() {
    for level in LEVELS {
        let images = link(level, SplitMode::PerKernel);
        let sides: Vec<_> =
            images.iter().map(|image| (image.name.as_str(), image.side().unwrap().unwrap())).collect();
        let expected = [
            ("sides.neither", Side::Device),
            ("sides.neither.host", Side::Host),
            ("sides.sides", Side::Device),
            ("sides.sides.host", Side::Host),
        ];
        assert_eq!(sides, expected, "{level}");
        assert!(images.iter().all(|image| image.dump().contains("side: ")));
    }
}

#[test]
fn what_only_the_host_uses_is_not_needed_by_devices() {
    for level in LEVELS {
        let images = link(level, SplitMode::Off);
        let names: Vec<_> = images.iter().map(|image| image.name.as_str()).collect();
        assert_eq!(names, ["sides", "sides.fp64.host", "sides.host"], "{level}");
        let (device, host) = (image(&images, "sides"), image(&images, "sides.fp64.host"));
        assert!(!device.kernel("sides").unwrap().aspects.contains(Aspects::FP64));
        assert!(host.kernel("sides").unwrap().aspects.contains(Aspects::FP64));
        let fp64 = Capability::Float64 as u32;
        assert!(!capabilities::declared(&module(device)).any(|c| c == fp64), "{level}");
        assert!(capabilities::declared(&module(host)).any(|c| c == fp64), "{level}");
        assert_eq!((doubles(&module(device)), doubles(&module(host))), (0, 1), "{level}");
    }
}

#[test]
fn what_only_devices_use_is_not_in_the_hosts_image() {
    for level in LEVELS {
        let images = link(level, SplitMode::PerKernel);
        let name = |image: &Module, text: &str| image.names().any(|(_, name)| name.contains(text));
        let host = module(image(&images, "sides.sides.host"));
        let device = module(image(&images, "sides.sides"));
        assert!(name(&host, "call_on_host") && !name(&host, "call_on_device"), "{level}");
        assert!(name(&device, "call_on_device") && !name(&device, "call_on_host"), "{level}");
        assert!(!name(&device, "deep") && !name(&host, "__oclave_on_host"), "{level}");
    }
}

/// At -O0 no function may be inlined, whatever it is.
#[test]
fn bodies_may_be_inlined_again() {
    for image in link("sides.O2", SplitMode::PerKernel) {
        let kept = module(&image);
        let controls: Vec<u32> =
            kept.instructions().filter(|i| i.is(Op::Function)).filter_map(|i| i.operand(0)).collect();
        assert!(!controls.is_empty());
        assert!(controls.iter().all(|control| control & 2 == 0), "{}: {controls:?}", image.name);
    }
}

#[test]
fn both_sides_are_sound_modules() {
    let folder = tempfile::tempdir().unwrap();
    for level in LEVELS {
        for image in link(level, SplitMode::PerSource) {
            let module = module(&image);
            check::check(&module).unwrap();
            let path = folder.path().join("module.spv");
            std::fs::write(&path, module.to_bytes()).unwrap();
            match std::process::Command::new("spirv-val").arg(&path).output() {
                Ok(output) => assert!(output.status.success(), "{level}, {}: {output:?}", image.name),
                Err(_) => println!("skipped: spirv-val is not installed"),
            }
        }
    }
}

#[test]
fn a_program_without_bodies_serves_both() {
    let images = post_link(&[TranslationUnit::new("f", fixture("features.O2"))], &PostLinkOptions::default());
    assert!(images.unwrap().iter().all(|image| image.side().unwrap().is_none()));
}

#[test]
fn an_unknown_side_is_an_error() {
    let mut image = DeviceImage::default();
    image.properties.insert(SIDES, "side", PropertyValue::U32(2));
    assert!(matches!(image.side(), Err(ImageError::Property { .. })));
    assert!(image.dump().contains("side: "));
}
