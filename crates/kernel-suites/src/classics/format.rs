//! Packed formats, pixels and structs.

use super::common::{
    Parts, Random, SHAPES, SIZES, all, case, close, equal, groups_of, in_groups, in_shapes, int, launch,
    local, mem, uint,
};
use super::matrix::covering;
use crate::case::{Argument, Case, Memory, Space, elements, expect_equal};

/// Work-items of kernels that do not work in groups.
const N: usize = 300;

fn space() -> Space {
    Space::d1(N, 30)
}

/// The lowest `bits` of the values, one after the other, and a word more.
fn packed(values: &[u32], bits: usize) -> Vec<u32> {
    let mut words = vec![0u32; (values.len() * bits).div_ceil(32) + 1];
    for at in 0..values.len() * bits {
        words[at / 32] |= (values[at / bits] >> (at % bits) & 1) << (at % 32);
    }
    words
}

fn below(value: u32, bits: usize) -> u32 {
    (u64::from(value) & ((1u64 << bits) - 1)) as u32
}

pub(super) fn bit_packed() -> Vec<Case> {
    let mut cases = Vec::new();
    for bits in [1, 3, 7, 8, 13, 17, 31, 32] {
        let values: Vec<u32> = Random::new(310).words(N).iter().map(|x| below(*x, bits)).collect();
        let words = packed(&values, bits);
        let memory = vec![Memory::of(&words), Memory::unset::<u32>(N)];
        let arguments = [mem(0), uint(bits), mem(1)];
        let unsigned = equal(1, values.clone());
        let launches = vec![launch("unpack", space(), arguments.clone())];
        cases.push(case(format!("unpack {bits} bits"), (memory.clone(), launches, unsigned)));
        let extend = |x: &u32| (x << (32 - bits)).cast_signed() >> (32 - bits);
        let signed = equal(1, values.iter().map(extend).collect());
        let launches = vec![launch("unpack_signed", space(), arguments)];
        cases.push(case(format!("unpack_signed {bits} bits"), (memory, launches, signed)));
        let used = words[..words.len() - 1].to_vec();
        let memory = vec![Memory::of(&values), Memory::unset::<u32>(used.len())];
        let arguments = [mem(0), uint(N), uint(bits), mem(1)];
        let launches = vec![launch("pack", Space::d1(used.len(), 1), arguments)];
        cases.push(case(format!("pack {bits} bits"), (memory, launches, equal(1, used))));
    }
    for bits in [5, 14] {
        cases.extend(in_groups(&format!("unpack_differences {bits} bits"), &SIZES, |size| {
            differences(size, bits)
        }));
    }
    cases.push(case("morton", morton()));
    cases.push(case("rank_select", rank_select()));
    cases
}

fn differences(size: usize, bits: usize) -> Parts {
    let n = groups_of(size) * size;
    let codes: Vec<u32> = Random::new(311).words(n).iter().map(|x| below(*x, bits)).collect();
    let firsts = Random::new(312).words(groups_of(size));
    let mut expected = Vec::new();
    for (group, codes) in codes.chunks(size).enumerate() {
        let mut value = firsts[group];
        for (i, code) in codes.iter().enumerate() {
            let half = code / 2;
            let step = if code.is_multiple_of(2) { half } else { (half + 1).wrapping_neg() };
            value = if i == 0 { value } else { value.wrapping_add(step) };
            expected.push(value);
        }
    }
    let memory = vec![Memory::of(&packed(&codes, bits)), Memory::of(&firsts), Memory::unset::<u32>(n)];
    let arguments = [mem(0), mem(1), uint(bits), mem(2), local::<u32>(size)];
    (memory, vec![launch("unpack_differences", Space::d1(n, size), arguments)], equal(2, expected))
}

fn morton() -> Parts {
    let input = Random::new(313).words(N);
    let code = |pair: &u32| {
        let (x, y) = (pair & 0xFFFF, pair >> 16);
        (0..16).map(|bit| (x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1)).sum::<u32>()
    };
    let memory =
        vec![Memory::of(&input), Memory::unset::<u32>(N), Memory::unset::<u32>(N), Memory::unset::<u32>(N)];
    let gray = |pair: &u32| {
        let code = code(pair);
        let bit = |at: u32| code.checked_shr(at).unwrap_or(0) % 2;
        (0..32).map(|at| u32::from(bit(at) != bit(at + 1)) << at).sum::<u32>()
    };
    let check = all(vec![
        equal::<u32>(1, input.iter().map(code).collect()),
        equal::<u32>(3, input.iter().map(gray).collect()),
        equal(2, input),
    ]);
    (memory, vec![launch("morton", space(), [0, 1, 2, 3].map(mem))], check)
}

