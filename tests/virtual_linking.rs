//! Linking of virtual functions at run time, with images made by hand: which sets are found and linked, what is cached, what
//! is reported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use oclave::mask::Mask;
use oclave::record::Session;
use oclave::{
    Aspects, BundleKernel, Context, Device, ErrorKind, ImageTable, Kernel, KernelBundle, KernelCall,
    ProgramCache, Queue, UsmSlice,
};
use oclave_image::passes::{signatures, strip::strip};
use oclave_image::spirv::Module;
use oclave_image::{
    DeviceImage, Dispatcher, Requirements, SlotKey, VirtualFunction, VirtualFunctions, VirtualSlot,
};

mod common;
use common::{device, queue};

/// Codes of classes, as hashes would be.
const ADD: u64 = 0x1111_2222_3333_0000;
const MUL: u64 = 0x4444_5555_6666_0000;
const HALF: u64 = 0x7777_8888_9999_0000;
const TREE: u64 = 0xaaaa_bbbb_cccc_0000;

const APPLY: (&str, u32) = ("i32_p8_i32", 0);
const OTHER: (&str, u32) = ("i32_p8", 1);

fn image(name: &str, spirv: &[u8]) -> DeviceImage {
    let module = Module::from_bytes(spirv).unwrap();
    let kernels = signatures(&module).unwrap();
    let spirv = strip(&module, |_| false).unwrap().into_words();
    DeviceImage { name: name.to_owned(), spirv, kernels, ..DeviceImage::default() }
}

fn dispatcher((signature, slot): (&str, u32)) -> Dispatcher {
    Dispatcher::new(signature.parse().unwrap(), SlotKey { slot: Some(slot), class: None })
}

fn names(sets: &[&str]) -> BTreeSet<String> {
    sets.iter().map(|set| (*set).to_owned()).collect()
}

/// The kernels, calling these sets.
fn kernels(calls: &[&str]) -> DeviceImage {
    let mut image = image("kernels", include_bytes!("fixtures/virtual/kernels.spv"));
    image.set_virtual_functions(&VirtualFunctions {
        calls: names(calls),
        creates: names(&["sum", "half"]),
        dispatchers: vec![dispatcher(OTHER), dispatcher(APPLY)],
        ..VirtualFunctions::default()
    });
    image
}

/// One function of a set: name, wrapper, dispatcher, code of the slot, dispatchers that it calls.
type Function<'a> = (&'a str, &'a str, (&'a str, u32), u64, &'a [(&'a str, u32)]);

