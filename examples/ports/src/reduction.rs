//! Sum, minimum and maximum of many numbers by a tree.

use oclave::kernel::{Local, NdRange};
use oclave::{Queue, UsmSlice};

use super::kernels::reduction::{Summary, combine, summarize};
use super::{Outcome, Setting, both_ways};

/// Values that a group combines.
const GROUP: usize = 64;

pub(crate) fn run(setting: &Setting) -> Outcome {
    let queue = &setting.queue;
    // Not a power of two, so that the last group of each level is not full.
    let host: Vec<u32> =
        (0..setting.size * 1000 + 7).map(|i| (i as u32).wrapping_mul(2_654_435_761)).collect();
    let numbers = queue.upload(&host)?;
    let levels = levels(queue, host.len())?;
    let expected = (
        host.iter().copied().map(u64::from).sum::<u64>(),
        host.iter().copied().min().unwrap_or_default(),
        host.iter().copied().max().unwrap_or_default(),
    );
    both_ways(
        queue,
        "reduction",
        |queue| reduce(queue, &numbers, &levels),
        |queue| {
            let root = levels.last().map(|level| queue.read(level)).transpose()?.unwrap_or_default();
            let [Summary { sum, lowest, highest, .. }] = root[..] else {
                return Err(format!("the tree ends in {} values", root.len()).into());
            };
            if (sum, lowest, highest) != expected {
                return Err(format!("{:?} instead of {expected:?}", (sum, lowest, highest)).into());
            }
            Ok(format!("{} numbers, sum {sum}, {} levels", host.len(), levels.len()))
        },
    )
}

/// Memory for the leaves, and for each level up to the root.
fn levels(queue: &Queue, mut count: usize) -> oclave::Result<Vec<UsmSlice<Summary>>> {
    let mut levels = vec![queue.context().alloc_device(count)?];
    while count > 1 {
        count = count.div_ceil(GROUP);
        levels.push(queue.context().alloc_device(count)?);
    }
    Ok(levels)
}

fn reduce(queue: &Queue, numbers: &UsmSlice<u32>, levels: &[UsmSlice<Summary>]) -> oclave::Result<()> {
    queue.parallel_for(numbers.len(), summarize(numbers, &levels[0]))?;
    for pair in levels.windows(2) {
        let [below, above] = pair else { continue };
        let call = combine(below, below.len() as u32, above, Local::new(GROUP));
        queue.parallel_for(NdRange::new(above.len() * GROUP, GROUP), call)?;
    }
    Ok(())
}
