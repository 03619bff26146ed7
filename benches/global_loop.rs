//! Kernels that read a device global in their inner loop against kernels that read the same memory
//! through an argument.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is the iterations of a work-item, times are
//! medians of single launches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]

mod measure;

use oclave::{Context, Queue};

mod kernels {
    oclave::include_kernels!("bench");
}
use kernels::globals;

const WORK_ITEMS: usize = 1 << 14;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let x = context.alloc_device::<f32>(WORK_ITEMS).unwrap();
    let factor = context.alloc_device::<f32>(1).unwrap();
    queue.write(&x, &vec![0.0; WORK_ITEMS]).unwrap();
    queue.write(&factor, &[1.0]).unwrap();
    let run = |call| {
        queue.parallel_for(WORK_ITEMS, call).unwrap();
        queue.wait().unwrap();
    };
    for rounds in [16, 256, 4096] {
        measure::pair(
            "global_loop",
            rounds as usize,
            51,
            4,
            || run(globals::loop_global(&x, rounds)),
            || run(globals::loop_argument(&x, rounds, &factor)),
        );
        measure::pair(
            "global_loop_stored",
            rounds as usize,
            51,
            4,
            || run(globals::loop_global_stored(&x, rounds)),
            || run(globals::loop_argument_stored(&x, rounds, &factor)),
        );
    }
}
