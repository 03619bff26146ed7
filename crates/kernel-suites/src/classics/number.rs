//! Big integers and fixed-point numbers.

use super::bignum::{difference, product, remainder, sum};
use super::common::{
    Parts, Random, SIZES, all, case, equal, groups_of, in_groups, int, launch, local, mem, uint,
};
use crate::case::{Argument, Case, Memory, Space};

/// Work-items of kernels that do not work in groups.
const N: usize = 200;

fn space() -> Space {
    Space::d1(N, 40)
}

/// Limbs, many of which are zeros or ones only, so that carries move far.
fn limbs(seed: u64, len: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut limb = || match random.below(4) {
        0 => 0,
        1 => u32::MAX,
        _ => random.u32(),
    };
    (0..len).map(|_| limb()).collect()
}

pub(super) fn big_integers() -> Vec<Case> {
    let mut cases = vec![
        case("add_subtract", add_subtract()),
        case("multiply", multiply("multiply")),
        case("multiply_columns", multiply("multiply_columns")),
        case("power_32", power_32()),
        case("power_64", power_64()),
        case("power_128", power_128()),
        case("factorials", factorials()),
    ];
    cases.extend(in_groups("add_in_group", &SIZES, add_in_group));
    cases
}

fn add_subtract() -> Parts {
    let (a, b) = (limbs(200, 8 * N), limbs(201, 8 * N));
    let pairs = || a.chunks(8).zip(b.chunks(8));
    let flags = |(a, b): (&[u32], &[u32])| [u8::from(sum(a, b).1), u8::from(difference(a, b).1)];
    let memory = vec![
        Memory::of(&a),
        Memory::of(&b),
        Memory::unset::<u32>(8 * N),
        Memory::unset::<u32>(8 * N),
        Memory::unset::<u16>(N),
    ];
    let check = all(vec![
        equal::<u32>(2, pairs().flat_map(|(a, b)| sum(a, b).0).collect()),
        equal::<u32>(3, pairs().flat_map(|(a, b)| difference(a, b).0).collect()),
        equal::<u8>(4, pairs().flat_map(flags).collect()),
    ]);
    (memory, vec![launch("add_subtract", space(), [0, 1, 2, 3, 4].map(mem))], check)
}

fn multiply(kernel: &str) -> Parts {
    let (a, b) = (limbs(202, 8 * N), limbs(203, 8 * N));
    let expected = a.chunks(8).zip(b.chunks(8)).flat_map(|(a, b)| product(a, b)).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<u32>(16 * N)];
    (memory, vec![launch(kernel, space(), [0, 1, 2].map(mem))], equal(2, expected))
}

/// By squares, from the highest bit.
fn power(base: &[u32], exponent: u64, modulus: &[u32]) -> Vec<u32> {
    let one = remainder(&[1], modulus);
    (0..64 - exponent.leading_zeros()).rev().fold(one, |result, bit| {
        let square = remainder(&product(&result, &result), modulus);
        if exponent >> bit & 1 == 1 { remainder(&product(&square, base), modulus) } else { square }
    })
}

fn power_32() -> Parts {
    let mut random = Random::new(204);
    let input: Vec<[u32; 4]> = (0..N)
        .map(|i| {
            [random.u32(), random.u32() >> random.below(32), if i == 0 { 1 } else { random.u32() | 1 }, 0]
        })
        .collect();
    let of = |[base, exponent, modulus, _]: &[u32; 4]| power(&[*base], u64::from(*exponent), &[*modulus])[0];
    let expected = input.iter().map(of).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N)];
    (memory, vec![launch("power_32", space(), [mem(0), mem(1)])], equal::<u32>(1, expected))
}

fn two(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

fn power_64() -> Parts {
    let n = 60;
    let mut random = Random::new(205);
    let input: Vec<[u64; 4]> = (0..n)
        .map(|i| {
            let exponent = random.u64() >> (32 + random.below(32));
            [random.u64(), exponent, random.u64() >> (i % 3 * 20) | 1, 0]
        })
        .collect();
    let of = |[base, exponent, modulus, _]: &[u64; 4]| power(&two(*base), *exponent, &two(*modulus));
    let expected = input.iter().flat_map(of).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u64>(n)];
    (memory, vec![launch("power_64", Space::d1(n, 12), [mem(0), mem(1)])], equal::<u32>(1, expected))
}

fn power_128() -> Parts {
    let n = 24;
    let mut random = Random::new(206);
    let mut moduli = random.words(4 * n);
    moduli.iter_mut().step_by(4).for_each(|limb| *limb |= 1);
    let below = |limbs: Vec<u32>| -> Vec<u32> {
        limbs.chunks(4).zip(moduli.chunks(4)).flat_map(|(limbs, modulus)| remainder(limbs, modulus)).collect()
    };
    let bases = below(random.words(4 * n));
    let exponents: Vec<u32> = (0..n).map(|i| random.u32() >> (i % 32)).collect();
    // 2^256 modulo each modulus.
    let mut power_of_two = vec![0u32; 9];
    power_of_two[8] = 1;
    let squares: Vec<u32> = moduli.chunks(4).flat_map(|modulus| remainder(&power_of_two, modulus)).collect();
    let expected = (0..n)
        .flat_map(|i| power(&bases[4 * i..][..4], u64::from(exponents[i]), &moduli[4 * i..][..4]))
        .collect();
    let memory = vec![
        Memory::of(&bases),
        Memory::of(&exponents),
        Memory::of(&moduli),
        Memory::of(&squares),
        Memory::unset::<u32>(4 * n),
    ];
    let launches = vec![launch("power_128", Space::d1(n, 8), [0, 1, 2, 3, 4].map(mem))];
    (memory, launches, equal::<u32>(4, expected))
}