fn rank_select() -> Parts {
    let mut random = Random::new(314);
    let words: Vec<u32> = (0..50).map(|_| random.u32() & random.u32() & random.u32()).collect();
    let is_set = |place: usize| words[place / 32] >> (place % 32) & 1 == 1;
    let places: Vec<u32> = random.words_below(N, 32 * words.len());
    let rank = |place: usize| (0..place).filter(|at| is_set(*at)).count() as u32;
    let of = |place: &u32| {
        let place = *place as usize;
        let next = (place..place / 32 * 32 + 32).find(|at| is_set(*at));
        [rank(place), next.map_or(u32::MAX, |at| at as u32)]
    };
    let sums: Vec<u32> = (0..words.len()).map(|word| rank(32 * word)).collect();
    let expected = places.iter().map(of).collect();
    let memory =
        vec![Memory::of(&words), Memory::of(&sums), Memory::of(&places), Memory::unset::<[u32; 2]>(N)];
    (memory, vec![launch("rank_select", space(), [0, 1, 2, 3].map(mem))], equal::<[u32; 2]>(3, expected))
}

/// A normal half between 1/64 and 4, and its bits.
fn half(random: &mut Random) -> (f32, [u8; 2]) {
    let (exponent, fraction) = (9 + random.below(8) as u16, random.below(1024) as u16);
    let bits = exponent << 10 | fraction | if random.below(2) == 0 { 0x8000 } else { 0 };
    let magnitude = (1.0 + f32::from(fraction) / 1024.0) * 2f32.powi(i32::from(exponent) - 15);
    (if bits >= 0x8000 { -magnitude } else { magnitude }, bits.to_le_bytes())
}

/// Blocks of 32 numbers of 4 bits, and what they mean: scales and whole numbers.
fn quants_4(seed: u64, blocks: usize) -> (Vec<u8>, Vec<(f32, Vec<i32>)>) {
    let mut random = Random::new(seed);
    let (mut bytes, mut meaning) = (Vec::new(), Vec::new());
    for _ in 0..blocks {
        let (scale, bits) = half(&mut random);
        let numbers: Vec<i32> = (0..32).map(|_| random.below(16) as i32 - 8).collect();
        bytes.extend(bits);
        bytes.extend((0..16).map(|k| (numbers[k] + 8) as u8 | ((numbers[k + 16] + 8) as u8) << 4));
        meaning.push((scale, numbers));
    }
    (bytes, meaning)
}

/// A struct of 18 bytes in `half_blocks.cl`, and what it means.
fn half_block(random: &mut Random) -> (Vec<u8>, f32) {
    let (scale, bits) = half(random);
    (bits.into_iter().chain(random.bytes(16)).collect(), scale)
}

fn in_blocks(name: &str, input: &[Vec<u8>], expected: Vec<u8>) -> Case {
    let memory = vec![Memory::of(&input.concat()), Memory::unset::<u8>(expected.len())];
    case(name, (memory, vec![launch(name, space(), [mem(0), mem(1)])], equal(1, expected)))
}

pub(super) fn half_blocks() -> Vec<Case> {
    let mut random = Random::new(321);
    let (blocks, scales): (Vec<Vec<u8>>, Vec<f32>) = (0..N).map(|_| half_block(&mut random)).unzip();
    let changed = |change: fn(usize, u8) -> u8| {
        let of = |block: &Vec<u8>| {
            let numbers = block[2..].iter().enumerate().map(|(k, number)| change(k, *number));
            block[..2].iter().copied().chain(numbers).collect::<Vec<u8>>()
        };
        blocks.iter().map(of).collect::<Vec<_>>()
    };
    let counted = changed(|k, number| number.wrapping_add(k as u8)).concat();
    let mut rescaled = changed(|_, number| number / 2);
    for block in &mut rescaled {
        // One more in the exponent.
        block[1] += 4;
    }
    let mut cases = vec![
        in_blocks("copy_blocks", &blocks, blocks.concat()),
        in_blocks("count_up", &blocks, counted),
        in_blocks("rescale", &blocks, rescaled.concat()),
    ];
    let numbers = blocks
        .iter()
        .zip(&scales)
        .flat_map(|(block, scale)| block[2..].iter().map(move |number| f32::from(*number) * scale));
    let memory = vec![Memory::of(&blocks.concat()), Memory::unset::<f32>(16 * N)];
    let launches = vec![launch("dequantise", space(), [mem(0), mem(1)])];
    cases.push(case("dequantise", (memory, launches, equal::<f32>(1, numbers.collect()))));
    cases.extend(in_groups("turn_groups", &SIZES, |size| {
        let mut random = Random::new(322);
        let n = groups_of(size) * size;
        let blocks: Vec<Vec<u8>> = (0..n).map(|_| half_block(&mut random).0).collect();
        let expected = blocks.chunks(size).flat_map(|group| group.iter().rev().flatten().copied()).collect();
        let memory = vec![Memory::of(&blocks.concat()), Memory::unset::<u8>(18 * n)];
        let arguments = [mem(0), mem(1), local::<[u8; 18]>(size)];
        (memory, vec![launch("turn_groups", Space::d1(n, size), arguments)], equal::<u8>(1, expected))
    }));
    cases.push(case("choose", choose()));
    for first in [0, 1] {
        cases.push(case(format!("turn_parts from {first}"), turn_parts(first)));
    }
    cases
}

