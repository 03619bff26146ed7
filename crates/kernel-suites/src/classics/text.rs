//! Strings and codes of bytes.

use super::common::{
    Parts, Random, SIZES, all, enough, equal, groups_of, in_groups, launch, local, mem, uint,
};
use crate::case::{Argument, Case, Memory, Space};

/// A text of few letters, so that parts of patterns are frequent.
fn text(n: usize) -> Vec<u8> {
    let mut random = Random::new(220);
    let mut text = Vec::new();
    while text.len() < n {
        match random.below(4) {
            0 => text.extend(b"abcabcabd"),
            1 => text.extend(b"aaaa"),
            _ => text.push(b'a' + random.below(4) as u8),
        }
    }
    text.truncate(n);
    text
}

fn starts_of(text: &[u8], pattern: &[u8]) -> Vec<u8> {
    (0..text.len()).map(|i| u8::from(text[i..].starts_with(pattern))).collect()
}

pub(super) fn string_search() -> Vec<Case> {
    let mut cases = Vec::new();
    for pattern in ["abcabd", "aa", "c"] {
        let n = 1500;
        let (text, m) = (text(n), pattern.len());
        let flags = starts_of(&text, pattern.as_bytes());
        let both = || vec![Memory::of(&text), Memory::of(pattern.as_bytes())];
        let first = [mem(0), uint(n), mem(1), uint(m)];
        cases.extend(in_groups(&format!("naive {pattern}"), &SIZES, |size| {
            let memory = [both(), vec![Memory::unset::<u8>(n)]].concat();
            let launches = vec![launch("naive", enough(n, size), [&first[..], &[mem(2)]].concat())];
            (memory, launches, equal(2, flags.clone()))
        }));
        cases.extend(in_groups(&format!("tiled {pattern}"), &SIZES, |size| {
            let counts: Vec<u32> =
                flags.chunks(size).map(|flags| flags.iter().map(|flag| u32::from(*flag)).sum()).collect();
            let memory = [both(), vec![Memory::unset::<u32>(counts.len())]].concat();
            let arguments = [&first[..], &[mem(2), local::<u8>(size + m - 1)]].concat();
            let space = Space::d1(counts.len() * size, size);
            (memory, vec![launch("tiled", space, arguments)], equal(2, counts))
        }));
        for kernel in ["kmp", "horspool"] {
            cases.extend(in_groups(&format!("{kernel} {pattern}"), &SIZES, |size| {
                let chunk = n.div_ceil(3 * size.max(10));
                let mut arguments = [&first[..], &[uint(chunk), mem(2)]].concat();
                if kernel == "kmp" {
                    arguments.push(local::<i32>(m + 1));
                }
                let memory = [both(), vec![Memory::of(&vec![0u8; n])]].concat();
                (
                    memory,
                    vec![launch(kernel, enough(n.div_ceil(chunk), size), arguments)],
                    equal(2, flags.clone()),
                )
            }));
        }
    }
    cases.extend(in_groups("shift_and", &SIZES, shift_and));
    cases
}

fn shift_and(size: usize) -> Parts {
    let n = 1500;
    let text = text(n);
    let patterns: [&[u8]; 4] = [b"abca", b"aaa", b"dab", b"cc"];
    let (mut masks, mut starts, mut ends, mut bit) = (vec![0u32; 256], 0u32, 0u32, 0);
    let mut expected = vec![0u32; n];
    for pattern in patterns {
        starts |= 1 << bit;
        for letter in pattern {
            masks[usize::from(*letter)] |= 1 << bit;
            bit += 1;
        }
        ends |= 1 << (bit - 1);
        for (i, flag) in starts_of(&text, pattern).iter().enumerate() {
            if *flag == 1 {
                expected[i + pattern.len() - 1] |= 1 << (bit - 1);
            }
        }
    }
    let chunk = n.div_ceil(3 * size.max(10));
    let memory = vec![Memory::of(&text), Memory::of(&masks), Memory::unset::<u32>(n)];
    let values = [ends, starts].map(Argument::value);
    let arguments = [&[mem(0), uint(n), mem(1)], &values[..], &[uint(chunk), uint(4), mem(2)]].concat();
    (memory, vec![launch("shift_and", enough(n.div_ceil(chunk), size), arguments)], equal(2, expected))
}

