//! Barriers in loops, branches and helpers, and loops that end by a flag.
//!
//! The references step a whole group from barrier to barrier.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, int, launch, local, mem, uint};
use crate::case::{Argument, Case, Memory, Space};

/// A kernel `(in, out, more, local)` whose groups turn their input into their output.
fn mapped(
    kernel: &str,
    size: usize,
    more: &[Argument],
    locals: usize,
    reference: impl Fn(usize, &[u32]) -> Vec<u32>,
) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(size as u64 + 30).words(groups * size);
    let expected =
        input.chunks(size).enumerate().flat_map(|(group, values)| reference(group, values)).collect();
    let mut arguments = vec![mem(0), mem(1)];
    arguments.extend_from_slice(more);
    arguments.extend((0..locals).map(|_| local::<u32>(size)));
    let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * size)], launches, equal(1, expected))
}

fn rotated(values: &[u32]) -> Vec<u32> {
    let n = values.len();
    (0..n).map(|i| values[(i + 1) % n].wrapping_add(i as u32)).collect()
}

fn rotated_often(values: &[u32], rounds: usize) -> Vec<u32> {
    (0..rounds).fold(values.to_vec(), |values, _| rotated(&values))
}

fn rotated_nested(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    for i in 1..=rounds {
        values = rotated_often(&values, i);
        values[0] ^= i as u32;
    }
    values
}

fn ping_pong(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    let n = values.len();
    for round in 0..rounds {
        let seen = values.clone();
        for i in (0..n).filter(|i| i % 2 != round % 2) {
            if i > 0 {
                values[i] = values[i].wrapping_add(seen[i - 1].wrapping_mul(3));
            }
            if i + 1 < n {
                values[i] ^= seen[i + 1];
            }
        }
    }
    values
}

pub(super) fn loops() -> Vec<Case> {
    let mut cases = Vec::new();
    for rounds in [1, 5] {
        for kernel in ["rotate_for", "rotate_while", "rotate_do"] {
            cases.extend(in_groups(&format!("{kernel} {rounds} times"), &SIZES, |size| {
                mapped(kernel, size, &[int(rounds)], 1, |_, values| rotated_often(values, rounds))
            }));
        }
        cases.extend(in_groups(&format!("two_arrays {rounds} times"), &SIZES, |size| {
            mapped("two_arrays", size, &[int(rounds)], 2, |_, values| rotated_often(values, rounds))
        }));
    }
    for kernel in ["rotate_for", "rotate_while"] {
        cases.extend(in_groups(&format!("{kernel} not at all"), &SIZES, |size| {
            mapped(kernel, size, &[int(0)], 1, |_, values| values.to_vec())
        }));
    }
    cases.extend(in_groups("rotate_nested", &SIZES, |size| {
        mapped("rotate_nested", size, &[int(4)], 1, |_, values| rotated_nested(values, 4))
    }));
    cases.extend(in_groups("ping_pong", &SIZES, |size| {
        mapped("ping_pong", size, &[int(6)], 1, |_, values| ping_pong(values, 6))
    }));
    cases.extend(in_groups("rounds_of_group", &SIZES, rounds_of_group));
    cases
}

fn rounds_of_group(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(31).words(groups * size);
    let rounds: Vec<i32> = (0..groups as i32).map(|group| (group * 5 + 3) % 7).collect();
    let expected =
        input.chunks(size).zip(&rounds).flat_map(|(values, &n)| rotated_often(values, n as usize)).collect();
    let memory = vec![Memory::of(&input), Memory::of(&rounds), Memory::unset::<u32>(groups * size)];
    let arguments = [mem(0), mem(1), mem(2), local::<u32>(size)];
    let launches = vec![launch("rounds_of_group", Space::d1(groups * size, size), arguments)];
    (memory, launches, equal(2, expected))
}

fn reversed(values: &[u32]) -> Vec<u32> {
    values.iter().rev().copied().collect()
}