fn set(name: &str, image_name: &str, spirv: &[u8], functions: &[Function<'_>]) -> DeviceImage {
    let mut image = image(image_name, spirv);
    let mut all = VirtualFunctions { provides: Some(name.to_owned()), ..VirtualFunctions::default() };
    for (name, wrapper, (signature, slot), code, calls) in functions {
        all.functions.push(VirtualFunction {
            name: (*name).to_owned(),
            code: code | 0xffff,
            wrapper: (*wrapper).to_owned(),
            signature: signature.parse().unwrap(),
            calls: calls.iter().map(|call| dispatcher(*call).name).collect(),
        });
        all.slots.push(VirtualSlot {
            code: code + 8 * u64::from(*slot),
            function: (*name).to_owned(),
            slot: Some(*slot),
            classes: Vec::new(),
        });
        all.dispatchers.extend(calls.iter().map(|call| dispatcher(*call)));
    }
    image.set_virtual_functions(&all);
    image
}

fn sum() -> DeviceImage {
    set(
        "sum",
        "sum",
        include_bytes!("fixtures/virtual/set_sum.spv"),
        &[
            ("add", "__vfw_sum_add", APPLY, ADD, &[]),
            ("mul", "__vfw_sum_mul", APPLY, MUL, &[]),
            ("size", "__vfw_sum_size", OTHER, ADD, &[]),
        ],
    )
}

fn half() -> DeviceImage {
    let mut image = set(
        "half",
        "half",
        include_bytes!("fixtures/virtual/set_half.spv"),
        &[("half", "__vfw_half_half", APPLY, HALF, &[])],
    );
    image.set_requirements(&Requirements { aspects: Aspects::FP64 });
    image
}

fn tree(depth: Option<u32>) -> DeviceImage {
    let mut image = set(
        "tree",
        "tree",
        include_bytes!("fixtures/virtual/set_tree.spv"),
        &[("tree_sum", "__vfw_tree_sum", APPLY, TREE, &[APPLY])],
    );
    let mut all = image.virtual_functions().unwrap();
    all.depth = depth;
    image.set_virtual_functions(&all);
    image
}

fn load(queue: &Queue, image: &DeviceImage) -> KernelBundle {
    KernelBundle::from_image(queue.context(), &image.to_bytes()).unwrap()
}

/// Objects of these classes, constructed by the kernel.
fn construct(queue: &Queue, kernels: &KernelBundle, classes: &[u64]) -> UsmSlice<u64> {
    let objects = queue.context().alloc_device::<u64>(3 * classes.len()).unwrap();
    let codes = queue.context().alloc_device::<u64>(classes.len()).unwrap();
    queue.copy_to_device(classes, &codes).unwrap();
    let call = kernels.kernel("construct").unwrap().call().pointer_mut(&objects).pointer(&codes);
    queue.parallel_for(classes.len(), call).unwrap();
    objects
}

fn call(kernel: &BundleKernel, objects: &UsmSlice<u64>, out: &UsmSlice<i32>) -> KernelCall {
    kernel.call().pointer_mut(objects).pointer_mut(out)
}

fn apply(queue: &Queue, kernels: &KernelBundle, objects: &UsmSlice<u64>) -> oclave::Result<Vec<i32>> {
    let count = objects.len() / 3;
    let out = queue.context().alloc_device::<i32>(count).unwrap();
    queue.parallel_for(count, call(&kernels.kernel("apply").unwrap(), objects, &out))?.wait()?;
    queue.read(&out)
}

/// What `apply` gives for objects of a class, the first of which is number `at`.
fn expected(class: u64, at: usize) -> i32 {
    let (value, i) = (at as i32 + 1, at as i32);
    match class {
        ADD => value + i,
        MUL => value * i,
        HALF => value * i / 2,
        _ => 0,
    }
}

#[test]
fn sets_of_other_bundles_are_linked_once() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let session = Session::start();
    let classes = [ADD, MUL, ADD, MUL];
    let objects = construct(&queue, &kernels, &classes);
    let results: Vec<i32> = (0..4).map(|i| expected(classes[i], i)).collect();
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), results);
    let programs = |session: &Session| {
        ["clCreateProgramWithIL", "clBuildProgram", "clCompileProgram", "clLinkProgram"]
            .map(|c| session.count(c))
    };
    assert_eq!(programs(&session), [1, 1, 0, 0], "one program, which the driver need not link");
    let out = queue.context().alloc_device::<i32>(4).unwrap();
    let other = call(&kernels.kernel("apply_other").unwrap(), &objects, &out);
    queue.parallel_for(1, other).unwrap().wait().unwrap();
    assert_eq!(queue.read(&out).unwrap()[0], 101);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), results);
    assert_eq!(programs(&session), [1, 1, 0, 0], "another kernel of the group builds and links nothing");
}

#[test]
fn two_sets_and_objects_of_another_program() {
    let Some(device) = device() else { return };
    if !device.capabilities().aspects.contains(Aspects::FP64) {
        println!("skipped: no fp64");
        return;
    }
    let queue = queue(&device);
    let (one, both) = (load(&queue, &kernels(&["sum"])), load(&queue, &kernels(&["half", "sum"])));
    let (_sum, _half) = (load(&queue, &sum()), load(&queue, &half()));
    let classes = [HALF, MUL, HALF, ADD];
    let objects = construct(&queue, &one, &classes);
    let results: Vec<i32> = (0..4).map(|i| expected(classes[i], i)).collect();
    assert_eq!(apply(&queue, &both, &objects).unwrap(), results);
    drop(one);
    assert_eq!(apply(&queue, &both, &objects).unwrap(), results, "the program that made the objects is gone");
}

