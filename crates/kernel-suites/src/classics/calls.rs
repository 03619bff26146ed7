//! Functions that stay calls.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, launch, mem, uint};
use crate::case::{Case, Memory, Space};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_groups("ids_in_calls", &SIZES, ids);
    cases.extend(in_groups("nested_calls", &SIZES, nested));
    cases
}

fn ids(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(60).words(groups * size);
    let value = |(at, word): (usize, &u32)| {
        let (group, item) = (at / size, at % size);
        let of_group = word.wrapping_mul(group as u32 + 1).wrapping_add((item * 3 + at) as u32);
        if item + 1 == size { of_group.wrapping_add(groups as u32) } else { of_group }
    };
    let expected = input.iter().enumerate().map(value).collect();
    let launches = vec![launch("ids_in_calls", Space::d1(groups * size, size), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * size)], launches, equal(1, expected))
}

fn nested(size: usize) -> Parts {
    let groups = groups_of(size);
    let input = Random::new(61).words(groups * size);
    let expected = input.iter().map(|word| word.wrapping_add(10)).collect();
    let launches = vec![launch("nested_calls", Space::d1(groups * size, size), [mem(0), uint(5)])];
    (vec![Memory::of(&input)], launches, equal(0, expected))
}