fn choose() -> Parts {
    let mut random = Random::new(323);
    let blocks: Vec<Vec<u8>> = (0..N).map(|_| random.bytes(12)).collect();
    let which = random.words(N);
    let of = |(at, which): (usize, &u32)| {
        let mut block = blocks[if which & 1 == 1 { at } else { N - 1 - at }].clone();
        if which & 2 == 2 {
            block[4..8].copy_from_slice(&which.to_le_bytes());
        }
        block
    };
    let expected: Vec<u8> = which.iter().enumerate().flat_map(of).collect();
    let memory = vec![Memory::of(&blocks.concat()), Memory::unset::<u8>(12 * N), Memory::of(&which)];
    (memory, vec![launch("choose", space(), [0, 1, 2].map(mem))], equal(1, expected))
}

fn turn_parts(first: usize) -> Parts {
    let mut random = Random::new(324);
    let blocks: Vec<Vec<u8>> = (0..N).map(|_| random.bytes(42)).collect();
    let of = |block: &Vec<u8>| {
        let (parts, scales) = block.split_at(36);
        let turned = if first == 0 { parts.to_vec() } else { [&parts[18..], &parts[..18]].concat() };
        [turned.as_slice(), scales].concat()
    };
    let expected: Vec<u8> = blocks.iter().flat_map(of).collect();
    let memory = vec![Memory::of(&blocks.concat()), Memory::unset::<u8>(42 * N)];
    (memory, vec![launch("turn_parts", space(), [mem(0), mem(1), uint(first)])], equal(1, expected))
}

