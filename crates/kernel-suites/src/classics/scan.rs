//! Prefix sums.

use super::common::{
    POWERS, Parts, Random, SIZES, all, equal, groups_of, in_groups, launch, local, mem, uint,
};
use crate::case::{Argument, Case, Launch, Memory, Space};

fn inclusive(values: &[u32]) -> Vec<u32> {
    let mut sum = 0u32;
    let next = |value: &u32| {
        sum = sum.wrapping_add(*value);
        sum
    };
    values.iter().map(next).collect()
}

fn exclusive(values: &[u32]) -> Vec<u32> {
    inclusive(values).iter().zip(values).map(|(sum, value)| sum.wrapping_sub(*value)).collect()
}

/// Each group scans `each` elements for every work-item, with local memory of these numbers of words.
fn of_groups(
    kernel: &str,
    size: usize,
    each: usize,
    locals: &[usize],
    scan: fn(&[u32]) -> Vec<u32>,
) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(size as u64 + 60).words(groups * size * each);
    let expected = input.chunks(size * each).flat_map(scan).collect();
    let mut arguments = vec![mem(0), mem(1)];
    arguments.extend(locals.iter().map(|len| local::<u32>(*len)));
    let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(input.len())], launches, equal(1, expected))
}

pub(super) fn hillis_steele() -> Vec<Case> {
    let mut cases = in_groups("inclusive_double_buffer", &SIZES, |size| {
        of_groups("inclusive_double_buffer", size, 1, &[2 * size], inclusive)
    });
    cases.extend(in_groups("exclusive_double_buffer", &SIZES, |size| {
        of_groups("exclusive_double_buffer", size, 1, &[size, size], exclusive)
    }));
    cases.extend(in_groups("inclusive_in_place", &SIZES, |size| {
        of_groups("inclusive_in_place", size, 1, &[size], inclusive)
    }));
    cases.extend(in_groups("inclusive_padded", &SIZES, |size| {
        of_groups("inclusive_padded", size, 1, &[], inclusive)
    }));
    cases.extend(in_groups("running_maximum", &SIZES, |size| {
        of_groups("running_maximum", size, 1, &[size], |values| {
            let mut best = i32::MIN;
            let next = |value: &u32| {
                best = best.max(value.cast_signed());
                best.cast_unsigned()
            };
            values.iter().map(next).collect()
        })
    }));
    cases
}

pub(super) fn blelloch() -> Vec<Case> {
    let mut cases = in_groups("exclusive_tree", &POWERS, |size| {
        of_groups("exclusive_tree", size, 2, &[2 * size], exclusive)
    });
    cases.extend(in_groups("exclusive_tree_padded", &POWERS, |size| {
        of_groups("exclusive_tree_padded", size, 2, &[2 * size + size / 8 + 1], exclusive)
    }));
    cases.extend(in_groups("inclusive_tree_global", &POWERS, |size| {
        let groups = groups_of(size);
        let input = Random::new(61).words(2 * groups * size);
        let expected = input.chunks(2 * size).flat_map(inclusive).collect();
        let launches = vec![launch("inclusive_tree_global", Space::d1(groups * size, size), [mem(0)])];
        (vec![Memory::of(&input)], launches, equal(0, expected))
    }));
    cases
}

/// The three launches that scan `n` words of memory `from` to memory `to`, with totals in `totals`.
fn scan_launches(n: usize, size: usize, from: usize, to: usize, totals: usize) -> Vec<Launch> {
    let groups = n.div_ceil(size);
    let space = Space::d1(groups * size, size);
    let parts = [mem(from), uint(n), mem(to), mem(totals), local::<u32>(size)];
    let of_totals = [mem(totals), uint(groups), local::<u32>(size)];
    vec![
        launch("scan_parts", space, parts),
        launch("scan_totals", Space::d1(size, size), of_totals),
        launch("add_totals", space, [mem(to), uint(n), mem(totals)]),
    ]
}

pub(super) fn groups() -> Vec<Case> {
    let mut cases = in_groups("scan of 1500", &SIZES[2..], |size| three_launches(1500, size));
    cases.extend(in_groups("scan of 40", &SIZES[..2], |size| three_launches(40, size)));
    cases.extend(in_groups("scan_round", &SIZES, rounds));
    cases.extend(in_groups("compaction", &SIZES, compaction));
    cases
}

