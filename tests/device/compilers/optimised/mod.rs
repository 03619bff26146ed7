//! Kernels stay right where the build replaces what the compiler's optimiser wrote.
#![deny(unsafe_code)]

use crate::common;
mod guarded;
mod joined;
mod lone;
mod masked;
mod once;
mod packed;
mod uneven;
mod ways;

use oclave::graph::ReplayStrategy;
use oclave::kernel::NdRange;
use oclave::memory::usm;
use oclave::{Command, Graph, Queue, UsmSlice, bytemuck::Pod};

use crate::kernels::optimised as kernel;

fn queue() -> Option<Queue> {
    Some(Queue::new(&common::context()?).unwrap())
}

fn upload<T: Pod>(queue: &Queue, data: &[T]) -> UsmSlice<T, usm::DeviceOnly> {
    let memory = queue.context().alloc_device::<T>(data.len()).unwrap();
    queue.write(&memory, data).unwrap();
    memory
}

const N: i32 = 40;

#[device_test(queue)]
fn frozen_operands_and_odd_widths_give_the_results_of_the_source(queue: Queue) {
    let values: Vec<i32> = (0..N).map(|i| i.wrapping_mul(0x2545_f491) >> (i % 20)).collect();
    let input = upload(&queue, &values);
    for n in [1, 2, 3, 7, -5, i32::MAX] {
        let out = upload(&queue, &[0; 2 * N as usize]);
        queue.parallel_for(values.len(), kernel::quotients(&out, &input, n)).unwrap();
        let expected: Vec<i32> = values.iter().flat_map(|v| [v / n, v % n]).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "{n}");
    }
    for n in [-3, 0, 1, 5, 30] {
        let before: Vec<i32> = (0..N).map(|i| 2 * i - 9).collect();
        let out = upload(&queue, &before);
        queue.parallel_for(before.len(), kernel::counters(&out, n)).unwrap();
        let expected: Vec<i32> = (0..N).zip(&before).map(|(i, old)| counted(i, n, *old)).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "{n}");

        let out = upload(&queue, &before);
        queue.parallel_for(before.len(), kernel::sums(&out, n * 50)).unwrap();
        let sum = |i: i32| (0..n * 50 * i).fold(0_i32, i32::wrapping_add);
        assert_eq!(queue.read(&out).unwrap(), (0..N).map(sum).collect::<Vec<_>>(), "{n}");
    }
}

/// The kernel `counters` for one work-item.
fn counted(i: i32, n: i32, old: i32) -> i32 {
    let t = (0..n + i).fold(0_i32, |t, k| match k {
        0 => t + 3,
        1 => t ^ 5,
        2 => t - old,
        7 => t * 3,
        k => t + k,
    });
    match i & 7 {
        0 => t + old,
        3 => t - 7,
        4 => t * old,
        6 => t ^ 99,
        _ => t,
    }
}

#[device_test(queue)]
fn saturated_reversed_and_selected_values_are_right(queue: Queue) {
    let values: Vec<u32> = (0..64).map(|i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(i)).collect();
    let input = upload(&queue, &values);
    let out = upload(&queue, &[0_u32; 128]);
    queue.parallel_for(values.len(), kernel::bits(&out, &input, 0x8000_0001)).unwrap();
    let expected: Vec<u32> =
        values.iter().flat_map(|v| [v.saturating_add(0x8000_0001), v.reverse_bits()]).collect();
    assert_eq!(queue.read(&out).unwrap(), expected);

    let lanes: Vec<f32> = (0..16 * 6).map(|i| ((i * 37) % 101) as f32).collect();
    let input = upload(&queue, &lanes);
    let out = upload(&queue, &[0_f32; 16 * 3]);
    queue.parallel_for(16, kernel::wholes(&out, &input)).unwrap();
    let nearer = |pair: &[f32]| {
        let (a, b) = pair.split_at(3);
        if a[0] > b[1] { a.to_vec() } else { b.to_vec() }
    };
    let expected: Vec<f32> = lanes.chunks_exact(6).flat_map(nearer).collect();
    assert_eq!(queue.read(&out).unwrap(), expected);
}

