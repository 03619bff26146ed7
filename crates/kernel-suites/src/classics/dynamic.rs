//! Dynamic programming.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, int, launch, local, mem};
use crate::case::{Argument, Case, Memory, Space};

fn costs(seed: u64, n: usize) -> Vec<i32> {
    Random::new(seed).words_below(n, 10).iter().map(|word| word.cast_signed()).collect()
}

/// The sums of all rows.
fn sums(costs: &[i32], width: usize) -> Vec<Vec<i32>> {
    let mut rows: Vec<Vec<i32>> = vec![costs[..width].to_vec()];
    for row in costs.chunks(width).skip(1) {
        let above = &rows[rows.len() - 1];
        let least =
            |x: usize| above[x.saturating_sub(1)..width.min(x + 2)].iter().min().copied().unwrap_or(0);
        rows.push((0..width).map(|x| least(x) + row[x]).collect());
    }
    rows
}

pub(super) fn pathfinder() -> Vec<Case> {
    let mut cases = in_groups("row", &SIZES, |size| {
        let (width, height) = ((3 * size).max(200), 9);
        let costs = costs(240, width * height);
        let expected = sums(&costs, width).swap_remove(height - 1);
        let memory = vec![Memory::of(&costs), Memory::of(&costs[..width]), Memory::unset::<i32>(width)];
        let space = Space::d1(width.div_ceil(size) * size, size);
        let step =
            |y: usize| launch("row", space, [mem(0), mem(2 - y % 2), mem(1 + y % 2), int(width), int(y)]);
        (memory, (1..height).map(step).collect(), equal(1 + (height - 1) % 2, expected))
    });
    for count in [1, 3] {
        let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size > 2 * count).collect();
        cases.extend(in_groups(&format!("{count} of rows"), &sizes, |size| pyramid(size, count)));
    }
    cases.extend(in_groups("way", &SIZES, way));
    cases
}

fn pyramid(size: usize, count: usize) -> Parts {
    let useful = size - 2 * count;
    let (width, height) = (3 * useful + useful / 2, 1 + 2 * count);
    let costs = costs(241, width * height);
    let expected = sums(&costs, width).swap_remove(height - 1);
    let memory = vec![Memory::of(&costs), Memory::of(&costs[..width]), Memory::unset::<i32>(width)];
    let step = |i: usize| {
        let [width, first, count] = [width, 1 + i * count, count].map(int);
        let room = local::<i32>(size);
        let arguments = [mem(0), mem(1 + i), mem(2 - i), width, first, count, room.clone(), room];
        launch("rows", Space::d1(4 * size, size), arguments)
    };
    (memory, vec![step(0), step(1)], equal(1, expected))
}

fn way(size: usize) -> Parts {
    let (width, height, groups) = (23, 8, 4);
    let costs = costs(242, width * height * groups);
    let mut expected = Vec::new();
    for costs in costs.chunks(width * height) {
        let sums = sums(costs, width);
        let mut ways = Vec::new();
        let mut range = 0..width;
        for row in sums.iter().rev() {
            let x = range.min_by_key(|x| row[*x]).unwrap_or_default();
            ways.push(x as i32);
            range = x.saturating_sub(1)..width.min(x + 2);
        }
        expected.extend(ways.into_iter().rev());
    }
    let arguments = [mem(0), int(width), int(height), mem(1), local::<i32>(width * height)];
    let launches = vec![launch("way", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&costs), Memory::unset::<i32>(groups * height)], launches, equal(1, expected))
}

/// Two sequences.
type Pair = (Vec<u8>, Vec<u8>);

const SIMILARITY: [i32; 16] = [10, -1, -3, -4, -1, 7, -5, -3, -3, -5, 9, 0, -4, -3, 0, 8];

const GAP: i32 = 5;

