//! Hashes and checksums.

use super::bignum;
use super::common::{Random, SIZES, all, case, equal, groups_of, in_groups, int, launch, mem, uint};
use crate::case::{Argument, Case, Launch, Memory, Space};

/// Bytes from one message to the next.
const STRIDE: usize = 160;

/// Messages of all lengths up to the stride, so that all kinds of padding occur.
fn messages(n: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(170);
    (0..n).map(|i| random.bytes(i * 7 % (STRIDE + 1))).collect()
}

/// A launch `(messages, lengths, stride, more, out)` with a message for each work-item.
fn of_messages<T: bytemuck::NoUninit>(kernel: &str, more: &[Argument], hash: fn(&[u8]) -> T) -> Vec<Case> {
    in_groups(kernel, &SIZES, |size| {
        let (mut memory, mut launches) = launched(kernel, size, more);
        let expected: Vec<T> =
            messages(launches[0].space.global[0]).iter().map(|message| hash(message)).collect();
        memory.push(Memory::unset::<T>(expected.len()));
        launches[0].arguments.push(mem(2));
        (memory, launches, equal(2, bytemuck::cast_slice::<T, u8>(&expected).to_vec()))
    })
}

/// The same without outputs.
fn launched(kernel: &str, size: usize, more: &[Argument]) -> (Vec<Memory>, Vec<Launch>) {
    let n = groups_of(size) * size;
    let (mut bytes, mut lengths) = (vec![0xA5u8; n * STRIDE], Vec::new());
    for (message, room) in messages(n).iter().zip(bytes.chunks_mut(STRIDE)) {
        room[..message.len()].copy_from_slice(message);
        lengths.push(message.len() as u32);
    }
    let arguments = [&[mem(0), mem(1), uint(STRIDE)], more].concat();
    (vec![Memory::of(&bytes), Memory::of(&lengths)], vec![launch(kernel, Space::d1(n, size), arguments)])
}

/// The message with a bit, zeros and its length, whose bytes are in the order of `length`.
fn padded(message: &[u8], block: usize, length: &[u8]) -> Vec<u8> {
    let mut all = message.to_vec();
    all.push(0x80);
    while !(all.len() + length.len()).is_multiple_of(block) {
        all.push(0);
    }
    all.extend_from_slice(length);
    all
}

fn md5(message: &[u8]) -> [u32; 4] {
    let turns = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded(message, 64, &(message.len() as u64 * 8).to_le_bytes()).chunks(64) {
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(block);
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64usize {
            let sine = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let (mix, word) = match i / 16 {
                0 => (b & c | !b & d, i),
                1 => (d & b | !d & c, 5 * i + 1),
                2 => (b ^ c ^ d, 3 * i + 5),
                _ => (c ^ (b | !d), 7 * i),
            };
            let sum = a.wrapping_add(mix).wrapping_add(sine).wrapping_add(words[word % 16]);
            (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(turns[i / 16][i % 4])));
        }
        for (word, add) in state.iter_mut().zip([a, b, c, d]) {
            *word = word.wrapping_add(add);
        }
    }
    state
}

fn sha1(message: &[u8]) -> [u32; 5] {
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded(message, 64, &(message.len() as u64 * 8).to_be_bytes()).chunks(64) {
        let mut words: Vec<u32> = big_endian(block);
        for i in 16..80 {
            words.push((words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1));
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mix, constant) = match i / 20 {
                0 => (b & c | !b & d, 0x5a82_7999u32),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6),
            };
            let sum = a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant);
            (a, b, c, d, e) = (sum.wrapping_add(*word), a, b.rotate_left(30), c, d);
        }
        for (word, add) in state.iter_mut().zip([a, b, c, d, e]) {
            *word = word.wrapping_add(add);
        }
    }
    state
}

fn big_endian(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|four| four.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))).collect()
}