fn both_arms(group: usize, values: &[u32]) -> Vec<u32> {
    let reversed = reversed(values);
    if group.is_multiple_of(2) {
        return reversed;
    }
    let n = values.len();
    (0..n).map(|i| reversed[(i + 1) % n].wrapping_mul(3)).collect()
}

fn in_cases(group: usize, values: &[u32]) -> Vec<u32> {
    let n = values.len();
    match group % 4 {
        0 => reversed(values),
        1 => {
            let next: Vec<u32> = (0..n).map(|i| values[(i + 1) % n]).collect();
            (0..n).map(|i| next[i].wrapping_add(next[(i + 2) % n].wrapping_add(1))).collect()
        }
        2 => (0..n).map(|i| values[(i + 2) % n]).collect(),
        _ => values.to_vec(),
    }
}

fn break_continue(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    let n = values.len();
    for round in 0..rounds {
        let seen = values.clone();
        for (i, value) in values.iter_mut().enumerate() {
            *value = match round % 3 {
                0 => value.wrapping_add(seen[(i + 1) % n]) ^ 0x55,
                1 => seen[n - 1 - i].wrapping_add(7),
                _ => value.wrapping_add(seen[(i + 1) % n]),
            };
        }
    }
    values
}

fn leave_two_loops(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    let n = values.len();
    let mut done = 0;
    'both: for i in 0..10u32 {
        for _ in 0..4 {
            let seen = values.clone();
            values = (0..n).map(|at| seen[(at + 1) % n].wrapping_add(i)).collect();
            done += 1;
            if done == rounds {
                break 'both;
            }
        }
        values[0] = values[0].wrapping_add(100);
    }
    reversed(&values)
}

fn in_helper(group: usize, values: &[u32], rounds: usize) -> Vec<u32> {
    let n = values.len();
    let neighbours = |values: &[u32], distance: usize| -> Vec<u32> {
        (0..n).map(|i| values[(i + distance) % n]).collect()
    };
    let mut values: Vec<u32> = if group % 2 == 1 {
        values.iter().zip(neighbours(values, 1)).map(|(a, b)| a.wrapping_add(b)).collect()
    } else {
        values.iter().zip(neighbours(values, 2)).map(|(a, b)| a.wrapping_sub(b)).collect()
    };
    for round in 0..rounds {
        let others = neighbours(&values, round);
        values = values.iter().zip(others).map(|(a, b)| a.wrapping_mul(5).wrapping_add(b)).collect();
    }
    values
}

fn now_and_then(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    for round in 0..rounds {
        if round % 3 != 0 {
            let others = reversed(&values);
            values = values.iter().zip(others).map(|(a, b)| a.wrapping_add(b)).collect();
        }
        values = values.iter().map(|value| value.wrapping_mul(3).wrapping_add(1)).collect();
    }
    values
}

pub(super) fn branches() -> Vec<Case> {
    let mut cases = in_groups("both_arms", &SIZES, |size| mapped("both_arms", size, &[], 1, both_arms));
    cases.extend(in_groups("in_cases", &SIZES, |size| mapped("in_cases", size, &[], 1, in_cases)));
    for rounds in [0, 1, 8] {
        cases.extend(in_groups(&format!("break_continue {rounds} times"), &SIZES, |size| {
            mapped("break_continue", size, &[int(rounds)], 1, |_, values| break_continue(values, rounds))
        }));
    }
    for rounds in [6, 1000] {
        cases.extend(in_groups(&format!("leave_two_loops after {rounds}"), &SIZES, |size| {
            mapped("leave_two_loops", size, &[int(rounds)], 1, |_, values| leave_two_loops(values, rounds))
        }));
    }
    cases.extend(in_groups("in_helper", &SIZES, |size| {
        mapped("in_helper", size, &[int(4)], 1, |group, values| in_helper(group, values, 4))
    }));
    cases.extend(in_groups("mean_and_spread", &SIZES, mean_and_spread));
    cases.extend(in_groups("now_and_then", &SIZES, |size| {
        mapped("now_and_then", size, &[int(8)], 1, |_, values| now_and_then(values, 8))
    }));
    cases.extend(in_groups("group_returns", &SIZES, |size| {
        mapped("group_returns", size, &[uint(2)], 1, |group, values| {
            if group < 2 { reversed(values) } else { vec![0xCDCD_CDCD; size] }
        })
    }));
    cases
}