pub(super) fn quants() -> Vec<Case> {
    // A scale has 11 bits and a number 5, so the products are exact.
    let mut cases = in_groups("dequantise_4", &[1, 2, 32, 64, 256], |size| {
        let blocks = (groups_of(size) * size).next_multiple_of(16).next_multiple_of(size.max(16)) / 16;
        let (bytes, meaning) = quants_4(315, blocks);
        let expected =
            meaning.iter().flat_map(|(scale, numbers)| numbers.iter().map(move |x| *x as f32 * scale));
        let check = close(1, expected.collect(), 0.0, 0.0);
        let launches = vec![launch("dequantise_4", Space::d1(16 * blocks, size), [mem(0), mem(1)])];
        (vec![Memory::of(&bytes), Memory::unset::<f32>(32 * blocks)], launches, check)
    });
    cases.extend(in_groups("dequantise_5", &SIZES, |size| {
        let blocks = groups_of(size) * size;
        let mut random = Random::new(316);
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            let (scale, bits) = half(&mut random);
            let numbers: Vec<u32> = random.words_below(32, 32);
            bytes.extend(bits);
            let fifths: u32 = (0..32).map(|k| (numbers[k] / 16) << k).sum();
            bytes.extend(fifths.to_le_bytes());
            bytes.extend((0..16).map(|k| (numbers[k] % 16 + numbers[k + 16] % 16 * 16) as u8));
            expected.extend(numbers.iter().map(|x| (*x as f32 - 16.0) * scale));
        }
        let launches = vec![launch("dequantise_5", Space::d1(blocks, size), [mem(0), mem(1)])];
        (vec![Memory::of(&bytes), Memory::unset::<f32>(32 * blocks)], launches, close(1, expected, 0.0, 0.0))
    }));
    cases.push(case("scales_of_6_bits", scales_of_6_bits()));
    cases.extend(in_groups("row_times_vector", &SIZES, |size| {
        let (rows, blocks) = (5, 40);
        let (bytes, meaning) = quants_4(318, rows * blocks);
        let mut random = Random::new(319);
        let v: Vec<i8> = (0..32 * blocks).map(|_| random.u32() as i8).collect();
        let scales = random.floats(blocks, 0.5, 1.0);
        let row = |row: &[(f32, Vec<i32>)]| {
            let block = |b: usize| {
                let whole: i32 = row[b].1.iter().zip(&v[32 * b..]).map(|(x, y)| x * i32::from(*y)).sum();
                f64::from(whole) * f64::from(row[b].0) * f64::from(scales[b])
            };
            (0..blocks).map(block).sum::<f64>() as f32
        };
        let expected = meaning.chunks(blocks).map(row).collect();
        let memory =
            vec![Memory::of(&bytes), Memory::of(&v), Memory::of(&scales), Memory::unset::<f32>(rows)];
        let arguments = [mem(0), uint(blocks), mem(1), mem(2), mem(3), local::<f32>(size)];
        let launches = vec![launch("row_times_vector", Space::d1(rows * size, size), arguments)];
        // Terms of both signs are below 2^17 and rounded to 2^-8 or better, 40 times.
        (memory, launches, close(3, expected, 1e-5, 0.3))
    }));
    cases.extend(in_groups("quantise_8", &SIZES, |size| {
        let n = groups_of(size) * size;
        let input = Random::new(320).floats(n, -50.0, 50.0);
        let scale = |values: &[f32]| {
            let greatest = values.iter().fold(0f32, |greatest, x| greatest.max(x.abs()));
            2f32.powi(greatest.log2().floor() as i32 - 6)
        };
        let scales: Vec<f32> = input.chunks(size).map(scale).collect();
        let quant =
            |(i, x): (usize, &f32)| (x / scales[i / size]).round_ties_even().clamp(-128.0, 127.0) as i8;
        let expected = input.iter().enumerate().map(quant).collect();
        let memory = vec![Memory::of(&input), Memory::unset::<i8>(n), Memory::unset::<f32>(scales.len())];
        let arguments = [mem(0), mem(1), mem(2), local::<f32>(size)];
        let check = all(vec![equal::<i8>(1, expected), close(2, scales.clone(), 0.0, 0.0)]);
        (memory, vec![launch("quantise_8", Space::d1(n, size), arguments)], check)
    }));
    cases
}

fn scales_of_6_bits() -> Parts {
    let blocks = 40;
    let scales: Vec<[u8; 2]> = {
        let mut random = Random::new(317);
        (0..8 * blocks).map(|_| [random.below(64) as u8, random.below(64) as u8]).collect()
    };
    let mut bytes = Vec::new();
    for block in scales.chunks(8) {
        // The upper bits of parts 4 to 7 fill the bytes of parts 0 to 3.
        bytes.extend((0..4).map(|k| block[k][0] | block[k + 4][0] >> 4 << 6));
        bytes.extend((0..4).map(|k| block[k][1] | block[k + 4][1] >> 4 << 6));
        bytes.extend((4..8).map(|k| (block[k][0] & 15) | block[k][1] << 4));
    }
    let launches = vec![launch("scales_of_6_bits", Space::d1(8 * blocks, 16), [mem(0), mem(1)])];
    (vec![Memory::of(&bytes), Memory::unset::<[u8; 2]>(8 * blocks)], launches, equal(1, scales))
}

pub(super) fn pixels() -> Vec<Case> {
    let mut cases = vec![
        case("rgb565_to_888", to_888()),
        case("rgb888_to_565", to_565()),
        case("blend", blend()),
        case("unpack_10_bits", ten_bits()),
    ];
    cases.extend(in_shapes("yuv420_to_rgba", &SHAPES, yuv420));
    cases.extend(in_groups("luminance", &SIZES, |size| {
        let (width, height) = (70, 6);
        let input = Random::new(325).bytes(4 * width * height);
        let grey = |p: &[u8]| {
            let terms = p.iter().zip([77, 150, 29]).map(|(x, weight)| u32::from(*x) * weight);
            ((terms.sum::<u32>() + 128) / 256) as u8
        };
        let expected: Vec<u8> = input.chunks(4).map(grey).collect();
        let mean = |row: &[u8]| row.iter().map(|x| u32::from(*x)).sum::<u32>() / width as u32;
        let means = expected.chunks(width).map(mean).collect();
        let memory =
            vec![Memory::of(&input), Memory::unset::<u8>(expected.len()), Memory::unset::<u32>(height)];
        let arguments = [mem(0), mem(1), mem(2), uint(width)];
        let launches = vec![launch("luminance", Space::d1(height * size, size), arguments)];
        (memory, launches, all(vec![equal(1, expected), equal::<u32>(2, means)]))
    }));
    cases
}

