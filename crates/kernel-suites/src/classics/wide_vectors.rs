//! Vectors of sixteen numbers of 64 bits.

use super::common::{Parts, Random, all, case, equal, launch, local, mem};
use crate::case::{Argument, Case, Check, Launch, Memory, Space, elements, expect_equal};

/// Work-items.
const N: usize = 18;
/// In a group.
const SIZE: usize = 6;
/// Numbers in a vector.
const LANES: usize = 16;

fn space() -> Space {
    Space::d1(N, SIZE)
}

type Signed = (&'static str, fn(i64, i64, i64) -> i64);
type Unsigned = (&'static str, fn(u64, u64, u64) -> u64);
/// What a lane becomes that may come from any lane: the lanes of the three vectors, and its place.
type Moved = (&'static str, fn([&[u64]; 3], usize) -> u64);

fn saturated(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn high(product: i128) -> i64 {
    (product >> 64) as i64
}

const SIGNED: [Signed; 16] = [
    ("s_max", |x, y, _| x.max(y)),
    ("s_min", |x, y, _| x.min(y)),
    ("s_clamp", |x, y, z| x.clamp(y.min(z), y.max(z))),
    ("s_abs", |x, _, _| x.unsigned_abs().cast_signed()),
    ("s_abs_diff", |x, y, _| x.abs_diff(y).cast_signed()),
    ("s_add_sat", |x, y, _| x.saturating_add(y)),
    ("s_sub_sat", |x, y, _| x.saturating_sub(y)),
    ("s_hadd", |x, y, _| ((i128::from(x) + i128::from(y)) >> 1) as i64),
    ("s_rhadd", |x, y, _| ((i128::from(x) + i128::from(y) + 1) >> 1) as i64),
    ("s_mul_hi", |x, y, _| high(i128::from(x) * i128::from(y))),
    ("s_mad_hi", |x, y, z| high(i128::from(x) * i128::from(y)).wrapping_add(z)),
    ("s_mad_sat", |x, y, z| saturated(i128::from(x >> 20) * i128::from(y >> 44) + i128::from(z))),
    ("s_select", |x, y, z| if z < 0 { y } else { x }),
    ("s_bitselect", |x, y, z| x & !z | y & z),
    ("s_upsample", |x, y, _| x >> 32 << 32 | (y.cast_unsigned() >> 32).cast_signed()),
    ("s_of_unsigned", |x, _, _| if x < 0 { i64::MAX } else { x }),
];

const UNSIGNED: [Unsigned; 15] = [
    ("u_max", |x, y, _| x.max(y)),
    ("u_min", |x, y, _| x.min(y)),
    ("u_abs_diff", |x, y, _| x.abs_diff(y)),
    ("u_add_sat", |x, y, _| x.saturating_add(y)),
    ("u_sub_sat", |x, y, _| x.saturating_sub(y)),
    ("u_hadd", |x, y, _| ((u128::from(x) + u128::from(y)) >> 1) as u64),
    ("u_rhadd", |x, y, _| ((u128::from(x) + u128::from(y) + 1) >> 1) as u64),
    ("u_mul_hi", |x, y, _| ((u128::from(x) * u128::from(y)) >> 64) as u64),
    ("u_mad_sat", |x, y, z| (x >> 20).saturating_mul(y >> 44).saturating_add(z)),
    ("u_clz", |x, y, _| (x >> (y & 63)).leading_zeros().into()),
    ("u_popcount", |x, _, _| x.count_ones().into()),
    ("u_rotate", |x, y, _| x.rotate_left((y & 63) as u32)),
    ("u_of_signed", |x, _, _| x.cast_signed().max(0).cast_unsigned()),
    ("u_narrow", |x, y, _| (x >> (y & 63)).min(u32::MAX.into())),
    ("u_narrow_signed", |x, y, _| (x.cast_signed() >> (y & 63)).clamp(-128, 127).cast_unsigned()),
];

const MOVED: [Moved; 8] = [
    ("s_min_of_scalar", |[x, y, _], at| x[at].cast_signed().min(y[3].cast_signed()).cast_unsigned()),
    ("u_shuffle", |[x, y, _], at| x[y[at] as usize % 16]),
    ("u_shuffle_narrow", |[x, y, _], at| x[y[at] as usize % 16]),
    ("u_shuffle_of_eight", |[x, y, _], at| x[8 + y[at] as usize % 8]),
    ("u_shuffle_of_two", |[x, y, _], at| x[14 + y[at] as usize % 2]),
    ("u_shuffle2", |[x, y, z], at| of_two(x, y, z[at])),
    ("u_shuffle2_narrow", |[x, y, z], at| of_two(x, y, z[at])),
    ("u_shuffle2_of_four", |[x, y, z], at| of_two(&x[4..8], &y[8..12], z[at])),
];

/// A lane of one of two vectors.
fn of_two<T: Copy>(x: &[T], y: &[T], mask: u64) -> T {
    let at = mask as usize % (2 * x.len());
    if at < x.len() { x[at] } else { y[at - x.len()] }
}

/// Numbers of all sizes, with those at the ends of their range.
fn numbers(seed: u64, len: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    let number = |_| match random.below(8) {
        0 => i64::MAX.cast_unsigned(),
        1 => i64::MIN.cast_unsigned(),
        2 => u64::MAX,
        3 => random.u64() >> 40,
        _ => random.u64(),
    };
    (0..len).map(number).collect()
}

pub(super) fn cases() -> Vec<Case> {
    let inputs = [640, 641, 642].map(|seed| numbers(seed, N * LANES));
    let [x, y, z] = &inputs;
    let of = |name: &str, expected: Vec<u64>| {
        let mut memory: Vec<Memory> = inputs.iter().map(|input| Memory::of(input)).collect();
        memory.push(Memory::unset::<u64>(N * LANES));
        case(name, (memory, vec![launch(name, space(), [0, 1, 2, 3].map(mem))], equal(3, expected)))
    };
    let lanes = || x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]);
    let mut cases = Vec::new();
    for (name, value) in SIGNED {
        let value = |lane: [u64; 3]| {
            let [x, y, z] = lane.map(u64::cast_signed);
            value(x, y, z).cast_unsigned()
        };
        cases.push(of(name, lanes().map(value).collect()));
    }
    for (name, value) in UNSIGNED {
        cases.push(of(name, lanes().map(|[x, y, z]| value(x, y, z)).collect()));
    }
    for (name, value) in MOVED {
        let vector = |at: usize| [x, y, z].map(|all| &all[at / LANES * LANES..][..LANES]);
        cases.push(of(name, (0..N * LANES).map(|at| value(vector(at), at % LANES)).collect()));
    }
    cases.push(case("unaligned_copies", unaligned()));
    cases.push(case("staged_copies", staged()));
    cases.push(case("conditions", conditions()));
    cases.push(case("calls", calls()));
    cases.push(case("arguments", arguments()));
    cases
}

fn unaligned() -> Parts {
    let input = numbers(643, N * LANES + 3);
    let mut expected = vec![0xCDCD_CDCD_CDCD_CDCD; 5];
    expected.extend(&input[3..]);
    let memory = vec![Memory::of(&input), Memory::unset::<u64>(N * LANES + 5)];
    (memory, vec![launch("unaligned_copies", space(), [mem(0), mem(1)])], equal(1, expected))
}

fn staged() -> Parts {
    let input = numbers(644, N * LANES);
    let mut expected = Vec::new();
    for at in 0..N {
        let (group, item) = (at / SIZE, at % SIZE);
        let from = group * SIZE + SIZE - 1 - item;
        // A number further, and the private array's own number behind it.
        expected.extend(&input[from * LANES + 1..(from + 1) * LANES]);
        expected.push(32);
    }
    let memory = vec![Memory::of(&input), Memory::unset::<u64>(N * LANES)];
    let arguments = [mem(0), mem(1), local::<u64>(SIZE * LANES)];
    (memory, vec![launch("staged_copies", space(), arguments)], equal(1, expected))
}

fn two_inputs(seed: u64) -> [Vec<i64>; 2] {
    [seed, seed + 1].map(|seed| numbers(seed, N * LANES).into_iter().map(u64::cast_signed).collect())
}

fn conditions() -> Parts {
    let [x, mut y] = two_inputs(645);
    // Vectors whose lanes are all less.
    for (y, x) in y.iter_mut().zip(&x).take(3 * LANES) {
        *y = x.saturating_add(1);
    }
    let mut expected = Vec::new();
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        let pairs = || x.iter().zip(y);
        let any = i64::from(pairs().any(|(x, y)| x < y));
        let every = i64::from(pairs().all(|(x, y)| x < y));
        let same = i64::from(pairs().any(|(x, y)| x == y));
        expected.extend(pairs().map(|(x, y)| (*x).max(*y).wrapping_add(any + 2 * every + 4 * same)));
    }
    let memory = vec![Memory::of(&x), Memory::of(&y), Memory::unset::<i64>(N * LANES)];
    (memory, vec![launch("conditions", space(), [0, 1, 2].map(mem))], equal(2, expected))
}

fn calls() -> Parts {
    let [x, y] = two_inputs(647);
    let mixed =
        |a: &[i64], b: &[i64], at: usize| a[at].wrapping_mul(3).wrapping_sub(b[at] ^ a[LANES - 1 - at]);
    let mut expected = Vec::new();
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        let lane = |at: usize| mixed(x, y, at).max(y[at]).wrapping_add(mixed(y, x, at));
        expected.extend((0..LANES).map(lane));
    }
    let memory = vec![Memory::of(&x), Memory::of(&y), Memory::unset::<i64>(N * LANES)];
    (memory, vec![launch("calls", space(), [0, 1, 2].map(mem))], equal(2, expected))
}

