//! Sorts.

use super::common::{
    POWERS, Parts, Random, SIZES, all, case, close, equal, groups_of, in_groups, int, launch, local, mem,
    uint,
};
use crate::case::{Argument, Case, Memory, Space, elements};

fn sorted<T: Ord + Copy>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
}

/// Numbers of both signs, some of them equal.
fn numbers(seed: u64, len: usize) -> Vec<i32> {
    let mut random = Random::new(seed);
    (0..len)
        .map(|i| if i % 3 == 0 { random.below(20) as i32 - 10 } else { random.u32().cast_signed() })
        .collect()
}

/// Each group sorts its part from memory 0 to memory 1, or in place, with `locals` arrays in local memory.
fn of_groups(kernel: &str, size: usize, each: usize, in_place: bool, locals: usize) -> Parts {
    let groups = groups_of(size);
    let mut input = numbers(size as u64 + 80, groups * size * each);
    if kernel == "bitonic_local" || kernel == "bitonic_select" {
        // These compare without signs.
        input.iter_mut().for_each(|value| *value &= i32::MAX);
    }
    let expected = input.chunks(size * each).flat_map(sorted).collect();
    let mut memory = vec![Memory::of(&input)];
    let mut arguments = vec![mem(0)];
    if !in_place {
        memory.push(Memory::unset::<i32>(input.len()));
        arguments.push(mem(1));
    }
    arguments.extend((0..locals).map(|_| local::<i32>(size * each)));
    let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
    (memory, launches, equal(usize::from(!in_place), expected))
}

pub(super) fn bitonic() -> Vec<Case> {
    let mut cases = in_groups("bitonic_local", &POWERS, |size| of_groups("bitonic_local", size, 2, false, 1));
    cases.extend(in_groups("bitonic_xor", &POWERS[1..], |size| of_groups("bitonic_xor", size, 1, true, 1)));
    cases.extend(in_groups("bitonic_select", &POWERS, |size| of_groups("bitonic_select", size, 1, false, 1)));
    for (n, size) in [(64, 1), (128, 2), (512, 64), (1024, 256)] {
        cases.push(case(format!("bitonic_step of {n} in groups of {size}"), bitonic_steps(n, size)));
    }
    cases
}

fn bitonic_steps(n: usize, size: usize) -> Parts {
    let keys = Random::new(81).words_below(n, n / 2);
    let values: Vec<u32> = (0..n as u32).collect();
    let mut launches = Vec::new();
    let mut k = 2;
    while k <= n {
        let mut j = k / 2;
        while j > 0 {
            launches.push(launch("bitonic_step", Space::d1(n, size), [mem(0), mem(1), uint(k), uint(j)]));
            j /= 2;
        }
        k *= 2;
    }
    let memory = vec![Memory::of(&keys), Memory::of(&values)];
    let expected = sorted(&keys);
    // The sort is not stable: values may be in any order that belongs to their keys.
    let check = Box::new(move |memory: &[Vec<u8>]| {
        let values: Vec<u32> = elements(&memory[1]);
        if sorted(&values) != (0..n as u32).collect::<Vec<u32>>() {
            return Err("memory 1 lost values".to_owned());
        }
        let wrong = values.iter().zip(&expected).position(|(value, key)| keys[*value as usize] != *key);
        wrong.map_or(Ok(()), |at| Err(format!("memory 1[{at}] does not belong to its key")))
    });
    let of_keys = sorted(&Random::new(81).words_below(n, n / 2));
    (memory, launches, all(vec![equal(0, of_keys), check]))
}

pub(super) fn odd_even() -> Vec<Case> {
    let mut cases = in_groups("transposition", &SIZES, |size| of_groups("transposition", size, 1, false, 1));
    cases.extend(in_groups("merge_exchange", &SIZES, |size| of_groups("merge_exchange", size, 1, false, 1)));
    for (n, size) in [(21, 1), (50, 9), (101, 32)] {
        let input = numbers(82, n);
        let expected = sorted(&input);
        let space = Space::d1((n / 2).div_ceil(size) * size, size);
        let round = |i: usize| launch("transposition_round", space, [mem(0), uint(n), uint(i % 2)]);
        let parts = (vec![Memory::of(&input)], (0..n).map(round).collect(), equal(0, expected));
        cases.push(case(format!("transposition_round of {n} in groups of {size}"), parts));
    }
    cases
}

pub(super) fn radix() -> Vec<Case> {
    let mut cases = in_groups("radix", &SIZES, radix_launches);
    cases.extend(in_groups("radix_split", &SIZES, |size| {
        let input = Random::new(83).words_below(groups_of(size) * size, 1 << 10);
        let expected = input.chunks(size).flat_map(sorted).collect();
        let arguments = [mem(0), int(10), local::<u32>(size), local::<u32>(size)];
        let launches = vec![launch("radix_split", Space::d1(input.len(), size), arguments)];
        (vec![Memory::of(&input)], launches, equal(0, expected))
    }));
    cases
}