fn runs_of(values: &[u8]) -> Vec<(u8, u32)> {
    values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
}

/// Bytes in runs of different lengths.
fn in_runs(seed: u64, n: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::new();
    while bytes.len() < n {
        let len = if random.below(3) == 0 { 1 + random.below(20) } else { 1 };
        let value = random.below(5) as u8;
        bytes.extend(std::iter::repeat_n(value, len));
    }
    bytes.truncate(n);
    bytes
}

pub(super) fn run_length() -> Vec<Case> {
    let mut cases = in_groups("encode", &SIZES, encode_runs);
    cases.extend(in_groups("decode", &SIZES, decode_runs));
    cases.extend(in_groups("pack_bits and unpack_bits", &SIZES, |size| {
        let (lines, length) = (3 * size, if size < 100 { 150 } else { 60 });
        let room = 2 * length;
        let input = in_runs(223, lines * length);
        let (mut packed, mut lengths) = (vec![0xCDu8; lines * room], Vec::new());
        for (line, to) in input.chunks(length).zip(packed.chunks_mut(room)) {
            let bytes = packed_bits(line);
            to[..bytes.len()].copy_from_slice(&bytes);
            lengths.push(bytes.len() as u32);
        }
        let memory = vec![
            Memory::of(&input),
            Memory::unset::<u8>(lines * room),
            Memory::unset::<u32>(lines),
            Memory::unset::<u8>(lines * length),
        ];
        let space = Space::d1(lines, size);
        let launches = vec![
            launch("pack_bits", space, [mem(0), uint(length), mem(1), uint(room), mem(2)]),
            launch("unpack_bits", space, [mem(1), uint(room), mem(2), mem(3), uint(length)]),
        ];
        (memory, launches, all(vec![equal(2, lengths), equal(1, packed), equal(3, input)]))
    }));
    cases
}

fn encode_runs(size: usize) -> Parts {
    let n = groups_of(size) * size;
    let input = in_runs(221, n);
    let (mut values, mut lengths, mut counts) = (vec![0xCDu8; n], vec![0xCDCD_CDCDu32; n], Vec::new());
    for (group, part) in input.chunks(size).enumerate() {
        let runs = runs_of(part);
        for (i, (value, length)) in runs.iter().enumerate() {
            values[group * size + i] = *value;
            lengths[group * size + i] = *length;
        }
        counts.push(runs.len() as u32);
    }
    let memory = vec![
        Memory::of(&input),
        Memory::unset::<u8>(n),
        Memory::unset::<u32>(n),
        Memory::unset::<u32>(counts.len()),
    ];
    let arguments = [mem(0), mem(1), mem(2), mem(3), local::<u32>(size), local::<u32>(size)];
    let launches = vec![launch("encode", Space::d1(n, size), arguments)];
    (memory, launches, all(vec![equal(1, values), equal(2, lengths), equal(3, counts)]))
}

fn decode_runs(size: usize) -> Parts {
    let n = groups_of(size) * size;
    let expected = in_runs(222, n);
    let (mut values, mut lengths, mut counts) = (vec![0u8; n], vec![0u32; n], Vec::new());
    for (group, part) in expected.chunks(size).enumerate() {
        let runs = runs_of(part);
        for (i, (value, length)) in runs.iter().enumerate() {
            (values[group * size + i], lengths[group * size + i]) = (*value, *length);
        }
        counts.push(runs.len() as u32);
    }
    let memory = vec![Memory::of(&values), Memory::of(&lengths), Memory::of(&counts), Memory::unset::<u8>(n)];
    let arguments = [mem(0), mem(1), mem(2), mem(3), local::<u32>(size)];
    (memory, vec![launch("decode", Space::d1(n, size), arguments)], equal(3, expected))
}