fn to_888() -> Parts {
    let input: Vec<u16> = Random::new(321).words(N).iter().map(|x| *x as u16).collect();
    // The upper bits are repeated below: 31 becomes 255, and 0 stays 0.
    let wide = |value: u16, bits: u32| {
        let all = (u32::from(value) << (2 * bits)) | u32::from(value) << bits | u32::from(value);
        (all >> (3 * bits - 8)) as u8
    };
    let pixel = |p: &u16| [wide(p >> 11, 5), wide(p >> 5 & 63, 6), wide(p & 31, 5)];
    let expected = input.iter().flat_map(pixel).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u8>(3 * N)];
    (memory, vec![launch("rgb565_to_888", space(), [mem(0), mem(1)])], equal::<u8>(1, expected))
}

fn to_565() -> Parts {
    let input = Random::new(322).bytes(3 * N);
    let pixel = |p: &[u8]| {
        let [r, g, b] = [p[0] / 8, p[1] / 4, p[2] / 8].map(u16::from);
        r * 2048 + g * 32 + b
    };
    let expected = input.chunks(3).map(pixel).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u16>(N)];
    (memory, vec![launch("rgb888_to_565", space(), [mem(0), mem(1)])], equal::<u16>(1, expected))
}

fn blend() -> Parts {
    let mut random = Random::new(323);
    let (over, under) = (random.words(N), random.words(N));
    let mixed = |(over, under): (&u32, &u32)| {
        let a = over >> 24;
        let channel = |shift: u32| {
            ((over >> shift & 255) * a + (under >> shift & 255) * (255 - a)) / 256 * (1 << shift)
        };
        (0..4).map(|k| channel(8 * k)).sum::<u32>()
    };
    let expected = over.iter().zip(&under).map(mixed).collect();
    let memory = vec![Memory::of(&over), Memory::of(&under)];
    (memory, vec![launch("blend", space(), [mem(0), mem(1)])], equal::<u32>(1, expected))
}

fn ten_bits() -> Parts {
    let expected: Vec<u16> = Random::new(324).words_below(4 * N, 1024).iter().map(|x| *x as u16).collect();
    let mut bytes = Vec::new();
    for four in expected.chunks(4) {
        bytes.extend(four.iter().map(|x| (x / 4) as u8));
        bytes.push((0..4).map(|k| (four[k] % 4) << (2 * k)).sum::<u16>() as u8);
    }
    let memory = vec![Memory::of(&bytes), Memory::unset::<u16>(4 * N)];
    (memory, vec![launch("unpack_10_bits", space(), [mem(0), mem(1)])], equal(1, expected))
}

fn yuv420(shape: [usize; 2]) -> Parts {
    let (width, height) = (44, 30);
    let mut random = Random::new(326);
    let [y, u, v] = [width * height, width * height / 4, width * height / 4].map(|len| random.bytes(len));
    let pixel = |at: usize| {
        let colour = at / width / 2 * (width / 2) + at % width / 2;
        let [y, u, v] = [y[at], u[colour], v[colour]].map(i32::from);
        let (c, d, e) = (y - 16, u - 128, v - 128);
        let sums = [298 * c + 409 * e, 298 * c - 100 * d - 208 * e, 298 * c + 516 * d];
        let [r, g, b] = sums.map(|sum| (sum + 128).div_euclid(256).clamp(0, 255) as u8);
        [r, g, b, 255]
    };
    let expected: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let memory = vec![Memory::of(&y), Memory::of(&u), Memory::of(&v), Memory::unset::<u32>(width * height)];
    let arguments = [mem(0), mem(1), mem(2), int(width), int(height), mem(3)];
    (memory, vec![launch("yuv420_to_rgba", covering([width, height], shape), arguments)], equal(3, expected))
}

