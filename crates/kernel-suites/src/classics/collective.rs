//! Functions that all work-items of a group or of a sub-group call together.

use super::common::{
    Parts, Random, SHAPES, SIZES, all, close, equal, groups_of, in_groups, in_shapes, launch, local, mem,
    uint,
};
use crate::case::{Case, Check, Memory, Space, elements};

/// Numbers from -100 to 100.
fn ints(seed: u64, n: usize) -> Vec<i32> {
    Random::new(seed).words_below(n, 201).iter().map(|word| word.cast_signed() - 100).collect()
}

fn extreme(values: &[i32], start: i32, of: fn(i32, i32) -> i32) -> i32 {
    values.iter().copied().fold(start, of)
}

pub(super) fn collectives() -> Vec<Case> {
    let mut cases = in_groups("reductions", &SIZES, reductions);
    cases.extend(in_groups("scans", &SIZES, |size| {
        let input = ints(341, groups_of(size) * size);
        let scan = |values: &[i32]| -> Vec<[i32; 4]> {
            let of = |i: usize| {
                [
                    values[..=i].iter().sum(),
                    values[..i].iter().sum(),
                    extreme(&values[..=i], i32::MIN, i32::max),
                    extreme(&values[..i], i32::MAX, i32::min),
                ]
            };
            (0..values.len()).map(of).collect()
        };
        let expected = input.chunks(size).flat_map(scan).collect();
        let launches = vec![launch("scans", Space::d1(input.len(), size), [mem(0), mem(1)])];
        let memory = vec![Memory::of(&input), Memory::unset::<[i32; 4]>(input.len())];
        (memory, launches, equal::<[i32; 4]>(1, expected))
    }));
    cases.extend(in_groups("broadcasts", &SIZES, |size| {
        let groups = groups_of(size);
        let (input, from) =
            (Random::new(342).words(groups * size), Random::new(343).words_below(groups, size));
        let expected = (0..groups * size).map(|i| input[i / size * size + from[i / size] as usize]).collect();
        let memory = vec![Memory::of(&input), Memory::of(&from), Memory::unset::<u32>(input.len())];
        let launches = vec![launch("broadcasts", Space::d1(input.len(), size), [mem(0), mem(1), mem(2)])];
        (memory, launches, equal::<u32>(2, expected))
    }));
    cases.extend(in_shapes("broadcasts_2d", &SHAPES, |[x, y]| {
        let [width, height] = [3 * x, 3 * y];
        let input = Random::new(344).words(width * height);
        let from = |at: usize| {
            let group_y = at / width / y;
            (group_y * y + group_y % y) * width + at % width / x * x + x - 1
        };
        let expected = (0..width * height).map(|at| input[from(at)]).collect();
        let launches = vec![launch("broadcasts_2d", Space::d2([width, height], [x, y]), [mem(0), mem(1)])];
        (vec![Memory::of(&input), Memory::unset::<u32>(input.len())], launches, equal::<u32>(1, expected))
    }));
    cases.extend(in_groups("votes", &SIZES, votes));
    cases.extend(in_groups("until_any", &SIZES, |size| {
        let input = Random::new(346).words(groups_of(size) * size);
        let rounds = |values: &[u32]| {
            let mut values = values.to_vec();
            let mut rounds = 0u32;
            while values.iter().all(|value| value % 16 != 0) {
                values.iter_mut().for_each(|value| *value = value.wrapping_mul(5).wrapping_add(3));
                rounds += 1;
            }
            vec![rounds; values.len()]
        };
        let expected = input.chunks(size).flat_map(rounds).collect();
        let launches = vec![launch("until_any", Space::d1(input.len(), size), [mem(0), mem(1)])];
        (vec![Memory::of(&input), Memory::unset::<u32>(input.len())], launches, equal::<u32>(1, expected))
    }));
    cases.extend(in_groups("compact", &SIZES, |size| {
        let input = ints(347, groups_of(size) * size);
        let (mut kept, mut counts) = (Vec::new(), Vec::new());
        for (group, values) in input.chunks(size).enumerate() {
            kept.extend(values.iter().copied().filter(|value| *value > 0));
            counts.push((kept.len() - group * size) as u32);
            kept.resize((group + 1) * size, i32::from_ne_bytes([0xCD; 4]));
        }
        let memory =
            vec![Memory::of(&input), Memory::unset::<i32>(input.len()), Memory::unset::<u32>(counts.len())];
        let launches = vec![launch("compact", Space::d1(input.len(), size), [mem(0), mem(1), mem(2)])];
        (memory, launches, all(vec![equal(1, kept), equal(2, counts)]))
    }));
    cases.extend(in_groups("in_arms", &SIZES, |size| {
        let input = Random::new(348).floats(groups_of(size) * size, -1.0, 1.0);
        let of_group = |(group, values): (usize, &[f32])| -> Vec<f32> {
            let fold = |values: &[f32], of: fn(f32, f32) -> f32| values.iter().copied().reduce(of);
            let of = |i: usize| {
                if group % 2 == 1 { fold(values, f32::max) } else { fold(&values[..=i], f32::min) }
            };
            (0..values.len()).filter_map(of).collect()
        };
        let expected = input.chunks(size).enumerate().flat_map(of_group).collect();
        let launches = vec![launch("in_arms", Space::d1(input.len(), size), [mem(0), mem(1)])];
        let memory = vec![Memory::of(&input), Memory::unset::<f32>(input.len())];
        (memory, launches, close(1, expected, 0.0, 0.0))
    }));
    cases
}

