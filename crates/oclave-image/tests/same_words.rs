//! The same module becomes the same words each time. Binaries in the disk cache are found by them.
//!
//! Each `HashMap` of a process orders its entries in its own way. So a pass that depends on this
//! order gives other words when it runs again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fmt::Debug;

use oclave_image::{
    Aspects, DeviceImage, DeviceTarget, PostLinkOptions, Result, TranslationUnit, legalize, post_link,
};
use oclave_spirv::Module;

/// Devices with the faults of each driver, and one that takes no generic pointers.
fn targets() -> Vec<DeviceTarget> {
    let no_generic = DeviceTarget {
        aspects: Aspects::all() - Aspects::GENERIC_POINTER,
        says_uniform: true,
        ..DeviceTarget::default()
    };
    support::fuzz::targets().into_iter().map(|(_, target)| target).chain([no_generic]).collect()
}

/// What a function gives, and whether it gives the same each time.
fn repeated<T: PartialEq + Debug>(run: impl Fn() -> Result<T>) -> (Result<T>, bool) {
    let first = run();
    let is_same = (0..4).all(|_| match (&first, &run()) {
        (Ok(first), Ok(again)) => first == again,
        (first, again) => format!("{first:?}") == format!("{again:?}"),
    });
    (first, is_same)
}

#[test]
fn modules_become_the_same_words_each_time() {
    let (mut adapted, mut differing) = (0, Vec::new());
    for (name, bytes) in support::corpus().into_iter().chain(support::fixtures()) {
        let module = Module::from_bytes(&bytes).unwrap();
        let unit = TranslationUnit::new(&name, module.clone());
        let (linked, is_same) =
            repeated(|| post_link(std::slice::from_ref(&unit), &PostLinkOptions::default()));
        differing.extend((!is_same).then(|| format!("{name}: post-link")));
        let plain = DeviceImage { name, spirv: module.words().to_vec(), ..DeviceImage::default() };
        for image in linked.into_iter().flatten().chain([plain]) {
            for (index, target) in targets().iter().enumerate() {
                let (words, is_same) = repeated(|| legalize(&image, target));
                adapted += usize::from(words.is_ok());
                differing.extend((!is_same).then(|| format!("{}: target {index}", image.name)));
            }
        }
    }
    assert!(differing.is_empty(), "not the same words each time: {differing:#?}");
    assert!(adapted > 500, "only {adapted} modules were adapted");
}