/// The first 64 bits after the point of the roots of the first primes, of degree 2 or 3.
fn roots(degree: usize, count: usize) -> Vec<u64> {
    let primes = (2u32..).filter(|n| (2..*n).all(|d| !n.is_multiple_of(d))).take(count);
    let root = |prime: u32| {
        // The largest number whose power is not above the prime, shifted by `degree` times 64 bits.
        let mut limit = vec![0u32; 2 * degree];
        limit.push(prime);
        let mut x = 0u128;
        for bit in (0..70).rev() {
            let candidate = x | 1 << bit;
            let limbs: Vec<u32> = (0..3).map(|i| (candidate >> (32 * i)) as u32).collect();
            let power = (1..degree).fold(limbs.clone(), |power, _| bignum::product(&power, &limbs));
            if bignum::compare(&power, &limit).is_le() {
                x = candidate;
            }
        }
        x as u64
    };
    primes.map(root).collect()
}

macro_rules! sha2 {
    (
        $name:ident, $word:ty, $length:ty, $rounds:literal,
        $big0:expr, $big1:expr, $small0:expr, $small1:expr
    ) => {
        fn $name(message: &[u8], constants: &[$word], first: &[$word]) -> [$word; 8] {
            let bytes = size_of::<$word>();
            let mut state = [0; 8];
            state.copy_from_slice(first);
            let turned = |x: $word, by: [u32; 3]| {
                x.rotate_right(by[0]) ^ x.rotate_right(by[1]) ^ x.rotate_right(by[2])
            };
            let shifted =
                |x: $word, by: [u32; 3]| x.rotate_right(by[0]) ^ x.rotate_right(by[1]) ^ (x >> by[2]);
            let length = (message.len() as $length * 8).to_be_bytes();
            for block in padded(message, 16 * bytes, &length).chunks(16 * bytes) {
                let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | <$word>::from(*byte));
                let mut words: Vec<$word> = block.chunks(bytes).map(word).collect();
                for i in 16..$rounds {
                    let sum = shifted(words[i - 2], $small1).wrapping_add(words[i - 7]);
                    words.push(sum.wrapping_add(shifted(words[i - 15], $small0)).wrapping_add(words[i - 16]));
                }
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
                for i in 0..$rounds {
                    let choice = e & f | !e & g;
                    let majority = a & b | a & c | b & c;
                    let t1 = h.wrapping_add(turned(e, $big1)).wrapping_add(choice);
                    let t1 = t1.wrapping_add(constants[i]).wrapping_add(words[i]);
                    let t2 = turned(a, $big0).wrapping_add(majority);
                    (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
                }
                for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                    *word = word.wrapping_add(add);
                }
            }
            state
        }
    };
}

sha2!(sha256_with, u32, u64, 64, [2, 13, 22], [6, 11, 25], [7, 18, 3], [17, 19, 10]);
sha2!(sha512_with, u64, u128, 80, [28, 34, 39], [14, 18, 41], [1, 8, 7], [19, 61, 6]);

thread_local! {
    static ROOTS: (Vec<u64>, Vec<u64>) = (roots(3, 80), roots(2, 8));
}

fn sha256(message: &[u8]) -> [u32; 8] {
    let upper = |longs: &[u64]| longs.iter().map(|x| (x >> 32) as u32).collect::<Vec<u32>>();
    ROOTS.with(|(constants, first)| sha256_with(message, &upper(constants), &upper(first)))
}

fn sha512(message: &[u8]) -> [u64; 8] {
    ROOTS.with(|(constants, first)| sha512_with(message, constants, first))
}

