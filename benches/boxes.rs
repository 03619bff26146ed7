//! Copies and fills of boxes of USM against a raw command for each row, alternating in one process.
//!
//! Prints `name,device,n,ours_us,reference_us,ratio`; n is rows, times are medians of single boxes,
//! waited for.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark fails by panicking")]
#![allow(unsafe_code, reason = "the reference calls OpenCL")]

mod measure;
mod raw;

use std::ptr::{null, null_mut};

use oclave::{Context, Queue};
use raw::{Raw, check};

const ROUNDS: usize = 51;

fn main() {
    let Some(device) = measure::device() else { return };
    let context = Context::new(&device).unwrap();
    let queue = Queue::new(&context).unwrap();
    let raw = Raw::new(device.name(), false);
    for row in [64_usize, 16 << 10] {
        for rows in [2_usize, 4, 8, 64, 1024] {
            let ours = [(); 2].map(|()| context.alloc_device::<u32>(2 * row / 4 * rows).unwrap());
            let [from, to] = [0, 1]
                .map(|i| ours[i].rect([rows, 2 * row / 4]).unwrap().part([0, i], [rows, row / 4]).unwrap());
            let reference = [(); 2].map(|()| raw.alloc(2 * row * rows));
            let row_of = |i: usize, at: usize| reference[i].wrapping_byte_add(2 * row * at + 4 * i);
            let repeat = if rows * row > 1 << 20 { 1 } else { 10 };
            measure::pair(
                &format!("copy_box_{row}"),
                rows,
                ROUNDS,
                repeat,
                || {
                    queue.copy(&from, &to).unwrap();
                    queue.wait().unwrap();
                },
                || {
                    for at in 0..rows {
                        let (to, from) = (row_of(1, at), row_of(0, at));
                        // SAFETY: both rows have so many bytes.
                        check(unsafe {
                            (raw.cl.clEnqueueMemcpyINTEL)(raw.queue, 0, to, from, row, 0, null(), null_mut())
                        });
                    }
                    raw.finish();
                },
            );
        }
    }
}