/// Memory 0 and 1 take turns; 2 has the counts.
fn radix_launches(size: usize) -> Parts {
    let n = groups_of(size) * size - size / 2;
    let groups = n.div_ceil(size);
    let input = Random::new(84).words(n);
    let expected = sorted(&input);
    let space = Space::d1(groups * size, size);
    let mut launches = Vec::new();
    for digit in 0..8 {
        let (from, to, shift) = (digit % 2, 1 - digit % 2, uint(4 * digit));
        let counted = [mem(from), uint(n), shift.clone(), mem(2)];
        launches.push(launch("radix_histogram", space, counted));
        launches.push(launch("radix_scan", Space::d1(1, 1), [mem(2), uint(16 * groups)]));
        let permuted: [Argument; 6] = [mem(from), uint(n), shift, mem(2), mem(to), local::<u8>(size)];
        launches.push(launch("radix_permute", space, permuted));
    }
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(n), Memory::unset::<u32>(16 * groups)];
    (memory, launches, equal(0, expected))
}

pub(super) fn rank() -> Vec<Case> {
    let mut cases = in_groups("rank_global", &SIZES, |size| {
        let n = 210;
        let mut input = Random::new(85).floats(n, -100.0, 100.0);
        input[20] = input[100];
        let mut expected = input.clone();
        expected.sort_unstable_by(f32::total_cmp);
        let space = Space::d1(n.max(3 * size).div_ceil(size) * size, size);
        let launches = vec![launch("rank_global", space, [mem(0), int(n), mem(1)])];
        (vec![Memory::of(&input), Memory::unset::<f32>(n)], launches, close(1, expected, 0.0, 0.0))
    });
    cases.extend(in_groups("rank_tiled", &SIZES, rank_tiled));
    cases.extend(in_groups("counting", &SIZES, |size| {
        let n = groups_of(size) * size;
        let input = Random::new(86).bytes(n);
        let expected = input.chunks(size).flat_map(sorted).collect();
        let launches = vec![launch("counting", Space::d1(n, size), [mem(0), mem(1)])];
        (vec![Memory::of(&input), Memory::unset::<u8>(n)], launches, equal(1, expected))
    }));
    cases
}

fn rank_tiled(size: usize) -> Parts {
    let n = 3 * size.max(40) - 5;
    let input = numbers(87, n);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| input[*i]);
    let mut ranks = vec![0u32; n];
    for (rank, i) in order.iter().enumerate() {
        ranks[*i] = rank as u32;
    }
    let arguments = [mem(0), uint(n), mem(1), mem(2), local::<i32>(size)];
    let launches = vec![launch("rank_tiled", Space::d1(n.div_ceil(size) * size, size), arguments)];
    let memory = vec![Memory::of(&input), Memory::unset::<i32>(n), Memory::unset::<u32>(n)];
    (memory, launches, all(vec![equal(1, sorted(&input)), equal(2, ranks)]))
}

pub(super) fn merge() -> Vec<Case> {
    let mut cases = in_groups("merge_local", &SIZES, |size| of_groups("merge_local", size, 1, false, 2));
    for (n, size) in [(37, 1), (500, 9), (1000, 64), (1024, 256)] {
        for kernel in ["merge_runs", "merge_by_search"] {
            let name = format!("{kernel} of {n} in groups of {size}");
            cases.push(case(name, merge_levels(kernel, n, size)));
        }
    }
    cases
}

fn merge_levels(kernel: &str, n: usize, size: usize) -> Parts {
    let input = numbers(88, n);
    let (mut from, mut run, mut launches) = (0, 1, Vec::new());
    while run < n {
        let items = if kernel == "merge_runs" { n.div_ceil(2 * run) } else { n };
        let space = Space::d1(items.div_ceil(size) * size, size);
        launches.push(launch(kernel, space, [mem(from), mem(1 - from), uint(n), uint(run)]));
        (from, run) = (1 - from, 2 * run);
    }
    (vec![Memory::of(&input), Memory::unset::<i32>(n)], launches, equal(from, sorted(&input)))
}

pub(super) fn private() -> Vec<Case> {
    let (length, items) = (24, 300);
    let of = |kernel: &&str| {
        let input = numbers(89, length * items);
        let expected = input.chunks(length).flat_map(sorted).collect();
        let launches = vec![launch(kernel, Space::d1(items, 30), [mem(0), mem(1)])];
        let memory = vec![Memory::of(&input), Memory::unset::<i32>(length * items)];
        case(*kernel, (memory, launches, equal(1, expected)))
    };
    ["insertion", "shell", "selection", "bubble", "heap", "quick"].iter().map(of).collect()
}
