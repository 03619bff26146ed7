//! Loops that work-items leave in different rounds, before a barrier.

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

const GROUPS: [u32; 4] = [1, 3, 16, 64];

/// LLVM drops conditions that would make a loop endless. PoCL 6.0 then puts a barrier into the loop
/// (Q53), unless the condition leaves it.
#[device_test(queue)]
fn inner_loops_run_for_each_work_item_of_uneven_loops(queue: Queue) {
    for (group, rounds) in GROUPS.into_iter().flat_map(|group| [0, 1, 4].map(|rounds| (group, rounds))) {
        let out = upload(&queue, &vec![0_u32; 2 * group as usize]);
        let range = NdRange::new(2 * group as usize, group as usize);
        queue.parallel_for(range, kernel::two_inner_loops(&out, rounds)).unwrap();
        let row = |id: u32| {
            let item = id % group;
            let (mut v, mut w, mut p) = (item, item * 7, 0_u32);
            for i in 0..1 + item % 7 {
                for j in 0..rounds {
                    w = w.wrapping_mul(3).wrapping_add(j);
                    p = p.wrapping_add(item * 3 + 1 + j);
                }
                v = (0..rounds).fold(v, |v, j| v.wrapping_mul(5).wrapping_add(j));
                w ^= v.wrapping_add(i);
            }
            v.wrapping_add(w.wrapping_mul(31)).wrapping_add(p)
        };
        let expected: Vec<u32> = (0..2 * group).map(row).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "{rounds} rounds in groups of {group}");
    }
}