/// Runs of three and more are packed, and what is between them stays.
fn packed_bits(line: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut literals: Vec<u8> = Vec::new();
    let flush = |literals: &mut Vec<u8>, packed: &mut Vec<u8>| {
        for part in literals.chunks(128) {
            packed.push(part.len() as u8 - 1);
            packed.extend_from_slice(part);
        }
        literals.clear();
    };
    for run in line.chunk_by(|a, b| a == b) {
        if run.len() < 3 {
            literals.extend_from_slice(run);
        } else {
            flush(&mut literals, &mut packed);
            packed.extend([(257 - run.len()) as u8, run[0]]);
        }
    }
    flush(&mut literals, &mut packed);
    packed
}

/// Characters of one to four bytes.
fn characters(random: &mut Random, n: usize) -> Vec<char> {
    let edges = ['\0', '\u{7F}', '\u{80}', '\u{7FF}', '\u{800}', '\u{FFFF}', '\u{10000}', '\u{10FFFF}'];
    let mut character = || loop {
        let point = match random.below(5) {
            0 => return edges[random.below(edges.len())],
            1 => random.below(0x80),
            2 => random.below(0x800),
            3 => random.below(0x1_0000),
            _ => random.below(0x11_0000),
        };
        if let Some(character) = char::from_u32(point as u32) {
            return character;
        }
    };
    (0..n).map(|_| character()).collect()
}

pub(super) fn utf8() -> Vec<Case> {
    let mut cases = in_groups("decode", &SIZES, decode_utf8);
    cases.extend(in_groups("encode", &SIZES, encode_utf8));
    cases.extend(in_groups("validate", &SIZES, validate_utf8));
    cases.extend(in_groups("positions", &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut bytes = characters(&mut Random::new(226), n).into_iter().collect::<String>().into_bytes();
        bytes.truncate(n);
        let mut expected = Vec::new();
        for part in bytes.chunks(size) {
            let mut count = 0u32;
            for byte in part {
                count += u32::from(!(0x80..0xC0).contains(byte));
                expected.push(count);
            }
        }
        let launches = vec![launch("positions", Space::d1(n, size), [mem(0), mem(1), local::<u32>(size)])];
        (vec![Memory::of(&bytes), Memory::unset::<u32>(n)], launches, equal(1, expected))
    }));
    cases
}

fn decode_utf8(size: usize) -> Parts {
    let (n, room) = (groups_of(size) * size, 15);
    let mut random = Random::new(224);
    let (mut bytes, mut starts, mut points, mut counts) = (Vec::new(), vec![0u32], Vec::new(), Vec::new());
    for _ in 0..n {
        let count = random.below(room + 1);
        let line = characters(&mut random, count);
        bytes.extend(line.iter().collect::<String>().into_bytes());
        starts.push(bytes.len() as u32);
        counts.push(line.len() as u32);
        points.extend(line.iter().map(|c| *c as u32));
        points.resize(counts.len() * room, 0xCDCD_CDCD);
    }
    let memory = vec![
        Memory::of(&bytes),
        Memory::of(&starts),
        Memory::unset::<u32>(n * room),
        Memory::unset::<u32>(n),
    ];
    let arguments = [mem(0), mem(1), mem(2), uint(room), mem(3)];
    let launches = vec![launch("decode", Space::d1(n, size), arguments)];
    (memory, launches, all(vec![equal(2, points), equal(3, counts)]))
}

fn encode_utf8(size: usize) -> Parts {
    let (items, n) = (groups_of(size) * size, 9);
    let room = 4 * n;
    let all_characters = characters(&mut Random::new(225), items * n);
    let points: Vec<u32> = all_characters.iter().map(|c| *c as u32).collect();
    let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
    for line in all_characters.chunks(n) {
        let line = line.iter().collect::<String>();
        lengths.push(line.len() as u32);
        bytes.extend(line.into_bytes());
        bytes.resize(lengths.len() * room, 0xCDu8);
    }
    let memory = vec![Memory::of(&points), Memory::unset::<u8>(items * room), Memory::unset::<u32>(items)];
    let arguments = [mem(0), uint(n), mem(1), uint(room), mem(2)];
    let launches = vec![launch("encode", Space::d1(items, size), arguments)];
    (memory, launches, all(vec![equal(1, bytes), equal(2, lengths)]))
}

