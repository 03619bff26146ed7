//! Rotations, byte swaps and checks for overflow.

use super::common::{Parts, Random, all, case, equal, int, launch, mem, uint};
use crate::case::{Case, Memory, Space};

/// Work-items of each case.
const N: usize = 1000;

fn space() -> Space {
    Space::d1(N, 50)
}

/// Random numbers, and such with a single bit, few bits or all.
fn longs() -> Vec<u64> {
    let mut random = Random::new(50);
    let mut longs = vec![0, 1, u64::MAX, 1 << 63, 0x0123_4567_89AB_CDEF, 0x8000_0000, 0xFFFF_FFFF];
    longs.extend((0..64).map(|bit| 1u64 << bit));
    longs.extend((0..64).map(|_| random.u64() & random.u64() & random.u64()));
    longs.extend(random.longs(N - longs.len()));
    longs
}

pub(super) fn rotations() -> Vec<Case> {
    vec![
        case("constant_shifts", constant_shifts()),
        case("variable_shifts", variable("variable_shifts", 64)),
        case("builtin", variable("builtin", 200)),
        case("vectors", vectors()),
        case("wide_vectors", wide_vectors()),
        case("pairs", pairs()),
        case("mixing", mixing(10)),
        case("mixing long", mixing(40)),
    ]
}

fn constant_shifts() -> Parts {
    let input = longs();
    let of = |x: &u64| {
        let (b, h, w) = (*x as u8, *x as u16, *x as u32);
        (
            [b.rotate_left(1), b.rotate_left(4), b.rotate_right(3), b.rotate_right(7)],
            [h.rotate_left(1), h.rotate_left(8), h.rotate_right(5), h.rotate_right(15)],
            [w.rotate_left(1), w.rotate_left(16), w.rotate_right(13), w.rotate_right(31)],
            [x.rotate_left(1), x.rotate_left(32), x.rotate_right(41), x.rotate_right(63)],
        )
    };
    let memory = vec![
        Memory::of(&input),
        Memory::unset::<u8>(4 * N),
        Memory::unset::<u16>(4 * N),
        Memory::unset::<u32>(4 * N),
        Memory::unset::<u64>(4 * N),
    ];
    let check = all(vec![
        equal(1, input.iter().map(|x| of(x).0).collect()),
        equal(2, input.iter().map(|x| of(x).1).collect()),
        equal(3, input.iter().map(|x| of(x).2).collect()),
        equal(4, input.iter().map(|x| of(x).3).collect()),
    ]);
    (memory, vec![launch("constant_shifts", space(), [0, 1, 2, 3, 4].map(mem))], check)
}

/// By amounts below `bound`, to the left and to the right.
fn variable(kernel: &str, bound: usize) -> Parts {
    let input = longs();
    let mut amounts: Vec<u32> = (0..N as u32).map(|i| i % 64).collect();
    amounts[500..].copy_from_slice(&Random::new(51).words_below(N - 500, bound));
    let memory = vec![
        Memory::of(&input),
        Memory::of(&amounts),
        Memory::unset::<u8>(2 * N),
        Memory::unset::<u16>(2 * N),
        Memory::unset::<u32>(2 * N),
        Memory::unset::<u64>(2 * N),
    ];
    let both = || input.iter().zip(&amounts);
    let check = all(vec![
        equal(2, both().map(|(&x, &n)| [(x as u8).rotate_left(n), (x as u8).rotate_right(n)]).collect()),
        equal(3, both().map(|(&x, &n)| [(x as u16).rotate_left(n), (x as u16).rotate_right(n)]).collect()),
        equal(4, both().map(|(&x, &n)| [(x as u32).rotate_left(n), (x as u32).rotate_right(n)]).collect()),
        equal(5, both().map(|(&x, &n)| [x.rotate_left(n), x.rotate_right(n)]).collect()),
    ]);
    (memory, vec![launch(kernel, space(), [0, 1, 2, 3, 4, 5].map(mem))], check)
}

fn vectors() -> Parts {
    let mut random = Random::new(52);
    let (input, amounts) = (random.words(4 * N), random.words(4 * N));
    let expected: Vec<u32> = input.iter().zip(&amounts).map(|(x, n)| x.rotate_left(n % 32)).collect();
    let by_byte = [0, 1, 2, 3, 4, 5, 6, 7, 1, 3, 5, 7, 2, 4, 6, 0];
    let bytes: Vec<u8> = input
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .enumerate()
        .map(|(i, byte)| byte.rotate_left(by_byte[i % 16]))
        .collect();
    let memory = vec![
        Memory::of(&input),
        Memory::of(&amounts),
        Memory::unset::<u32>(4 * N),
        Memory::unset::<u32>(4 * N),
        Memory::unset::<u32>(4 * N),
    ];
    let check = all(vec![equal(2, expected.clone()), equal(3, expected), equal(4, bytes)]);
    (memory, vec![launch("vectors", space(), [0, 1, 2, 3, 4].map(mem))], check)
}

