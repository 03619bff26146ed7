//! Code beside loops and barriers runs once for each work-item.

use oclave::Queue;
use oclave::kernel::NdRange;

use super::{kernel, queue, upload};

/// Groups of one work-item, of 1 × n and of n × m.
const GROUPS: [[usize; 2]; 6] = [[1, 1], [2, 1], [1, 2], [1, 8], [8, 1], [2, 4]];

/// Without the pass, PoCL 6.0 puts a barrier into the loop and runs the code before it twice, in
/// groups of 1 × n (Q13).
#[device_test(queue)]
fn code_before_a_loop_runs_once(queue: Queue) {
    let words = [100, 200_u32];
    let given = upload(&queue, &words);
    for [x, y] in GROUPS {
        let items = u32::try_from(x * y).unwrap();
        let out = upload(&queue, &vec![0_u32; 4 * x * y]);
        let range = NdRange::new([2 * x, y], [x, y]);
        queue.parallel_for(range, kernel::before_a_loop(&out, &given, 5)).unwrap();
        let row = |item: u32| {
            let shared = |item: u32| words[1] ^ (item * 5);
            [1, item * 25 + 1 + shared((item + 1) % items)]
        };
        let expected: Vec<u32> = (0..2 * items).flat_map(|id| row(id % items)).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "groups of {x} x {y}");
    }
}

/// Without the pass, PoCL 7.1 runs code before two nested conditions with a loop twice, in groups
/// of 1 × n and of one (Q13).
#[device_test(queue)]
fn code_before_conditions_with_loops_runs_once(queue: Queue) {
    for [x, y] in GROUPS {
        let (range, items) = (NdRange::new([2 * x, y], [x, y]), u32::try_from(2 * x * y).unwrap());
        let out = upload(&queue, &vec![0_u32; 4 * x * y]);
        for (a, b) in [(3, 4), (0, 4), (3, 0), (9, 2)] {
            queue.write(&out, &vec![0_u32; 4 * x * y]).unwrap();
            queue.parallel_for(range, kernel::loops_in_loops(&out, a, b)).unwrap();
            let next = |v: u32, by: u32| v.wrapping_mul(5).wrapping_add(by);
            let rounds = || (0..a).flat_map(|i| (0..b).map(move |j| (i, j)));
            let row = |id: u32| [1, rounds().fold(1, |v, (i, j)| next(v, (id ^ j).wrapping_add(i)))];
            let expected: Vec<u32> = (0..items).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {x} x {y}");

            queue.write(&out, &vec![0_u32; 4 * x * y]).unwrap();
            queue.parallel_for(range, kernel::loop_in_a_branch(&out, a, b)).unwrap();
            let summed = |id: u32| (0..b).fold(1, |v, i| next(v, id ^ i));
            let row = |id: u32| [7, if b > a { id } else { summed(id) }];
            let expected: Vec<u32> = (0..items).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "limit {a}, {b} rounds, groups of {x} x {y}");
        }
    }
}

/// PoCL 7.1 runs code behind such conditions twice where the loop is tested at its start.
#[device_test(queue)]
fn code_behind_a_loop_with_barriers_runs_once(queue: Queue) {
    let words = [7, 13_u32];
    let given = upload(&queue, &words);
    for [x, y] in GROUPS {
        let (range, group) = (NdRange::new([2 * x, y], [x, y]), x * y);
        for (rounds, limit) in [(4, 1), (5, 1), (1, 1)] {
            let out = upload(&queue, &vec![0_u32; 4 * group]);
            queue.parallel_for(range, kernel::behind_a_loop(&out, &given, rounds, limit)).unwrap();
            let times = if rounds > limit { words[rounds as usize % 2] % 5 } else { 0 };
            let mut v = vec![1_u32; group];
            for _ in 0..times {
                (0..group).for_each(|item| {
                    v[item] = v[item].wrapping_mul(31).wrapping_add((group - 1 - item) as u32);
                });
            }
            let row = |item: usize| [7, v[item].wrapping_add(v[group - 1 - item])];
            let expected: Vec<u32> = (0..2 * group).flat_map(|id| row(id % group)).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{rounds}, {limit}, groups of {x} x {y}");
        }
    }
}

/// PoCL 7.1 loads a value again behind a loop into which it puts a barrier (Q33), unless the pass
/// helps.
#[device_test(queue)]
fn what_was_read_before_a_loop_stays(queue: Queue) {
    let given = upload(&queue, &[5, 1000_u32]);
    for group in [1, 2, 3, 8, 16_u32] {
        for rounds in [0, 1, 4] {
            let out = upload(&queue, &vec![2_u32; 3 * group as usize]);
            let range = NdRange::new(3 * group as usize, group as usize);
            queue.parallel_for(range, kernel::read_before_a_loop(&out, &given, rounds)).unwrap();
            let row = |id: u32| {
                let v = (0..rounds).fold(0_u32, |v, _| v.wrapping_mul(31).wrapping_add(id % group));
                21 + if v == rounds { 7 } else { 1000 }
            };
            let expected: Vec<u32> = (0..3 * group).map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{rounds} rounds in groups of {group}");
        }
    }
}
