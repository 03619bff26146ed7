//! Batcher's bitonic sort of 2^n numbers.

use oclave::kernel::{Local, NdRange};
use oclave::{Queue, UsmSlice};

use super::kernels::sorting::{merge_rest, merge_step};
use super::{Outcome, Setting, both_ways};

/// Work-items of a group; each compares two numbers.
const GROUP: usize = 64;

pub(crate) fn run(setting: &Setting) -> Outcome {
    let queue = &setting.queue;
    let count = (setting.size * 1000).next_power_of_two().max(2 * GROUP);
    let unsorted = queue.upload(&numbers(count))?;
    let keys = queue.context().alloc_device::<u32>(count)?;
    let mut expected = numbers(count);
    expected.sort_unstable();
    both_ways(
        queue,
        "sorting",
        |queue| {
            queue.submit(oclave::Command::copy(&unsorted, &keys))?;
            sort(queue, &keys)
        },
        |queue| {
            let found = queue.read(&keys)?;
            match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
                Some(at) => Err(format!("number {at} is {}, not {}", found[at], expected[at]).into()),
                None => Ok(format!("{count} numbers in order")),
            }
        },
    )
}

/// Merges runs of 2, 4, 8, … numbers. Steps of a merge that stay within the numbers of one group
/// are one launch.
fn sort(queue: &Queue, keys: &UsmSlice<u32>) -> oclave::Result<()> {
    let items = keys.len() / 2;
    let mut run = 2;
    while run <= keys.len() {
        let mut distance = run / 2;
        while distance > GROUP {
            queue.parallel_for(items, merge_step(keys, run as u32, distance as u32))?;
            distance /= 2;
        }
        let rest = merge_rest(keys, run as u32, distance as u32, Local::new(2 * GROUP));
        queue.parallel_for(NdRange::new(items, GROUP), rest)?;
        run *= 2;
    }
    Ok(())
}

/// Numbers without an order, some of them equal.
fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(i % 7) >> 8).collect()
}