#[test]
fn sets_that_functions_of_a_called_set_call_are_linked_too() {
    let Some(device) = device() else { return };
    let calling = || {
        let mut image = sum();
        let mut all = image.virtual_functions().unwrap();
        all.calls = names(&["half"]);
        image.set_virtual_functions(&all);
        image
    };
    let missing = queue(&device);
    let (kernels_alone, _calling) = (load(&missing, &kernels(&["sum"])), load(&missing, &calling()));
    let out = missing.context().alloc_device::<i32>(1).unwrap();
    let plain = kernels_alone.kernel("plain").unwrap().call().pointer_mut(&out);
    let text = missing.parallel_for(1, plain).unwrap_err().to_string();
    assert!(text.contains("set `half`, which image `sum` calls"), "{text}");

    let masked = queue(&device.masked(Mask::FP64));
    let images = [kernels(&["sum"]), calling(), half()].map(|image| load(&masked, &image));
    let objects = construct(&masked, &load(&masked, &kernels(&[])), &[ADD]);
    let error = apply(&masked, &images[0], &objects).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    let text = error.to_string();
    assert!(text.contains("set `half`, which image `sum` calls") && text.contains("fp64"), "{text}");

    if !device.capabilities().aspects.contains(Aspects::FP64) {
        println!("skipped: no fp64");
        return;
    }
    let all = queue(&device);
    let images = [kernels(&["sum"]), calling(), half()].map(|image| load(&all, &image));
    let classes = [HALF, MUL, ADD];
    let objects = construct(&all, &images[0], &classes);
    let results: Vec<i32> = (0..3).map(|i| expected(classes[i], i)).collect();
    assert_eq!(apply(&all, &images[0], &objects).unwrap(), results);
}

#[test]
fn a_set_that_nobody_provides_is_named() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["summ"]));
    let _sum = load(&queue, &sum());
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let call = kernels.kernel("plain").unwrap().call().pointer_mut(&out);
    let error = queue.parallel_for(1, call).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let text = error.to_string();
    assert!(text.contains("set `summ`") && text.contains("`sum`"), "{text}");
}

#[test]
fn a_kernel_that_calls_what_the_device_lacks_is_refused_and_one_that_creates_it_is_not() {
    let Some(device) = device() else { return };
    let queue = queue(&device.masked(Mask::FP64));
    let (creates, calls) = (load(&queue, &kernels(&["sum"])), load(&queue, &kernels(&["half"])));
    let (_sum, _half) = (load(&queue, &sum()), load(&queue, &half()));
    let objects = construct(&queue, &creates, &[HALF, ADD]);
    let error = apply(&queue, &calls, &objects).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    let text = error.to_string();
    assert!(text.contains("set `half`") && text.contains("fp64"), "{text}");
    // The object of the class that the device cannot run is there, and the others work.
    let added = objects.slice(3..).unwrap();
    assert_eq!(apply(&queue, &creates, &added).unwrap(), [2]);
}

#[test]
fn a_dead_object_is_reported_by_the_next_wait() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let dead = queue.context().alloc_device::<u64>(3).unwrap();
    queue.memset(&dead, 0).unwrap().wait().unwrap();
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let kernel = kernels.kernel("apply").unwrap();
    let launch = || queue.parallel_for(1, call(&kernel, &dead, &out)).unwrap();
    let check = |outcome: oclave::Result<()>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Kernel);
        let text = error.to_string();
        assert!(text.contains("kernel `apply`") && text.contains("no known class"), "{text}");
    };
    check(launch().wait());
    queue.wait().expect("it is reported once");
    launch();
    check(queue.wait());
    launch();
    check(queue.read(&out).map(drop));
    assert_eq!(queue.read(&out).unwrap(), [0], "the call returned zero");
    // The queue works on.
    let objects = construct(&queue, &kernels, &[ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [1]);
}

#[test]
fn the_kernel_that_made_the_call_is_named() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let objects = construct(&queue, &kernels, &[ADD, MUL]);
    let out = queue.context().alloc_device::<i32>(2).unwrap();
    queue.parallel_for(2, call(&kernels.kernel("apply").unwrap(), &objects, &out)).unwrap();
    // MUL has nothing in slot 1.
    queue.parallel_for(2, call(&kernels.kernel("apply_other").unwrap(), &objects, &out)).unwrap();
    queue.parallel_for(2, call(&kernels.kernel("apply").unwrap(), &objects, &out)).unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("kernel `apply_other`"), "{text}");
}

#[test]
fn a_set_that_the_kernel_does_not_call_is_named() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let (_sum, _half) = (load(&queue, &sum()), load(&queue, &half()));
    let objects = construct(&queue, &kernels, &[HALF]);
    let text = apply(&queue, &kernels, &objects).unwrap_err().to_string();
    assert!(text.contains("`half` is in set `half`, which the kernel does not call"), "{text}");
    assert!(text.contains("calls_indirectly"), "{text}");
}