fn wide_vectors() -> Parts {
    let input = Random::new(53).longs(8 * N);
    let wide: Vec<u64> = input.iter().map(|x| x.rotate_left(19)).collect();
    let narrow: Vec<u16> = input.iter().map(|x| (*x as u16).rotate_right(3)).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u64>(8 * N), Memory::unset::<u16>(8 * N)];
    let check = all(vec![equal(1, wide), equal(2, narrow)]);
    (memory, vec![launch("wide_vectors", space(), [0, 1, 2].map(mem))], check)
}

fn pairs() -> Parts {
    let input = longs();
    let amounts: Vec<u32> = (0..N as u32).map(|i| i * 7 % 64).collect();
    let expected = input.iter().zip(&amounts).map(|(x, n)| x.rotate_left(*n)).collect();
    let memory = vec![Memory::of(&input), Memory::of(&amounts), Memory::unset::<u64>(N)];
    (memory, vec![launch("pairs", space(), [0, 1, 2].map(mem))], equal(2, expected))
}

fn mixing(rounds: usize) -> Parts {
    let input = Random::new(54).words(4 * N);
    let mut expected = input.clone();
    for s in expected.chunks_mut(4) {
        for round in 0..rounds as u32 {
            s[0] = s[0].wrapping_add(s[1]);
            s[3] = (s[3] ^ s[0]).rotate_left(16);
            s[2] = s[2].wrapping_add(s[3]);
            s[1] = (s[1] ^ s[2]).rotate_left(12);
            s[0] = s[0].wrapping_add(s[1]);
            s[3] = (s[3] ^ s[0]).rotate_left(8);
            s[2] = s[2].wrapping_add(s[3]);
            s[1] = (s[1] ^ s[2]).rotate_left(round % 32);
        }
    }
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(4 * N)];
    (memory, vec![launch("mixing", space(), [mem(0), mem(1), int(rounds)])], equal(1, expected))
}

pub(super) fn byte_swaps() -> Vec<Case> {
    let mut cases: Vec<Case> = ["shifts", "swizzles", "masked_rotations"]
        .iter()
        .map(|kernel| case(*kernel, swaps(kernel)))
        .collect();
    cases.push(case("from_bytes", from_bytes()));
    cases.push(case("to_bytes", to_bytes()));
    cases.push(case("bits", bits()));
    cases
}

fn swaps(kernel: &str) -> Parts {
    let input = longs();
    let memory =
        vec![Memory::of(&input), Memory::unset::<u16>(N), Memory::unset::<u32>(N), Memory::unset::<u64>(N)];
    let check = all(vec![
        equal::<u16>(1, input.iter().map(|x| (*x as u16).swap_bytes()).collect()),
        equal::<u32>(2, input.iter().map(|x| ((x >> 16) as u32).swap_bytes()).collect()),
        equal::<u64>(3, input.iter().map(|x| x.swap_bytes()).collect()),
    ]);
    (memory, vec![launch(kernel, space(), [0, 1, 2, 3].map(mem))], check)
}

fn from_bytes() -> Parts {
    let input = Random::new(55).bytes(4 * N);
    let words: Vec<u32> = bytemuck::pod_collect_to_vec(&input);
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N), Memory::unset::<u32>(N)];
    let check = all(vec![
        equal::<u32>(1, words.iter().map(|word| u32::from_be(*word)).collect()),
        equal::<u32>(2, words.iter().map(|word| u32::from_le(*word)).collect()),
    ]);
    (memory, vec![launch("from_bytes", space(), [0, 1, 2].map(mem))], check)
}

fn to_bytes() -> Parts {
    let input = Random::new(56).words(N);
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N), Memory::unset::<u32>(N)];
    let check = all(vec![
        equal::<u8>(1, input.iter().flat_map(|word| word.to_be_bytes()).collect()),
        equal::<u8>(2, input.iter().flat_map(|word| word.to_le_bytes()).collect()),
    ]);
    (memory, vec![launch("to_bytes", space(), [0, 1, 2].map(mem))], check)
}

fn bits() -> Parts {
    let input: Vec<u32> = longs().iter().map(|x| *x as u32).collect();
    let counts =
        input.iter().map(|x| [x.count_ones(), x.count_ones(), x.leading_zeros(), x.trailing_zeros()]);
    let memory = vec![
        Memory::of(&input),
        Memory::unset::<u32>(N),
        Memory::unset::<u8>(N),
        Memory::unset::<u32>(4 * N),
    ];
    let check = all(vec![
        equal::<u32>(1, input.iter().map(|x| x.reverse_bits()).collect()),
        equal::<u8>(2, input.iter().map(|x| (*x as u8).reverse_bits()).collect()),
        equal::<[u32; 4]>(3, counts.collect()),
    ]);
    (memory, vec![launch("bits", space(), [0, 1, 2, 3].map(mem))], check)
}

pub(super) fn overflow() -> Vec<Case> {
    vec![
        case("of_int", of_int()),
        case("of_uint", of_uint()),
        case("of_long", of_long()),
        case("of_ulong", of_ulong()),
        case("checked_products", checked_products()),
        case("by_hand", by_hand()),
    ]
}

