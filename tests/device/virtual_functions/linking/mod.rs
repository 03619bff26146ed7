//! Linking of virtual functions at run time, with images made by hand: sets that are found and
//! linked, caching, reports.

use crate::common;
mod images;
mod refusals;

use crate::common::queue;
use images::{
    ADD, HALF, MUL, TREE, apply, call, construct, expected, half, kernels, load, names, sum, table, tree,
};
use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::kernel::{Kernel, KernelCall, ProgramCache};
use oclave::record::Session;
use oclave::{Context, Device, ErrorKind, Queue};

#[device_test]
fn sets_of_other_bundles_are_linked_once(device: Device) {
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let session = Session::start();
    let classes = [ADD, MUL, ADD, MUL];
    let objects = construct(&queue, &kernels, &classes);
    let results: Vec<i32> = (0..4).map(|i| expected(classes[i], i)).collect();
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), results);
    let programs = |session: &Session| {
        [common::creation_call(), "clBuildProgram", "clCompileProgram", "clLinkProgram"]
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

#[device_test]
fn two_sets_and_objects_of_another_program(device: Device) {
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

#[device_test]
fn sets_that_functions_of_a_called_set_call_are_linked_too(device: Device) {
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
    let text = format!("{:#}", missing.parallel_for(1, plain).unwrap_err());
    assert!(text.contains("set `half`, which image `sum` calls"), "{text}");

    let masked = queue(&device.masked(Mask::FP64));
    let images = [kernels(&["sum"]), calling(), half()].map(|image| load(&masked, &image));
    let objects = construct(&masked, &load(&masked, &kernels(&[])), &[ADD]);
    let error = apply(&masked, &images[0], &objects).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    let text = format!("{error:#}");
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

#[device_test]
fn a_set_that_nobody_provides_is_named(device: Device) {
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["summ"]));
    let _sum = load(&queue, &sum());
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let call = kernels.kernel("plain").unwrap().call().pointer_mut(&out);
    let error = queue.parallel_for(1, call).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let text = format!("{error:#}");
    assert!(text.contains("set `summ`") && text.contains("`sum`"), "{text}");
}

#[device_test]
fn a_kernel_that_calls_what_the_device_lacks_is_refused_and_one_that_creates_it_is_not(device: Device) {
    let queue = queue(&device.masked(Mask::FP64));
    let (creates, calls) = (load(&queue, &kernels(&["sum"])), load(&queue, &kernels(&["half"])));
    let (_sum, _half) = (load(&queue, &sum()), load(&queue, &half()));
    let objects = construct(&queue, &creates, &[HALF, ADD]);
    let error = apply(&queue, &calls, &objects).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    let text = format!("{error:#}");
    assert!(text.contains("set `half`") && text.contains("fp64"), "{text}");
    // The object of the class that the device cannot run is there, and the others work.
    let added = objects.slice(3..).unwrap();
    assert_eq!(apply(&queue, &creates, &added).unwrap(), [2]);
}

#[device_test]
fn a_dead_object_is_reported_by_the_next_wait(device: Device) {
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
        let text = format!("{error:#}");
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

#[device_test]
fn the_kernel_that_made_the_call_is_named(device: Device) {
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let objects = construct(&queue, &kernels, &[ADD, MUL]);
    let out = queue.context().alloc_device::<i32>(2).unwrap();
    queue.parallel_for(2, call(&kernels.kernel("apply").unwrap(), &objects, &out)).unwrap();
    // MUL has nothing in slot 1.
    queue.parallel_for(2, call(&kernels.kernel("apply_other").unwrap(), &objects, &out)).unwrap();
    queue.parallel_for(2, call(&kernels.kernel("apply").unwrap(), &objects, &out)).unwrap();
    let text = format!("{:#}", queue.wait().unwrap_err());
    assert!(text.contains("kernel `apply_other`"), "{text}");
}

#[device_test]
fn a_set_that_the_kernel_does_not_call_is_named(device: Device) {
    let queue = queue(&device);
    let kernels = load(&queue, &kernels(&["sum"]));
    let (_sum, _half) = (load(&queue, &sum()), load(&queue, &half()));
    let objects = construct(&queue, &kernels, &[HALF]);
    let text = format!("{:#}", apply(&queue, &kernels, &objects).unwrap_err());
    assert!(text.contains("`half` is in set `half`, which the kernel does not call"), "{text}");
    assert!(text.contains("calls_indirectly"), "{text}");
}

#[device_test]
fn checks_can_be_turned_off(device: Device) {
    let context = Context::builder(std::slice::from_ref(&device)).virtual_call_checks(false);
    let queue = Queue::new(&context.program_cache(&ProgramCache::Off).build().unwrap()).unwrap();
    let kernels = load(&queue, &kernels(&["sum"]));
    let _sum = load(&queue, &sum());
    let objects = construct(&queue, &kernels, &[HALF, ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
}

#[device_test]
fn calls_that_nest_work_to_their_depth(device: Device) {
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
                let text = format!("{:#}", outcome.unwrap_err());
                assert!(text.contains("`tree_sum`") && text.contains("nest too deep"), "{text}");
            }
        }
    }
}

#[device_test]
fn a_provider_that_is_loaded_later_counts_from_the_next_launch(device: Device) {
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

#[device_test]
fn tables_are_found_when_they_are_registered(device: Device) {
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

#[device_test]
fn linked_programs_are_found_on_disk_by_what_they_are_linked_of(device: Device) {
    let directory = tempfile::tempdir().unwrap();
    let cache = ProgramCache::Directory(directory.path().to_owned());
    let run = |with_tree: bool| {
        let context = Context::builder(std::slice::from_ref(&device)).program_cache(&cache).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        let kernels = load(&queue, &kernels(if with_tree { &["sum", "tree"] } else { &["sum"] }));
        let (_sum, _tree) = (load(&queue, &sum()), load(&queue, &tree(None)));
        let session = Session::start();
        let objects = construct(&queue, &kernels, &[MUL, ADD]);
        assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
        let dead = queue.context().alloc_device::<u64>(3).unwrap();
        queue.memset(&dead, 0).unwrap().wait().unwrap();
        let error = apply(&queue, &kernels, &dead).unwrap_err();
        assert!(format!("{error:#}").contains("kernel `apply`"), "binaries report, too: {error}");
        common::compiled(&session)
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

#[device_test]
fn images_made_ahead_of_time_are_neither_linked_nor_compiled(device: Device) {
    let bytes = [kernels(&["sum"]), sum(), tree(None), half()].map(|image| image.to_bytes());
    let made = oclave::kernel::build_ahead_of_time(&device, &bytes, true).unwrap();
    assert_eq!(made.len(), 1, "sets are gone");
    let queue = queue(&device);
    let kernels = common::load::image(queue.context(), &made[0]).unwrap();
    let session = Session::start();
    let objects = construct(&queue, &kernels, &[MUL, ADD]);
    assert_eq!(apply(&queue, &kernels, &objects).unwrap(), [0, 3]);
    assert_eq!((common::compiled(&session), common::from_binaries(&session)), (0, 1));
    let dead = construct(&queue, &kernels, &[TREE]);
    let text = format!("{:#}", apply(&queue, &kernels, &dead).unwrap_err());
    assert!(text.contains("kernel `apply`"), "{text}");
    // The binary is for the device as it is; without, there is still the module.
    let masked = self::queue(&device.masked(Mask::FP64));
    let kernels = common::load::image(masked.context(), &made[0]).unwrap();
    let objects = construct(&masked, &kernels, &[MUL, ADD]);
    assert_eq!(apply(&masked, &kernels, &objects).unwrap(), [0, 3]);
}

#[device_test]
fn ahead_of_time_a_set_is_dropped_whole_with_the_kernels_that_call_it(device: Device) {
    let masked = device.masked(Mask::FP64);
    let make = |calls: &[&str]| {
        let bytes = [kernels(calls), sum(), half()].map(|image| image.to_bytes());
        oclave::kernel::build_ahead_of_time(&masked, &bytes, true)
    };
    assert_eq!(make(&["sum"]).unwrap().len(), 1);
    assert_eq!(make(&["sum", "half"]).unwrap_err().kind(), ErrorKind::KernelNotSupported);
    assert_eq!(make(&["nowhere"]).unwrap_err().kind(), ErrorKind::Build);
}
