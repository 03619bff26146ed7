//! Reductions.

use super::common::{
    POWERS, Parts, Random, SIZES, case, close, equal, groups_of, in_groups, launch, local, mem, uint,
};
use crate::case::{Argument, Case, Memory, Space};

fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// `in`, `out` and local memory, where the kernel takes it. Each work-item reads `each` elements.
fn sums(kernel: &str, size: usize, each: usize, takes_local: bool) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(size as u64).words(groups * size * each);
    let expected = input.chunks(size * each).map(sum).collect();
    let mut arguments = vec![mem(0), mem(1)];
    if takes_local {
        arguments.push(local::<u32>(size));
    }
    let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::of(&vec![0u32; groups])], launches, equal(1, expected))
}

fn of_sums(kernel: &str, sizes: &[usize]) -> Vec<Case> {
    in_groups(kernel, sizes, |size| sums(kernel, size, 1, true))
}

pub(super) fn interleaved() -> Vec<Case> {
    let kernels = ["reduce_modulo", "reduce_mask", "reduce_strided", "reduce_two_barriers"];
    kernels.iter().flat_map(|kernel| of_sums(kernel, &SIZES)).collect()
}

pub(super) fn halving() -> Vec<Case> {
    let mut cases = of_sums("reduce_sequential", &POWERS);
    cases.extend(in_groups("reduce_any_size", &SIZES, |size| sums("reduce_any_size", size, 1, false)));
    cases
        .extend(in_groups("reduce_two_elements", &POWERS, |size| sums("reduce_two_elements", size, 2, true)));
    cases.extend(in_groups("reduce_grid_stride", &SIZES, grid_stride));
    cases.extend(in_groups("reduce_global", &SIZES, |size| sums("reduce_global", size, 1, false)));
    cases.extend(in_groups("reduce_max_min", &SIZES, max_min));
    cases.extend(in_groups("reduce_float", &POWERS, float));
    cases
}

pub(super) fn endings() -> Vec<Case> {
    let mut cases = in_groups("reduce_early_exit", &SIZES, |size| sums("reduce_early_exit", size, 1, false));
    for kernel in ["reduce_skipping", "reduce_unrolled", "reduce_last_warp"] {
        cases.extend(of_sums(kernel, &POWERS));
    }
    cases.extend(in_groups("reduce_atomic", &SIZES, atomic));
    for (n, size) in [(1, 2), (257, 2), (1000, 32), (4096, 64), (3001, 256)] {
        cases.push(case(format!("reduce_level of {n} in groups of {size}"), levels(n, size)));
    }
    cases
}

pub(super) fn loops() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in ["reduce_while_first", "reduce_while_last", "reduce_shared_stride"] {
        cases.extend(of_sums(kernel, &POWERS));
    }
    for kernel in ["reduce_do_first", "reduce_do_last", "reduce_endless", "reduce_counted"] {
        cases.extend(of_sums(kernel, &SIZES));
    }
    cases
}

fn grid_stride(size: usize) -> Parts {
    let groups = groups_of(size);
    let total = groups * size;
    let n = 3 * total + size / 2 + 1;
    let input = Random::new(20).words(n);
    let mut expected = vec![0u32; groups];
    for (i, word) in input.iter().enumerate() {
        let group = i % total / size;
        expected[group] = expected[group].wrapping_add(*word);
    }
    let arguments = [mem(0), uint(n), mem(1), local::<u32>(size)];
    let launches = vec![launch("reduce_grid_stride", Space::d1(total, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups)], launches, equal(1, expected))
}

fn max_min(size: usize) -> Parts {
    let groups = groups_of(size);
    let words = Random::new(21).words(groups * size);
    let input: Vec<i32> = words.iter().map(|word| word.cast_signed()).collect();
    let of_group = |chunk: &[i32]| {
        [chunk.iter().copied().max().unwrap_or_default(), chunk.iter().copied().min().unwrap_or_default()]
    };
    let expected: Vec<i32> = input.chunks(size).flat_map(of_group).collect();
    let arguments = [mem(0), mem(1), local::<i32>(size), local::<i32>(size)];
    let launches = vec![launch("reduce_max_min", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<[i32; 2]>(groups)], launches, equal(1, expected))
}

fn float(size: usize) -> Parts {
    let groups = groups_of(size);
    // All are positive, so nothing cancels: the error of eight rounds is below 8 half ulps.
    let input = Random::new(22).floats(groups * size, 0.5, 2.0);
    let of_group = |chunk: &[f32]| chunk.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
    let expected = input.chunks(size).map(of_group).collect();
    let arguments = [mem(0), mem(1), local::<f32>(size)];
    let launches = vec![launch("reduce_float", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<f32>(groups)], launches, close(1, expected, 1e-6, 0.0))
}

fn atomic(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(23).words(groups * size);
    let expected = vec![sum(&input), groups as u32];
    let launches = vec![launch("reduce_atomic", Space::d1(groups * size, size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::of(&[0u32; 2])], launches, equal(1, expected))
}

/// Buffers 1 and 2 take turns, and 3 gets the total.
fn levels(n: usize, size: usize) -> Parts {
    let input = Random::new(24).words(n);
    let expected = vec![sum(&input)];
    let mut launches = Vec::new();
    let (mut left, mut from, mut turn) = (n, 0, 0);
    loop {
        let groups = left.div_ceil(size);
        let to = if groups == 1 { 3 } else { 1 + turn };
        let arguments: [Argument; 4] = [mem(from), uint(left), mem(to), local::<u32>(size)];
        launches.push(launch("reduce_level", Space::d1(groups * size, size), arguments));
        if groups == 1 {
            break;
        }
        (left, from, turn) = (groups, to, 1 - turn);
    }
    let room = n.div_ceil(size);
    let memory = vec![
        Memory::of(&input),
        Memory::unset::<u32>(room),
        Memory::unset::<u32>(room),
        Memory::unset::<u32>(1),
    ];
    (memory, launches, equal(3, expected))
}