fn xxh32(message: &[u8], seed: u32) -> u32 {
    const P: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];
    let step =
        |sum: u32, word: u32| sum.wrapping_add(word.wrapping_mul(P[1])).rotate_left(13).wrapping_mul(P[0]);
    let stripes = message.chunks_exact(16);
    let rest = stripes.remainder();
    let mut hash = if message.len() < 16 {
        seed.wrapping_add(P[4])
    } else {
        let mut sums = [
            seed.wrapping_add(P[0]).wrapping_add(P[1]),
            seed.wrapping_add(P[1]),
            seed,
            seed.wrapping_sub(P[0]),
        ];
        for stripe in stripes {
            for (sum, word) in sums.iter_mut().zip(little_endian(stripe, 4)) {
                *sum = step(*sum, word as u32);
            }
        }
        let turned = sums.iter().zip([1, 7, 12, 18]).map(|(sum, turn)| sum.rotate_left(turn));
        turned.fold(0, u32::wrapping_add)
    };
    hash = hash.wrapping_add(message.len() as u32);
    let words = rest.chunks_exact(4);
    let bytes = words.remainder();
    for word in words {
        let word = little_endian(word, 4)[0] as u32;
        hash = hash.wrapping_add(word.wrapping_mul(P[2])).rotate_left(17).wrapping_mul(P[3]);
    }
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P[1]);
    hash = (hash ^ hash >> 13).wrapping_mul(P[2]);
    hash ^ hash >> 16
}

fn little_endian(bytes: &[u8], width: usize) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(width).map(word).collect()
}

fn xxh64(message: &[u8], seed: u64) -> u64 {
    const P: [u64; 5] = [
        0x9E37_79B1_85EB_CA87,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5,
    ];
    let step =
        |sum: u64, word: u64| sum.wrapping_add(word.wrapping_mul(P[1])).rotate_left(31).wrapping_mul(P[0]);
    let stripes = message.chunks_exact(32);
    let mut rest = stripes.remainder();
    let mut hash = if message.len() < 32 {
        seed.wrapping_add(P[4])
    } else {
        let mut sums = [
            seed.wrapping_add(P[0]).wrapping_add(P[1]),
            seed.wrapping_add(P[1]),
            seed,
            seed.wrapping_sub(P[0]),
        ];
        for stripe in stripes {
            for (sum, word) in sums.iter_mut().zip(little_endian(stripe, 8)) {
                *sum = step(*sum, word);
            }
        }
        let turned = sums.iter().zip([1, 7, 12, 18]).map(|(sum, turn)| sum.rotate_left(turn));
        let all = turned.fold(0, u64::wrapping_add);
        sums.iter().fold(all, |hash, sum| (hash ^ step(0, *sum)).wrapping_mul(P[0]).wrapping_add(P[3]))
    };
    hash = hash.wrapping_add(message.len() as u64);
    while let Some((word, after)) = rest.split_at_checked(8) {
        hash =
            (hash ^ step(0, little_endian(word, 8)[0])).rotate_left(27).wrapping_mul(P[0]).wrapping_add(P[3]);
        rest = after;
    }
    if let Some((word, after)) = rest.split_at_checked(4) {
        hash ^= little_endian(word, 4)[0].wrapping_mul(P[0]);
        hash = hash.rotate_left(23).wrapping_mul(P[1]).wrapping_add(P[2]);
        rest = after;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P[4])).rotate_left(11).wrapping_mul(P[0]);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(P[2]);
    hash ^ hash >> 32
}

