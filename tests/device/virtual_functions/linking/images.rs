//! Images made by hand, and kernels of them: objects of classes, and calls of their functions.

use std::collections::BTreeSet;

use oclave::device::Aspects;
use oclave::kernel::{BundleKernel, ImageTable, KernelBundle, KernelCall};
use oclave::{Queue, UsmSlice};
use oclave_image::passes::signatures;
use oclave_image::{
    DeviceImage, Dispatcher, Requirements, SlotKey, VirtualFunction, VirtualFunctions, VirtualSlot,
};
use oclave_spirv::Module;
use oclave_spirv::transform::strip::strip;

/// Codes of classes, as hashes would be.
pub(crate) const ADD: u64 = 0x1111_2222_3333_0000;
pub(crate) const MUL: u64 = 0x4444_5555_6666_0000;
pub(crate) const HALF: u64 = 0x7777_8888_9999_0000;
pub(crate) const TREE: u64 = 0xaaaa_bbbb_cccc_0000;

pub(crate) const APPLY: (&str, u32) = ("i32_p8_i32", 0);
pub(crate) const OTHER: (&str, u32) = ("i32_p8", 1);

pub(crate) fn image(name: &str, spirv: &[u8]) -> DeviceImage {
    let module = Module::from_bytes(spirv).unwrap();
    let kernels = signatures(&module).unwrap();
    let spirv = strip(&module, |_| false).unwrap().into_words();
    DeviceImage { name: name.to_owned(), spirv, kernels, ..DeviceImage::default() }
}

pub(crate) fn dispatcher((signature, slot): (&str, u32)) -> Dispatcher {
    Dispatcher::new(signature.parse().unwrap(), SlotKey { slot: Some(slot), class: None })
}

pub(crate) fn names(sets: &[&str]) -> BTreeSet<String> {
    sets.iter().map(|set| (*set).to_owned()).collect()
}

/// The kernels, calling these sets.
pub(crate) fn kernels(calls: &[&str]) -> DeviceImage {
    let mut image = image("kernels", include_bytes!("../../../fixtures/virtual/kernels.spv"));
    image.set_virtual_functions(&VirtualFunctions {
        calls: names(calls),
        creates: names(&["sum", "half"]),
        dispatchers: vec![dispatcher(OTHER), dispatcher(APPLY)],
        ..VirtualFunctions::default()
    });
    image
}

/// One function of a set: name, wrapper, dispatcher, code of the slot, dispatchers that it calls.
pub(crate) type Function<'a> = (&'a str, &'a str, (&'a str, u32), u64, &'a [(&'a str, u32)]);

pub(crate) fn set(name: &str, image_name: &str, spirv: &[u8], functions: &[Function<'_>]) -> DeviceImage {
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

pub(crate) fn sum() -> DeviceImage {
    set(
        "sum",
        "sum",
        include_bytes!("../../../fixtures/virtual/set_sum.spv"),
        &[
            ("add", "__vfw_sum_add", APPLY, ADD, &[]),
            ("mul", "__vfw_sum_mul", APPLY, MUL, &[]),
            ("size", "__vfw_sum_size", OTHER, ADD, &[]),
        ],
    )
}

pub(crate) fn half() -> DeviceImage {
    let mut image = set(
        "half",
        "half",
        include_bytes!("../../../fixtures/virtual/set_half.spv"),
        &[("half", "__vfw_half_half", APPLY, HALF, &[])],
    );
    image.set_requirements(&Requirements { aspects: Aspects::FP64 });
    image
}

pub(crate) fn tree(depth: Option<u32>) -> DeviceImage {
    let mut image = set(
        "tree",
        "tree",
        include_bytes!("../../../fixtures/virtual/set_tree.spv"),
        &[("tree_sum", "__vfw_tree_sum", APPLY, TREE, &[APPLY])],
    );
    let mut all = image.virtual_functions().unwrap();
    all.depth = depth;
    image.set_virtual_functions(&all);
    image
}

pub(crate) fn load(queue: &Queue, image: &DeviceImage) -> KernelBundle {
    crate::common::load::image(queue.context(), &image.to_bytes()).unwrap()
}

/// Objects of these classes, constructed by the kernel.
pub(crate) fn construct(queue: &Queue, kernels: &KernelBundle, classes: &[u64]) -> UsmSlice<u64> {
    let objects = queue.context().alloc_device::<u64>(3 * classes.len()).unwrap();
    let codes = queue.context().alloc_device::<u64>(classes.len()).unwrap();
    queue.write(&codes, classes).unwrap();
    let call = kernels.kernel("construct").unwrap().call().pointer_mut(&objects).pointer(&codes);
    queue.parallel_for(classes.len(), call).unwrap();
    objects
}

pub(crate) fn call(kernel: &BundleKernel, objects: &UsmSlice<u64>, out: &UsmSlice<i32>) -> KernelCall {
    kernel.call().pointer_mut(objects).pointer_mut(out)
}

pub(crate) fn apply(
    queue: &Queue,
    kernels: &KernelBundle,
    objects: &UsmSlice<u64>,
) -> oclave::Result<Vec<i32>> {
    let count = objects.len() / 3;
    let out = queue.context().alloc_device::<i32>(count).unwrap();
    queue.parallel_for(count, call(&kernels.kernel("apply").unwrap(), objects, &out))?.wait()?;
    queue.read(&out)
}

/// What `apply` gives for objects of a class, the first of which is number `at`.
pub(crate) fn expected(class: u64, at: usize) -> i32 {
    let (value, i) = (at as i32 + 1, at as i32);
    match class {
        ADD => value + i,
        MUL => value * i,
        HALF => value * i / 2,
        _ => 0,
    }
}

/// An image as a program's embedded table.
pub(crate) fn table(name: &'static str, image: &DeviceImage) -> &'static ImageTable {
    let bytes: &'static [u8] = Box::leak(image.to_bytes().into_boxed_slice());
    Box::leak(Box::new(crate::common::load::table(name, Box::leak(Box::new([bytes])))))
}