fn arguments() -> Parts {
    let [x, y] = two_inputs(649);
    let value: [i64; LANES] = std::array::from_fn(|at| x[at]);
    let expected = y.iter().enumerate().map(|(at, y)| value[at % LANES].max(*y)).collect();
    let memory = vec![Memory::of(&y), Memory::unset::<i64>(N * LANES)];
    let arguments = [Argument::value(value), mem(0), mem(1)];
    (memory, vec![launch("arguments", space(), arguments)], equal(1, expected))
}

type Double = (&'static str, fn(f64, f64, f64) -> f64);
type MovedDouble = (&'static str, fn([&[f64]; 3], usize) -> f64);
type Long = (&'static str, fn(f64, f64, f64) -> i64);

const DOUBLES: [Double; 24] = [
    ("d_cos", |x, _, _| x.cos()),
    ("d_exp", |x, _, _| x.exp()),
    ("d_pow", |x, y, _| x.abs().powf(y)),
    ("d_atan2", |x, y, _| x.atan2(y)),
    ("d_hypot", |x, y, _| x.hypot(y)),
    ("d_sqrt", |x, _, _| x.abs().sqrt()),
    ("d_fma", |x, y, z| x.mul_add(y, z)),
    ("d_fmin", |x, y, _| x.min(y)),
    ("d_fmod", |x, y, _| x % y),
    ("d_trunc", |x, y, _| (x / y).trunc()),
    ("d_floor", |x, _, _| x.floor()),
    ("d_rint", |x, _, _| x.round_ties_even()),
    ("d_copysign", |x, y, _| x.copysign(y)),
    ("d_fdim", |x, y, _| (x - y).max(0.0)),
    ("d_ldexp", |x, y, _| x * f64::from(y as i32).exp2()),
    ("d_pown", |x, y, _| x.powi(y as i32 & 3)),
    ("d_clamp", |x, _, _| x.clamp(-1.0, 1.0)),
    ("d_mix", |x, y, _| x + (y - x) * 0.25),
    ("d_sign", |x, _, _| x.signum()),
    ("d_step", |x, y, _| if y < x { 0.0 } else { 1.0 }),
    ("d_select", |x, y, z| if z < 0.0 { y } else { x }),
    ("d_of_long", |x, _, _| x.to_bits().cast_signed() as f64),
    ("d_of_long_down", |x, _, _| down(x.to_bits().cast_signed())),
    ("d_of_float", |x, _, _| f64::from_bits(x.to_bits() & !0x1FFF_FFFF)),
];

/// Lanes of other lanes: the vectors, and the place of a lane.
const MOVED_DOUBLES: [MovedDouble; 3] = [
    ("d_fmax_of_scalar", |[x, y, _], at| x[at].max(y[0])),
    ("d_shuffle", |[x, y, _], at| x[y[at].to_bits() as usize % 16]),
    ("d_shuffle2", |[x, y, z], at| of_two(x, y, z[at].to_bits())),
];

const LONGS: [Long; 12] = [
    ("l_ilogb", |x, _, _| x.abs().log2().floor() as i64),
    ("l_of_double", |x, _, _| (x * 58f64.exp2()) as i64),
    ("l_of_double_up", |x, _, _| x.ceil() as i64),
    ("l_to_char", |x, _, _| ((x * 16.0).round_ties_even() as i8).into()),
    ("l_isnan", |x, _, _| if x < 0.0 { -1 } else { 0 }),
    ("l_isfinite", |x, _, _| if x.trunc() == 0.0 { 0 } else { -1 }),
    ("l_isnormal", |x, _, _| if x.trunc() == 0.0 { 0 } else { -1 }),
    ("l_signbit", |x, _, _| if x < 0.0 { -1 } else { 0 }),
    ("l_isless", |x, y, _| if x < y { -1 } else { 0 }),
    ("l_isordered", |x, _, _| if x < 0.0 { 0 } else { -1 }),
    ("l_isunordered", |x, _, _| if x < 0.0 { -1 } else { 0 }),
    ("l_islessgreater", |x, y, _| if x == y { 0 } else { -1 }),
];

/// The largest double that is not larger.
fn down(value: i64) -> f64 {
    let nearest = value as f64;
    if nearest as i128 > value.into() { nearest.next_down() } else { nearest }
}

/// Halves that are rounded to the nearest number or towards zero.
fn half(value: f64, towards_zero: bool) -> u16 {
    // From 1/8 to below 16, so the exponent fits.
    let bits = value.to_bits();
    let sign = (bits >> 48 & 0x8000) as u16;
    let magnitude = (bits & (u64::MAX >> 1)) - (1008 << 52);
    let (whole, rest) = ((magnitude >> 42) as u16, magnitude & ((1 << 42) - 1));
    let up = rest > 1 << 41 || rest == 1 << 41 && whole % 2 == 1;
    sign | (whole + u16::from(up && !towards_zero))
}

fn reals(seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let number = |_| {
        let magnitude = 0.125 + 9.0 * (random.u64() >> 11) as f64 / (1u64 << 53) as f64;
        if random.below(2) == 0 { magnitude } else { -magnitude }
    };
    (0..N * LANES).map(number).collect()
}

/// Memory `index` has about these numbers.
fn close(index: usize, expected: Vec<f64>) -> Check {
    Box::new(move |memory| {
        let got: Vec<f64> = elements(&memory[index]);
        let is_wrong = |(got, wanted): &(&f64, &f64)| {
            let distance = (**got - **wanted).abs();
            got.to_bits() != wanted.to_bits()
                && (distance.is_nan() || distance > 1e-13 * wanted.abs().max(1e-3))
        };
        match got.iter().zip(&expected).enumerate().find(|(_, pair)| is_wrong(pair)) {
            Some((at, (got, wanted))) => Err(format!("memory {index}[{at}] is {got:?}, not {wanted:?}")),
            None if got.len() < expected.len() => Err(format!("memory {index} is too small")),
            None => Ok(()),
        }
    })
}

pub(super) fn doubles() -> Vec<Case> {
    let inputs = [650, 651, 652].map(reals);
    let [x, y, z] = &inputs;
    let of = |name: &str, check: Check| {
        let mut memory: Vec<Memory> = inputs.iter().map(|input| Memory::of(input)).collect();
        memory.push(Memory::unset::<u64>(N * LANES));
        case(name, (memory, vec![launch(name, space(), [0, 1, 2, 3].map(mem))], check))
    };
    let lanes = || x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]);
    let mut cases = Vec::new();
    for (name, value) in DOUBLES {
        cases.push(of(name, close(3, lanes().map(|[x, y, z]| value(x, y, z)).collect())));
    }
    for (name, value) in MOVED_DOUBLES {
        let vector = |at: usize| [x, y, z].map(|all| &all[at / LANES * LANES..][..LANES]);
        let expected: Vec<f64> = (0..N * LANES).map(|at| value(vector(at), at % LANES)).collect();
        cases.push(of(name, equal(3, expected)));
    }
    let bits = lanes().map(|lane| lane.map(f64::to_bits)).map(|[x, y, z]| x & !z | y & z);
    cases.push(of("d_bitselect", equal::<u64>(3, bits.collect())));
    for (name, value) in LONGS {
        let expected: Vec<i64> = lanes().map(|[x, y, z]| value(x, y, z)).collect();
        cases.push(of(name, equal(3, expected)));
    }
    cases.push(case("two_results", two_results()));
    cases.push(case("gamma_and_sign", gamma_and_sign()));
    cases.push(case("unaligned_doubles", unaligned_doubles()));
    cases.push(case("narrow", narrow()));
    cases.push(case("calls", calls_of_doubles()));
    cases
}

fn two_results() -> Parts {
    let (x, y) = (reals(653), reals(654));
    let (mut expected, mut numbers) = (Vec::new(), Vec::new());
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        let exponent = |x: f64| x.abs().log2().floor() as i32 + 1;
        let quotient = |x: f64, y: f64| (x / y).round_ties_even();
        let results: [fn(f64) -> f64; 6] =
            [f64::sin, f64::cos, f64::fract, f64::trunc, |x| x - x.floor(), f64::floor];
        for result in results {
            expected.extend(x.iter().map(|x| result(*x)));
        }
        expected.extend(x.iter().map(|x| x / f64::from(exponent(*x)).exp2()));
        expected.extend(x.iter().zip(y).map(|(x, y)| (-quotient(*x, *y)).mul_add(*y, *x)));
        numbers.extend(x.iter().map(|x| exponent(*x)));
        numbers.extend(x.iter().zip(y).map(|(x, y)| quotient(*x, *y) as i32 & 7));
    }
    let memory = vec![
        Memory::of(&x),
        Memory::of(&y),
        Memory::unset::<f64>(8 * N * LANES),
        Memory::unset::<i32>(2 * N * LANES),
    ];
    let check = all(vec![close(2, expected), equal(3, numbers)]);
    (memory, vec![launch("two_results", space(), [0, 1, 2, 3].map(mem))], check)
}

