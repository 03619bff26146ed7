//! A chain of 1000 tiny kernels, submitted and completed, against raw `clEnqueueNDRangeKernel`,
//! alternating in one process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is launches, times are medians of whole
//! chains. The reference sets the kernel's arguments once, and has an event for each launch where
//! the library has one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use oclave::{Context, Event, Queue};
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const CHAIN: usize = 1000;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let value = context.alloc_device::<i32>(64).unwrap();

    let raw = Raw::new(device.name(), false);
    let raw_kernel = raw.kernel(SPIRV, c"bump");
    let raw_value = raw.alloc(256);
    // SAFETY: kernel and memory are alive.
    check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(raw_kernel, 0, raw_value) });

    let queue = Queue::new(&context).unwrap();
    let reference = |event: bool| raw.chain_in_order(raw_kernel, CHAIN, event);
    let ours = |queue: &Queue| {
        for _ in 0..CHAIN {
            queue.parallel_for(1, bump(&value)).unwrap();
        }
        queue.wait().unwrap();
    };
    measure::pair("launch_in_order", CHAIN, 101, 1, || ours(&queue), || reference(true));

    let discarding = Queue::builder(&context).discard_events().build().unwrap();
    measure::pair("launch_without_events", CHAIN, 101, 1, || ours(&discarding), || reference(false));

    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let raw = Raw::new(device.name(), true);
    let raw_kernel = raw.kernel(SPIRV, c"bump");
    // SAFETY: kernel and memory are alive.
    check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(raw_kernel, 0, raw.alloc(256)) });
    measure::pair(
        "launch_out_of_order",
        CHAIN,
        101,
        1,
        || {
            let mut last: Option<Event> = None;
            for _ in 0..CHAIN {
                let call = bump(&value);
                last = Some(match &last {
                    Some(last) => queue.after(&[last]).parallel_for(1, call).unwrap(),
                    None => queue.parallel_for(1, call).unwrap(),
                });
            }
            queue.wait().unwrap();
        },
        || raw.chain_by_events(raw_kernel, CHAIN),
    );
}