fn three_launches(n: usize, size: usize) -> Parts {
    let input = Random::new(62).words(n);
    let expected = inclusive(&input);
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(n), Memory::unset::<u32>(n.div_ceil(size))];
    (memory, scan_launches(n, size, 0, 1, 2), equal(1, expected))
}

fn rounds(size: usize) -> Parts {
    let n = groups_of(size) * size - size / 3;
    let input = Random::new(63).words(n);
    let expected = inclusive(&input);
    let (mut from, mut distance, mut launches) = (0, 1, Vec::new());
    while distance < n {
        let arguments = [mem(from), mem(1 - from), uint(distance), uint(n)];
        launches.push(launch("scan_round", Space::d1(n.div_ceil(size) * size, size), arguments));
        (from, distance) = (1 - from, 2 * distance);
    }
    (vec![Memory::of(&input), Memory::unset::<u32>(n)], launches, equal(from, expected))
}

fn compaction(size: usize) -> Parts {
    let (n, limit) = (groups_of(size) * size + 5, 300usize);
    let mut input = Random::new(64).words_below(n, 1000);
    input[n / 2] = 1;
    let kept: Vec<u32> = input.iter().copied().filter(|value| *value < limit as u32).collect();
    let groups = n.div_ceil(size);
    let space = Space::d1(groups * size, size);
    let marked: [Argument; 4] = [mem(0), uint(n), uint(limit), mem(1)];
    let mut launches = vec![launch("mark", space, marked)];
    launches.extend(scan_launches(n, size, 1, 2, 3));
    launches.push(launch("scatter", space, [mem(0), mem(2), uint(n), uint(limit), mem(4), mem(5)]));
    let mut memory = vec![Memory::of(&input)];
    memory.extend([n, n, groups, n, 1].map(Memory::unset::<u32>));
    let check = all(vec![equal(5, vec![kept.len() as u32]), equal(4, kept)]);
    (memory, launches, check)
}

pub(super) fn segmented() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in ["segmented", "segmented_by_start"] {
        cases.extend(in_groups(kernel, &SIZES, |size| segmented_sums(kernel, size)));
    }
    cases.extend(in_groups("segment_totals", &SIZES, segment_totals));
    cases
}

fn segments(size: usize) -> (Vec<u32>, Vec<u8>) {
    let mut random = Random::new(65);
    let n = groups_of(size) * size;
    let input = random.words(n);
    (input, (0..n).map(|_| u8::from(random.below(7) == 0)).collect())
}

/// The segments of a group.
fn split<'a>(values: &'a [u32], heads: &[u8]) -> Vec<&'a [u32]> {
    let mut starts: Vec<usize> = (0..values.len()).filter(|i| *i == 0 || heads[*i] == 1).collect();
    starts.push(values.len());
    starts.windows(2).map(|pair| &values[pair[0]..pair[1]]).collect()
}

fn segmented_sums(kernel: &str, size: usize) -> Parts {
    let (input, heads) = segments(size);
    let of_group =
        |(values, heads)| split(values, heads).into_iter().flat_map(inclusive).collect::<Vec<u32>>();
    let expected = input.chunks(size).zip(heads.chunks(size)).flat_map(of_group).collect();
    let arguments = [mem(0), mem(1), mem(2), local::<u32>(size), local::<u32>(size)];
    let launches = vec![launch(kernel, Space::d1(input.len(), size), arguments)];
    let memory = vec![Memory::of(&input), Memory::of(&heads), Memory::unset::<u32>(input.len())];
    (memory, launches, equal(2, expected))
}

fn segment_totals(size: usize) -> Parts {
    let (input, heads) = segments(size);
    let mut totals = vec![0xCDCD_CDCDu32; input.len()];
    let mut counts = Vec::new();
    for (group, (values, heads)) in input.chunks(size).zip(heads.chunks(size)).enumerate() {
        let parts = split(values, heads);
        for (i, part) in parts.iter().enumerate() {
            totals[group * size + i] = part.iter().fold(0, |sum, value| sum.wrapping_add(*value));
        }
        counts.push(parts.len() as u32);
    }
    let memory = vec![
        Memory::of(&input),
        Memory::of(&heads),
        Memory::unset::<u32>(input.len()),
        Memory::unset::<u32>(counts.len()),
    ];
    let arguments = [mem(0), mem(1), mem(2), mem(3), local::<u32>(size), local::<u32>(size)];
    let launches = vec![launch("segment_totals", Space::d1(input.len(), size), arguments)];
    (memory, launches, all(vec![equal(2, totals), equal(3, counts)]))
}
