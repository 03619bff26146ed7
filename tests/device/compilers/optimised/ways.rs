//! Work-items take their own way beside loops with barriers, or into which PoCL puts some.

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

const GROUPS: [[usize; 2]; 7] = [[1, 1], [2, 1], [3, 1], [1, 2], [1, 8], [2, 4], [64, 1]];

/// PoCL 7.1 puts a barrier between a switch and its ways (Q48). The process ends ("Could not find a
/// dominating alternative variable"), unless the pass helps.
#[device_test(queue)]
fn a_switch_around_a_loop_takes_each_work_item_one_way(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([2 * x, y], [x, y]), u32::try_from(2 * x * y).unwrap());
        let out = upload(&queue, &vec![0_u32; 4 * x * y]);
        for (which, rounds) in [(0, 4), (1, 4), (2, 4), (3, 4), (1, 0)] {
            let next = |v: u32, by: u32| v.wrapping_mul(5).wrapping_add(by);
            queue.write(&out, &vec![0_u32; 4 * x * y]).unwrap();
            queue.parallel_for(range, kernel::loop_in_a_switch(&out, which, rounds)).unwrap();
            let row = |id: u32| match which {
                0 => [id * 3 + 1, id],
                1 => [0, (0..70).fold(id * 3, |v, i| next(v, (id ^ rounds) * i))],
                2 => [0, id + 2],
                _ => [0, 8],
            };
            let expected: Vec<u32> = (0..items).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "way {which} in groups of {x} x {y}");

            queue.write(&out, &vec![0_u32; 4 * x * y]).unwrap();
            queue.parallel_for(range, kernel::loops_in_a_switch(&out, which, rounds)).unwrap();
            let pairs = || (0..rounds).flat_map(|i| (0..i).map(move |j| (i, j)));
            let row = |id: u32| match which {
                0 => [id * 3 + 1, id],
                1 => [0, pairs().fold(id, |v, (i, j)| next(v, (id ^ i) + j))],
                2 => [id ^ 7, id + 9],
                _ => [0, id],
            };
            let expected: Vec<u32> = (0..items).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "loops, way {which}, groups of {x} x {y}");
        }
    }
}

/// On PoCL 7.1 all work-items take the way of the first one behind a loop (Q49), unless the pass helps.
#[device_test(queue)]
fn each_work_item_takes_its_way_behind_a_loop(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([2 * x, y], [x, y]), u32::try_from(2 * x * y).unwrap());
        for (rounds, limit) in [(3, 1), (5, 1), (4, 1), (1, 1)] {
            let out = upload(&queue, &vec![0_u32; 4 * x * y]);
            queue.parallel_for(range, kernel::ways_behind_a_loop(&out, rounds, limit)).unwrap();
            let row = |id: u32| {
                let count = if rounds > limit { rounds } else { 0 };
                let v = (0..count).fold(0_u32, |v, i| v.wrapping_mul(5).wrapping_add(id ^ i));
                let w = if v & 1 == 1 { (id + 1).rotate_left(rounds) / (id + 3) } else { 0 };
                [if id & 2 == 2 { 5 / (id + 1) } else { 0 }, v.wrapping_mul(31).wrapping_add(w)]
            };
            let expected: Vec<u32> = (0..items).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{rounds} rounds in groups of {x} x {y}");
        }
    }
}

