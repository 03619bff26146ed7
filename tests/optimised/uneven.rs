//! Loops that work-items leave in different rounds, before a barrier.

use oclave::NdRange;

use crate::{kernel, queue, upload};

const GROUPS: [u32; 4] = [1, 3, 16, 64];

/// PoCL 6.0 keeps no copy of such a value for each work-item (Q52), unless the pass helps.
#[test]
fn values_stay_those_of_a_work_item_behind_uneven_loops() {
    let Some(queue) = queue() else { return };
    let (a, b) = (5, 4_u32);
    for group in GROUPS {
        let out = upload(&queue, &vec![0_u32; 2 * group as usize]);
        let range = NdRange::new(2 * group as usize, group as usize);
        queue.parallel_for(range, kernel::uneven_rounds(&out, a, b)).unwrap();
        let row = |id: u32| {
            let item = id % group;
            let mut n = b % 9;
            loop {
                n += b;
                if n >= (a ^ item) % 31 {
                    return n + item % (b | 1);
                }
            }
        };
        let expected: Vec<u32> = (0..2 * group).map(row).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "groups of {group}");
    }
}
