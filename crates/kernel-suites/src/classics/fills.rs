//! Loops that fill, copy and move memory.

use super::common::{Parts, Random, case, equal, launch, local, mem, uint};
use crate::case::{Argument, Case, Memory, Space};

/// Elements of each work-item.
const EACH: usize = 24;
/// How many of them a loop has, in different launches.
const COUNTS: [usize; 5] = [0, 1, 7, 16, 23];
const ITEMS: usize = 64;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for count in COUNTS {
        let named = |name: &str, parts: Parts| case(format!("{name} of {count}"), parts);
        cases.push(named("clear", filled("clear", count, vec![], 0_u8)));
        cases
            .push(named("fill_byte", filled("fill_byte", count, vec![Argument::Value(vec![0xA7])], 0xA7_u8)));
        cases.push(named("fill_ones", filled("fill_ones", count, vec![], -1_i32)));
        cases.push(named("copy", copy(count)));
        cases.push(named("move_down", move_down(count)));
    }
    for size in [1, 9, 64] {
        cases.push(case(format!("clear_local in groups of {size}"), clear_local(size)));
    }
    cases.push(case("private_zeros", private_zeros()));
    cases.push(case("assign", assign()));
    cases
}

fn space() -> Space {
    Space::d1(ITEMS, 16)
}

/// Each work-item sets its first `count` elements. Each launch also adds an element before the loop
/// runs, so that a kernel that does nothing fails: the first element of all is never `value`.
fn filled<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
    kernel: &str,
    count: usize,
    more: Vec<Argument>,
    value: T,
) -> Parts {
    let mut input = Random::new(50).bytes(ITEMS * EACH * size_of::<T>());
    // A guard that no launch may change.
    input.extend([0x5A; 64]);
    let elements: Vec<T> = crate::case::elements(&input);
    // With no elements to fill, one launch of one element shows that kernels run.
    let launches_of = if count == 0 { vec![0, 1] } else { vec![count] };
    let mut expected = elements;
    for count in &launches_of {
        for item in 0..ITEMS {
            expected[item * EACH..item * EACH + count].fill(value);
        }
    }
    let arguments =
        |count: usize| [mem(0), uint(EACH), uint(count)].into_iter().chain(more.clone()).collect::<Vec<_>>();
    let launches = launches_of.iter().map(|count| launch(kernel, space(), arguments(*count))).collect();
    (vec![Memory::Buffer(input)], launches, equal(0, expected))
}

fn copy(count: usize) -> Parts {
    let count = count.max(1);
    let from = Random::new(51).words(ITEMS * EACH);
    let mut expected = Random::new(52).words(ITEMS * EACH);
    let to = Memory::of(&expected);
    for start in (0..ITEMS).map(|item| item * EACH) {
        expected[start..start + count].copy_from_slice(&from[start..start + count]);
    }
    let arguments = [mem(0), mem(1), uint(EACH), uint(count)];
    (vec![to, Memory::of(&from)], vec![launch("copy", space(), arguments)], equal(0, expected))
}

fn move_down(count: usize) -> Parts {
    let count = count.max(1);
    let data = Random::new(53).words(ITEMS * EACH);
    let mut expected = data.clone();
    for start in (0..ITEMS).map(|item| item * EACH) {
        expected.copy_within(start + 1..start + 1 + count, start);
    }
    let launches = vec![launch("move_down", space(), [mem(0), uint(EACH), uint(count)])];
    (vec![Memory::of(&data)], launches, equal(0, expected))
}

fn clear_local(size: usize) -> Parts {
    let (groups, bins) = (3, 10);
    let input = Random::new(54).words(groups * size);
    let mut expected = vec![0_u32; groups * bins];
    for (at, word) in input.iter().enumerate() {
        expected[at / size * bins + *word as usize % bins] += 1;
    }
    let arguments = [mem(0), mem(1), local::<u32>(bins), uint(bins)];
    let launches = vec![launch("clear_local", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&input), Memory::unset::<u32>(groups * bins)], launches, equal(1, expected))
}

fn private_zeros() -> Parts {
    let input = Random::new(55).words(ITEMS);
    let looked_up = |value: &u32| if value >> 6 & 63 == value & 63 { value.wrapping_mul(2) } else { *value };
    let expected = input.iter().map(looked_up).collect();
    let launches = vec![launch("private_zeros", space(), [mem(0), mem(1)])];
    (vec![Memory::of(&input), Memory::unset::<u32>(ITEMS)], launches, equal(1, expected))
}

/// A record has 20 words and, in two more, three halves of words and padding that nobody compares.
fn assign() -> Parts {
    let words = Random::new(56).words(ITEMS * 22);
    let mut expected = words.clone();
    for record in expected.chunks_mut(22) {
        let at = record[0] as usize % 20;
        record[at] = record[at].wrapping_add(1);
    }
    let check = Box::new(move |memory: &[Vec<u8>]| {
        let got: Vec<u32> = crate::case::elements(&memory[0]);
        for (at, (got, expected)) in got.chunks(22).zip(expected.chunks(22)).enumerate() {
            if got[..21] != expected[..21] || got[21] as u16 != expected[21] as u16 {
                return Err(format!("record {at} is {got:x?}, not {expected:x?}"));
            }
        }
        Ok(())
    });
    let launches = vec![launch("assign", space(), [mem(0), mem(1)])];
    (vec![Memory::unset::<u32>(ITEMS * 22), Memory::of(&words)], launches, check)
}