/// Intel's compiler crashed on each of its loops (Q26), in launches and in interpreter modules.
#[device_test(queue)]
fn functions_of_values_that_depend_on_the_path(queue: Queue) {
    let (a, b, n) = (150_usize, 77_u32, 200_usize);
    let words: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 24)).collect();
    let squares: Vec<f32> = (0..n).map(|i| ((i % 12) * (i % 12)) as f32).collect();
    let (input, floats) = (upload(&queue, &words), upload(&queue, &squares));
    let out = upload(&queue, &[0_u32; 6]);
    let values = || (0..n).map(|i| if i < a { words[i] } else { b });
    let sum = |function: fn(u32) -> u32| values().map(function).fold(0, u32::wrapping_add);
    let roots: usize = (0..n).map(|i| if i < a { i % 12 } else { 3 }).sum();
    let expected = [
        sum(|r| r.rotate_left(9)),
        sum(|r| r.min(1000)),
        sum(u32::count_ones),
        sum(|r| r.min(255)),
        roots as u32,
        values().min().unwrap().min(5000),
    ];
    let call = || kernel::joined(&out, &input, &floats, a as u32, b, n as u32);
    queue.single_task(call()).unwrap();
    assert_eq!(queue.read(&out).unwrap(), expected);

    queue.fill(&out, 0).unwrap();
    let graph = Graph::from_queue(&queue);
    graph.add(Command::single_task(call())).unwrap();
    let finalizer = graph.finalizer().strategy(ReplayStrategy::Interpreter).wait_for_interpreter();
    queue.submit_graph(&finalizer.finalize().unwrap()).unwrap();
    assert_eq!(queue.read(&out).unwrap(), expected, "in a graph");
}

/// As above, in some work-items only. No work-items are left to vectorise then (Q26).
#[device_test(queue)]
fn functions_of_values_that_depend_on_the_path_in_some_work_items(queue: Queue) {
    let (a, b, n) = (150_usize, 77_u32, 200_usize);
    let words: Vec<u32> = (0..=n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 24)).collect();
    let input = upload(&queue, &words);
    let out = upload(&queue, &[0_u32; 2]);
    let sum = |from: usize| {
        let values = (0..n).map(|i| if i < a { words[from + i] } else { b });
        values.fold(0_u32, |sum, r| sum.wrapping_add(r.rotate_left(9)))
    };
    let (a, n) = (a as u32, n as u32);
    let range = || NdRange::new([8, 1], [4, 1]);
    let calls: [(&str, Command, [u32; 2]); 4] = [
        (
            "the first of each group",
            Command::parallel_for(range(), kernel::joined_in_some(&out, &input, a, b, n)),
            [sum(0), sum(0)],
        ),
        (
            "below a bound",
            Command::parallel_for(range(), kernel::joined_below(&out, &input, a, b, n)),
            [sum(0), 0],
        ),
        (
            "the first of two dimensions",
            Command::parallel_for(range(), kernel::joined_in_corner(&out, &input, a, b, n)),
            [sum(0), 0],
        ),
        (
            "the second of each group",
            Command::parallel_for(range(), kernel::joined_in_second(&out, &input, a, b, n)),
            [0, sum(1)],
        ),
    ];
    for (what, command, expected) in calls {
        queue.fill(&out, 0).unwrap();
        queue.submit(command).unwrap();
        assert_eq!(queue.read(&out).unwrap(), expected, "{what}");
    }
}

/// Intel's vectoriser is wrong here, unless the pass for fault Q26 helps.
#[device_test(queue)]
fn loops_inside_loops_in_groups_of_every_size(queue: Queue) {
    for group in [1, 8, 16, 24] {
        let out = upload(&queue, &vec![0_u32; 2 * group]);
        for (a, b) in [(0, 3), (1, 2), (2, 4), (18, 4), (18, 5)] {
            queue.parallel_for(NdRange::new(2 * group, group), kernel::rounds(&out, a, b)).unwrap();
            let value = |id: u32| match (a, b) {
                (1.., 2 | 4) => 9 + a as u32 - 1,
                _ => id + b as u32 - 1,
            };
            let expected: Vec<u32> = (0..2).flat_map(|_| (0..group as u32).map(value)).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {b} in groups of {group}");
        }
    }
}

