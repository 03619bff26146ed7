//! Kernels that call many sets, and sets whose functions call those of other sets, on the selected
//! device.

use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::kernel::KernelCall;
use oclave::memory::usm::Shared;
use oclave::record::Session;
use oclave::{Device, ErrorKind, Queue, UsmSlice};

use crate::common;
use crate::common::queue;

mod levels {
    oclave::include_kernels!("levels");
}
mod levels_inner {
    oclave::include_kernels!("levels_inner");
}
mod levels_use {
    oclave::include_kernels!("levels_use");
}
mod levels_outer {
    oclave::include_kernels!("levels_outer");
}
mod tally_first {
    oclave::include_kernels!("tally_first");
}
mod tally_other {
    oclave::include_kernels!("tally_other");
}
mod virtual_link {
    oclave::include_kernels!("virtual_link");
}
use levels::levels::{make_prices, use_exact_prices, use_prices};
use levels_inner::levels_inner::make_share_price;
use levels_outer::levels_outer::use_outer_prices;
use levels_use::levels_use::use_prices_elsewhere;
use tally_first::tally_first::{count_first, make_first};
use tally_other::tally_other::{count_other, make_other};
use virtual_link::virtual_link::{call_steps, make_steps};

/// Objects that a kernel makes.
fn objects(queue: &Queue, make: impl FnOnce(&UsmSlice<i8>) -> KernelCall) -> UsmSlice<i8> {
    let memory = queue.context().alloc_device::<i8>(80).unwrap();
    queue.single_task(make(&memory)).unwrap().wait().unwrap();
    memory
}

/// What a kernel finds of the first `count` of them.
fn totals(
    queue: &Queue,
    count: usize,
    call: impl FnOnce(&UsmSlice<i32, Shared>) -> KernelCall,
) -> oclave::Result<Vec<i32>> {
    let out = queue.context().alloc_shared::<i32>(count).unwrap();
    queue.parallel_for(count, call(&out))?.wait()?;
    Ok(out.read().unwrap().to_vec())
}

#[device_test]
fn functions_of_one_set_call_those_of_another(device: Device) {
    let queue = queue(&device);
    let memory = objects(&queue, |memory| make_prices(memory));
    assert_eq!(totals(&queue, 2, |out| use_prices(&memory, out)).unwrap(), [1030, 2060]);
    if !device.capabilities().aspects.contains(Aspects::FP64) {
        println!("skipped: no fp64");
        return;
    }
    assert_eq!(totals(&queue, 3, |out| use_exact_prices(&memory, out)).unwrap(), [1030, 2060, 1025]);
}

#[device_test]
fn an_inner_set_that_the_kernel_does_not_call_is_a_fault(device: Device) {
    let queue = queue(&device);
    let memory = objects(&queue, |memory| make_prices(memory));
    // Without `inner` nothing of it is linked; with it, but without `inner_fp64`, only the exact
    // rate is not.
    let error = totals(&queue, 2, |out| use_outer_prices(&memory, out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);
    let text = format!("{error:#}");
    assert!(text.contains("use_outer_prices") && text.contains("set `inner`"), "{text}");
    let text = format!("{:#}", totals(&queue, 3, |out| use_prices(&memory, out)).unwrap_err());
    assert!(text.contains("use_prices") && text.contains("set `inner_fp64`"), "{text}");
}

#[device_test]
fn what_an_inner_set_needs_its_callers_need(device: Device) {
    let queue = queue(&device.masked(Mask::FP64));
    let memory = objects(&queue, |memory| make_prices(memory));
    assert_eq!(totals(&queue, 2, |out| use_prices(&memory, out)).unwrap(), [1030, 2060]);
    let error = totals(&queue, 2, |out| use_exact_prices(&memory, out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    assert!(format!("{error:#}").contains("fp64"), "{error}");
}

#[device_test]
fn both_levels_are_found_in_other_programs(device: Device) {
    levels::IMAGES.register();
    levels_inner::IMAGES.register();
    let queue = queue(&device);
    let memory = objects(&queue, |memory| make_prices(memory));
    assert_eq!(totals(&queue, 2, |out| use_prices_elsewhere(&memory, out)).unwrap(), [1030, 2060]);
    let memory = objects(&queue, |memory| make_share_price(memory));
    assert_eq!(totals(&queue, 1, |out| use_prices_elsewhere(&memory, out)).unwrap(), [1005]);
    // Also by kernels of the program that does not know the class.
    assert_eq!(totals(&queue, 1, |out| use_prices(&memory, out)).unwrap(), [1005]);
}

#[device_test]
fn eight_sets_of_fifty_functions_are_linked_once_for_all_kernels_of_the_image(device: Device) {
    const FUNCTIONS: usize = 8 * 50;
    let queue = queue(&device);
    let memory = queue.context().alloc_device::<i8>(16 * FUNCTIONS).unwrap();
    let session = Session::start();
    queue.single_task(make_steps(&memory)).unwrap().wait().unwrap();
    let programs = |session: &Session| {
        [common::creation_call(), "clBuildProgram", "clCompileProgram", "clLinkProgram"]
            .map(|call| session.count(call))
    };
    assert_eq!(programs(&session), [1, 1, 0, 0]);
    let found = totals(&queue, FUNCTIONS, |out| call_steps(&memory, out)).unwrap();
    assert_eq!(programs(&session), [1, 1, 0, 0], "the second kernel builds and links nothing");
    // Function n of a set is number 10 to 59 in hexadecimal.
    let step = |i: usize| {
        let (x, n) = (i as i32, 16 * (i as i32 % 50 / 10 + 1) + i as i32 % 10);
        (x ^ (n * 37)) + (x >> (n % 7))
    };
    assert_eq!(found, (0..FUNCTIONS).map(step).collect::<Vec<_>>());
}

#[device_test]
fn variables_of_one_name_are_those_of_their_own_program(device: Device) {
    let queue = queue(&device);
    let other = objects(&queue, |memory| make_other(memory));
    assert_eq!(totals(&queue, 1, |out| count_other(&other, out)).unwrap(), [201]);
    assert_eq!(queue.read(&tally_other::tally_other::TALLY).unwrap(), 201);
    // The only program with a variable of this name has the other one.
    let error = queue.read(&tally_first::tally_first::TALLY).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
    assert!(format!("{error:#}").contains("no program with them was built yet"), "{error:#}");
    let first = objects(&queue, |memory| make_first(memory));
    assert_eq!(queue.read(&tally_first::tally_first::TALLY).unwrap(), 100);
    assert_eq!(totals(&queue, 1, |out| count_first(&first, out)).unwrap(), [101]);
    assert_eq!(queue.read(&tally_first::tally_first::TALLY).unwrap(), 101);
    assert_eq!(queue.read(&tally_other::tally_other::TALLY).unwrap(), 201);
}