fn mean_and_spread(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(32).words(groups * size);
    let of_group = |values: &[u32]| {
        let values = values.iter().map(|value| value & 0xFFFF);
        let mean = values.clone().sum::<u32>() / size as u32;
        [mean, values.map(|value| value.abs_diff(mean)).sum()]
    };
    let expected: Vec<u32> = input.chunks(size).flat_map(of_group).collect();
    let arguments = [mem(0), mem(1), local::<u32>(size)];
    let launches = vec![launch("mean_and_spread", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<[u32; 2]>(groups)], launches, equal(1, expected))
}

pub(super) fn flags() -> Vec<Case> {
    let mut cases = in_groups("until_all_zero", &SIZES, until_all_zero);
    cases.extend(in_groups("sort_until_unchanged", &SIZES, |size| {
        mapped("sort_until_unchanged", size, &[], 1, |_, values| {
            let mut values = values.to_vec();
            values.sort_unstable();
            values
        })
    }));
    cases.extend(in_groups("label_runs", &SIZES, label_runs));
    cases.extend(in_groups("work_queue", &SIZES, work_queue));
    cases.extend(in_groups("find_and_leave", &SIZES, find_and_leave));
    cases
}

fn until_all_zero(size: usize) -> Parts {
    let groups = groups_of(size);
    let mut random = Random::new(33);
    let input: Vec<u32> = (0..groups * size).map(|_| random.u32() >> random.below(32)).collect();
    let bits = |value: &u32| 32 - value.leading_zeros();
    let of_group = |values: &[u32]| -> Vec<u32> {
        // The flag starts clear, so even a group of zeros takes one round.
        let rounds = values.iter().map(bits).max().unwrap_or_default().max(1);
        values.iter().map(|value| rounds * 1000 + bits(value)).collect()
    };
    let expected = input.chunks(size).flat_map(of_group).collect();
    let launches = vec![launch("until_all_zero", Space::d1(groups * size, size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * size)], launches, equal(1, expected))
}

fn label_runs(size: usize) -> Parts {
    let groups = groups_of(size);
    let mut random = Random::new(34);
    let mut input: Vec<u8> = Vec::new();
    while input.len() < groups * size {
        let value = random.below(3) as u8;
        let len = 1 + random.below(12);
        input.extend(std::iter::repeat_n(value, len));
    }
    input.truncate(groups * size);
    let mut expected = Vec::new();
    for values in input.chunks(size) {
        let mut start = 0;
        for i in 0..size {
            if i > 0 && values[i] != values[i - 1] {
                start = i;
            }
            expected.push(start as u32);
        }
    }
    let arguments = [mem(0), mem(1), local::<u32>(size)];
    let launches = vec![launch("label_runs", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * size)], launches, equal(1, expected))
}

fn work_queue(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(35).words(groups * size);
    // A number n is split n - 1 times into n ones, so it takes 2n - 1 places, at most 15.
    let capacity = 16 * size;
    let expected = input.chunks(size).map(|values| values.iter().map(|v| v % 8 + 1).sum()).collect();
    let arguments = [mem(0), mem(1), uint(capacity), local::<u32>(capacity)];
    let launches = vec![launch("work_queue", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups)], launches, equal::<u32>(1, expected))
}