/// Whole numbers and a half, whose gamma function has known values.
fn gamma_and_sign() -> Parts {
    const ROOT_OF_PI: f64 = 1.772_453_850_905_516;
    const KNOWN: [(f64, f64); 8] = [
        (5.0, 24.0),
        (0.5, ROOT_OF_PI),
        (-0.5, -2.0 * ROOT_OF_PI),
        (-1.5, 4.0 / 3.0 * ROOT_OF_PI),
        (4.0, 6.0),
        (1.5, 0.5 * ROOT_OF_PI),
        (-2.5, -8.0 / 15.0 * ROOT_OF_PI),
        (7.0, 720.0),
    ];
    let known: Vec<(f64, f64)> = (0..N * LANES).map(|at| KNOWN[at * 5 / 3 % KNOWN.len()]).collect();
    let input: Vec<f64> = known.iter().map(|(x, _)| *x).collect();
    let logarithms = known.iter().map(|(_, gamma)| gamma.abs().ln()).collect();
    let signs = known.iter().map(|(_, gamma)| gamma.signum() as i32).collect::<Vec<i32>>();
    let memory = vec![Memory::of(&input), Memory::unset::<f64>(N * LANES), Memory::unset::<i32>(N * LANES)];
    let check = all(vec![close(1, logarithms), equal(2, signs)]);
    (memory, vec![launch("gamma_and_sign", space(), [0, 1, 2].map(mem))], check)
}

