//! Values behind loops, which Intel's vectoriser takes for the same in all work-items (Q32), unless the
//! pass changes all of them.

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

#[device_test(queue)]
fn selections_behind_a_loop_with_their_condition_stay_apart(queue: Queue) {
    for group in [1, 8, 16, 32, 64_usize] {
        let words: Vec<u32> = (0..2 * group as u32).map(|i| i * 5).collect();
        let (input, sums) = (upload(&queue, &words), upload(&queue, &words));
        let out = upload(&queue, &vec![0_u32; 2 * group]);
        for (below, rounds) in [(3, 0), (11, 2)] {
            let range = NdRange::new(2 * group, group);
            queue.parallel_for(range, kernel::selected_behind(&out, &input, &sums, below, rounds)).unwrap();
            let bits: u32 = words.iter().take(2).map(|word| word.count_ones()).sum();
            let row = |id: u32| bits + if id % (group as u32) < below { 5 } else { 11 };
            let expected: Vec<u32> = (0..2 * group as u32).map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{below} in groups of {group}");
        }
    }
}

#[device_test(queue)]
fn values_that_a_selection_keeps_stay_apart(queue: Queue) {
    for group in [1, 8, 16, 32, 64_usize] {
        let out = upload(&queue, &vec![0_u32; 2 * group]);
        for (a, b) in [(7, 2), (40, 3)] {
            queue.parallel_for(NdRange::new(2 * group, group), kernel::kept_behind(&out, a, b)).unwrap();
            let mut kept = 0;
            for step in (3..).step_by(3).take(6) {
                kept += b * (step % 8 + 1);
                while kept < a {
                    kept += b * (step % 8 + 1);
                }
            }
            let row = |id: u32| if id.is_multiple_of(group as u32) { kept } else { 0 };
            let expected: Vec<u32> = (0..2 * group as u32).map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {group}");
        }
    }
}

#[device_test(queue)]
fn values_beside_one_that_never_comes_stay_apart(queue: Queue) {
    let input = upload(&queue, &[7_u32; 64]);
    for group in [1, 8, 16, 32, 64_usize] {
        let out = upload(&queue, &vec![0_u32; 2 * group]);
        for (a, b) in [(31, 5), (7, 0), (1, 9)] {
            let range = NdRange::new(2 * group, group);
            queue.parallel_for(range, kernel::first_in_rounds(&out, &input, a, b)).unwrap();
            let first = (0..b).fold(a, |v, _| v.wrapping_mul(31).wrapping_add(b));
            let row = |id: u32| if id.is_multiple_of(group as u32) { first } else { a };
            let expected: Vec<u32> = (0..2 * group as u32).map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {group}");
        }
    }
}

#[device_test(queue)]
fn values_of_loops_with_a_condition_that_stays_are_apart(queue: Queue) {
    let row = |is_first: bool, b: u32| {
        let (mut v, mut sum) = (b, 5);
        for (begin, added) in [(5, 0), (if is_first { 0 } else { 23 % 9 }, 2)] {
            sum = begin;
            while sum < 17 {
                sum += v % 5 + 1;
                if is_first {
                    v = v.wrapping_mul(31).wrapping_add(added);
                }
            }
        }
        [v, if is_first { 0 } else { 23 }, sum]
    };
    for group in [1, 8, 16, 32, 64_u32] {
        let out = upload(&queue, &vec![0_u32; 6 * group as usize]);
        for b in [0, 2, 4, 7] {
            let range = NdRange::new(2 * group as usize, group as usize);
            queue.parallel_for(range, kernel::rounds_of_the_first(&out, b)).unwrap();
            let expected: Vec<u32> = (0..2 * group).flat_map(|id| row(id % group < 2, b)).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{b} in groups of {group}");
        }
    }
}