fn validate_utf8(size: usize) -> Parts {
    let (items, n) = (groups_of(size) * size, 24);
    let mut random = Random::new(227);
    let mut bytes = Vec::new();
    for item in 0..items {
        let mut line = characters(&mut random, n).into_iter().collect::<String>().into_bytes();
        line.truncate(n);
        if item % 2 == 0 {
            // Often at the second byte of a sequence.
            let leads: Vec<usize> = (0..n - 1).filter(|i| line[*i] >= 0xC0).collect();
            let at = if leads.is_empty() { random.below(n) } else { leads[random.below(leads.len())] + 1 };
            line[at] = random.u32() as u8;
        }
        bytes.extend(line);
    }
    let valid =
        |line: &[u8]| std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len) as u32;
    let expected = bytes.chunks(n).map(valid).collect();
    let launches = vec![launch("validate", Space::d1(items, size), [mem(0), uint(n), mem(1)])];
    (vec![Memory::of(&bytes), Memory::unset::<u32>(items)], launches, equal::<u32>(1, expected))
}

/// Six bits after the other.
fn base64(bytes: &[u8]) -> Vec<u8> {
    let alphabet: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*b"+/").collect();
    let mut bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)).collect();
    bits.resize(bits.len().next_multiple_of(6), 0);
    let letter = |bits: &[u8]| alphabet[bits.iter().fold(0, |value, bit| value << 1 | usize::from(*bit))];
    let mut letters: Vec<u8> = bits.chunks(6).map(letter).collect();
    letters.resize(letters.len().next_multiple_of(4), b'=');
    letters
}

pub(super) fn of_base64() -> Vec<Case> {
    let mut cases = Vec::new();
    for rest in 0..3 {
        let bytes = |size: usize| Random::new(228).bytes(3 * groups_of(size) * size - 3 + rest);
        cases.extend(in_groups(&format!("encode with rest {rest}"), &SIZES, |size| {
            let (bytes, letters) = (bytes(size), base64(&bytes(size)));
            let launches = vec![launch(
                "encode",
                Space::d1(groups_of(size) * size, size),
                [mem(0), uint(bytes.len()), mem(1)],
            )];
            (vec![Memory::of(&bytes), Memory::unset::<u8>(letters.len())], launches, equal(1, letters))
        }));
        cases.extend(in_groups(&format!("decode with rest {rest}"), &SIZES, |size| {
            let (bytes, letters) = (bytes(size), base64(&bytes(size)));
            let arguments = [mem(0), uint(letters.len() / 4), mem(1), uint(bytes.len())];
            let launches = vec![launch("decode", Space::d1(groups_of(size) * size, size), arguments)];
            (vec![Memory::of(&letters), Memory::unset::<u8>(bytes.len())], launches, equal(1, bytes))
        }));
    }
    cases.extend(in_groups("to_hexadecimal", &SIZES, |size| {
        let n = groups_of(size) * size;
        let bytes = Random::new(229).bytes(3 * n);
        let expected = bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        let launches = vec![launch("to_hexadecimal", Space::d1(n, size), [mem(0), mem(1)])];
        (vec![Memory::of(&base64(&bytes)), Memory::unset::<u8>(6 * n)], launches, equal(1, expected))
    }));
    cases
}

/// Seven bits a byte, the least significant first.
fn varint(value: u64) -> Vec<u8> {
    let len = (64 - value.leading_zeros()).div_ceil(7).max(1);
    (0..len).map(|i| (value >> (7 * i)) as u8 & 0x7F | if i + 1 < len { 0x80 } else { 0 }).collect()
}

/// The same with a sign: as many bytes as keep the sign in bit 6 of the last one.
fn signed_varint(value: i64) -> Vec<u8> {
    let bits = 65 - if value < 0 { value.leading_ones() } else { value.leading_zeros() };
    let len = bits.div_ceil(7);
    (0..len).map(|i| (value >> (7 * i).min(63)) as u8 & 0x7F | if i + 1 < len { 0x80 } else { 0 }).collect()
}