fn reductions(size: usize) -> Parts {
    let groups = groups_of(size);
    let (input, words) = (ints(340, groups * size), Random::new(349).words(groups * size));
    let chunks = || input.chunks(size);
    let sum = |values: &[i32]| values.iter().sum::<i32>();
    let extremes =
        |values: &[i32]| [extreme(values, i32::MIN, i32::max), extreme(values, i32::MAX, i32::min)];
    let of_words = |words: &[u32]| {
        [words.iter().copied().fold(0, u32::max), words.iter().copied().fold(u32::MAX, u32::min)]
    };
    let memory = vec![
        Memory::of(&input),
        Memory::of(&words),
        Memory::unset::<i32>(groups),
        Memory::unset::<[i32; 2]>(groups),
        Memory::unset::<[u32; 2]>(groups),
        Memory::unset::<i64>(groups),
    ];
    let check = all(vec![
        equal::<i32>(2, chunks().map(sum).collect()),
        equal::<[i32; 2]>(3, chunks().map(extremes).collect()),
        equal::<[u32; 2]>(4, words.chunks(size).map(of_words).collect()),
        equal::<i64>(5, chunks().map(|values| i64::from(sum(values)) << 20).collect()),
    ]);
    (memory, vec![launch("reductions", Space::d1(groups * size, size), [0, 1, 2, 3, 4, 5].map(mem))], check)
}

fn votes(size: usize) -> Parts {
    let groups = groups_of(size);
    let mut input = ints(345, groups * size);
    // The first groups are of one kind each.
    input[..size].fill(4);
    input[size..2 * size].fill(-3);
    let of_group = |values: &[i32]| {
        let flags = [
            values.iter().all(|x| *x > 0),
            values.iter().any(|x| *x > 0),
            values.iter().all(|x| x % 2 == 0),
            values.contains(&0),
        ];
        vec![flags.map(i32::from); values.len()]
    };
    let expected = input.chunks(size).flat_map(of_group).collect();
    let launches = vec![launch("votes", Space::d1(input.len(), size), [mem(0), mem(1)])];
    (
        vec![Memory::of(&input), Memory::unset::<[i32; 4]>(input.len())],
        launches,
        equal::<[i32; 4]>(1, expected),
    )
}

