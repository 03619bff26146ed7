//! Device globals: copies against raw `clEnqueueMemcpyINTEL`, and the first kernel of a program
//! with a thousand of them against one with one.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is bytes or variables.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::kernel::{DeviceGlobal, KernelBundle, ProgramCache};
use oclave::{Context, Device, Queue};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::blocks;

const ONE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.one.oclimg"));
const THOUSAND: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.thousand.oclimg"));

fn main() {
    let Some(device) = measure::device() else { return };
    let queue = Queue::new(&Context::new(&device).unwrap()).unwrap();
    let raw = Raw::new(device.name(), false);
    copies(&queue, &raw, &blocks::BLOCK_SMALL);
    copies(&queue, &raw, &blocks::BLOCK_MEDIUM);
    copies(&queue, &raw, &blocks::BLOCK_LARGE);
    first_kernel(&device);
}

fn copies<T: bytemuck::Pod>(queue: &Queue, raw: &Raw, global: &DeviceGlobal<T>) {
    let size = global.size_bytes();
    let copy = |to: *mut c_void, from: *const c_void| {
        // SAFETY: both ends have `size` bytes.
        check(unsafe { (raw.cl.clEnqueueMemcpyINTEL)(raw.queue, 1, to, from, size, 0, null(), null_mut()) });
    };
    let mut host = vec![1_u8; size];
    let reference = raw.alloc(size);
    let (rounds, repeat) = measure::plan(size);
    measure::pair(
        "copy_to_global",
        size,
        rounds,
        repeat,
        || queue.write(&global.bytes(..host.len()).unwrap(), &host).unwrap(),
        || copy(reference, host.as_ptr().cast()),
    );
    // The same host memory for both: where it lies makes a difference.
    let target = host.as_mut_ptr();
    measure::pair(
        "copy_from_global",
        size,
        rounds,
        repeat,
        || {
            // SAFETY: `host` is not used otherwise while this runs.
            let host = unsafe { std::slice::from_raw_parts_mut(target, size) };
            queue.read_into(&global.bytes(..host.len()).unwrap(), host).unwrap();
        },
        || copy(target.cast(), reference),
    );
}

/// From a new context to the end of the first kernel, without cached binaries.
fn first_kernel(device: &Device) {
    let first = |image: &[u8], kernel: &str, sum: i32| {
        let context =
            Context::builder(std::slice::from_ref(device)).program_cache(&ProgramCache::Off).build().unwrap();
        let queue = Queue::new(&context).unwrap();
        // SAFETY: the kernels are this repository's own.
        let bundle = unsafe { KernelBundle::from_image(&context, image) }.unwrap();
        let out = context.alloc_device::<i32>(1).unwrap();
        queue.single_task(bundle.kernel(kernel).unwrap().call().pointer_mut(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [sum]);
    };
    measure::pair(
        "first_kernel_of_thousand_globals",
        1000,
        11,
        1,
        || first(THOUSAND, "thousand_sum", 10),
        || first(ONE, "one_sum", 1),
    );
}