fn find_and_leave(size: usize) -> Parts {
    let (groups, n, key) = (groups_of(size), 157, 4242u32);
    let mut random = Random::new(36);
    let mut input = random.words_below(groups * n, 4000);
    // The first group has no key; the others have it twice.
    for group in 1..groups {
        for _ in 0..2 {
            input[group * n + random.below(n)] = key;
        }
    }
    let mut expected = Vec::new();
    for values in input.chunks(n) {
        let at = values.iter().position(|value| *value == key);
        expected.push(at.map_or(u32::MAX, |at| at as u32));
        expected.push(at.map_or(n.div_ceil(size), |at| at / size + 1) as u32);
    }
    let arguments = [mem(0), uint(n), Argument::value(key), mem(1)];
    let launches = vec![launch("find_and_leave", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<[u32; 2]>(groups)], launches, equal(1, expected))
}

fn checked_store(values: &[u32], n: i32) -> Vec<u32> {
    let first = values[0].wrapping_add(2);
    let seen: Vec<u32> = values.iter().map(|value| value.wrapping_add(first)).collect();
    let of = |(l, value): (usize, &u32)| {
        let value = if l == 0 { *value } else { value.wrapping_add(4) };
        if n > 4 { value ^ seen[0] } else { value.wrapping_add(6) }
    };
    seen.iter().enumerate().map(of).collect()
}

fn checked_loop(values: &[u32], rounds: usize) -> Vec<u32> {
    let mut values = values.to_vec();
    for _ in 0..rounds {
        let seen = values.clone();
        for (l, value) in values.iter_mut().enumerate() {
            *value = if l % 2 == 0 { value.wrapping_add(seen[(l + 1) % seen.len()]) } else { *value ^ 5 };
        }
    }
    values
}

pub(super) fn checks() -> Vec<Case> {
    let mut cases = Vec::new();
    for n in [3, 7] {
        cases.extend(in_groups(&format!("checked_store {n}"), &SIZES, |size| {
            mapped("checked_store", size, &[int(n)], 1, |_, values| checked_store(values, n as i32))
        }));
        cases.extend(in_groups(&format!("checked_loop {n}"), &SIZES, |size| {
            mapped("checked_loop", size, &[int(n)], 1, |_, values| checked_loop(values, n))
        }));
    }
    cases
}

pub(super) fn negations() -> Vec<Case> {
    let number = |word: u32| word as f32;
    let negated = move |word: u32| -number(word & 0xff) * 2.0 + 1.0;
    let rotated_pair = move |word: u32| {
        let (c, mut a, mut b) = (number(word & 7), number(word >> 3 & 15), number(word >> 7 & 15));
        (a, b) = (c * b + a, -c * b + a);
        let seen = b;
        (a, b) = (c * b + a, -c * b + a);
        a + b * 4.0 + seen
    };
    let least_of_negated = move |word: u32| {
        let (a, b) = (number(word & 0xff), number(word >> 8 & 0xff));
        (-a).min(-b) + a * 2.0 - (a + b) * 4.0 + 1.0
    };
    let negated_vectors = move |word: u32| {
        let of = |shift: u32| -number(word >> shift & 15);
        let sum = of(0) + of(3) * 2.0 + of(5) * 4.0 + of(7) * 8.0;
        (0..3).fold(0.0, |all, round| all + (sum + number(round)))
    };
    let kernels: [(&str, &dyn Fn(u32) -> f32); 4] = [
        ("negated", &negated),
        ("rotated_pair", &rotated_pair),
        ("least_of_negated", &least_of_negated),
        ("negated_vectors", &negated_vectors),
    ];
    let mut cases = Vec::new();
    for (kernel, of) in kernels {
        cases.extend(in_groups(kernel, &SIZES, |size| {
            let reference = |_, values: &[u32]| values.iter().map(|word| of(*word).to_bits()).collect();
            mapped(kernel, size, &[], 1, reference)
        }));
    }
    cases
}
