//! Blocking copies between host and USM against raw `clEnqueueMemcpyINTEL`, alternating in one
//! process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is bytes, times are medians of single
//! copies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use oclave::{Context, Queue};
use raw::{Raw, check};

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let raw = Raw::new(device.name(), false);
    let copy = |to: *mut c_void, from: *const c_void, size: usize| {
        // SAFETY: both ends have `size` bytes.
        check(unsafe { (raw.cl.clEnqueueMemcpyINTEL)(raw.queue, 1, to, from, size, 0, null(), null_mut()) });
    };
    for size in [4_usize, 64 << 10, 64 << 20] {
        let mut host = vec![1_u8; size];
        let ours = context.alloc_device::<u8>(size).unwrap();
        let reference = raw.alloc(size);
        let (rounds, repeat) = measure::plan(size);
        measure::pair(
            "copy_to_device",
            size,
            rounds,
            repeat,
            || queue.write(&ours, &host).unwrap(),
            || {
                copy(reference, host.as_ptr().cast(), size);
            },
        );
        // The same host memory for both: where it lies makes a difference.
        let target = host.as_mut_ptr();
        measure::pair(
            "copy_to_host",
            size,
            rounds,
            repeat,
            // SAFETY: `host` is not used otherwise while this runs.
            || queue.read_into(&ours, unsafe { std::slice::from_raw_parts_mut(target, size) }).unwrap(),
            || copy(target.cast(), reference, size),
        );
    }
}