/// Letters from 0 to 3; the second sequence resembles the first.
fn sequences(seed: u64, n: usize, m: usize) -> Pair {
    let mut random = Random::new(seed);
    let a: Vec<u8> = (0..n).map(|_| random.below(4) as u8).collect();
    let similar = |j: usize| if random.below(3) == 0 { random.below(4) as u8 } else { a[(j + 2) % n] };
    let b = (0..m).map(similar).collect();
    (a, b)
}

/// The table by its definition, row by row. With 0 as the floor, alignments may start anywhere.
fn aligned(a: &[u8], b: &[u8], floor: i32) -> Vec<Vec<i32>> {
    let mut table = vec![vec![0i32; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let mut best = if i == 0 && j == 0 { 0 } else { i32::MIN };
            if i > 0 {
                best = best.max(table[i - 1][j] - GAP);
            }
            if j > 0 {
                best = best.max(table[i][j - 1] - GAP);
            }
            if i > 0 && j > 0 {
                let pair = usize::from(a[i - 1]) * 4 + usize::from(b[j - 1]);
                best = best.max(table[i - 1][j - 1] + SIMILARITY[pair]);
            }
            table[i][j] = best.max(floor);
        }
    }
    table
}

/// The first arguments of all kernels.
fn first(n: usize, m: usize) -> [Argument; 7] {
    [mem(0), mem(1), int(n), int(m), Argument::value(GAP), mem(2), mem(3)]
}

pub(super) fn needleman_wunsch() -> Vec<Case> {
    let (n, m, pairs) = (21, 17, 3);
    let all: Vec<Pair> = (0..pairs).map(|pair| sequences(243 + pair, n, m)).collect();
    let joined = |of: fn(&Pair) -> &Vec<u8>| {
        Memory::of(&all.iter().flat_map(|pair| of(pair).clone()).collect::<Vec<u8>>())
    };
    let both = || vec![joined(|pair| &pair.0), joined(|pair| &pair.1), Memory::of(&SIMILARITY)];
    let mut cases = in_groups("in_local_memory", &SIZES, |size| {
        let expected: Vec<i32> = all.iter().flat_map(|(a, b)| aligned(a, b, i32::MIN).concat()).collect();
        let memory = [both(), vec![Memory::unset::<i32>(expected.len())]].concat();
        let arguments = [&first(n, m)[..], &[local::<i32>((n + 1) * (m + 1))]].concat();
        let launches = vec![launch("in_local_memory", Space::d1(all.len() * size, size), arguments)];
        (memory, launches, equal(3, expected))
    });
    cases.extend(in_groups("best_local_score", &SIZES, |size| {
        let best = |(a, b): &Pair| aligned(a, b, 0).concat().into_iter().max().unwrap_or(0);
        let memory = [both(), vec![Memory::unset::<i32>(all.len())]].concat();
        let arguments = [&first(n, m)[..], &[local::<i32>(3 * (n + 1))]].concat();
        let launches = vec![launch("best_local_score", Space::d1(all.len() * size, size), arguments)];
        (memory, launches, equal(3, all.iter().map(best).collect()))
    }));
    cases
}

pub(super) fn needleman_wunsch_launches() -> Vec<Case> {
    in_groups("diagonal", &SIZES, |size| {
        let (n, m) = (40, 29);
        let (a, b) = sequences(250, n, m);
        let expected = aligned(&a, &b, i32::MIN).concat();
        let memory = vec![
            Memory::of(&a),
            Memory::of(&b),
            Memory::of(&SIMILARITY),
            Memory::unset::<i32>(expected.len()),
        ];
        let space = Space::d1((n.min(m) + 1).div_ceil(size) * size, size);
        let step = |d| launch("diagonal", space, [&first(n, m)[..], &[int(d)]].concat());
        (memory, (0..=n + m).map(step).collect(), equal(3, expected))
    })
}

fn common(a: &[u8], b: &[u8]) -> i32 {
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            table[i + 1][j + 1] = if x == y { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
        }
    }
    table[a.len()][b.len()]
}