pub(super) fn structs() -> Vec<Case> {
    let mut cases = vec![
        case("read_packed", read_packed()),
        case("write_packed", write_packed()),
        case("change_natural", change_natural()),
        case("through_union", through_union()),
        case("areas", areas()),
        case("age_particles", age_particles()),
    ];
    for flags in 0..4u8 {
        cases.push(case(format!("by_value with flags {flags}"), by_value(flags)));
    }
    cases.extend(in_groups("place_of_least", &SIZES, |size| {
        let n = groups_of(size) * size;
        let input: Vec<i32> = Random::new(335).words_below(n, 50).iter().map(|x| *x as i32 - 25).collect();
        let of_group = |(group, values): (usize, &[i32])| {
            let least = values.iter().enumerate().min_by_key(|(_, value)| **value);
            least.map_or([0; 2], |(i, value)| [*value, (group * size + i) as i32])
        };
        let expected = input.chunks(size).enumerate().map(of_group).collect();
        let arguments = [mem(0), mem(1), local::<[i32; 2]>(size)];
        let launches = vec![launch("place_of_least", Space::d1(n, size), arguments)];
        (
            vec![Memory::of(&input), Memory::unset::<[i32; 2]>(n / size)],
            launches,
            equal::<[i32; 2]>(1, expected),
        )
    }));
    cases
}

fn read_packed() -> Parts {
    let bytes = Random::new(330).bytes(15 * N);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let records = || bytes.chunks(15);
    let memory =
        vec![Memory::of(&bytes), Memory::unset::<u32>(N), Memory::unset::<u32>(N), Memory::unset::<u64>(N)];
    let lengths = records().map(|r| u32::from(r[0]) * 100_000 + number(&r[1..3]) as u32).collect();
    let check = all(vec![
        equal::<u32>(1, lengths),
        equal::<u32>(2, records().map(|r| number(&r[3..7]) as u32).collect()),
        equal::<u64>(3, records().map(|r| number(&r[7..15])).collect()),
    ]);
    (memory, vec![launch("read_packed", space(), [0, 1, 2, 3].map(mem))], check)
}

fn write_packed() -> Parts {
    let seed = 0xABCD_EF01u32;
    let record = |i: u32| {
        let id = u64::from(seed) << 32 | u64::from(i);
        [&[i as u8][..], &((i * 3) as u16).to_le_bytes(), &(seed ^ i).to_le_bytes(), &id.to_le_bytes()]
            .concat()
    };
    let expected: Vec<u8> = (0..N as u32).flat_map(record).collect();
    let launches = vec![launch("write_packed", space(), [mem(0), Argument::value(seed)])];
    (vec![Memory::unset::<u8>(15 * N)], launches, equal(0, expected))
}

/// Tag at 0, value at 4, small numbers at 8 and the big one at 16. The bytes between them may change.
fn change_natural() -> Parts {
    let (size, add) = (24, 12345i32);
    let bytes = Random::new(331).bytes(size * N);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let mut expected = bytes.clone();
    for (i, record) in expected.chunks_mut(size).enumerate() {
        record[0] = record[0].wrapping_neg();
        let value = (number(&record[4..8]) as u32).wrapping_add(add.cast_unsigned());
        record[4..8].copy_from_slice(&value.to_le_bytes());
        record[8 + i % 3 * 2] ^= 0x55;
        let small = (number(&record[8..10]) as u16).cast_signed();
        let big = number(&record[16..24]).wrapping_mul(3).wrapping_add(i64::from(small).cast_unsigned());
        record[16..24].copy_from_slice(&big.to_le_bytes());
    }
    let launches = vec![launch("change_natural", space(), [mem(0), Argument::value(add)])];
    let check = Box::new(move |memory: &[Vec<u8>]| {
        let is_padding = |at: usize| matches!(at % size, 1..4 | 14..16);
        let wrong = (0..expected.len()).find(|at| !is_padding(*at) && memory[0][*at] != expected[*at]);
        wrong.map_or(Ok(()), |at| Err(format!("byte {at} is {}, not {}", memory[0][at], expected[at])))
    });
    (vec![Memory::of(&bytes)], launches, check)
}

fn by_value(flags: u8) -> Parts {
    let (scale, offsets) = ([2f32, -0.5, 4.0, 1.0], [3i32, -7, 100_000, 0]);
    let input = Random::new(332).floats(4 * N, -8.0, 8.0).iter().map(|x| x.round()).collect::<Vec<f32>>();
    let mut parameters: Vec<u8> = bytemuck::cast_slice(&scale).to_vec();
    parameters.extend_from_slice(bytemuck::cast_slice(&offsets));
    parameters.push(flags);
    parameters.resize(48, 0);
    // All values are whole numbers or halves, so the results are exact.
    let of = |(i, x): (usize, &f32)| {
        let scaled = if flags & 1 == 1 { x * scale[i % 4] } else { *x };
        if flags & 2 == 2 { scaled + offsets[i % 4] as f32 } else { scaled }
    };
    let expected = input.iter().enumerate().map(of).collect();
    let launches = vec![launch("by_value", space(), [mem(0), mem(1), Argument::Value(parameters)])];
    (vec![Memory::of(&input), Memory::unset::<f32>(4 * N)], launches, close(1, expected, 0.0, 0.0))
}