fn factorials() -> Parts {
    let (n, limbs) = (60, 10);
    let mut factorial = vec![1u32];
    let mut expected = Vec::new();
    for k in 0..n {
        if k > 1 {
            factorial = product(&factorial, &[k]);
        }
        // Divides by a billion as often as there are limbs.
        let mut rest = factorial.clone();
        for _ in 0..limbs {
            let mut digits = 0u64;
            for limb in rest.iter_mut().rev() {
                let all = digits << 32 | u64::from(*limb);
                *limb = (all / 1_000_000_000) as u32;
                digits = all % 1_000_000_000;
            }
            expected.push(digits as u32);
        }
    }
    let launches = vec![launch("factorials", Space::d1(n as usize, 12), [mem(0), uint(limbs)])];
    (vec![Memory::unset::<u32>(n as usize * limbs)], launches, equal(0, expected))
}

fn add_in_group(size: usize) -> Parts {
    let n = groups_of(size) * size;
    let (mut a, mut b) = (limbs(207, n), limbs(208, n));
    // In the first group, a carry moves through all limbs.
    a[..size].fill(u32::MAX);
    b[..size].fill(0);
    b[0] = 1;
    let expected = a.chunks(size).zip(b.chunks(size)).flat_map(|(a, b)| sum(a, b).0).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<u32>(n)];
    let arguments = [mem(0), mem(1), mem(2), local::<u32>(size)];
    (memory, vec![launch("add_in_group", Space::d1(n, size), arguments)], equal::<u32>(2, expected))
}

/// Numbers of all magnitudes and both signs.
fn ints(seed: u64) -> Vec<i32> {
    let mut random = Random::new(seed);
    let mut all = vec![0, 1, -1, i32::MAX, i32::MIN, 0x1_0000, -0x1_0000];
    all.extend((all.len()..N).map(|_| random.u32().cast_signed() >> random.below(31)));
    all
}

pub(super) fn fixed_point() -> Vec<Case> {
    vec![
        case("multiply_divide", multiply_divide()),
        case("saturating", saturating()),
        case("narrow", narrow()),
        case("means", means()),
        case("of_24_bits", of_24_bits()),
        case("square_root", square_root()),
        case("cordic", cordic()),
        case("filter", filter()),
    ]
}

fn operands() -> (Vec<i32>, Vec<i32>) {
    let (a, mut b) = (ints(210), ints(211));
    b.rotate_left(3);
    (a, b)
}

fn multiply_divide() -> Parts {
    let (a, b) = operands();
    let pairs = || a.iter().zip(&b).map(|(a, b)| (i128::from(*a), i128::from(*b)));
    let quotient = |(a, b): (i128, i128)| match (a, b) {
        (..0, 0) => i32::MIN,
        (_, 0) => i32::MAX,
        (a, b) => (a * 65536 / b) as i32,
    };
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<i32>(N), Memory::unset::<i32>(N)];
    let check = all(vec![
        equal::<i32>(2, pairs().map(|(a, b)| (a * b + 32768).div_euclid(65536) as i32).collect()),
        equal::<i32>(3, pairs().map(quotient).collect()),
    ]);
    (memory, vec![launch("multiply_divide", space(), [0, 1, 2, 3].map(mem))], check)
}

fn saturating() -> Parts {
    let (a, b) = operands();
    let of = |(a, b): (&i32, &i32)| {
        let product = (i64::from(*a) * i64::from(*b)).div_euclid(65536);
        let product = product.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        [product, product, a.saturating_add(*b), a.saturating_sub(*b)]
    };
    let expected = a.iter().zip(&b).map(of).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<[i32; 4]>(N)];
    (memory, vec![launch("saturating", space(), [0, 1, 2].map(mem))], equal::<[i32; 4]>(2, expected))
}

fn narrow() -> Parts {
    let mut random = Random::new(212);
    let (a, b) = (random.bytes(16 * N), random.bytes(16 * N));
    let pairs = || a.iter().zip(&b).map(|(a, b)| (*a, *b));
    let memory = vec![
        Memory::of(&a),
        Memory::of(&b),
        Memory::unset::<u8>(16 * N),
        Memory::unset::<u8>(16 * N),
        Memory::unset::<u16>(16 * N),
    ];
    let check = all(vec![
        equal::<i8>(2, pairs().map(|(a, b)| a.cast_signed().saturating_add(b.cast_signed())).collect()),
        equal::<u8>(3, pairs().map(|(a, b)| a.saturating_sub(b)).collect()),
        equal::<i16>(
            4,
            pairs().map(|(a, b)| i16::from(a.cast_signed()) * i16::from(b.cast_signed())).collect(),
        ),
    ]);
    (memory, vec![launch("narrow", space(), [0, 1, 2, 3, 4].map(mem))], check)
}