fn murmur3(message: &[u8], seed: u32) -> u32 {
    let scrambled = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    for chunk in message.chunks(4) {
        hash ^= scrambled(little_endian(chunk, 4)[0] as u32);
        if chunk.len() == 4 {
            hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        }
    }
    hash ^= message.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

fn fnv1a(message: &[u8]) -> (u32, u64) {
    message.iter().fold((0x811c_9dc5, 0xcbf2_9ce4_8422_2325), |(narrow, wide), byte| {
        let (a, b): (u32, u64) = (narrow ^ u32::from(*byte), wide ^ u64::from(*byte));
        (a.wrapping_mul(0x0100_0193), b.wrapping_mul(0x0000_0100_0000_01b3))
    })
}

fn one_at_a_time(message: &[u8]) -> u32 {
    let times_1025 = |hash: u32| hash.wrapping_mul(1025);
    let mut hash = 0u32;
    for byte in message {
        hash = times_1025(hash.wrapping_add(u32::from(*byte)));
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_mul(9);
    hash ^= hash >> 11;
    hash.wrapping_mul(32769)
}

/// By division of polynomials, bit by bit, with the most significant bit first.
fn crc32(message: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for byte in message {
        rest ^= u32::from(byte.reverse_bits()) << 24;
        for _ in 0..8 {
            let is_out = rest >> 31 == 1;
            rest <<= 1;
            if is_out {
                rest ^= 0x04C1_1DB7;
            }
        }
    }
    !rest.reverse_bits()
}

fn adler32(message: &[u8]) -> u32 {
    let n = message.len() as u64;
    let a: u64 = 1 + message.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    let b: u64 = n + message.iter().zip(0..).map(|(byte, i)| (n - i) * u64::from(*byte)).sum::<u64>();
    (b % 65521 * 65536 + a % 65521) as u32
}

pub(super) fn of_md5() -> Vec<Case> {
    let mut cases = of_messages("md5", &[], md5);
    cases.extend(in_groups("md5_of_number", &SIZES, |size| {
        let n = groups_of(size) * size;
        let first = 0xFFFF_FFF0u32;
        let expected = (0..n as u32).map(|i| md5(&first.wrapping_add(i).to_le_bytes())).collect();
        let launches = vec![launch("md5_of_number", Space::d1(n, size), [Argument::value(first), mem(0)])];
        (vec![Memory::unset::<[u32; 4]>(n)], launches, equal::<[u32; 4]>(0, expected))
    }));
    cases
}

pub(super) fn of_sha1() -> Vec<Case> {
    [of_messages("sha1", &[], sha1), of_messages("sha1_ring", &[], sha1)].into_iter().flatten().collect()
}

pub(super) fn of_sha256() -> Vec<Case> {
    let mut cases = of_messages("sha256", &[], sha256);
    let input = Random::new(171).words(8 * 100);
    let expected = input.chunks(8).flat_map(|words| {
        (0..5).fold(words.to_vec(), |words, _| {
            sha256(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()).to_vec()
        })
    });
    let check = equal(0, expected.collect());
    let launches = vec![launch("sha256_chain", Space::d1(100, 20), [mem(0), int(5)])];
    cases.push(case("sha256_chain", (vec![Memory::of(&input)], launches, check)));
    cases
}

pub(super) fn of_sha512() -> Vec<Case> {
    let mut cases = of_messages("sha512", &[], sha512);
    let input = Random::new(172).longs(8 * 100);
    let expected = input.chunks(8).flat_map(|words| {
        (0..5).fold(words.to_vec(), |words, _| {
            sha512(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>()).to_vec()
        })
    });
    let check = equal(0, expected.collect());
    let launches = vec![launch("sha512_chain", Space::d1(100, 20), [mem(0), int(5)])];
    cases.push(case("sha512_chain", (vec![Memory::of(&input)], launches, check)));
    cases
}

pub(super) fn of_xxhash() -> Vec<Case> {
    let narrow =
        of_messages("xxh32", &[Argument::value(0x1234_5678u32)], |message| xxh32(message, 0x1234_5678));
    let wide = of_messages("xxh64", &[Argument::value(0x1234_5678_9ABCu64)], |message| {
        xxh64(message, 0x1234_5678_9ABC)
    });
    [narrow, wide].into_iter().flatten().collect()
}

pub(super) fn of_murmur3() -> Vec<Case> {
    let murmur = of_messages("murmur3", &[Argument::value(99u32)], |message| murmur3(message, 99));
    let fnv = in_groups("fnv1a", &SIZES, |size| {
        let (mut memory, mut launches) = launched("fnv1a", size, &[]);
        let hashes: Vec<(u32, u64)> =
            messages(launches[0].space.global[0]).iter().map(|m| fnv1a(m)).collect();
        memory.extend([Memory::unset::<u32>(hashes.len()), Memory::unset::<u64>(hashes.len())]);
        launches[0].arguments.extend([mem(2), mem(3)]);
        let narrow = equal::<u32>(2, hashes.iter().map(|(narrow, _)| *narrow).collect());
        (memory, launches, all(vec![narrow, equal::<u64>(3, hashes.iter().map(|(_, wide)| *wide).collect())]))
    });
    [murmur, fnv, of_messages("one_at_a_time", &[], one_at_a_time)].into_iter().flatten().collect()
}

pub(super) fn of_crc32() -> Vec<Case> {
    [
        of_messages("by_table", &[], crc32),
        of_messages("by_bits", &[], crc32),
        of_messages("by_nibbles", &[], crc32),
        of_messages("adler32", &[], adler32),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{adler32, crc32, fnv1a, md5, murmur3, one_at_a_time, sha1, sha256, sha512, xxh32, xxh64};

    const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog";

    fn hex<T>(words: &[T], of: fn(&T) -> String) -> String {
        words.iter().map(of).collect()
    }

    /// The numbers from 0 to 199, which fill several blocks.
    fn long() -> Vec<u8> {
        (0..200).collect()
    }

    #[test]
    fn md5_is_that_of_rfc_1321() {
        let of = |message: &[u8]| hex(&md5(message), |word| format!("{:08x}", word.swap_bytes()));
        assert_eq!(of(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(of(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of(FOX), "9e107d9d372bb6826bd81d3542a419d6");
        assert_eq!(of(&long()), "fb7001d34b8e82c9b579be5005d5b0a5");
    }

    #[test]
    fn sha_is_that_of_fips_180() {
        let of = |message: &[u8]| hex(&sha1(message), |word| format!("{word:08x}"));
        assert_eq!(of(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(of(&long()), "54d11e99127d159799dbce10f51a75e697780478");
        let of = |message: &[u8]| hex(&sha256(message), |word| format!("{word:08x}"));
        assert_eq!(of(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(of(&long()), "1901da1c9f699b48f6b2636e65cbf73abf99d0441ef67f5c540a42f7051dec6f");
        let of = |message: &[u8]| hex(&sha512(message), |word| format!("{word:016x}"));
        let expected = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                        2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";
        assert_eq!(of(b"abc"), expected);
        assert_eq!(
            of(&long()),
            "986058e9895e2c2ab8f9e8cbdf801db12a44842a56a91d5a4e87b1fc98b29372\
                        2c4664142e42c3c551ff898646268cd92b84ed230b8c94bed7798d4f27cd7465"
        );
    }

    #[test]
    fn xxhash_is_that_of_its_publication() {
        assert_eq!(xxh32(b"", 0), 0x02CC_5D05);
        assert_eq!(xxh32(b"abc", 0), 0x32D1_53FF);
        assert_eq!(xxh64(b"", 0), 0xEF46_DB37_51D8_E999);
        assert_eq!(xxh64(b"abc", 0), 0x44BC_2CF5_AD77_0999);
        let long = b"Nobody inspects the spammish repetition";
        assert_eq!(xxh32(long, 0), 0xE229_3B2F);
        assert_eq!(xxh64(long, 0), 0xFBCE_A83C_8A37_8BF1);
    }

    #[test]
    fn small_hashes_are_the_published_ones() {
        assert_eq!(murmur3(b"", 1), 0x514E_28B7);
        assert_eq!(murmur3(b"hello", 0), 0x248B_FA47);
        assert_eq!(murmur3(FOX, 0), 0x2E4F_F723);
        assert_eq!(fnv1a(b"a"), (0xE40C_292C, 0xAF63_DC4C_8601_EC8C));
        assert_eq!(one_at_a_time(b"a"), 0xCA2E_9442);
        assert_eq!(one_at_a_time(FOX), 0x519E_91F5);
    }

    #[test]
    fn checksums_are_the_published_ones() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }
}
