//! Images that bring along their functions of the library, and PTX.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use oclave_image::DeviceImage;
use oclave_ptx::{Library, PtxTarget, add_library, add_ptx, library_of, ptx_of, translate, translate_image};
use oclave_spirv::Module;

fn image(name: &str) -> DeviceImage {
    let (_, bytes) = support::modules().into_iter().find(|(known, _)| known == name).unwrap();
    let module = Module::from_bytes(&bytes).unwrap();
    DeviceImage { name: name.to_owned(), spirv: module.into_words(), ..DeviceImage::default() }
}

fn target(name: &str) -> PtxTarget {
    name.parse().unwrap()
}

#[test]
fn an_image_brings_what_it_needs_of_the_library() {
    if Library::installed().is_err() {
        println!("skipped: no libclc; ci/setup ptxas installs it");
        return;
    }
    let mut made = image("small.spv");
    let before = made.spirv.clone();
    assert_eq!(library_of(&made), Ok(None));
    assert_eq!(add_library(&mut made), Ok(true));
    assert_eq!(made.spirv, before, "the module stays as it is");
    let read = DeviceImage::from_bytes(&made.to_bytes()).unwrap();
    let part = library_of(&read).unwrap().unwrap();
    assert!(part.words().len() * 4 < 500_000, "only what is needed: {} words", part.words().len());
    let linked = oclave_ptx::link(&Module::from_words(read.spirv.clone()).unwrap(), &part).unwrap();
    let text = translate_image(&read, &target("sm_80")).unwrap();
    assert_eq!(text, translate(&linked, &target("sm_80")).unwrap());
    assert!(text.contains(".entry waves("), "{text}");

    let mut without = image("arith8.O2.spv");
    assert_eq!(add_library(&mut without), Ok(false));
    assert_eq!(library_of(&without), Ok(None));
}

#[test]
fn the_best_ptx_that_the_device_runs_is_taken() {
    let mut made = image("arith8.O2.spv");
    add_ptx(&mut made, &target("sm_80")).unwrap();
    add_ptx(&mut made, &target("sm_70")).unwrap();
    let made = DeviceImage::from_bytes(&made.to_bytes()).unwrap();
    for (device, held) in [("sm_70", "sm_70"), ("sm_75", "sm_70"), ("sm_80", "sm_80"), ("sm_90", "sm_80")] {
        let (of, text) = ptx_of(&made, &target(device)).unwrap();
        assert_eq!(of, target(held), "{device}");
        assert!(text.contains(&format!(".target {held},")));
    }
    let mut newer = image("arith8.O2.spv");
    add_ptx(&mut newer, &target("sm_90")).unwrap();
    assert_eq!(ptx_of(&newer, &target("sm_80")), None);
}