/// The sub-groups of a launch: their work-items' global ids in order.
///
/// `places` has the number of the sub-group and the place in it first.
fn subgroups(places: &[[i32; 4]], size: usize) -> Result<Vec<Vec<usize>>, String> {
    let mut all_members = Vec::new();
    for (group, places) in places.chunks(size).enumerate() {
        let mut members: Vec<(i32, i32, usize)> =
            places.iter().enumerate().map(|(i, place)| (place[0], place[1], group * size + i)).collect();
        members.sort_unstable();
        for (number, part) in members.chunk_by(|a, b| a.0 == b.0).enumerate() {
            let in_order = part.iter().enumerate().all(|(i, member)| member.1 == i as i32);
            if part[0].0 != number as i32 || !in_order {
                return Err(format!("group {group}: sub-group {} has the members {part:?}", part[0].0));
            }
            all_members.push(part.iter().map(|member| member.2).collect());
        }
    }
    Ok(all_members)
}

/// Compares what each sub-group's members have with what `of` makes of their input.
fn of_subgroups(
    size: usize,
    input: Vec<i32>,
    places: usize,
    out: usize,
    of: impl Fn(&[i32], usize) -> [i32; 4] + 'static,
    fields: usize,
) -> Check {
    Box::new(move |memory| {
        let (places, got): (Vec<[i32; 4]>, Vec<[i32; 4]>) =
            (elements(&memory[places]), elements(&memory[out]));
        for members in subgroups(&places, size)? {
            let values: Vec<i32> = members.iter().map(|at| input[*at]).collect();
            for (i, at) in members.iter().enumerate() {
                let expected = of(&values, i);
                if got[*at][..fields] != expected[..fields] {
                    return Err(format!("memory {out}[{at}] is {:?}, not {expected:?}", got[*at]));
                }
            }
        }
        Ok(())
    })
}

pub(super) fn of_sub_groups() -> Vec<Case> {
    let mut cases = in_groups("sum_of_group", &SIZES, |size| {
        let input = ints(350, groups_of(size) * size);
        let expected = input.chunks(size).map(|values| values.iter().sum()).collect();
        let arguments = [mem(0), mem(1), local::<i32>(size)];
        let launches = vec![launch("sum_of_group", Space::d1(input.len(), size), arguments)];
        let memory = vec![Memory::of(&input), Memory::unset::<i32>(input.len() / size)];
        (memory, launches, equal::<i32>(1, expected))
    });
    cases.extend(in_groups("scan_of_subgroup", &SIZES, |size| {
        let input = ints(351, groups_of(size) * size);
        let launches = vec![launch("scan_of_subgroup", Space::d1(input.len(), size), [mem(0), mem(1)])];
        let memory = vec![Memory::of(&input), Memory::unset::<[i32; 4]>(input.len())];
        // The places are checked by what `subgroups` says.
        let check: Check = Box::new(move |memory| {
            let got: Vec<[i32; 4]> = elements(&memory[1]);
            for members in subgroups(&got, size)? {
                let mut sum = 0;
                for at in &members {
                    sum += input[*at];
                    if got[*at][2..] != [sum, members.len() as i32] {
                        return Err(format!("memory 1[{at}] is {:?}, its sum is {sum}", got[*at]));
                    }
                }
            }
            Ok(())
        });
        (memory, launches, check)
    }));
    cases.extend(in_groups("others_of_subgroup", &SIZES, |size| {
        let input = ints(352, groups_of(size) * size);
        let launches =
            vec![launch("others_of_subgroup", Space::d1(input.len(), size), [mem(0), mem(1), mem(2)])];
        let memory = vec![
            Memory::of(&input),
            Memory::unset::<[i32; 4]>(input.len()),
            Memory::unset::<[i32; 4]>(input.len()),
        ];
        let of = |values: &[i32], i: usize| {
            let before = values[..i].iter().sum();
            [extreme(values, i32::MIN, i32::max), extreme(values, i32::MAX, i32::min), values[0], before]
        };
        (memory, launches, of_subgroups(size, input, 1, 2, of, 4))
    }));
    cases.extend(in_groups("votes_of_subgroup", &SIZES, |size| {
        let input = ints(353, groups_of(size) * size);
        // A sub-group of a CPU may be as wide as the group, and a group's last one may be smaller.
        let room = local::<i32>(2 * size + 256);
        let arguments = [mem(0), mem(1), mem(2), room];
        let launches = vec![launch("votes_of_subgroup", Space::d1(input.len(), size), arguments)];
        let memory = vec![
            Memory::of(&input),
            Memory::unset::<[i32; 4]>(input.len()),
            Memory::unset::<[i32; 4]>(input.len()),
        ];
        let of = |values: &[i32], i: usize| {
            let flags = [values.iter().all(|x| *x > 0), values.iter().any(|x| *x > 90)].map(i32::from);
            [flags[0], flags[1], values[(i + 1) % values.len()], 0]
        };
        (memory, launches, of_subgroups(size, input, 1, 2, of, 3))
    }));
    cases
}