fn through_union() -> Parts {
    let input: Vec<u32> = Random::new(333).floats(N, -1e6, 1e6).iter().map(|x| x.to_bits()).collect();
    let swapped = |x: &u32| {
        let [a, b, c, d] = x.to_le_bytes();
        u32::from_le_bytes([b, d, a, c])
    };
    let memory = vec![Memory::of(&input), Memory::unset::<u32>(N), Memory::unset::<f32>(N)];
    let check = all(vec![
        equal::<u32>(1, input.iter().map(swapped).collect()),
        equal::<f32>(2, input.iter().map(|x| f32::from_bits(*x).abs()).collect()),
    ]);
    (memory, vec![launch("through_union", space(), [0, 1, 2].map(mem))], check)
}

fn areas() -> Parts {
    let mut random = Random::new(334);
    let mut shape =
        || [random.below(3), random.below(100), random.below(100), random.below(100)].map(|x| x as i32);
    let shapes: Vec<[i32; 4]> = (0..N).map(|_| shape()).collect();
    let area = |[kind, a, b, c]: &[i32; 4]| match kind {
        0 => a * a,
        1 => a * b,
        _ => a + b + c,
    };
    let memory = vec![Memory::of(&shapes), Memory::unset::<i32>(N), Memory::unset::<u32>(1)];
    let sizes = u32::from_le_bytes([15, 24, 48, 4]);
    let check = all(vec![equal::<i32>(1, shapes.iter().map(area).collect()), equal(2, vec![sizes])]);
    (memory, vec![launch("areas", space(), [0, 1, 2].map(mem))], check)
}

fn age_particles() -> Parts {
    let (tiles, dx) = (30, 0.25f32);
    let mut random = Random::new(336);
    let (mut before, mut after): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for _ in 0..tiles {
        let whole = |random: &mut Random| (0..8).map(|_| random.below(1000) as f32).collect::<Vec<f32>>();
        let (x, y) = (whole(&mut random), whole(&mut random));
        let age = random.words_below(8, 100);
        before.extend(x.iter().chain(&y).map(|x| x.to_bits()));
        before.extend(&age);
        after.extend(x.iter().zip(&age).map(|(x, age)| (x + dx * *age as f32).to_bits()));
        after.extend(y.iter().map(|y| (-y).to_bits()));
        after.extend(age.iter().map(|age| age + 1));
    }
    let launches = vec![launch("age_particles", Space::d1(8 * tiles, 24), [mem(0), Argument::value(dx)])];
    (vec![Memory::of(&before)], launches, equal(0, after))
}

pub(super) fn bit_fields() -> Vec<Case> {
    let input = Random::new(337).words(N);
    let two = || vec![Memory::of(&input), Memory::unset::<u32>(N), Memory::unset::<u32>(N)];
    let changed = |x: &u32| {
        let exponent = (x >> 23).wrapping_add(1) & 255;
        (x & 0x7F_FFFF) + exponent * 0x80_0000 + (1 - (x >> 31)) * 0x8000_0000
    };
    let check = all(vec![
        equal::<u32>(1, input.iter().map(|x| x >> 23).collect()),
        equal::<u32>(2, input.iter().map(changed).collect()),
    ]);
    let floats = (two(), vec![launch("parts_of_floats", space(), [0, 1, 2].map(mem))], check);
    let fields = |x: &u32| {
        let signed = |low: u32, bits: u32| (x << (32 - low - bits)).cast_signed() >> (32 - bits);
        let [a, b, c] = [signed(0, 5), signed(5, 11), signed(16, 16)];
        [a, b, c, a + b + c]
    };
    let memory = vec![Memory::of(&input), Memory::unset::<[i32; 4]>(N)];
    let check = equal::<[i32; 4]>(1, input.iter().map(fields).collect());
    let signed = (memory, vec![launch("signed_fields", space(), [mem(0), mem(1)])], check);
    vec![
        case("parts_of_floats", floats),
        case("signed_fields", signed),
        case("adjoining_fields", adjoining_fields()),
        case("nine_bytes", nine_bytes()),
        case("long_literals", long_literals()),
    ]
}

