//! Groups that take one item after the other, with a loop with barriers for each.

use super::common::{Parts, Random, SIZES, equal, in_groups, launch, local, mem, uint};
use crate::case::{Case, Memory, Space};

/// Groups of a launch. They take a few items each.
const GROUPS: usize = 3;

pub(super) fn group_items() -> Vec<Case> {
    let mut cases = in_groups("searches", &SIZES, searches);
    cases.extend(in_groups("exchanges", &SIZES, exchanges));
    cases.extend(in_groups("reached", &SIZES, reached));
    cases.extend(in_groups("divisors", &SIZES, divisors));
    cases
}

fn searches(size: usize) -> Parts {
    let (n, count) = (1000, 11);
    let mut random = Random::new(401);
    let mut sorted: Vec<i32> = (0..n).map(|_| random.below(5000) as i32).collect();
    sorted.sort_unstable();
    let mut keys: Vec<i32> = (0..count).map(|_| random.below(5000) as i32).collect();
    keys[0] = i32::MIN;
    keys[count - 1] = i32::MAX;
    let expected = keys.iter().map(|key| sorted.partition_point(|value| value < key) as u32).collect();
    let memory = vec![Memory::of(&sorted), Memory::of(&keys), Memory::unset::<u32>(count)];
    let arguments = [mem(0), uint(n), mem(1), uint(count), mem(2)];
    (memory, vec![launch("searches", Space::d1(GROUPS * size, size), arguments)], equal::<u32>(2, expected))
}

fn exchanges(size: usize) -> Parts {
    let count = 7;
    let mut rows = Random::new(402).words(count * size);
    // One row is sorted already.
    rows[2 * size..3 * size].sort_unstable();
    let inversions = |row: &[u32]| {
        let smaller = |at: usize| row[at + 1..].iter().filter(|value| **value < row[at]).count();
        (0..row.len()).map(smaller).sum::<usize>() as u32
    };
    let expected: Vec<u32> = rows.chunks(size).map(inversions).collect();
    let memory = vec![Memory::of(&rows), Memory::unset::<u32>(count)];
    let arguments = [mem(0), uint(count), mem(1), local::<u32>(size)];
    (memory, vec![launch("exchanges", Space::d1(GROUPS * size, size), arguments)], equal::<u32>(1, expected))
}

fn reached(size: usize) -> Parts {
    let (n, count) = (300, 9);
    let mut random = Random::new(403);
    let cut: Vec<u8> = (0..n).map(|_| u8::from(random.below(4) == 0)).collect();
    let of_root = |root: usize| {
        let mut queue = vec![root];
        let mut at = 0;
        while let Some(vertex) = queue.get(at).copied() {
            queue.extend([2 * vertex + 1, 2 * vertex + 2].into_iter().filter(|to| *to < n && cut[*to] == 0));
            at += 1;
        }
        at as u32
    };
    let expected = (0..count).map(of_root).collect();
    let memory = vec![Memory::of(&cut), Memory::unset::<u32>(count)];
    let arguments = [mem(0), uint(n), uint(count), mem(1), local::<u32>(n)];
    (memory, vec![launch("reached", Space::d1(GROUPS * size, size), arguments)], equal::<u32>(1, expected))
}

fn divisors(size: usize) -> Parts {
    let (length, count) = (77, 8);
    let mut random = Random::new(404);
    let rows: Vec<u32> =
        (0..count * length).map(|at| (at / length + 2) as u32 * (1 + random.below(9000)) as u32).collect();
    let divisor = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let expected = rows.chunks(length).map(|row| row.iter().copied().fold(0, divisor)).collect();
    let memory = vec![Memory::of(&rows), Memory::unset::<u32>(count)];
    let arguments = [mem(0), uint(length), uint(count), mem(1), local::<u32>(length)];
    (memory, vec![launch("divisors", Space::d1(GROUPS * size, size), arguments)], equal::<u32>(1, expected))
}
