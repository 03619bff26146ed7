//! Counters that go round, in addresses beside a base, on PoCL 7.1 (Q45).

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

#[device_test(queue)]
fn masked_counters_go_round(queue: Queue) {
    let words: Vec<u32> = (0..256_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = upload(&queue, &words);
    for items in [1, 2, 5, 8, 16, 64] {
        for (a, b) in [(3_u32, 3_u32), (1, 9), (2, 64)] {
            let out = upload(&queue, &vec![1_u32; 10 * items]);
            let range = NdRange::new(2 * items, items);
            queue.parallel_for(range, kernel::masked_counters(&out, &input, a, b)).unwrap();
            let at = |index: u32| words[index as usize];
            let expected: Vec<u32> = (0..2 * items)
                .flat_map(|id| {
                    let last = |lane: u32| (0..b).rev().find(|i| i & 3 == lane).map_or(1, |i| a + i);
                    let sum = (0..b).fold(0_u32, |s, i| s.wrapping_mul(31).wrapping_add(at(4 * a + (i & 3))));
                    let own = at(8 * a + u32::try_from(id & 7).unwrap());
                    [last(0), last(1), last(2), last(3), sum.wrapping_add(own)]
                })
                .collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {items}");
        }
    }
}
