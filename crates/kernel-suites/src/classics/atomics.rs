//! Atomics of OpenCL C 2.0.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, int, launch, local, mem};
use crate::case::{Case, Memory, Space};

/// How many elements the work-items of `weak` and `strong` share.
const SUMS: usize = 3;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("weak", &SIZES, |size| sums("weak", size, |sum, id| sum.wrapping_add(id + 1)));
    cases.extend(in_groups("strong", &SIZES, |size| sums("strong", size, u32::wrapping_sub)));
    cases.extend(in_groups("combined", &SIZES, combined));
    cases.extend(in_groups("counts", &SIZES, counts));
    cases
}

fn sums(kernel: &str, size: usize, step: impl Fn(u32, u32) -> u32) -> Parts {
    let n = groups_of(size) * size;
    let initial = [7, 5, 1000];
    let mut expected = initial;
    (0..n).for_each(|id| expected[id % SUMS] = step(expected[id % SUMS], id as u32));
    let launches = vec![launch(kernel, Space::d1(n, size), [mem(0), int(SUMS)])];
    (vec![Memory::of(&initial)], launches, equal(0, expected.to_vec()))
}

fn combined(size: usize) -> Parts {
    let input = Random::new(size as u64 + 90).words(groups_of(size) * size);
    let initial = [1, 2, 4, u32::MAX, 8, 9, u32::MAX];
    let expected = input.iter().fold(initial, |[add, sub, or, and, xor, max, min], value| {
        [
            add.wrapping_add(*value),
            sub.wrapping_sub(*value),
            or | value & 0xff00,
            and & (value | 0xff00),
            xor ^ value,
            max.max(*value),
            min.min(*value),
        ]
    });
    let launches = vec![launch("combined", Space::d1(input.len(), size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::of(&initial)], launches, equal(1, expected.to_vec()))
}

fn counts(size: usize) -> Parts {
    let input = Random::new(size as u64 + 91).words(groups_of(size) * size);
    let of_group = |values: &[u32]| {
        let mut counts = vec![0_u32; size];
        values.iter().for_each(|value| counts[*value as usize % size] += 1);
        counts
    };
    let expected: Vec<u32> = input.chunks(size).flat_map(of_group).collect();
    let launches = vec![launch("counts", Space::d1(input.len(), size), [mem(0), local::<u32>(size)])];
    (vec![Memory::of(&input)], launches, equal(0, expected))
}
