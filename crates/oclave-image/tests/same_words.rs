//! The same module becomes the same words each time. Binaries in the disk cache are found by them.
//!
//! Each `HashMap` of a process orders its entries in its own way, so that a pass whose output
//! depends on this order shows when it runs again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fmt::Debug;

use oclave_image::passes::ImplicitBarriers;
use oclave_image::spirv::Module;
use oclave_image::{
    Aspects, DeviceImage, DeviceTarget, PostLinkOptions, Result, TranslationUnit, legalize, post_link,
};

/// Devices that ask for all passes that can run together.
fn targets() -> Vec<DeviceTarget> {
    let plain = DeviceTarget { aspects: Aspects::all(), ..DeviceTarget::default() };
    let all = DeviceTarget {
        mad_is_called: true,
        says_uniform: true,
        one_barrier: true,
        joins_accesses: true,
        lanes_of_arguments_crash: true,
        barriers_in_calls_crash: true,
        private_memory_may_lack: true,
        unnamed_functions_crash: true,
        integer_pointer_constants_fail: true,
        generic_atomics_are_cpp: true,
        casts_from_generic_crash: true,
        fixpoints_are_checked: true,
        phis_vanish: true,
        vectorised_loops_crash: true,
        joined_values_collapse: true,
        repeats_loads: true,
        maxima_are_bounds: true,
        repeated_pairs_fail: true,
        zero_lanes_are_lost: true,
        quotients_are_bounds: true,
        deep_conditions_are_lost: true,
        inverted_choices_fail: true,
        guarded_loads_run: true,
        uneven_rounds_collapse: true,
        loops_without_end_go: true,
        ..plain.clone()
    };
    let no_generic = DeviceTarget { aspects: Aspects::all() - Aspects::GENERIC_POINTER, ..plain.clone() };
    let continuations = DeviceTarget {
        continuations_for_several_ends: true,
        implicit_barriers: ImplicitBarriers::Everywhere,
        one_barrier: false,
        ..all.clone()
    };
    vec![plain, no_generic, all, continuations]
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