/// Intel's vectoriser takes these values for the same in all work-items (Q32), unless the pass helps.
#[device_test(queue)]
fn values_of_different_ways_stay_apart(queue: Queue) {
    let summed = |by: u32, b: u32| (0..b).fold(1_u32, |sum, i| sum.wrapping_mul(by).wrapping_add(i));
    for group in [1, 8, 16, 24, 32_usize] {
        let items = 2 * group as u32;
        for b in [1_u32, 3, 6] {
            let ones = vec![1_u32; items as usize];
            let (out, sums) = (upload(&queue, &vec![0_u32; 8 * ones.len()]), upload(&queue, &ones));
            let run = |call: oclave::kernel::KernelCall| {
                queue.write(&sums, &ones).unwrap();
                queue.fill(&out, 0).unwrap();
                queue.parallel_for(NdRange::new(2 * group, group), call).unwrap();
                (queue.read(&out).unwrap(), queue.read(&sums).unwrap())
            };
            let what = format!("{b} rounds in groups of {group}");

            let rows = |id: u32| match id % 2 {
                1 => [99, 0, 1, 5, 7, 11, 77, 0],
                _ => [0, 99, 10, 41, 70, 110, 0, 77],
            };
            let all_sums: Vec<u32> =
                (0..items).map(|id| summed(if id % 2 == 1 { 3 } else { 5 }, b)).collect();
            let expected: Vec<u32> = (0..items).flat_map(rows).collect();
            assert_eq!(run(kernel::ways(&out, &sums, b)), (expected, all_sums), "ways: {what}");

            let row = |id: u32| {
                let counted = if id % 3 == 1 { 2 * b } else { 0 };
                [u32::from(id.is_multiple_of(32)), if id % 32 > 7 { b } else { 4 }, counted]
            };
            let mut expected: Vec<u32> = (0..items).flat_map(row).collect();
            expected.resize(8 * ones.len(), 0);
            let all_sums = vec![summed(3, b); ones.len()];
            assert_eq!(run(kernel::carried(&out, &sums, 7, b)), (expected, all_sums), "carried: {what}");

            let mut expected: Vec<u32> = (0..items).map(|id| [0, 2, 0, 1][id as usize % 4]).collect();
            expected.resize(8 * ones.len(), 0);
            assert_eq!(run(kernel::one_way(&out, &sums, b)).0, expected, "one way: {what}");
        }
    }
}

/// Without the pass, PoCL 7.1 loads values again after a barrier (Q33).
#[device_test(queue)]
fn what_was_read_before_a_barrier_stays(queue: Queue) {
    for group in [1, 2, 7, 16, 32, 64_u32] {
        let (range, items) = (NdRange::new(3 * group as usize, group as usize), 3 * group);
        let values: Vec<u32> = (0..4 * items).map(|i| 1000 + i).collect();
        let (out, words) = (upload(&queue, &vec![0_u32; values.len()]), upload(&queue, &values));

        queue.parallel_for(range, kernel::kept(&out, &words, 4)).unwrap();
        let row = |id: u32| {
            let (item, word) = (id % group, 1000 + id);
            let own = item % 4 + 1;
            let second = if item % 4 == 1 { 9 } else { 2 };
            [item, word, (item + 1) % group * 2 + word, own + 10 * second]
        };
        let expected: Vec<u32> = (0..items).flat_map(row).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "kept in groups of {group}");

        queue.write(&words, &values).unwrap();
        queue.parallel_for(range, kernel::kept_vectors(&out, &words)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), values, "vectors in groups of {group}");

        queue.parallel_for(range, kernel::circle(&out, 5)).unwrap();
        let mut sums: Vec<u32> = (1..=group).collect();
        for step in [1, 2, 4] {
            let place = |item: u32| ((item + group - step % group) % group) as usize;
            sums = (0..group).map(|item| sums[item as usize] + sums[place(item)]).collect();
        }
        assert_eq!(queue.read(&out).unwrap()[..items as usize], sums.repeat(3), "circle of {group}");
    }
}

/// Intel's CPU runtime takes the largest of an id and a number for a bound of the group (Q35).
#[device_test(queue)]
fn maxima_of_ids_are_no_bounds(queue: Queue) {
    for group in [1, 2, 8, 16, 64] {
        let out = upload(&queue, &vec![0_u32; 4 * group]);
        queue.parallel_for(NdRange::new(2 * group, group), kernel::maxima(&out, 2)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [1, 2].repeat(2 * group), "groups of {group}");
    }
}

