//! Images that cannot be linked, and what is said of them.

use super::images::{ADD, APPLY, MUL, OTHER, apply, construct, expected, kernels, load, set, sum, table};
use crate::common::queue;
use oclave::kernel::{Kernel, KernelBundle, KernelCall};
use oclave::{Device, ErrorKind};
use oclave_image::DeviceImage;
use oclave_image::passes::VirtualProgram;

fn refused(device: &Device, images: &[DeviceImage]) -> String {
    let queue = queue(device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _bundles: Vec<KernelBundle> = images.iter().map(|image| load(&queue, image)).collect();
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let call = kernels.kernel("plain").unwrap().call().pointer_mut(&out);
    let error = queue.parallel_for(1, call).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build, "{error}");
    format!("{error:#}")
}

#[device_test]
fn two_functions_of_one_code_are_an_error_that_names_both(device: Device) {
    let collides = set(
        "sum",
        "collides",
        include_bytes!("../../../fixtures/virtual/set_tree.spv"),
        &[("other_function", "__vfw_tree_sum", APPLY, ADD, &[APPLY])],
    );
    let text = refused(&device, &[sum(), collides]);
    for part in ["`add`", "`other_function`", "`sum`", "`collides`", "1111222233330000"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[device_test]
fn a_wrapper_that_two_images_export_is_an_error_that_names_both(device: Device) {
    let mut copy = sum();
    copy.name = "copy".to_owned();
    let text = refused(&device, &[sum(), copy]);
    assert!(text.contains("`__vfw_sum_") && text.contains("`sum`") && text.contains("`copy`"), "{text}");
}

#[device_test]
fn a_wrapper_that_is_missing_is_an_error_that_names_it(device: Device) {
    let hollow = set(
        "sum",
        "hollow",
        include_bytes!("../../../fixtures/virtual/set_half.spv"),
        &[("add", "__vfw_nowhere", APPLY, ADD, &[])],
    );
    let text = refused(&device, &[hollow]);
    assert!(text.contains("`__vfw_nowhere`"), "{text}");
}

#[device_test]
fn images_of_another_version_are_refused(device: Device) {
    let queue = queue(&device);
    let mut image = sum();
    image.properties.insert("oclave/virtual calls", "abi", oclave_image::PropertyValue::U32(99));
    let error = crate::common::load::image(queue.context(), &image.to_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Image);
    assert!(format!("{error:#}").contains("version 99"), "{error}");
}

/// A set with another `add` than [`sum`].
fn other_sum() -> DeviceImage {
    set(
        "sum",
        "other",
        include_bytes!("../../../fixtures/virtual/set_half.spv"),
        &[("add", "__vfw_half_half", APPLY, ADD, &[])],
    )
}

#[device_test]
fn two_bodies_of_one_function_are_an_error_that_names_both_bundles(device: Device) {
    let text = refused(&device, &[sum(), other_sum()]);
    for part in ["`add`", "one body in image `sum` of a bundle", "another in image `other` of", "new context"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }

    // Images of two programs that are embedded and have one name. The set is this test's own, as
    // tables are known to the whole process.
    let of_set = |mut image: DeviceImage| {
        let mut all = image.virtual_functions().unwrap();
        all.provides = Some("alike".to_owned());
        image.set_virtual_functions(&all);
        image.name = "shapes".to_owned();
        image
    };
    let users = table("users", &kernels(&["alike"]));
    table("round_shapes", &of_set(sum())).register();
    table("flat_shapes", &of_set(other_sum())).register();
    let queue = queue(&device);
    let kernel: &'static Kernel = Box::leak(Box::new(Kernel::new(users, "plain")));
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let error = queue.single_task(KernelCall::new(kernel).pointer_mut(&out)).unwrap_err();
    let text = format!("{error:#}");
    for part in ["image `shapes` of program `round_shapes`", "image `shapes` of program `flat_shapes`"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn images_of_two_bodies_do_not_link() {
    let kernels = kernels(&["sum"]);
    let link = |sets: &[&DeviceImage]| {
        VirtualProgram { kernels: &kernels, sets, own_sets: 0, known: &[], report_faults: false }.link()
    };
    link(&[&sum()]).unwrap();
    let text = link(&[&sum(), &other_sum()]).unwrap_err().to_string();
    assert!(text.contains("`add` has one body in image `sum` and another in image `other`"), "{text}");
}

/// A header that two programs include.
#[device_test]
fn one_body_in_two_images_is_one_function(device: Device) {
    let mut bytes = include_bytes!("../../../fixtures/virtual/set_sum.spv").to_vec();
    for at in 0..bytes.len() - 10 {
        if &bytes[at..at + 10] == b"__vfw_sum_" {
            bytes[at..at + 10].copy_from_slice(b"__vfw_two_");
        }
    }
    let functions = [
        ("add", "__vfw_two_add", APPLY, ADD, &[][..]),
        ("mul", "__vfw_two_mul", APPLY, MUL, &[]),
        ("size", "__vfw_two_size", OTHER, ADD, &[]),
    ];
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let two = set("sum", "two", &bytes, &functions);
    let _bundles = [sum(), two].map(|image| load(&queue, &image));
    let objects = construct(&queue, &kernels, &[ADD, MUL]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [expected(ADD, 0), expected(MUL, 1)]);
}