pub(super) fn async_copy() -> Vec<Case> {
    let mut cases = in_groups("there_and_back", &SIZES, |size| {
        let input = ints(360, groups_of(size) * size);
        let expected = input.chunks(size).flat_map(|values| values.iter().rev().map(|x| x + 1)).collect();
        let arguments = [mem(0), mem(1), local::<i32>(size), local::<i32>(size)];
        let launches = vec![launch("there_and_back", Space::d1(input.len(), size), arguments)];
        (vec![Memory::of(&input), Memory::unset::<i32>(input.len())], launches, equal::<i32>(1, expected))
    });
    cases.extend(in_groups("columns", &SIZES, |size| {
        let groups = groups_of(size);
        let width = groups + 2;
        let input = ints(361, width * size.max(groups));
        let of = |i: usize| 3 * input[i % size * width + i / size] + input[i];
        let expected = (0..groups * size).map(of).collect();
        let arguments = [mem(0), mem(1), uint(width), local::<i32>(size), local::<i32>(size)];
        let launches = vec![launch("columns", Space::d1(groups * size, size), arguments)];
        (vec![Memory::of(&input), Memory::unset::<i32>(groups * size)], launches, equal::<i32>(1, expected))
    }));
    cases.extend(in_groups("scattered", &SIZES, |size| {
        let groups = groups_of(size);
        let input = Random::new(362).floats(4 * groups * size, -1.0, 1.0);
        let of = |at: usize| {
            let (element, part) = (at / 4, at % 4);
            2.0 * input[4 * (element % groups * size + element / groups) + part]
        };
        let expected = (0..input.len()).map(of).collect();
        let arguments = [mem(0), mem(1), local::<[f32; 4]>(size)];
        let launches = vec![launch("scattered", Space::d1(groups * size, size), arguments)];
        (vec![Memory::of(&input), Memory::unset::<f32>(input.len())], launches, close(1, expected, 0.0, 0.0))
    }));
    cases.extend(in_groups("double_buffered", &SIZES, |size| {
        let (groups, chunks) = (groups_of(size), 5);
        let input = Random::new(363).words(groups * size * chunks);
        let of = |i: usize| {
            let mine = &input[i / size * size * chunks..];
            let next = |sum: u32, k: usize| {
                sum.wrapping_mul(31).wrapping_add(mine[k * size + (i % size + k) % size])
            };
            (0..chunks).fold(0, next)
        };
        let expected = (0..groups * size).map(of).collect();
        let arguments = [mem(0), uint(chunks), mem(1), local::<u32>(2 * size)];
        let launches = vec![launch("double_buffered", Space::d1(groups * size, size), arguments)];
        (vec![Memory::of(&input), Memory::unset::<u32>(groups * size)], launches, equal::<u32>(1, expected))
    }));
    cases.extend(in_groups("several_events", &SIZES, |size| {
        let n = groups_of(size) * size;
        let bytes = Random::new(364).bytes(n);
        let shorts: Vec<u16> = Random::new(365).words(n).iter().map(|x| *x as u16).collect();
        let of = |i: usize| {
            let base = i / size * size;
            u32::from(bytes[base + size - 1 - i % size]) << 16
                | u32::from(shorts[base + (i % size + 1) % size])
        };
        let expected = (0..n).map(of).collect();
        let memory = vec![Memory::of(&bytes), Memory::of(&shorts), Memory::unset::<u32>(n)];
        let arguments = [mem(0), mem(1), mem(2), local::<u8>(size), local::<u16>(size)];
        (memory, vec![launch("several_events", Space::d1(n, size), arguments)], equal::<u32>(2, expected))
    }));
    cases
}