pub(super) fn common_subsequence() -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, m) in [(40, 33), (12, 50)] {
        let groups = 4;
        let all: Vec<Pair> = (0..groups as u64).map(|i| sequences(260 + i, n, m)).collect();
        let a: Vec<u8> = all.iter().flat_map(|pair| pair.0.clone()).collect();
        let b: Vec<u8> = all.iter().flat_map(|pair| pair.1.clone()).collect();
        let expected: Vec<i32> = all.iter().map(|(a, b)| common(a, b)).collect();
        for kernel in ["longest", "longest_by_rows"] {
            cases.extend(in_groups(&format!("{kernel} of {n} and {m}"), &SIZES, |size| {
                let mut arguments = vec![mem(0), mem(1), int(n), int(m), mem(2)];
                if kernel == "longest" {
                    arguments.extend([n + 1; 3].map(local::<i32>));
                } else {
                    arguments.push(local::<i32>(m + 1));
                }
                let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<i32>(groups)];
                let launches = vec![launch(kernel, Space::d1(groups * size, size), arguments)];
                (memory, launches, equal(2, expected.clone()))
            }));
        }
    }
    cases.extend(in_groups("edit_distance", &SIZES, edit_distance));
    cases.extend(in_groups("knapsack", &SIZES, knapsack));
    cases
}

/// By recursion on the first letters, with what is known already.
fn distance(a: &[u8], b: &[u8], known: &mut std::collections::HashMap<(usize, usize), i32>) -> i32 {
    let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first()) else {
        return (a.len() + b.len()) as i32;
    };
    if let Some(distance) = known.get(&(a.len(), b.len())) {
        return *distance;
    }
    let changed = distance(rest_a, rest_b, known) + i32::from(x != y);
    let shorter = distance(rest_a, b, known).min(distance(a, rest_b, known)) + 1;
    known.insert((a.len(), b.len()), changed.min(shorter));
    changed.min(shorter)
}

fn edit_distance(size: usize) -> Parts {
    let (pairs, n, m) = (groups_of(size) * size, 11, 14);
    let all: Vec<Pair> = (0..pairs as u64).map(|i| sequences(270 + i, n, m)).collect();
    let expected = all.iter().map(|(a, b)| distance(a, b, &mut std::collections::HashMap::new())).collect();
    let a: Vec<u8> = all.iter().flat_map(|pair| pair.0.clone()).collect();
    let b: Vec<u8> = all.iter().flat_map(|pair| pair.1.clone()).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<i32>(pairs)];
    let launches =
        vec![launch("edit_distance", Space::d1(pairs, size), [mem(0), mem(1), int(n), int(m), mem(2)])];
    (memory, launches, equal(2, expected))
}

fn knapsack(size: usize) -> Parts {
    let (groups, count, capacity) = (3, 10, 60);
    let mut random = Random::new(280);
    let items: Vec<[i32; 2]> =
        (0..groups * count).map(|_| [1 + random.below(25) as i32, random.below(100) as i32]).collect();
    let best = |items: &[[i32; 2]]| {
        let of_subset = |subset: usize| {
            let chosen = items.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
            chosen.fold((0, 0), |(weight, value), (_, item)| (weight + item[0], value + item[1]))
        };
        let fits = (0..1 << items.len()).map(of_subset).filter(|(weight, _)| *weight <= capacity);
        fits.map(|(_, value)| value).max().unwrap_or(0)
    };
    let expected = items.chunks(count).map(best).collect();
    let room = local::<i32>(2 * (capacity as usize + 1));
    let arguments = [mem(0), int(count), Argument::value(capacity), mem(1), room];
    let launches = vec![launch("knapsack", Space::d1(groups * size, size), arguments)];
    (vec![Memory::of(&items), Memory::unset::<i32>(groups)], launches, equal(1, expected))
}

#[cfg(test)]
mod tests {
    use super::{common, distance};

    #[test]
    fn textbook_examples_hold() {
        assert_eq!(common(b"ABCBDAB", b"BDCABA"), 4);
        assert_eq!(distance(b"kitten", b"sitting", &mut std::collections::HashMap::new()), 3);
    }
}