/// Fields of 40, 24, 8 and 24 bits, and padding.
fn adjoining_fields() -> Parts {
    let (input, fields) = (Random::new(338).words(N), Random::new(339).longs(2 * N));
    let low = |value: u64, bits: u32| value & ((1 << bits) - 1);
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for (word, pair) in input.iter().map(|word| u64::from(*word)).zip(fields.chunks(2)) {
        let [mut a, mut b, mut c, mut d] =
            [low(pair[0], 40), pair[0] >> 40, low(pair[1], 8), low(pair[1] >> 8, 24)];
        read.extend([a, b, c, d]);
        b = low(b + word, 24);
        c = low(c ^ d, 8);
        a = low(a.wrapping_sub(b), 40);
        if word % 2 == 1 {
            d = low(a >> 3, 24);
        } else {
            a = d * 5;
        }
        written.push([a | b << 40, c | d << 8]);
    }
    let fields_are = Box::new(move |memory: &[Vec<u8>]| {
        // Without the padding.
        let all: Vec<[u64; 2]> = elements(&memory[1]);
        let without: Vec<u8> = all.iter().flat_map(|pair| bytemuck::bytes_of(pair)[..12].to_vec()).collect();
        let wanted: Vec<u8> =
            written.iter().flat_map(|pair| bytemuck::bytes_of(pair)[..12].to_vec()).collect();
        expect_equal("the fields", &without, &wanted)
    });
    let memory = vec![Memory::of(&input), Memory::of(&fields), Memory::unset::<[u64; 4]>(N)];
    let launches = vec![launch("adjoining_fields", space(), [0, 1, 2].map(mem))];
    (memory, launches, all(vec![equal(2, read), fields_are]))
}

/// Fields of 20, 12, 17, 15 (signed) and 8 bits, and padding.
fn nine_bytes() -> Parts {
    let (input, fields) = (Random::new(340).words(N), Random::new(341).words(3 * N));
    let (mut results, mut written) = (Vec::new(), Vec::new());
    for (word, fields) in input.iter().zip(fields.chunks(3)) {
        let (mut a, b) = (fields[0] & 0xF_FFFF, fields[0] >> 20);
        let (c, mut d) = (fields[1] & 0x1_FFFF, fields[1].cast_signed() >> 17);
        let c = c.wrapping_add(*word) & 0x1_FFFF;
        let mut e = (fields[2] + 1) & 255;
        for k in 0..word % 5 {
            a = b.wrapping_add_signed(d) & 0xF_FFFF;
            d = (c.wrapping_sub(e) << 17).cast_signed() >> 17;
            e = (e + k) & 255;
        }
        results.push(if d < 0 { d } else { i32::from(a == e) });
        written.extend([a | b << 20, c | d.cast_unsigned() << 17, e]);
    }
    let fields_are = Box::new(move |memory: &[Vec<u8>]| {
        let mut all: Vec<u32> = elements(&memory[1]);
        all.iter_mut().skip(2).step_by(3).for_each(|last| *last &= 255);
        expect_equal("the fields", bytemuck::cast_slice(&all), &written)
    });
    let fields: Vec<u32> =
        fields.iter().enumerate().map(|(at, word)| if at % 3 == 2 { word & 255 } else { *word }).collect();
    let memory = vec![Memory::of(&input), Memory::of(&fields), Memory::unset::<i32>(N)];
    let launches = vec![launch("nine_bytes", space(), [0, 1, 2].map(mem))];
    (memory, launches, all(vec![equal(2, results), fields_are]))
}

fn long_literals() -> Parts {
    let mut random = Random::new(342);
    let input: Vec<u64> = (0..N).map(|at| random.u64() >> (at % 40)).collect();
    let value = |x: &u64| {
        let n = x & 63;
        let mut r = 0xFF_FFFF_FFFF >> (n / 2);
        r ^= x.wrapping_add(0x0123_4567_89AB_CDEF) & 0xFF00_FF00_FF00_FF00;
        r = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(r);
        r ^= 1 << n;
        if *x > 0x7F_FFFF_FFFF { r.wrapping_sub(77) } else { r }
    };
    let expected: Vec<u64> = input.iter().map(value).collect();
    let memory = vec![Memory::of(&input), Memory::unset::<u64>(N)];
    (memory, vec![launch("long_literals", space(), [mem(0), mem(1)])], equal(1, expected))
}