fn means() -> Parts {
    let mut random = Random::new(213);
    let (mut a, mut b) = (random.words(N), random.words(N));
    (a[0], b[0], a[1], b[1]) = (u32::MAX, u32::MAX, u32::MAX, 0);
    let of = |(a, b): (&u32, &u32)| {
        let (x, y) = (u64::from(*a), u64::from(*b));
        let high = ((x * y) >> 32) as u32;
        [((x + y) / 2) as u32, (x + y).div_ceil(2) as u32, x.abs_diff(y) as u32, high.wrapping_add(7)]
    };
    let expected = a.iter().zip(&b).map(of).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<[u32; 4]>(N)];
    (memory, vec![launch("means", space(), [0, 1, 2].map(mem))], equal::<[u32; 4]>(2, expected))
}

fn of_24_bits() -> Parts {
    let (a, b) = operands();
    let of = |(a, b): (&i32, &i32)| {
        let product = (a >> 12) * (b >> 20);
        [product, product + 5]
    };
    let expected = a.iter().zip(&b).map(of).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<[i32; 2]>(N)];
    (memory, vec![launch("of_24_bits", space(), [0, 1, 2].map(mem))], equal::<[i32; 2]>(2, expected))
}

fn square_root() -> Parts {
    let mut random = Random::new(214);
    let mut input: Vec<u32> = (0..N).map(|_| random.u32() >> random.below(32)).collect();
    input[..6].copy_from_slice(&[0, 1, 4, u32::MAX, 65535 * 65535, 65535 * 65535 - 1]);
    let expected = input.iter().map(|x| x.isqrt()).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N)];
    (memory, vec![launch("square_root", space(), [mem(0), mem(1)])], equal::<u32>(1, expected))
}

fn cordic() -> Parts {
    let steps = 24;
    let one = f64::from(1 << 28);
    let step = |k: i32| 0.5f64.powi(k);
    let table: Vec<i32> = (0..steps).map(|k| (step(k).atan() * one).round() as i32).collect();
    let gain: f64 = (0..steps).map(|k| 1.0 / (1.0 + step(k) * step(k)).sqrt()).product();
    let angles: Vec<i32> = (0..N).map(|i| ((i as f64 / 100.0 - 1.0) * 1.57 * one) as i32).collect();
    let expected: Vec<[f64; 2]> = angles
        .iter()
        .map(|angle| {
            let (sin, cos) = (f64::from(*angle) / one).sin_cos();
            [cos * one, sin * one]
        })
        .collect();
    let memory = vec![Memory::of(&angles), Memory::of(&table), Memory::unset::<[i32; 2]>(N)];
    let gain = int((gain * one).round() as usize);
    let launches = vec![launch("cordic", space(), [mem(0), mem(1), int(steps as usize), gain, mem(2)])];
    let check = Box::new(move |memory: &[Vec<u8>]| {
        let got: Vec<[i32; 2]> = crate::case::elements(&memory[2]);
        // The angle that is left is at most 2^5 units of 2^-28, and each of 24 steps rounds once.
        let is_wrong = |(got, wanted): (&[i32; 2], &[f64; 2])| {
            got.iter().zip(wanted).any(|(got, wanted)| (f64::from(*got) - wanted).abs() > 100.0)
        };
        let at = got.iter().zip(&expected).position(is_wrong);
        at.map_or(Ok(()), |at| Err(format!("memory 2[{at}] is {:?}, not {:?}", got[at], expected[at])))
    });
    (memory, launches, check)
}

fn filter() -> Parts {
    let n = 30;
    let coefficients = [5000i32, 9000, 5000, -4000, 3000];
    let input: Vec<i16> = Random::new(215).words(N * n).iter().map(|word| *word as i16).collect();
    let of_item = |x: &[i16]| {
        let mut y: Vec<i64> = Vec::new();
        let mut rest = 0;
        for i in 0..n {
            let x = |back: usize| i.checked_sub(back).map_or(0, |i| i64::from(x[i]));
            let past = |back: usize| i.checked_sub(back).map_or(0, |i| y[i]);
            let terms = [x(0), x(1), x(2), -past(1), -past(2)];
            let sum: i64 = terms.iter().zip(coefficients).map(|(x, c)| x * i64::from(c)).sum::<i64>() + rest;
            rest = sum.rem_euclid(1 << 14);
            y.push(sum.div_euclid(1 << 14).clamp(-32768, 32767));
        }
        y.into_iter().map(|y| y as i16).collect::<Vec<i16>>()
    };
    let expected = input.chunks(n).flat_map(of_item).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<i16>(N * n), Memory::of(&coefficients)];
    let launches = vec![launch("filter", space(), [mem(0), mem(1), Argument::value(n as i32), mem(2)])];
    (memory, launches, equal::<i16>(1, expected))
}
