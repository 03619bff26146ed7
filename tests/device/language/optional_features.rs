//! Optional kernel features: which kernels a device gets, what it is told of the others, and images
//! made ahead of time.
//!
//! Most devices of the tests have fp64, so that is masked.

use crate::common;

use crate::common::prints::Lines;
use crate::common::{device, queue};
use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::graph::ReplayStrategy;
use oclave::kernel::{KernelBundle, Local};
use oclave::record::Session;
use oclave::{Command, Context, Device, Error, ErrorKind, Graph, Queue};
use oclave_image::DeviceImage;

use crate::kernels;
mod classes {
    oclave::include_kernels!("virtual_functions");
}
/// The source of `classes::features`, for the target `without_fp64` of
/// `kernels/ahead/devices.toml`.
mod ahead {
    oclave::include_kernels!("ahead");
}
use crate::kernels::{generic_pointers, literals, optional_features, required_sub_groups};

#[track_caller]
fn assert_refused(error: &Error, parts: &[&str]) {
    let text = format!("{error:#}");
    println!("{text}");
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{text}");
    for part in parts {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[device_test]
fn kernels_with_other_features_do_not_keep_a_kernel_from_a_device(device: Device) {
    for (mask, lacks) in [
        (Mask::empty(), Aspects::empty()),
        (Mask::FP64, Aspects::FP64),
        (Mask::FP16, Aspects::FP16),
        (Mask::FP64 | Mask::FP16, Aspects::FP64 | Aspects::FP16),
    ] {
        let device = device.masked(mask);
        let has = device.capabilities().aspects;
        assert!(!has.intersects(lacks));
        let queue = queue(&device);
        let x = queue.context().alloc_device::<f32>(2).unwrap();
        queue.write(&x, &[3.0, 4.0]).unwrap();
        queue.parallel_for(2, optional_features::square_float(&x)).unwrap();
        assert_eq!(queue.read(&x).unwrap(), [9.0, 16.0]);
        let y = queue.context().alloc_device::<f64>(1).unwrap();
        queue.write(&y, &[1.0]).unwrap();
        match queue.single_task(optional_features::third_double(&y)) {
            Ok(_) => assert_eq!(queue.read(&y).unwrap(), [1.0 / 3.0]),
            Err(error) => {
                assert!(!has.contains(Aspects::FP64), "{error}");
                assert_refused(&error, &["kernel `third_double`", "needs fp64", device.name()]);
            }
        }
        let z = queue.context().alloc_device::<oclave::half::f16>(1).unwrap();
        queue.write(&z, &[oclave::half::f16::from_f32(1.5)]).unwrap();
        match queue.single_task(optional_features::twice_half(&z)) {
            Ok(_) => assert_eq!(queue.read(&z).unwrap()[0].to_f32(), 3.0),
            Err(error) => {
                assert!(!has.contains(Aspects::FP16), "{error}");
                assert_refused(&error, &["kernel `twice_half`", "needs fp16", device.name()]);
            }
        }
    }
}

#[device_test]
fn kernels_that_require_other_groups_do_not_keep_a_kernel_from_a_device(device: Device) {
    let queue = queue(&device);
    let out = queue.context().alloc_device::<i32>(16).unwrap();
    queue.parallel_for(16, required_sub_groups::neighbour(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [7; 16]);

    let error = queue.parallel_for(100_000, required_sub_groups::wide_groups(&out)).unwrap_err();
    assert_refused(&error, &["kernel `wide_groups`", "work-groups of 100000 × 1 × 1", "limit is"]);
    let capabilities = device.capabilities();
    let has_sub_groups = capabilities.aspects.contains(Aspects::SUB_GROUPS);
    let error = queue.parallel_for(16, required_sub_groups::sub_groups_of_7(&out)).unwrap_err();
    match has_sub_groups {
        true => assert_refused(&error, &["kernel `sub_groups_of_7`", "sub-groups of 7", "the device has"]),
        false => assert_refused(&error, &["kernel `sub_groups_of_7`", "needs sub_groups"]),
    }
    match queue.parallel_for(16, required_sub_groups::sub_groups_of_8(&out)) {
        Ok(_) => assert_eq!(queue.read(&out).unwrap(), [28; 16], "0 + … + 7"),
        Err(error) => {
            assert!(!has_sub_groups || !capabilities.limits.sub_group_sizes.contains(&8), "{error}");
            assert_refused(&error, &["kernel `sub_groups_of_8`"]);
        }
    }
}

#[device_test]
fn a_class_with_functions_that_the_device_cannot_run(device: Device) {
    use classes::features::{make_meters, use_precise, use_whole};
    let queue = queue(&device.masked(Mask::FP64));
    let memory = queue.context().alloc_device::<i8>(32).unwrap();
    let out = queue.context().alloc_device::<i32>(2).unwrap();
    queue.single_task(make_meters(&memory)).expect("it only makes objects");
    queue.parallel_for(2, use_whole(&memory, &out)).expect("it calls another set");
    assert_eq!(queue.read(&out).unwrap(), [3, 30]);
    let error = queue.parallel_for(2, use_precise(&memory, &out)).unwrap_err();
    assert_refused(&error, &["kernel `use_precise`", "fp64"]);
}

#[device_test]
fn kernels_built_for_targets_are_not_linked(device: Device) {
    use ahead::features::{make_meters, use_whole};
    let queue = queue(&device.masked(Mask::FP64));
    let memory = queue.context().alloc_device::<i8>(32).unwrap();
    let out = queue.context().alloc_device::<i32>(2).unwrap();
    queue.single_task(make_meters(&memory)).unwrap();
    queue.parallel_for(2, use_whole(&memory, &out)).unwrap().wait().unwrap();
    assert_eq!(queue.read(&out).unwrap(), [3, 30]);
    let images = images("ahead");
    let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    assert_eq!(names, ["features"], "no set, and no kernel that calls the set with fp64");
    assert!(images[0].virtual_functions().unwrap().is_empty(), "nothing to link");
}

#[device_test]
fn images_of_a_build_become_binaries_for_a_device(device: Device) {
    let bytes: Vec<Vec<u8>> = images("virtual_functions").iter().map(DeviceImage::to_bytes).collect();
    let made = oclave::kernel::build_ahead_of_time(&device, &bytes, true).unwrap();
    let queue = queue(&device);
    let bundles: Vec<KernelBundle> =
        made.iter().map(|bytes| common::load::image(queue.context(), bytes).unwrap()).collect();
    let kernel = |name: &str| bundles.iter().find_map(|bundle| bundle.kernel(name).ok()).unwrap().call();
    let session = Session::start();
    let memory = queue.context().alloc_device::<i8>(32).unwrap();
    let out = queue.context().alloc_device::<i32>(2).unwrap();
    queue.single_task(kernel("make_meters").pointer_mut::<i8>(&memory)).unwrap();
    queue.parallel_for(2, kernel("use_whole").pointer_mut::<i8>(&memory).pointer_mut(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [3, 30]);
    assert_eq!(common::compiled(&session), 0, "nothing is linked, nothing compiled");
    assert_eq!(common::from_binaries(&session), 1);
    // A device without fp64 loses the set whole, with the kernel that calls it.
    let masked = device.masked(Mask::FP64);
    let kernels = |device: &Device| -> Vec<String> {
        let made = oclave::kernel::build_ahead_of_time(device, &bytes, true).unwrap();
        let images = made.iter().map(|bytes| DeviceImage::from_bytes(bytes).unwrap());
        images.flat_map(|image| image.kernels).map(|kernel| kernel.name).collect()
    };
    let has_fp64 = device.capabilities().aspects.contains(Aspects::FP64);
    assert_eq!(kernels(&device).iter().any(|name| name == "use_precise"), has_fp64);
    let left = kernels(&masked);
    assert!(left.iter().any(|name| name == "use_whole") && !left.iter().any(|name| name == "use_precise"));
}

/// The images that the build wrote for a program.
fn images(program: &str) -> Vec<DeviceImage> {
    let mut paths: Vec<_> = std::fs::read_dir(common::built())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(&format!("{program}.")) && name.ends_with(".oclimg")
        })
        .collect();
    paths.sort();
    paths.iter().map(|path| DeviceImage::from_bytes(&std::fs::read(path).unwrap()).unwrap()).collect()
}

/// Without the generic address space, such pointers are integers that say where they point to.
#[device_test]
fn generic_pointers_in_memory_are_followed(device: Device) {
    for mask in [Mask::empty(), Mask::GENERIC_POINTER] {
        let queue = queue(&device.masked(mask));
        let memory = queue.context().alloc_device::<i8>(64).unwrap();
        let out = queue.context().alloc_device::<i32>(15).unwrap();
        let expected = [
            [101, 201, 10_312, 3, 21, 52, 50, 51, 0, 0, 1, 52, 75, 3, 81],
            [101, 201, 10_423, 4, 21, 51, 52, 50, 0, 1, 1, 1, 75, 3, 81],
        ];
        for (which, expected) in expected.iter().enumerate() {
            queue.fill(&out, 0).unwrap();
            let call = generic_pointers::follow_generic_pointers(&memory, Local::new(2), &out, which as i32);
            queue.single_task(call).unwrap();
            assert_eq!(queue.read(&out).unwrap(), expected, "{which}, without {mask}");
        }
    }
}

/// Intel's compiler calls atomic functions for them by names that it does not have (Q24). The other
/// kernels of the module did not build, either.
#[device_test]
fn atomics_take_generic_pointers(device: Device) {
    for mask in [Mask::empty(), Mask::GENERIC_POINTER] {
        let queue = queue(&device.masked(mask));
        let out = queue.context().alloc_device::<i32>(8).unwrap();
        queue.fill(&out, 0).unwrap();
        queue.single_task(generic_pointers::count_through_generic_pointers(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [8, 7, 1, 2, 7, 5, 0, 0], "without {mask}");
    }
}

/// PoCL 7.1 crashed (Q25). Where all memory is one address space to a driver, it may say that every
/// cast is possible.
#[device_test]
fn address_spaces_of_generic_pointers_are_found(device: Device) {
    for mask in [Mask::empty(), Mask::GENERIC_POINTER] {
        let queue = queue(&device.masked(mask));
        let out = queue.context().alloc_device::<i32>(4).unwrap();
        queue.fill(&out, 0).unwrap();
        queue.single_task(generic_pointers::find_address_spaces(Local::new(1), &out)).unwrap();
        let seen = queue.read(&out).unwrap();
        println!("address spaces without {mask}: {seen:?}");
        assert!([1, 2, 4].iter().zip(&seen).all(|(bit, seen)| seen & bit != 0) && seen[3] == 7, "{seen:?}");
        if !mask.is_empty() {
            assert_eq!(seen, [1, 2, 4, 7]);
        }
    }
}

/// The selected device as it is, and without fp64.
fn with_and_without_fp64() -> Vec<Device> {
    let device = device();
    device.into_iter().flat_map(|device| [device.masked(Mask::FP64), device]).collect()
}

#[test]
fn literals_are_floats_where_there_are_no_doubles() {
    for device in with_and_without_fp64() {
        let has_fp64 = device.capabilities().aspects.contains(Aspects::FP64);
        let queue = queue(&device);
        let x = queue.upload(&[0.3_f32, 0.25]).unwrap();
        let above = queue.context().alloc_device::<i32>(2).unwrap();
        queue.parallel_for(2, literals::above_literal(&x, &above)).unwrap();
        assert_eq!(queue.read(&above).unwrap(), [i32::from(has_fp64), 0], "fp64: {has_fp64}");
        let graph = Graph::from_queue(&queue);
        graph.add(Command::parallel_for(2, literals::move_by_literals(&x, 8.0))).unwrap();
        let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
        let graph = finalizer.finalize().unwrap();
        assert_eq!(graph.not_interpreted().len(), 0, "{:?}", graph.not_interpreted());
        queue.submit_graph(&graph).unwrap();
        assert_eq!(queue.read(&x).unwrap(), [0.3 * 0.5 + 2.0, 2.125]);
    }
}

#[test]
fn doubles_beside_literals_are_refused_where_there_are_none() {
    for device in with_and_without_fp64() {
        let queue = queue(&device);
        let x = queue.upload(&[1.0_f32, 2.0, 3.5]).unwrap();
        match queue.single_task(literals::sum_in_double(&x, 3)) {
            Ok(_) => assert_eq!(queue.read(&x).unwrap()[0], 6.5),
            Err(error) => {
                assert!(!device.capabilities().aspects.contains(Aspects::FP64), "{error}");
                assert_refused(&error, &["kernel `sum_in_double`", "needs fp64", device.name()]);
            }
        }
    }
}

#[device_test]
fn floats_are_printed_where_there_are_no_doubles(selected: Device) {
    for device in with_and_without_fp64() {
        let lines = Lines::default();
        let to = lines.clone();
        let context = Context::builder(std::slice::from_ref(&device)).printf(move |line| to.push(line));
        let queue = Queue::new(&context.build().unwrap()).unwrap();
        for (x, i) in [(1.5, 2), (-0.125, 300)] {
            queue.single_task(literals::print_literals(x, i)).unwrap().wait().unwrap();
        }
        let expected = [
            "1.500000 0.25 2 0.75\n",
            "2.5 2.000000\n",
            "small 7.5\n",
            "-0.125000 0.25 300 -0.0625\n",
            "-0.1 44.000000\n",
            "large 0.9\n",
        ];
        assert_eq!(lines.texts(), expected);
    }
    // The driver prints this, where the test does not see it.
    let queue = queue(&selected);
    queue.single_task(literals::print_literals(2.0, 3)).unwrap().wait().unwrap();
}

#[test]
fn forms_without_fp64_are_chosen_ahead_of_time() {
    for device in with_and_without_fp64() {
        let has_fp64 = device.capabilities().aspects.contains(Aspects::FP64);
        let mut images = images("tests");
        images.retain(|image| image.name.starts_with("literals"));
        let images: Vec<Vec<u8>> = images.iter().map(DeviceImage::to_bytes).collect();
        let made = oclave::kernel::build_ahead_of_time(&device, &images, false).unwrap();
        let has = |name: &str| {
            made.iter().any(|image| DeviceImage::from_bytes(image).unwrap().kernel(name).is_some())
        };
        assert!(has("above_literal"));
        assert_eq!(has("sum_in_double"), has_fp64);
    }
}

/// OpenCL 3.1 has empty local memory. Other devices get some, launched, in graphs and as tasks of the
/// interpreter.
#[device_test]
fn local_memory_may_be_empty(device: Device) {
    let queue = queue(&device);
    if device.capabilities().memory().is_none() {
        println!("skipped: kernels cannot address memory by pointers on the device");
        return;
    }
    let values = queue.upload(&[0_i32; 8]).unwrap();
    let call = |len: usize| kernels::arguments::may_lack_local(&values, Local::new(len), len as i32);
    let run = |len| Command::parallel_for(oclave::kernel::NdRange::new(8, 1), call(len));
    for len in [0, 4, 0] {
        queue.submit(run(len)).unwrap();
    }
    assert_eq!(queue.read(&values).unwrap(), [9; 8]);
    for strategy in common::strategies(&device) {
        queue.fill(&values, 0).unwrap();
        let graph = Graph::from_queue(&queue);
        common::chain(&graph, [0, 4, 0, 0].map(run));
        let executable = graph.finalizer().strategy(strategy).wait_for_interpreter().finalize().unwrap();
        queue.submit_graph(&executable).unwrap();
        assert_eq!(queue.read(&values).unwrap(), [10; 8], "{strategy:?}");
    }
}

/// What OpenCL 3.1 has in its core is used though no extension names it.
#[device_test]
fn a_device_may_report_opencl_3_1(device: Device) {
    if !common::has_opencl_3_1() {
        common::with_opencl_3_1(&["a_device_may_report_opencl_3_1", "local_memory_may_be_empty"]);
        return;
    }
    let capabilities = device.capabilities();
    assert!(capabilities.version_text.starts_with("OpenCL 3.1"), "{}", capabilities.version_text);
    assert_eq!((capabilities.opencl.major, capabilities.opencl.minor), (3, 1));
    for core in ["cl_khr_device_uuid", "cl_khr_suggested_local_work_size"] {
        assert!(!capabilities.extensions.contains_key(core), "{core}");
    }
    // PoCL has neither, so it only says that it is of 3.1. The other drivers of CI have both by their extensions.
    if device.platform().name().contains("Portable Computing Language") {
        return;
    }
    assert!(capabilities.uuid.is_some() && capabilities.suggested_group_sizes);
    let queue = queue(&device);
    let values = queue.upload(&[0_i32; 8]).unwrap();
    let call = kernels::arguments::may_lack_local(&values, Local::new(0), 0);
    assert!(queue.suggested_group_size(4096, &call).unwrap().is_some());
}
