//! Loops to which work-items come one by one, on PoCL 6.0.

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

const GROUPS: [[usize; 2]; 6] = [[1, 1], [2, 1], [16, 1], [1, 8], [8, 2], [8, 4]];

fn words(items: usize) -> Vec<u32> {
    (0..u32::try_from(items).unwrap()).map(|i| i.wrapping_mul(0x9e37_79b9)).collect()
}

/// What each item adds to its value: the word of the item at the other end of its group.
fn mirrored(words: &[u32], id: usize, items: usize) -> u32 {
    words[id / items * items + items - 1 - id % items]
}

/// LLVM made a loop of the rounds that leave `v` as it is, and PoCL 6.0 put barriers into it (Q13).
#[device_test(queue)]
fn rounds_that_change_nothing_are_no_loop(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([3 * x, y], [x, y]), x * y);
        let words = words((3 * items).max(64));
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        for (a, b) in [(37, 1), (2, 3), (0, 5)] {
            queue.parallel_for(range, kernel::idle_rounds(&out, &input, a, b)).unwrap();
            let value = |item: usize| {
                let mut v = u32::try_from(item % 9).unwrap();
                while v < 27 {
                    v += (0..b).map(|i| words[usize::try_from(a.max(i)).unwrap()] % 5 + 1).sum::<u32>();
                }
                v
            };
            let expected: Vec<u32> = (0..3 * items)
                .map(|id| value(id % items).wrapping_add(mirrored(&words, id, items)))
                .collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a}, {b}, groups of {x} x {y}");
        }
    }
}

/// LLVM removed the loop that has no rounds, and PoCL 6.0 put barriers into the one around it (Q13).
#[device_test(queue)]
fn loops_around_loops_without_rounds(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([3 * x, y], [x, y]), x * y);
        let words = words((3 * items).max(64));
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        let (a, b) = (21, 5);
        queue.parallel_for(range, kernel::emptied_loop(&out, &input, a, b)).unwrap();
        let value = |id: usize| {
            let item = u32::try_from(id % items).unwrap();
            let (mut v, mut w, mut x) = (words[2] % 9, item, item);
            loop {
                for _ in 0..40 {
                    v += w % 3 + 1;
                    w = w.wrapping_mul(31).wrapping_add(words[id]) % 9;
                }
                for _ in 0..b {
                    w = w.wrapping_mul(31).wrapping_add(words[b as usize]);
                }
                x = x.wrapping_mul(31).wrapping_add(w).count_ones();
                if v >= 170 {
                    break;
                }
            }
            (x * 1000 + v).wrapping_add(w)
        };
        let expected: Vec<u32> =
            (0..3 * items).map(|id| value(id).wrapping_add(mirrored(&words, id, items))).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "groups of {x} x {y}");
    }
}

/// Work-items part behind the loop, and their ways meet where those of the condition around it do.
/// Barriers before that condition made all work-items take the way of the first one, on PoCL 6.0 (Q13).
#[device_test(queue)]
fn work_items_that_part_behind_a_loop_take_their_own_ways(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([3 * x, y], [x, y]), x * y);
        let words = words((3 * items).max(64));
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        for b in [30, 2, 1] {
            queue.parallel_for(range, kernel::ways_to_a_join(&out, &input, b)).unwrap();
            let value = |id: usize| {
                let (group, item) = (id / items, id % items);
                let number = u32::try_from(item).unwrap();
                let (mut v, mut w, mut x) = (100_u32, !number, 2_u32);
                if group < b as usize {
                    while x < b {
                        x += 4;
                        w = w.wrapping_mul(31).wrapping_add(w.max(5));
                    }
                    if id <= 1 || w > !number {
                        v = x ^ number;
                        if item < 16 {
                            v = v.wrapping_mul(31).wrapping_add(words[group * items + (item + 28) % items]);
                        } else {
                            w = w.wrapping_mul(31).wrapping_add(x);
                        }
                    }
                }
                v.wrapping_mul(31).wrapping_add(w.wrapping_mul(7)).wrapping_add(x)
            };
            let expected: Vec<u32> =
                (0..3 * items).map(|id| value(id).wrapping_add(mirrored(&words, id, items))).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{b}, groups of {x} x {y}");
        }
    }
}

/// LLVM 18 made an endless loop of one that does nothing, and PoCL 6.0 put a barrier into it (Q53).
#[device_test(queue)]
fn endless_loops_hold_no_barrier(queue: Queue) {
    for items in [1, 2, 8, 32] {
        let words = words(3 * items);
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        for (a, b) in [(37, 2), (3, 1)] {
            let range = NdRange::new(3 * items, items);
            queue.parallel_for(range, kernel::idle_or_endless(&out, &input, a, b)).unwrap();
            let value = |id: usize| {
                let (group, size) = (u32::try_from(id / items).unwrap(), u32::try_from(items).unwrap());
                let mut v = words[1];
                if size.is_multiple_of(2) {
                    v = u32::try_from(id % 9).unwrap();
                    while v < 6 {
                        v += size % 9 + 1;
                    }
                    if id % items < 5 {
                        v = group % 9;
                        while v < a {
                            v += a * b.unsigned_abs() % ((group * 3) | 1) % 7 + 1;
                        }
                    }
                }
                v
            };
            let expected: Vec<u32> =
                (0..3 * items).map(|id| value(id).wrapping_add(mirrored(&words, id, items))).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {items}");
        }
    }
}

/// PoCL 6.0 put a barrier into a loop that nothing leads out of. Groups of two lost what the second
/// work-item computes (Q53).
#[device_test(queue)]
fn endless_loops_that_nothing_comes_to(queue: Queue) {
    for items in [1, 2, 3, 8, 32] {
        let words = words(3 * items);
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        let absent = (0..).find(|word| !words.contains(word)).unwrap();
        for b in [0, 1, 4] {
            let range = NdRange::new(3 * items, items);
            queue.parallel_for(range, kernel::endless_way(&out, &input, absent, b)).unwrap();
            let sum = (0..b.unsigned_abs()).sum::<u32>();
            let expected: Vec<u32> =
                (0..3 * items).map(|id| sum.wrapping_add(mirrored(&words, id, items))).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{b} rounds in groups of {items}");
        }
    }
}

/// The same before a barrier, where groups of one and two lost all that follows the loop.
#[device_test(queue)]
fn endless_loops_end_nothing_else(queue: Queue) {
    for items in [1, 2, 3, 32] {
        let words = words(3 * items);
        let (input, out) = (upload(&queue, &words), upload(&queue, &vec![0_u32; 3 * items]));
        for (a, b) in [(5, 3), (-1, 1)] {
            let range = NdRange::new(3 * items, items);
            queue.parallel_for(range, kernel::idle_before_barrier(&out, &input, a, b)).unwrap();
            let mut v = 1_u32;
            while v < 7 {
                (0..b).for_each(|_| v += v % 4 + 1);
            }
            let w = (0..b.unsigned_abs()).fold(0_u32, |w, i| w.wrapping_mul(31).wrapping_add(v + i));
            let expected: Vec<u32> =
                (0..3 * items).map(|id| (v + w).wrapping_add(mirrored(&words, id, items))).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {items}");
        }
    }
}
