//! Kernels that ended the process on PoCL 6.0, or crashed there.

use crate::{kernel, queue, upload};

const ITEMS: u32 = 32;
/// Groups of one and two work-items are compiled in another way than larger ones.
const GROUPS: [u32; 4] = [1, 2, 4, 16];

fn words() -> Vec<u32> {
    (0..ITEMS).map(|i| i.wrapping_mul(0x9e37_79b9)).collect()
}

/// LLVM 18 found work in a second run, and ended the process (Q30), unless the pass helps.
#[test]
fn values_of_a_loop_that_a_branch_uses() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 38_u32);
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; ITEMS as usize]));
    for (group, b) in GROUPS.into_iter().flat_map(|group| [(group, 5_u32), (group, 7)]) {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        queue.parallel_for(range, kernel::value_of_a_loop(&out, &input, a, b)).unwrap();
        let expected = |id: u32| {
            let given = words.iter().take(b as usize % 7).filter(|word| **word != id);
            let v = given.fold(69_u32, |v, word| v.wrapping_mul(31).wrapping_add(*word));
            let high = (u64::from(v) * u64::from(7 + id)) >> 32;
            if id < 3 { u32::try_from(high).unwrap() } else { b }
        };
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {b}");
    }
}

/// LLVM removes an array or a switch first (Q30).
#[test]
fn values_that_a_branch_uses_when_llvm_has_removed_something() {
    let Some(queue) = queue() else { return };
    let (words, a, b) = (words(), 3_u32, 80_u32);
    let input = upload(&queue, &words);
    for group in GROUPS {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        let out = upload(&queue, &[0_u32; 3 * ITEMS as usize]);
        queue.parallel_for(range, kernel::past_an_array(&out, &input, a, b)).unwrap();
        let expected = |id: u32| {
            let given = words[a as usize];
            let (v, w) = match id {
                0..5 => (given, given.wrapping_mul(3).wrapping_add(a)),
                _ => (a, words[id as usize]),
            };
            if w.abs_diff(b) == 77 { w } else { v.rotate_left(id) }
        };
        let read = || queue.read(&out).unwrap();
        assert_eq!(read()[..ITEMS as usize], (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}");

        queue.parallel_for(range, kernel::or_an_array(&out, &input, a, b)).unwrap();
        let expected = |id: u32| {
            let given = words[a as usize];
            let (v, w) = match id {
                0..5 => (given, given.wrapping_mul(3).wrapping_add(a)),
                _ => (a, words[id as usize]),
            };
            if w.abs_diff(b) == 77 { a } else { v.rotate_left(id) }
        };
        assert_eq!(read()[..ITEMS as usize], (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}");

        queue.parallel_for(range, kernel::in_a_case(&out, &input, a, b)).unwrap();
        let turned = (0..b % 9).fold(7_u32, |w, _| w.rotate_left(3).wrapping_mul(5));
        let expected = |id: u32| if id < 5 { turned } else { 9 };
        assert_eq!(read()[..ITEMS as usize], (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}");
        assert_eq!(read()[2 * ITEMS as usize..], [b % 9; ITEMS as usize], "{group}");
    }
}

/// LLVM makes a branch of a loop (Q30). Beside a barrier, the loop's counter begins with a selection.
#[test]
fn values_that_a_loop_of_one_round_uses() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 3_u32);
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; ITEMS as usize]));
    for (group, b) in GROUPS.into_iter().flat_map(|group| [(group, 5_u32), (group, 0)]) {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        let expected = |id: u32| {
            let given = words[a as usize];
            let (v, w) = match id {
                0..5 => (given, given.wrapping_mul(3).wrapping_add(a)),
                _ => (a, words[id as usize]),
            };
            if b == 0 { w } else { v.rotate_left(id + 1) }
        };
        queue.parallel_for(range, kernel::loop_of_one_round(&out, &input, a, b)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {b}");

        queue.parallel_for(range, kernel::one_round_behind_a_barrier(&out, &input, a, b)).unwrap();
        let first = |id: u32| words[(id - id % group) as usize] ^ a;
        let expected: Vec<u32> = (0..ITEMS).map(|id| expected(id).wrapping_add(first(id))).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "behind a barrier, {group}, {b}");
    }
}

/// The branch or the loop gives an address (Q30).
#[test]
fn values_that_a_branch_makes_an_address_of() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 3_u32);
    let read_behind: Vec<u32> = (0..ITEMS).chain(1000..1000 + ITEMS).collect();
    let (input, out) = (upload(&queue, &words), upload(&queue, &read_behind));
    let given = |id: u32| match id {
        0..5 => (words[a as usize], words[a as usize].wrapping_mul(3).wrapping_add(a)),
        _ => (a, words[id as usize]),
    };
    let at = |index: u32| words[index as usize % ITEMS as usize];
    for (group, b) in GROUPS.into_iter().flat_map(|group| [(group, 0_u32), (group, words[7] + 77)]) {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        let read = || queue.read(&out).unwrap()[..ITEMS as usize].to_vec();
        queue.parallel_for(range, kernel::address_of_a_branch(&out, &input, a, b)).unwrap();
        let expected = |id: u32| match given(id) {
            (_, w) if w.abs_diff(b) == 77 => 1000 + id,
            (v, _) => at(v.rotate_left(id)),
        };
        assert_eq!(read(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {b}");

        queue.parallel_for(range, kernel::address_of_one_round(&out, &input, a, b)).unwrap();
        let expected = |id: u32| {
            let (v, w) = given(id);
            w.wrapping_add(if b == 0 { 1000 + id } else { at(v.rotate_left(id + 1)) })
        };
        assert_eq!(read(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "once, {group}, {b}");
    }
}

/// LLVM knows that another value has more than that bit. It learned from the condition that a second phi
/// is not needed, as long as both passes asked for the same size of groups (Q30).
#[test]
fn values_of_a_branch_behind_a_comparison_of_a_bit() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 3_u32);
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; ITEMS as usize]));
    for (group, b) in GROUPS.into_iter().flat_map(|group| [(group, 3_u32), (group, 1), (group, 0)]) {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        queue.parallel_for(range, kernel::behind_a_bit(&out, &input, a, b)).unwrap();
        let expected = |id: u32| {
            let (mut v, mut u, n) = (words[id as usize], 7 >> id, id.wrapping_neg());
            let mut w = words[a as usize] != id;
            for j in 0..b {
                if v % (a | 1) % 2 == 1 {
                    u = 16;
                } else {
                    v = n;
                    w = (0..n % 5).fold(w, |w, i| i < j || (w && i % 2 == 1));
                }
            }
            v.wrapping_add(u * 31 + if w { 5 } else { 11 })
        };
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {b}");
    }
}