#[test]
fn checks_can_be_turned_off() {
    let Some(device) = device() else { return };
    let context = Context::builder(std::slice::from_ref(&device)).virtual_call_checks(false);
    let queue = Queue::new(&context.program_cache(&ProgramCache::Off).build().unwrap()).unwrap();
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let objects = construct(&queue, &kernels, &[HALF, ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
}

#[test]
fn calls_that_nest_work_to_their_depth() {
    let Some(device) = device() else { return };
    for (depth, works) in [(None, 8), (Some(3), 3)] {
        let queue = queue(&device);
        let kernels = load(&queue, &kernels(&["tree"]));
        let _tree = load(&queue, &tree(depth));
        for length in [1, 2, works, works + 1] {
            let objects = construct(&queue, &kernels, &vec![TREE; length]);
            let adopt = kernels.kernel("adopt").unwrap().call().pointer_mut(&objects).value(length as u32);
            queue.single_task(adopt).unwrap();
            let out = queue.context().alloc_device::<i32>(1).unwrap();
            let apply = call(&kernels.kernel("apply").unwrap(), &objects, &out);
            let outcome = queue.parallel_for(1, apply).unwrap().wait();
            if length <= works {
                outcome.unwrap();
                let sum = (length * (length + 1) / 2) as i32;
                assert_eq!(queue.read(&out).unwrap(), [sum], "{depth:?}, {length} objects");
            } else {
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains("`tree_sum`") && text.contains("nest too deep"), "{text}");
            }
        }
    }
}

#[test]
fn a_provider_that_is_loaded_later_counts_from_the_next_launch() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let objects = construct(&queue, &kernels, &[TREE, ADD]);
    apply(&queue, &kernels, &objects).unwrap_err();
    // The same set, provided by a second image.
    let mut late = tree(None);
    let mut all = late.virtual_functions().unwrap();
    all.provides = Some("sum".to_owned());
    late.set_virtual_functions(&all);
    let late = load(&queue, &late);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [1, 3]);
    drop(late);
    let session = Session::start();
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [1, 3], "its objects may live on");
    assert_eq!(session.count("clBuildProgram"), 0);
}

