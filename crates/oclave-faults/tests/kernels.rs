//! Each kernel of `kernels` shows a fault. The pass for the fault changes it, and leaves it sound.
//! `ci/faults` runs the kernels on devices.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use oclave_build::Config;
use oclave_faults::{Driver, Fault, FaultSet, Version};
use oclave_image::passes::legalize_watched;
use oclave_image::{Aspects, DeviceImage, DeviceTarget};
use oclave_spirv::{Module, check};

/// A device of a driver with this fault that takes every module.
fn device(fault: Fault) -> DeviceTarget {
    let row = fault.row().unwrap();
    let drivers = row.affects.iter().flat_map(|affected| {
        let versions = [affected.family.newest_seen(), Version(6, 0), Version(25, 0)];
        versions.map(|version| Driver { family: affected.family, version, is_cpu: true })
    });
    let driver = drivers.into_iter().find(|driver| row.affects(driver)).unwrap();
    DeviceTarget {
        faults: FaultSet::of(&driver),
        aspects: Aspects::all(),
        spirv_version: oclave_spirv::Version::V1_4,
        vector_argument_bytes: 16,
        ..DeviceTarget::default()
    }
}

/// Whether the passes for the fault change an image.
fn is_changed(image: &DeviceImage, fault: Fault) -> bool {
    // Q14, Q15 and Q48 are relatives of Q13, and have its pass.
    let reported = if [Fault::Q14, Fault::Q15, Fault::Q48].contains(&fault) { Fault::Q13 } else { fault };
    let mut is_changed = false;
    let legal =
        legalize_watched(image, &device(fault), Ok, &mut |change| is_changed |= change.fault == reported);
    let legal = legal.unwrap_or_else(|error| panic!("{fault}: {error}"));
    check::check(&Module::from_words(legal.words).unwrap()).unwrap();
    is_changed
}

/// Faults with a pass, and without a kernel here. Small kernels show nothing of some. Others need sources that piglit's tests cannot
/// be: structs by value, virtual functions, C++. Kernels in C show Q86 rarely; `examples/rust/kernels/slices.rs` has it.
const WITHOUT_KERNEL: [Fault; 13] = [
    Fault::Q9,
    Fault::Q17,
    Fault::Q21,
    Fault::Q23,
    Fault::Q27,
    Fault::Q46,
    Fault::Q53,
    Fault::Q77,
    Fault::Q78,
    Fault::Q79,
    Fault::Q80,
    Fault::Q83,
    Fault::Q86,
];

#[test]
fn faults_with_passes_have_kernels() {
    for (fault, pass) in oclave_faults::passes::all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let path = path.join(format!("{}.cl", fault.to_string().to_lowercase()));
        assert_ne!(path.exists(), WITHOUT_KERNEL.contains(&fault), "{fault}, which {pass} avoids");
    }
}

#[test]
fn each_pass_changes_the_kernel_of_its_fault() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut kernels: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    kernels.sort();
    assert!(kernels.len() > 20, "there are only {} kernels", kernels.len());
    let made = tempfile::tempdir().unwrap();
    for path in &kernels {
        let name = path.file_stem().unwrap().to_string_lossy().to_uppercase();
        let fault = Fault::by_name(&name).unwrap_or_else(|| panic!("there is no fault {name}"));
        let images = Config::new().out_dir(made.path()).out_name(&name).compile_images(&[path]).unwrap();
        let images = images.images.iter().map(|bytes| DeviceImage::from_bytes(bytes).unwrap());
        let changes: Vec<bool> = images.map(|image| is_changed(&image, fault)).collect();
        assert!(changes.contains(&true), "{fault}: its passes change nothing in its kernel");
    }
}