/// Intel's vectoriser takes one of these values for the same in all work-items (Q32), unless the pass
/// changes all of them.
#[device_test(queue)]
fn ways_behind_a_condition_in_a_loop_stay_apart(queue: Queue) {
    for group in [1, 8, 16, 32_u32] {
        let out = upload(&queue, &vec![0_u32; 4 * group as usize]);
        for (a, step) in [(13, 3), (7, 0), (0, 3)] {
            let range = NdRange::new(2 * group as usize, group as usize);
            queue.parallel_for(range, kernel::ways_in_a_loop(&out, a, step)).unwrap();
            let rounds = if a == 0 { 0 } else { 16_u32.div_ceil(step % 6 + 1) };
            let summed = |by: u32| (0..rounds).fold(0_u32, |sum, _| sum.wrapping_mul(31).wrapping_add(by));
            let row = |id: u32| if id.is_multiple_of(3) { [summed(3), 0] } else { [0, summed(a)] };
            let expected: Vec<u32> = (0..2 * group).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{a} and {step} in groups of {group}");
        }
    }
}

/// Intel's vectoriser takes this value for the same in all work-items (Q32), unless the pass looks at
/// the parts of a condition.
#[device_test(queue)]
fn ways_behind_a_part_of_a_condition_stay_apart(queue: Queue) {
    let steps = upload(&queue, &(0..64).collect::<Vec<u32>>());
    for group in [1, 8, 16, 32_u32] {
        let out = upload(&queue, &vec![0_u32; 2 * group as usize]);
        let range = NdRange::new(2 * group as usize, group as usize);
        queue.parallel_for(range, kernel::in_part(&out, &steps, 26)).unwrap();
        let end = (0..).scan(0, |i, _: u32| Some(std::mem::replace(i, *i + *i % 6 + 1))).find(|i| *i >= 26);
        let row = |id: u32| if id % group > 3 { 31_000 } else { 0 } + end.unwrap();
        assert_eq!(
            queue.read(&out).unwrap(),
            (0..2 * group).map(row).collect::<Vec<_>>(),
            "groups of {group}"
        );
    }
}

/// Intel's compiler takes wrong values in groups that do not fill a vector (Q43), unless the pass helps.
#[device_test(queue)]
fn complements_beside_minima_cross_barriers(queue: Queue) {
    let words: Vec<u32> = (0..65_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let input = upload(&queue, &words);
    for group in [1, 2, 8, 15, 16, 24, 32] {
        let out = upload(&queue, &vec![0_u32; 8 * group]);
        for b in [2, 3_000_000_000] {
            let range = NdRange::new(2 * group, group);
            queue.parallel_for(range, kernel::complements(&out, &input, b)).unwrap();
            let row = |pair: &[u32]| {
                let (x, y) = (pair[0], pair[1]);
                let negative = (-((x >> 8) as f32)).max(-((y >> 8) as f32));
                [!x.min(b), x.max(!b), (!x >> 3).min(y), negative.to_bits()]
            };
            let expected: Vec<u32> = words.windows(2).take(2 * group).flat_map(row).collect();
            assert_eq!(queue.read(&out).unwrap(), expected, "{b} in groups of {group}");
        }
    }
}

/// PoCL 7.1 takes lanes of such products for undefined (Q39), unless the pass helps.
#[device_test(queue)]
fn lanes_that_are_zero_stay_so(queue: Queue) {
    for group in [1, 2, 4, 8_u32] {
        let out = upload(&queue, &vec![0_u32; 5 * group as usize]);
        let range = NdRange::new(5 * group as usize, group as usize);
        queue.parallel_for(range, kernel::zero_lanes(&out, 22, 1)).unwrap();
        let row = |id: u32| match id {
            _ if id % group < id => 3,
            0 => 0,
            _ => 22,
        };
        assert_eq!(
            queue.read(&out).unwrap(),
            (0..5 * group).map(row).collect::<Vec<_>>(),
            "groups of {group}"
        );
    }
}