/// On both PoCL all work-items take the way of the first one behind a loop with barriers (Q44), unless
/// the pass helps.
#[device_test(queue)]
fn each_work_item_takes_its_way_behind_barriers(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, count) = (NdRange::new([2 * x, y], [x, y]), u32::try_from(2 * x * y).unwrap());
        for rounds in [0, 1, 5, 17] {
            let out = upload(&queue, &vec![0_u32; 4 * x * y]);
            queue.parallel_for(range, kernel::choices_behind_barriers(&out, rounds)).unwrap();
            let mut v = 0;
            while v < rounds {
                v += (v * 3 + 1) % 5 + 1;
            }
            let row = |id: u32| {
                let way = if rounds > 0 && !id.is_multiple_of(5) { id % 3 } else { 0 };
                [[0, id.rotate_left(rounds), 9_u32.checked_div(id).unwrap_or(0)][way as usize], v]
            };
            let expected: Vec<u32> = (0..count).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{rounds} rounds in groups of {x} x {y}");

            let out = upload(&queue, &vec![0_u32; 4 * x * y]);
            queue.parallel_for(range, kernel::ways_behind_barriers(&out, rounds)).unwrap();
            let mut expected = vec![0; 4 * x * y];
            for group in 0..2 {
                // The ids of the work-items of a group, in their order in it.
                let ids: Vec<usize> =
                    (0..x * y).map(|item| item / x * 2 * x + group * x + item % x).collect();
                let mut values = vec![0_u32; x * y];
                for i in 0..rounds {
                    let local: Vec<u32> = values.iter().map(|v| v ^ i).collect();
                    for (item, v) in values.iter_mut().enumerate() {
                        let next = local[(item + 1) % local.len()];
                        *v = v
                            .wrapping_mul(5)
                            .wrapping_add(next)
                            .wrapping_add(u32::try_from(ids[item]).unwrap());
                    }
                }
                for (at, v) in ids.into_iter().zip(values) {
                    let id = u32::try_from(at).unwrap();
                    let w = if v & 1 == 1 { (id + 1).rotate_left(rounds) / (id + 3) } else { 0 };
                    expected[2 * at] = if id & 2 == 2 { 5 / (id + 1) } else { 0 };
                    expected[2 * at + 1] = v.wrapping_mul(31).wrapping_add(w);
                }
            }
            assert_eq!(queue.read(&out).unwrap(), expected, "{rounds} rounds in groups of {x} x {y}");
        }
    }
}

/// LLVM copies the block that chooses to the end of the loop before it. On PoCL 6.0 all work-items take
/// the way of the first one there (Q13), unless the pass helps.
#[device_test(queue)]
fn each_work_item_takes_the_way_that_a_loop_chose(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([3 * x, y], [x, y]), u32::try_from(x * y).unwrap());
        let count = 3 * items;
        let values: Vec<u32> = (0..count + 7).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
        let input = upload(&queue, &values);
        for b in [0, 1, 2, 3] {
            let out = upload(&queue, &vec![0_u32; 2 * count as usize]);
            queue.parallel_for(range, kernel::way_of_a_phi(&out, &input, b)).unwrap();
            let (mut results, mut sums) = (Vec::new(), Vec::new());
            for group in 0..3 {
                let ends: Vec<_> = (0..items).map(|item| way_of_a_phi(group, item, items, b)).collect();
                let local: Vec<u32> = ends.iter().flat_map(|(local, ..)| *local).collect();
                let result = |(item, end): (usize, &([u32; 4], u32, bool))| {
                    end.1 * 2 + u32::from(end.2) + local[item] * 31
                };
                results.extend(ends.iter().enumerate().map(result));
                let sum = (1..=b).rev().flat_map(|i| (0..group).map(move |_| i));
                sums.extend(vec![sum.fold(0_u32, |sum, i| sum * 3 + i); items as usize]);
            }
            results.extend(sums);
            assert_eq!(queue.read(&out).unwrap(), results, "{b} rounds in groups of {x} x {y}");
        }
    }
}

/// What a work-item of `way_of_a_phi` has at the barrier: its part of the local memory, `v` and `is_odd`.
fn way_of_a_phi(group: u32, item: u32, items: u32, b: u32) -> ([u32; 4], u32, bool) {
    let id = group * items + item;
    let (mut local, mut v, mut is_odd) = ([7, 8, 9, 10], 0, false);
    for i in (1..=b).rev() {
        is_odd = if group > 0 { item & 1 == 1 } else { is_odd };
        local[item as usize % 4] = if is_odd { i } else { local[id as usize % 4] };
        for j in (1..=5).rev() {
            v = (i + id) % 9;
            local[local[b as usize % 4] as usize % 4] = j;
        }
    }
    (local, v, is_odd)
}
