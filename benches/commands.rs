//! Command groups against raw OpenCL, alternating in one process.
//!
//! Chains of 1000 tiny kernels run in order, by explicit dependencies on an
//! out-of-order queue, and through accessors of a buffer. Prints
//! `name,device,n,ours_us,reference_us,ratio`; n is commands, and times are medians of whole
//! chains. The references set the kernel's arguments once. The last row has kernels between host
//! tasks, against kernels with a wait for each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use oclave::{Buffer, Command, Context, Device, Event, Queue};
use opencl_sys::cl_kernel;
use raw::{Raw, check};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::bump::bump;

/// `kernels/bench/bump.cl`, as the build script compiles it too.
const SPIRV: &[u8] = include_bytes!("kernels/bump.spv");
const CHAIN: usize = 1000;
const ROUNDS: usize = 51;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let value = context.alloc_device::<i32>(64).unwrap();
    let in_order = Queue::new(&context).unwrap();
    let (raw, kernel) = reference(&device, false);

    let groups = || {
        for _ in 0..CHAIN {
            in_order.submit(Command::parallel_for(1, bump(&value))).unwrap();
        }
        in_order.wait().unwrap();
    };
    measure::pair("commands_in_order", CHAIN, ROUNDS, 1, groups, || raw.chain_in_order(kernel, CHAIN, true));

    let buffer = Buffer::<i32>::new(64).unwrap();
    let accessors = || {
        for _ in 0..CHAIN {
            in_order.submit(Command::parallel_for(1, bump(buffer.read_write()))).unwrap();
        }
        in_order.wait().unwrap();
    };
    measure::pair("commands_accessors", CHAIN, ROUNDS, 1, accessors, || {
        raw.chain_in_order(kernel, CHAIN, true)
    });

    let between_tasks = || {
        for _ in 0..CHAIN / 10 {
            in_order.submit(Command::parallel_for(1, bump(&value))).unwrap();
            in_order.host_task(|| ()).unwrap();
        }
        in_order.wait().unwrap();
    };
    let waits = || (0..CHAIN / 10).for_each(|_| raw.chain_in_order(kernel, 1, true));
    measure::pair("commands_host_tasks", CHAIN / 10, ROUNDS, 1, between_tasks, waits);

    let Ok(out_of_order) = Queue::builder(&context).out_of_order().build() else { return };
    let (raw, kernel) = reference(&device, true);
    let dependencies = || {
        let mut last: Option<Event> = None;
        for _ in 0..CHAIN {
            let command = Command::parallel_for(1, bump(&value));
            let command = match &last {
                Some(last) => command.after(last),
                None => command,
            };
            last = Some(out_of_order.submit(command).unwrap());
        }
        out_of_order.wait().unwrap();
    };
    measure::pair("commands_dependencies", CHAIN, ROUNDS, 1, dependencies, || {
        raw.chain_by_events(kernel, CHAIN)
    });
}

fn reference(device: &Device, out_of_order: bool) -> (Raw, cl_kernel) {
    let raw = Raw::new(device.name(), out_of_order);
    let kernel = raw.kernel(SPIRV, c"bump");
    // SAFETY: kernel and memory are alive.
    check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, raw.alloc(256)) });
    (raw, kernel)
}