#[test]
fn of_two_providers_of_one_function_the_first_serves() {
    let Some(device) = device() else { return };
    let queue = queue(&device.masked(Mask::empty()));
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let other = set(
        "sum",
        "other",
        include_bytes!("fixtures/virtual/set_tree.spv"),
        &[("add", "__vfw_tree_sum", APPLY, ADD, &[APPLY])],
    );
    let _other = load(&queue, &other);
    let objects = construct(&queue, &kernels, &[ADD, ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [1, 3]);
}

fn refused(device: &Device, images: &[DeviceImage]) -> String {
    let queue = queue(device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _bundles: Vec<KernelBundle> = images.iter().map(|image| load(&queue, image)).collect();
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let call = kernels.kernel("plain").unwrap().call().pointer_mut(&out);
    let error = queue.parallel_for(1, call).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build, "{error}");
    error.to_string()
}

#[test]
fn two_functions_of_one_code_are_an_error_that_names_both() {
    let Some(device) = device() else { return };
    let collides = set(
        "sum",
        "collides",
        include_bytes!("fixtures/virtual/set_tree.spv"),
        &[("other_function", "__vfw_tree_sum", APPLY, ADD, &[APPLY])],
    );
    let text = refused(&device, &[sum(), collides]);
    for part in ["`add`", "`other_function`", "`sum`", "`collides`", "1111222233330000"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_wrapper_that_two_images_export_is_an_error_that_names_both() {
    let Some(device) = device() else { return };
    let mut copy = sum();
    copy.name = "copy".to_owned();
    let text = refused(&device, &[sum(), copy]);
    assert!(text.contains("`__vfw_sum_") && text.contains("`sum`") && text.contains("`copy`"), "{text}");
}

#[test]
fn a_wrapper_that_is_missing_is_an_error_that_names_it() {
    let Some(device) = device() else { return };
    let hollow = set(
        "sum",
        "hollow",
        include_bytes!("fixtures/virtual/set_half.spv"),
        &[("add", "__vfw_nowhere", APPLY, ADD, &[])],
    );
    let text = refused(&device, &[hollow]);
    assert!(text.contains("`__vfw_nowhere`"), "{text}");
}

#[test]
fn images_of_another_version_are_refused() {
    let Some(device) = device() else { return };
    let queue = queue(&device);
    let mut image = sum();
    image.properties.insert("oclave/virtual calls", "abi", oclave_image::PropertyValue::U32(99));
    let error = KernelBundle::from_image(queue.context(), &image.to_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Image);
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[test]
fn tables_are_found_when_they_are_registered() {
    fn table(name: &'static str, image: &DeviceImage) -> &'static ImageTable {
        let bytes: &'static [u8] = Box::leak(image.to_bytes().into_boxed_slice());
        Box::leak(Box::new(ImageTable::new(name, Box::leak(Box::new([bytes])))))
    }
    let Some(device) = device() else { return };
    let queue = queue(&device);
    // A set of its own, as tables are known to the whole process.
    let mut provider = sum();
    let mut all = provider.virtual_functions().unwrap();
    all.provides = Some("registered".to_owned());
    provider.set_virtual_functions(&all);
    let (users, providers) = (table("users", &kernels(&["registered"])), table("providers", &provider));
    let kernel: &'static Kernel = Box::leak(Box::new(Kernel::new(users, "plain")));
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let plain = || KernelCall::new(kernel).pointer_mut(&out);
    assert_eq!(queue.single_task(plain()).unwrap_err().kind(), ErrorKind::Build);
    providers.register();
    queue.single_task(plain()).unwrap().wait().unwrap();
    assert_eq!(queue.read(&out).unwrap(), [7]);
}

#[test]
fn linked_programs_are_found_on_disk_by_what_they_are_linked_of() {
    let Some(device) = device() else { return };
    let directory = tempfile::tempdir().unwrap();
    let cache = ProgramCache::Directory(directory.path().to_owned());
    let run = |with_tree: bool| {
        let context = Context::with_program_cache(std::slice::from_ref(&device), &cache).unwrap();
        let queue = Queue::new(&context).unwrap();
        let kernels = load(&queue, &kernels(if with_tree { &["sum", "tree"] } else { &["sum"] }));
        let (_sum, _tree) = (load(&queue, &sum()), load(&queue, &tree(None)));
        let session = Session::start();
        let objects = construct(&queue, &kernels, &[MUL, ADD]);
        assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
        let dead = queue.context().alloc_device::<u64>(3).unwrap();
        queue.memset(&dead, 0).unwrap().wait().unwrap();
        let error = apply(&queue, &kernels, &dead).unwrap_err();
        assert!(error.to_string().contains("kernel `apply`"), "binaries report, too: {error}");
        session.count("clCreateProgramWithIL")
    };
    assert_eq!(run(false), 1);
    if run(false) == 1 {
        println!("skipped: no binaries of programs on this device");
        return;
    }
    assert_eq!(run(true), 1, "another set, another program");
    assert_eq!(run(true), 0);
    assert_eq!(run(false), 0);
}

#[test]
fn images_made_ahead_of_time_are_neither_linked_nor_compiled() {
    let Some(device) = device() else { return };
    let bytes = [kernels(&["sum"]), sum(), tree(None), half()].map(|image| image.to_bytes());
    let made = oclave::build_ahead_of_time(&device, &bytes, true).unwrap();
    assert_eq!(made.len(), 1, "sets are gone");
    let queue = queue(&device);
    let kernels = KernelBundle::from_image(queue.context(), &made[0]).unwrap();
    let session = Session::start();
    let objects = construct(&queue, &kernels, &[MUL, ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
    assert_eq!(session.count("clCreateProgramWithIL"), 0);
    assert_eq!(session.count("clCreateProgramWithBinary"), 1);
    let dead = construct(&queue, &kernels, &[TREE]);
    let text = apply(&queue, &kernels, &dead).unwrap_err().to_string();
    assert!(text.contains("kernel `apply`"), "{text}");
    // The binary is for the device as it is; without, there is still the module.
    let masked = self::queue(&device.masked(Mask::FP64));
    let kernels = KernelBundle::from_image(masked.context(), &made[0]).unwrap();
    let objects = construct(&masked, &kernels, &[MUL, ADD]);
    assert_eq!(apply(&masked, &kernels, &objects).unwrap(), [0, 3]);
}

#[test]
fn ahead_of_time_a_set_is_dropped_whole_with_the_kernels_that_call_it() {
    let Some(device) = device() else { return };
    let masked = device.masked(Mask::FP64);
    let make = |calls: &[&str]| {
        let bytes = [kernels(calls), sum(), half()].map(|image| image.to_bytes());
        oclave::build_ahead_of_time(&masked, &bytes, true)
    };
    assert_eq!(make(&["sum"]).unwrap().len(), 1);
    assert_eq!(make(&["sum", "half"]).unwrap_err().kind(), ErrorKind::KernelNotSupported);
    assert_eq!(make(&["nowhere"]).unwrap_err().kind(), ErrorKind::Build);
}