fn lengths_and_starts(all: &[Vec<u8>]) -> (Vec<u8>, Vec<u32>) {
    let mut starts = vec![0];
    for bytes in all {
        starts.push(starts[starts.len() - 1] + bytes.len() as u32);
    }
    (all.concat(), starts)
}

fn of_all_lengths(seed: u64, n: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..n).map(|i| if i % 17 == 0 { u64::MAX } else { random.u64() >> random.below(64) }).collect()
}

pub(super) fn of_varint() -> Vec<Case> {
    let each = 5;
    let mut cases = in_groups("decode", &SIZES, |size| {
        let n = groups_of(size) * size;
        let values = of_all_lengths(230, n * each);
        let lines: Vec<Vec<u8>> =
            values.chunks(each).map(|line| line.iter().flat_map(|value| varint(*value)).collect()).collect();
        let (bytes, starts) = lengths_and_starts(&lines);
        let memory = vec![Memory::of(&bytes), Memory::of(&starts), Memory::unset::<u64>(n * each)];
        let launches = vec![launch("decode", Space::d1(n, size), [mem(0), mem(1), mem(2), uint(each)])];
        (memory, launches, equal(2, values))
    });
    cases.extend(in_groups("encode", &SIZES, |size| {
        let (n, room) = (groups_of(size) * size, 10 * each);
        let values = of_all_lengths(231, n * each);
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for line in values.chunks(each) {
            let line: Vec<u8> = line.iter().flat_map(|value| varint(*value)).collect();
            lengths.push(line.len() as u32);
            bytes.extend(line);
            bytes.resize(lengths.len() * room, 0xCDu8);
        }
        let memory = vec![Memory::of(&values), Memory::unset::<u8>(n * room), Memory::unset::<u32>(n)];
        let arguments = [mem(0), uint(each), mem(1), uint(room), mem(2)];
        let check = all(vec![equal(1, bytes), equal(2, lengths)]);
        (memory, vec![launch("encode", Space::d1(n, size), arguments)], check)
    }));
    cases.extend(in_groups("decode_signed", &SIZES, |size| {
        let n = groups_of(size) * size;
        let mut random = Random::new(232);
        let mut values: Vec<i64> = (0..n).map(|_| random.u64().cast_signed() >> random.below(64)).collect();
        values[0] = i64::MIN;
        let zigzag: Vec<Vec<u8>> =
            values.iter().map(|x| varint(((x << 1) ^ (x >> 63)).cast_unsigned())).collect();
        let extended: Vec<Vec<u8>> = values.iter().map(|x| signed_varint(*x)).collect();
        let [(a, a_starts), (b, b_starts)] = [zigzag, extended].map(|all| lengths_and_starts(&all));
        let memory = vec![
            Memory::of(&a),
            Memory::of(&a_starts),
            Memory::of(&b),
            Memory::of(&b_starts),
            Memory::unset::<i64>(n),
            Memory::unset::<i64>(n),
        ];
        let launches = vec![launch("decode_signed", Space::d1(n, size), [0, 1, 2, 3, 4, 5].map(mem))];
        (memory, launches, all(vec![equal(4, values.clone()), equal(5, values)]))
    }));
    cases
}

#[cfg(test)]
mod tests {
    use super::{base64, packed_bits, signed_varint, varint};

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let letters = |text: &str| String::from_utf8(base64(text.as_bytes())).unwrap();
        for (text, expected) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(letters(text), expected);
        }
    }

    #[test]
    fn varints_are_those_of_their_descriptions() {
        assert_eq!(varint(0), [0]);
        assert_eq!(varint(150), [0x96, 0x01]);
        assert_eq!(varint(624_485), [0xE5, 0x8E, 0x26]);
        assert_eq!(signed_varint(-123_456), [0xC0, 0xBB, 0x78]);
        assert_eq!(signed_varint(64), [0xC0, 0x00]);
        assert_eq!(signed_varint(-64), [0x40]);
    }

    #[test]
    fn packed_bits_are_those_of_the_technical_note() {
        let line = [
            0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0x22, 0xAA, 0xAA,
            0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
        ];
        let packed =
            [0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0xFD, 0xAA, 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA];
        assert_eq!(packed_bits(&line), packed);
    }
}