/// The first run of `instcombine` joined stores only after it had looked at loads before these (Q30).
#[test]
fn values_that_two_ways_load() {
    let Some(queue) = queue() else { return };
    let words = words();
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; ITEMS as usize]));
    let loaded = |at: u32| words[at as usize].wrapping_mul(3);
    let high = |w: u32, by: u32| u32::try_from((u64::from(w) * u64::from(by)) >> 32).unwrap();
    for (group, a) in GROUPS.into_iter().flat_map(|group| [(group, 2_u32), (group, 6)]) {
        let (range, b) = (oclave::NdRange::new(ITEMS as usize, group as usize), 0x1234_5677_u32);
        let computed = |id: u32| {
            let w = id.rotate_left(3).wrapping_add(b);
            loaded(b & 3) ^ w.wrapping_mul(31).wrapping_add(high(w, id))
        };
        queue.parallel_for(range, kernel::loaded_on_two_ways(&out, &input, a, b)).unwrap();
        let expected = |id: u32| match id & 1 {
            _ if a <= 2 => a ^ b,
            0 => loaded(a & 3) ^ b,
            _ => computed(id),
        };
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {a}");

        queue.parallel_for(range, kernel::loaded_on_three_ways(&out, &input, a, b)).unwrap();
        let expected = |id: u32| match id & 3 {
            _ if a <= 2 => a ^ b,
            1 => computed(id),
            3 => loaded(a & 3) ^ b,
            _ => {
                let w = id.rotate_left(7).wrapping_mul(b);
                loaded(id) ^ w.wrapping_mul(31).wrapping_add(high(w, b))
            }
        };
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {a}");
    }
}

/// LLVM freezes the condition of a selection, and later moves that into the loop before it (Q30).
#[test]
fn selections_by_what_a_loop_gives() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 5_u32);
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; 96]));
    for (group, b) in GROUPS.into_iter().flat_map(|group| (0..7).map(move |b| (group, b))) {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        queue.parallel_for(range, kernel::chosen_behind_a_loop(&out, &input, a, b)).unwrap();
        let n = (0..b).fold(0_u32, |n, i| n.wrapping_add(words[i as usize + 1]));
        let expected = |id: u32| {
            let of_group = |at: u32| words[(id / group * group + at % group) as usize];
            let v = (0..b).fold(false, |v, i| words[((id + i) & 3) as usize] == 0 || (v && of_group(i) > a));
            let v = if n.is_multiple_of(3) { id % group < 3 } else { v };
            n.wrapping_mul(31).wrapping_add(if v { 5 } else { 11 })
        };
        let read = queue.read(&out).unwrap();
        assert_eq!(read[..ITEMS as usize], (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}, {b}");
    }
}

/// The inner loop of the two kernels below.
fn rounds(mut v: u32, mut w: u32, a: u32) -> (u32, u32) {
    loop {
        v = v.wrapping_add((100 | w.wrapping_mul(16)) % 7 + 1);
        w = w.wrapping_mul(31);
        if v >= a {
            return (v, w);
        }
    }
}

/// In groups of one and two, PoCL 6.0 removed the loop and what follows (Q54), unless the pass helps.
#[test]
fn loops_directly_behind_barriers() {
    let Some(queue) = queue() else { return };
    let (words, a) = (words(), 60_u32);
    let (input, out) = (upload(&queue, &words), upload(&queue, &[0_u32; ITEMS as usize]));
    let mirrored = |id: u32, group: u32| (id / group * group + group - 1 - id % group) as usize;
    for group in GROUPS {
        let range = oclave::NdRange::new(ITEMS as usize, group as usize);
        queue.parallel_for(range, kernel::loop_behind_barrier(&out, &input, a)).unwrap();
        let (v, w) = rounds(7, 7, a);
        let sum = v.wrapping_mul(31).wrapping_add(w);
        let expected = |id: u32| sum.wrapping_add(words[mirrored(id, group)]);
        assert_eq!(queue.read(&out).unwrap(), (0..ITEMS).map(expected).collect::<Vec<_>>(), "{group}");

        queue.parallel_for(range, kernel::loop_first_in_a_loop(&out, &input, a, 5)).unwrap();
        let mut values: Vec<(u32, u32)> = words.iter().map(|word| (*word, 7)).collect();
        for _ in 0..5 {
            let after: Vec<(u32, u32)> = values.iter().map(|(v, w)| rounds(*v, *w, a)).collect();
            let new = |id: u32| {
                let w = after[id as usize].1;
                (w.wrapping_add(after[mirrored(id, group)].0), w)
            };
            values = (0..ITEMS).map(new).collect();
        }
        let expected: Vec<u32> = values.iter().map(|(v, _)| *v).collect();
        assert_eq!(queue.read(&out).unwrap(), expected, "{group}");
    }
}
