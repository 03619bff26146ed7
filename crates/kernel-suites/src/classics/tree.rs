//! Tree reductions.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, launch, local, mem};
use crate::case::{Argument, Case, Memory, Space};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("tree_id", &SIZES, ids);
    for kernel in ["tree_local", "tree_mask", "tree_function", "tree_call"] {
        let added = u32::from(kernel == "tree_mask");
        cases.extend(in_groups(kernel, &SIZES, |size| of_groups(kernel, size, vec![], added, sum)));
    }
    cases.extend(in_groups("tree_argument", &SIZES, |size| {
        of_groups("tree_argument", size, vec![local::<u32>(size)], 0, sum)
    }));
    cases.extend(in_groups("tree_maximum", &SIZES, |size| {
        of_groups("tree_maximum", size, vec![], 0, |words| words.iter().copied().max().unwrap_or_default())
    }));
    cases.extend(in_groups("tree_global", &SIZES, |size| of_groups("tree_global", size, vec![], 3, sum)));
    cases
}

fn sum(words: &[u32]) -> u32 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

fn ids(size: usize) -> Parts {
    let groups = groups_of(size);
    let expected = vec![(size * (size + 1) / 2) as u32; groups];
    let launches = vec![launch("tree_id", Space::d1(groups * size, size), [mem(0)])];
    (vec![Memory::unset::<u32>(groups)], launches, equal(0, expected))
}

/// Each work-item adds `added` to its element.
fn of_groups(kernel: &str, size: usize, more: Vec<Argument>, added: u32, result: fn(&[u32]) -> u32) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(40 + size as u64).words(groups * size);
    let read: Vec<u32> = input.iter().map(|word| word.wrapping_add(added)).collect();
    let expected = read.chunks(size).map(result).collect();
    let arguments: Vec<Argument> = [mem(0), mem(1)].into_iter().chain(more).collect();
    let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups)], launches, equal(1, expected))
}