/// Pairs, half of which are near the limits of 64 or, after a shift, of 32 bits.
fn operands() -> (Vec<u64>, Vec<u64>) {
    let mut random = Random::new(57);
    let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, (1 << 63) + 1, 1 << 32, 3 << 31];
    let mut pick = |i: usize| match i % 4 {
        0 => edges[random.below(edges.len())],
        1 => random.u64() >> random.below(64),
        2 => (random.u64() >> random.below(64)).wrapping_neg(),
        _ => random.u64(),
    };
    let a = (0..N).map(&mut pick).collect();
    let b = (0..N).map(|i| pick(i / 4)).collect();
    (a, b)
}

/// The upper halves, where the operands have their sign.
fn narrow(longs: &[u64]) -> Vec<u32> {
    longs.iter().enumerate().map(|(i, x)| if i % 3 == 0 { *x as u32 } else { (x >> 32) as u32 }).collect()
}

fn flags(overflows: &[bool]) -> u32 {
    overflows.iter().enumerate().map(|(i, overflows)| u32::from(*overflows) << i).sum()
}

/// Buffers of two operands, of `each` results for every pair, and of flags.
fn checked<T, const EACH: usize>(
    kernel: &str,
    a: &[T],
    b: &[T],
    of: impl Fn(T, T) -> [(T, bool); EACH],
) -> Parts
where
    T: bytemuck::Pod + PartialEq + std::fmt::Debug,
{
    let results: Vec<[(T, bool); EACH]> = a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect();
    let values = results.iter().flatten().map(|(value, _)| *value).collect();
    let overflows = results.iter().map(|all| flags(&all.map(|(_, overflows)| overflows))).collect();
    let memory = vec![Memory::of(a), Memory::of(b), Memory::unset::<T>(EACH * N), Memory::unset::<u32>(N)];
    let check = all(vec![equal::<T>(2, values), equal::<u32>(3, overflows)]);
    (memory, vec![launch(kernel, space(), [0, 1, 2, 3].map(mem))], check)
}

fn of_int() -> Parts {
    let (a, b) = operands();
    let [a, b] = [a, b].map(|x| narrow(&x).iter().map(|x| x.cast_signed()).collect::<Vec<i32>>());
    checked("of_int", &a, &b, |a, b| [a.overflowing_add(b), a.overflowing_sub(b)])
}

fn of_uint() -> Parts {
    let (a, b) = operands();
    checked("of_uint", &narrow(&a), &narrow(&b), |a, b| {
        [a.overflowing_add(b), a.overflowing_sub(b), a.overflowing_mul(b)]
    })
}

fn of_long() -> Parts {
    let (a, b) = operands();
    let [a, b] = [a, b].map(|x| x.iter().map(|x| x.cast_signed()).collect::<Vec<i64>>());
    checked("of_long", &a, &b, |a, b| [a.overflowing_add(b), a.overflowing_sub(b)])
}

fn of_ulong() -> Parts {
    let (a, b) = operands();
    checked("of_ulong", &a, &b, |a, b| [a.overflowing_add(b), a.overflowing_sub(b), a.overflowing_mul(b)])
}

pub(super) fn overflow_signed_product() -> Vec<Case> {
    let (a, b) = operands();
    let [c, d] = [&a, &b].map(|x| narrow(x).iter().map(|x| x.cast_signed()).collect::<Vec<i32>>());
    let [a, b] = [a, b].map(|x| x.iter().map(|x| x.cast_signed()).collect::<Vec<i64>>());
    vec![
        case("of_int", checked("of_int", &c, &d, |a, b| [a.overflowing_mul(b)])),
        case("of_long", checked("of_long", &a, &b, |a, b| [a.overflowing_mul(b)])),
    ]
}

fn checked_products() -> Parts {
    let n = 6;
    let mut random = Random::new(58);
    let input: Vec<u32> = (0..N * n).map(|_| 1 + random.u32() % (3 << random.below(8))).collect();
    let product = |row: &[u32]| row.iter().try_fold(1u32, |product, x| product.checked_mul(*x)).unwrap_or(0);
    let expected = input.chunks(n).map(product).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N)];
    (memory, vec![launch("checked_products", space(), [mem(0), uint(n), mem(1)])], equal(1, expected))
}

fn by_hand() -> Parts {
    let (a, b) = operands();
    let [a, b] = [a, b].map(|x| narrow(&x).iter().map(|x| x.cast_signed()).collect::<Vec<i32>>());
    let of = |(a, b): (&i32, &i32)| {
        let (sum, product) = (a.checked_add(*b).is_none(), a.checked_mul(*b).is_none());
        flags(&[sum, a.checked_sub(*b).is_none(), product, product, sum])
    };
    let expected = a.iter().zip(&b).map(of).collect();
    let memory = vec![Memory::of(&a), Memory::of(&b), Memory::unset::<u32>(N)];
    (memory, vec![launch("by_hand", space(), [0, 1, 2].map(mem))], equal(2, expected))
}
