//! Built-in functions of vectors.

use bytemuck::Pod;

use super::common::{Random, equal, in_groups, launch, local, mem};
use crate::case::{Case, Memory, Space};

/// Group sizes; what lanes do does not depend on much more.
const SIZES: [usize; 3] = [1, 9, 64];
/// Work-items.
const ITEMS: usize = 9 * 64;

/// A kernel that reads memory and writes `expected` behind it.
fn map<T: Pod + PartialEq + std::fmt::Debug>(
    kernel: &str,
    input: Vec<Memory>,
    expected: Vec<T>,
) -> Vec<Case> {
    let out = input.len();
    in_groups(kernel, &SIZES, |size| {
        let mut memory = input.clone();
        memory.push(Memory::unset::<T>(expected.len()));
        let arguments: Vec<_> = (0..=out).map(mem).collect();
        (memory, vec![launch(kernel, Space::d1(ITEMS, size), arguments)], equal(out, expected.clone()))
    })
}

/// Numbers near the ends of 32 bits, and others.
fn edges(seed: u64, len: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let ends = [0, 1, 2, 3, 46341, 65535, 65536, 1 << 30, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
    (0..len)
        .map(|_| if random.below(5) == 0 { random.u32() } else { ends[random.below(ends.len())] })
        .collect()
}

/// Numbers near the ends of 64 bits and of their halves.
fn wide_edges(seed: u64, len: usize) -> Vec<i64> {
    let mut random = Random::new(seed);
    let ends = [0, 1, -1, 2, -2, 3, 1 << 31, 1 << 32, 3_037_000_500, i64::MAX, i64::MIN, i64::MAX - 1];
    let number = |random: &mut Random| match random.below(5) {
        0 => random.u64().cast_signed(),
        _ => ends[random.below(ends.len())],
    };
    (0..len).map(|_| number(&mut random)).collect()
}

pub(super) fn functions() -> Vec<Case> {
    let mut cases = Vec::new();
    for lanes in [2, 4, 16] {
        let [a, b, c] = [310, 311, 312].map(|seed| edges(seed, lanes * ITEMS));
        let each = |of: &dyn Fn(u32, u32, u32) -> u32| -> Vec<u32> {
            (0..a.len()).map(|i| of(a[i], b[i], c[i])).collect()
        };
        let signed = |a: u32, b: u32, c: u32| {
            let [a, b, c] = [a, b, c].map(|x| i128::from(x.cast_signed()));
            ((a * b + c).clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32).cast_unsigned()
        };
        let unsigned = |a: u32, b: u32, c: u32| {
            let [a, b, c] = [a, b, c].map(u128::from);
            (a * b + c).min(u128::from(u32::MAX)) as u32
        };
        let input = || vec![Memory::of(&a), Memory::of(&b), Memory::of(&c)];
        cases.extend(map(&format!("mad_sat_int{lanes}"), input(), each(&signed)));
        cases.extend(map(&format!("mad_sat_uint{lanes}"), input(), each(&unsigned)));
    }
    for lanes in [1, 4] {
        let [a, b, c] = [321, 322, 323].map(|seed| wide_edges(seed, lanes * ITEMS));
        let of = |i: usize| {
            let [a, b, c] = [a[i], b[i], c[i]].map(i128::from);
            (a * b + c).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
        };
        let expected: Vec<i64> = (0..a.len()).map(of).collect();
        let name = if lanes == 1 { "mad_sat_long".to_owned() } else { format!("mad_sat_long{lanes}") };
        cases.extend(map(&name, vec![Memory::of(&a), Memory::of(&b), Memory::of(&c)], expected));
    }
    let (edge, x) = (numbers(313, 4 * ITEMS), numbers(314, 4 * ITEMS));
    let expected = edge.iter().zip(&x).map(|(edge, x)| step(*edge, *x)).collect();
    cases.extend(map("step_float4", vec![Memory::of(&edge), Memory::of(&x)], expected));
    let expected = x.iter().enumerate().map(|(i, x)| step(edge[i / 4], *x)).collect();
    cases.extend(map("step_one_edge", vec![Memory::of(&edge[..ITEMS]), Memory::of(&x)], expected));
    cases.extend(floats());
    let input = Random::new(315).words(4 * ITEMS);
    let mask = Random::new(316).words(4 * ITEMS);
    let expected = (0..4 * ITEMS).map(|i| input[i / 4 * 4 + mask[i] as usize % 4]).collect::<Vec<u32>>();
    cases.extend(map("shuffle_int4", vec![Memory::of(&input), Memory::of(&mask)], expected));
    let (values, expected) = threes();
    cases.extend(map("store_half3", vec![Memory::of(&values)], expected));
    cases.extend(in_groups("store_half3_towards_zero", &SIZES, |size| {
        let (mut values, mut expected) = threes();
        // Between two halves.
        values.iter_mut().for_each(|value| *value += 1.0 / 4096.0);
        expected.iter_mut().skip(3).step_by(4).for_each(|fourth| *fourth = half(1));
        let arguments = [mem(0), mem(1), local::<u16>(4 * size)];
        let launches = vec![launch("store_half3_towards_zero", Space::d1(ITEMS, size), arguments)];
        let memory = vec![Memory::of(&values), Memory::unset::<u16>(expected.len())];
        (memory, launches, equal(1, expected))
    }));
    cases
}

/// Functions that drivers have instructions for, of scalars and vectors.
fn floats() -> Vec<Case> {
    // Quarters, so that sums and products are exact. `holes` has NaN, too.
    let mut random = Random::new(324);
    let mut quarters = || (0..4 * ITEMS).map(|_| random.below(200) as f32 / 4.0 - 25.0).collect::<Vec<f32>>();
    let (a, b, holes) = (quarters(), quarters(), numbers(325, 4 * ITEMS));
    let of = |x: f32, y: f32, hole: f32| {
        [
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.round_ties_even(),
            x.copysign(y),
            x.min(hole),
            hole.max(x),
            x * y + x,
            x.abs(),
            x.abs() * 4.0,
            4.0 * (x.abs() + y.abs()),
            8.0,
        ]
    };
    let case = |lanes: usize, kernel: &str| {
        let input = [&a, &b, &holes].map(|all| Memory::of(&all[..lanes * ITEMS]));
        let mut expected = vec![0.0; 12 * lanes * ITEMS];
        for (i, ((x, y), hole)) in a.iter().zip(&b).zip(&holes).take(lanes * ITEMS).enumerate() {
            for (k, value) in of(*x, *y, *hole).into_iter().enumerate() {
                expected[(12 * (i / lanes) + k) * lanes + i % lanes] = value;
            }
        }
        map(kernel, input.to_vec(), expected)
    };
    let mut cases = case(1, "floats_float");
    cases.extend(case(4, "floats_float4"));
    cases
}

pub(super) fn doubles() -> Vec<Case> {
    let input: Vec<f64> =
        numbers(317, 4 * ITEMS).into_iter().filter(|x| !x.is_nan()).map(f64::from).collect();
    let input: Vec<f64> = input.iter().cycle().take(4 * ITEMS).copied().collect();
    let mask = Random::new(318).longs(8 * ITEMS);
    let shuffled = |lanes: usize| -> Vec<f64> {
        (0..lanes * ITEMS).map(|i| input[i / lanes * 4 + mask[i] as usize % 4]).collect()
    };
    let memory = |lanes: usize| vec![Memory::of(&input), Memory::of(&mask[..lanes * ITEMS])];
    let mut cases = map("shuffle_double4", memory(4), shuffled(4));
    cases.extend(map("shuffle_to_double8", memory(8), shuffled(8)));
    let (edge, x) = (numbers(313, 2 * ITEMS), numbers(314, 2 * ITEMS));
    let expected = edge.iter().zip(&x).map(|(edge, x)| f64::from(step(*edge, *x))).collect();
    let wide = |of: &[f32]| Memory::of(&of.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>());
    cases.extend(map("step_double2", vec![wide(&edge), wide(&x)], expected));
    let (values, expected) = threes();
    cases.extend(map("store_half3", vec![wide(&values)], expected));
    cases
}

pub(super) fn halves() -> Vec<Case> {
    let mut random = Random::new(319);
    let numbers: Vec<u32> = (0..8 * ITEMS).map(|_| random.below(1000) as u32).collect();
    let mask: Vec<u16> = (0..8 * ITEMS).map(|_| random.u32() as u16).collect();
    let input: Vec<u16> = numbers.iter().map(|number| half(*number)).collect();
    let memory = |lanes: usize| vec![Memory::of(&input[..lanes * ITEMS]), Memory::of(&mask[..lanes * ITEMS])];
    let of_four = (0..4 * ITEMS).map(|i| input[i / 4 * 4 + usize::from(mask[i]) % 4]).collect::<Vec<u16>>();
    let of_two = |i: usize| {
        let from = usize::from(mask[i]) % 16;
        half(numbers[i / 8 * 8 + from % 8] + u32::from(from >= 8))
    };
    let mut cases = map("shuffle_half4", memory(4), of_four);
    cases.extend(map("shuffle2_half8", memory(8), (0..8 * ITEMS).map(of_two).collect::<Vec<u16>>()));
    cases.extend(in_groups("collectives", &SIZES, |size| {
        // Sums below 2048 are exact.
        let small: Vec<u32> = numbers[..ITEMS].iter().map(|number| number % 30).collect();
        let expected = (0..ITEMS).flat_map(|i| {
            let group = &small[i / size * size..][..size];
            let until = &group[..=i % size];
            let last = group[size - 1];
            let [least, most] = [group.iter().min(), until.iter().max()].map(|x| x.copied().unwrap_or(0));
            [until.iter().sum(), least, most, last].map(half)
        });
        let memory = vec![
            Memory::of(&small.iter().map(|x| half(*x)).collect::<Vec<u16>>()),
            Memory::unset::<u16>(4 * ITEMS),
        ];
        let launches = vec![launch("collectives", Space::d1(ITEMS, size), [mem(0), mem(1)])];
        (memory, launches, equal::<u16>(1, expected.collect()))
    }));
    let (edge, x) = (&input[..2 * ITEMS], &input[2 * ITEMS..4 * ITEMS]);
    // Halves of one sign have the order of their bits.
    let mut x = x.to_vec();
    x.iter_mut().step_by(7).for_each(|x| *x = 0x7E00);
    let expected = edge.iter().zip(&x).map(|(edge, x)| half(u32::from(x >= edge))).collect::<Vec<u16>>();
    cases.extend(map("step_half2", vec![Memory::of(edge), Memory::of(&x)], expected));
    cases
}

/// Numbers, some of which are equal or not numbers.
fn numbers(seed: u64, len: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let number = |random: &mut Random| match random.below(6) {
        0 => f32::NAN,
        _ => random.below(9) as f32 - 4.0,
    };
    (0..len).map(|_| number(&mut random)).collect()
}

fn step(edge: f32, x: f32) -> f32 {
    if x < edge { 0.0 } else { 1.0 }
}

/// Three numbers a work-item, and four halves, the last one of which is unset.
fn threes() -> (Vec<f32>, Vec<u16>) {
    let mut random = Random::new(320);
    let numbers: Vec<u32> = (0..3 * ITEMS).map(|_| 512 + random.below(512) as u32).collect();
    let unset = u16::from_ne_bytes([0xCD; 2]);
    let halves = numbers.chunks(3).flat_map(|three| three.iter().map(|x| half(*x)).chain([unset])).collect();
    (numbers.iter().map(|x| *x as f32).collect(), halves)
}

/// The bits of a half with this value, below 2048.
fn half(number: u32) -> u16 {
    let Some(exponent) = number.checked_ilog2() else { return 0 };
    ((exponent + 15) << 10 | (number << 10 >> exponent) & 0x3FF) as u16
}