fn unaligned_doubles() -> Parts {
    let (_, launches, _) = unaligned();
    let mut input = reals(655);
    input.extend([1.0, 2.0, 3.0]);
    let expected = input[3..].to_vec();
    let launches =
        launches.into_iter().map(|launch| Launch { kernel: "unaligned_doubles".to_owned(), ..launch });
    let memory = vec![Memory::of(&input), Memory::unset::<f64>(N * LANES + 5)];
    let check: Check =
        Box::new(move |memory| expect_equal("memory 1 behind 5 numbers", &memory[1][40..], &expected));
    (memory, launches.collect(), check)
}

fn narrow() -> Parts {
    let input = reals(656);
    let mut nearest = vec![0xCDCD];
    nearest.extend(input.iter().map(|x| half(*x, false)));
    let truncated: Vec<u16> = input.iter().map(|x| half(*x, true)).collect();
    let memory =
        vec![Memory::of(&input), Memory::unset::<u16>(N * LANES + 1), Memory::unset::<u16>(N * LANES)];
    let check = all(vec![equal(1, nearest), equal(2, truncated)]);
    (memory, vec![launch("narrow", space(), [0, 1, 2].map(mem))], check)
}

fn calls_of_doubles() -> Parts {
    let (x, y) = (reals(657), reals(658));
    let expected = x.iter().zip(&y).map(|(x, y)| x * 3.0 - y.abs()).collect();
    let memory = vec![Memory::of(&x), Memory::of(&y), Memory::unset::<f64>(N * LANES)];
    (memory, vec![launch("calls", space(), [0, 1, 2].map(mem))], close(2, expected))
}
