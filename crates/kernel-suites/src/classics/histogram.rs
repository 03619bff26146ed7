//! Histograms.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, int, launch, local, mem, uint};
use crate::case::{Case, Memory, Space};

fn counted(bins: usize, indices: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut counts = vec![0u32; bins];
    indices.for_each(|index| counts[index] += 1);
    counts
}

/// Bytes, some of which are frequent.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..len).map(|i| if i % 4 == 0 { 77 } else { random.u32() as u8 }).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("global_atomics", &SIZES, |size| of_bytes("global_atomics", size));
    cases.extend(in_groups("local_atomics", &SIZES, |size| of_bytes("local_atomics", size)));
    cases.extend(in_groups("parts", &SIZES, parts));
    cases.extend(in_groups("private_bins", &SIZES, private_bins));
    cases.extend(in_groups("private_array", &SIZES, private_array));
    cases.extend(in_groups("by_limits", &SIZES, by_limits));
    cases
}

fn of_bytes(kernel: &str, size: usize) -> Parts {
    let (n, groups) = (3001, groups_of(size));
    let input = bytes(100, n);
    let expected = counted(256, input.iter().map(|byte| usize::from(*byte)));
    let launches = vec![launch(kernel, Space::d1(groups * size, size), [mem(0), uint(n), mem(1)])];
    (vec![Memory::of(&input), Memory::of(&[0u32; 256])], launches, equal(1, expected))
}

fn parts(size: usize) -> Parts {
    let (groups, each) = (groups_of(size), 5);
    let input = bytes(101, groups * size * each * 4);
    let expected = counted(256, input.iter().map(|byte| usize::from(*byte)));
    let arguments = [mem(0), uint(each), mem(1), local::<u32>(256)];
    let launches = vec![
        launch("parts", Space::d1(groups * size, size), arguments),
        launch("add_parts", Space::d1(256, 64), [mem(1), uint(groups), mem(2)]),
    ];
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(groups * 256), Memory::unset::<u32>(256)];
    (memory, launches, equal(2, expected))
}

fn private_bins(size: usize) -> Parts {
    let (groups, each) = (groups_of(size), 20);
    let input = bytes(102, groups * size * each);
    let expected = counted(16, input.iter().map(|byte| usize::from(byte >> 4)));
    let arguments = [mem(0), uint(each), mem(1), local::<u8>(16 * size)];
    let launches = vec![launch("private_bins", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::of(&[0u32; 16])], launches, equal(1, expected))
}

fn private_array(size: usize) -> Parts {
    let (groups, each) = (groups_of(size), 25);
    let input = Random::new(103).words(groups * size * each);
    let of_item = |values: &[u32]| counted(16, values.iter().map(|value| (value % 16) as usize));
    let expected = input.chunks(each).flat_map(of_item).collect();
    let launches =
        vec![launch("private_array", Space::d1(groups * size, size), [mem(0), uint(each), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * size * 16)], launches, equal(1, expected))
}

fn by_limits(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(104).floats(groups * size, -1.0, 11.0);
    let limits: Vec<f32> = vec![0.0, 0.5, 1.0, 2.5, 6.0, 9.75];
    let bin = |value: &f32| limits.iter().filter(|limit| value >= *limit).count();
    let expected = counted(limits.len() + 1, input.iter().map(bin));
    let memory = vec![Memory::of(&input), Memory::of(&limits), Memory::of(&vec![0u32; limits.len() + 1])];
    let arguments = [mem(0), mem(1), int(limits.len()), mem(2)];
    let launches = vec![launch("by_limits", Space::d1(groups * size, size), arguments)];
    (memory, launches, equal(2, expected))
}
