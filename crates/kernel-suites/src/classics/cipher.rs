//! Ciphers.

use super::common::{Parts, Random, SIZES, equal, groups_of, in_groups, launch, mem, uint};
use crate::case::{Argument, Case, Memory, Space};

/// Multiplies in the field of AES.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1b };
        b >>= 1;
    }
    product
}

fn substituted(byte: u8) -> u8 {
    // The power of 254 is the inverse, and 0 stays 0.
    let inverse = (0..254).fold(1, |power, _| times(power, byte));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// The S-box, which takes too long to compute for each byte.
fn sbox() -> Vec<u8> {
    (0..=255).map(substituted).collect()
}

/// The 11 keys of the rounds.
fn expanded(key: [u8; 16], sbox: &[u8]) -> Vec<u8> {
    let mut keys = key.to_vec();
    let mut constant = 1;
    for word in 4..44 {
        let mut last = keys[4 * word - 4..].to_vec();
        if word % 4 == 0 {
            last.rotate_left(1);
            last.iter_mut().for_each(|byte| *byte = sbox[usize::from(*byte)]);
            last[0] ^= constant;
            constant = times(constant, 2);
        }
        for (i, byte) in last.iter().enumerate() {
            keys.push(keys[4 * word - 16 + i] ^ byte);
        }
    }
    keys
}

/// A block, on bytes as the standard describes it.
fn aes(keys: &[u8], sbox: &[u8], block: [u8; 16]) -> [u8; 16] {
    let mut s = block;
    let add =
        |s: &mut [u8; 16], round: usize| s.iter_mut().zip(&keys[16 * round..]).for_each(|(s, key)| *s ^= key);
    add(&mut s, 0);
    for round in 1..=10 {
        let t = s.map(|byte| sbox[usize::from(byte)]);
        for (i, byte) in s.iter_mut().enumerate() {
            *byte = t[(i + 4 * (i % 4)) % 16];
        }
        if round < 10 {
            for column in s.chunks_mut(4) {
                let c = column.to_vec();
                for (i, byte) in column.iter_mut().enumerate() {
                    *byte = times(c[i], 2) ^ times(c[(i + 1) % 4], 3) ^ c[(i + 2) % 4] ^ c[(i + 3) % 4];
                }
            }
        }
        add(&mut s, round);
    }
    s
}

fn blocks(seed: u64, n: usize) -> Vec<[u8; 16]> {
    let mut random = Random::new(seed);
    (0..n).map(|_| (u128::from(random.u64()) << 64 | u128::from(random.u64())).to_le_bytes()).collect()
}

pub(super) fn of_aes() -> Vec<Case> {
    let sbox = sbox();
    let key = blocks(180, 1)[0];
    let keys = expanded(key, &sbox);
    let text = |size: usize| blocks(181, groups_of(size) * size);
    let encrypt = |text: &[[u8; 16]]| text.iter().map(|block| aes(&keys, &sbox, *block)).collect::<Vec<_>>();
    let on_blocks = |kernel: &str, size: usize, from: &[[u8; 16]], to: Vec<[u8; 16]>| -> Parts {
        let memory = vec![Memory::of(&key), Memory::of(from), Memory::unset::<[u8; 16]>(from.len())];
        (memory, vec![launch(kernel, Space::d1(from.len(), size), [0, 1, 2].map(mem))], equal(2, to))
    };
    let mut cases = in_groups("by_tables", &SIZES, |size| {
        on_blocks("by_tables", size, &text(size), encrypt(&text(size)))
    });
    cases.extend(in_groups("decrypt_bytes", &SIZES, |size| {
        on_blocks("decrypt_bytes", size, &encrypt(&text(size)), text(size))
    }));
    cases.extend(in_groups("counter_mode", &SIZES, |size| {
        let nonce = [0x0102_0304u32, 0x0506_0708, 0x090A_0B0C, 0xFFFF_FFF0];
        let counter = |i: usize| {
            let words = [nonce[0], nonce[1], nonce[2], nonce[3].wrapping_add(i as u32)];
            let mut bytes = [0; 16];
            bytes
                .iter_mut()
                .zip(words.iter().flat_map(|word| word.to_be_bytes()))
                .for_each(|(to, byte)| *to = byte);
            bytes
        };
        let text = text(size);
        let hidden = (0..).zip(&text).flat_map(|(i, block)| {
            let mask = aes(&keys, &sbox, counter(i));
            (0..16).map(move |k| block[k] ^ mask[k])
        });
        let expected: Vec<u8> = hidden.collect();
        let memory = vec![Memory::of(&key), Memory::of(&text), Memory::unset::<[u8; 16]>(text.len())];
        let arguments = [mem(0), Argument::value(nonce), mem(1), mem(2)];
        (memory, vec![launch("counter_mode", Space::d1(text.len(), size), arguments)], equal(2, expected))
    }));
    cases
}

/// A block of ChaCha20.
fn chacha20(key: &[u32], counter: u32, nonce: &[u32]) -> Vec<u32> {
    let letters = *b"expand 32-byte k";
    let mut first: Vec<u32> = bytemuck::pod_collect_to_vec(&letters);
    first.extend_from_slice(key);
    first.push(counter);
    first.extend_from_slice(nonce);
    let mut x = first.clone();
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        for (to, from, other, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            x[to] = x[to].wrapping_add(x[from]);
            x[other] = (x[other] ^ x[to]).rotate_left(turn);
        }
    };
    for _ in 0..10 {
        (0..4).for_each(|i| quarter(i, 4 + i, 8 + i, 12 + i));
        (0..4).for_each(|i| quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4));
    }
    x.iter().zip(&first).map(|(x, first)| x.wrapping_add(*first)).collect()
}

pub(super) fn of_chacha20() -> Vec<Case> {
    let mut random = Random::new(182);
    let (key, nonce) = (random.words(8), random.words(3));
    let counter = 0xFFFF_FFFEu32;
    let text = |size: usize| Random::new(183).words(16 * groups_of(size) * size);
    let expected = |size: usize| -> Vec<u32> {
        let masks = (0u32..).flat_map(|i| chacha20(&key, counter.wrapping_add(i), &nonce));
        text(size).iter().zip(masks).map(|(word, mask)| word ^ mask).collect()
    };
    let mut cases = in_groups("by_words", &SIZES, |size| {
        let text = text(size);
        let memory =
            vec![Memory::of(&key), Memory::of(&nonce), Memory::of(&text), Memory::unset::<u32>(text.len())];
        let arguments = [mem(0), mem(1), Argument::value(counter), mem(2), mem(3)];
        let launches = vec![launch("by_words", Space::d1(text.len() / 16, size), arguments)];
        (memory, launches, equal(3, expected(size)))
    });
    cases.extend(in_groups("by_rows", &SIZES, |size| {
        let text = text(size);
        let memory = vec![Memory::of(&key), Memory::of(&text), Memory::unset::<u32>(text.len())];
        let last_row = Argument::value([counter, nonce[0], nonce[1], nonce[2]]);
        let launches =
            vec![launch("by_rows", Space::d1(text.len() / 16, size), [mem(0), last_row, mem(1), mem(2)])];
        (memory, launches, equal(2, expected(size)))
    }));
    cases
}

fn xtea(key: &[u32], [mut a, mut b]: [u32; 2]) -> [u32; 2] {
    let mixed = |x: u32| (x << 4 ^ x >> 5).wrapping_add(x);
    for round in 0..32u32 {
        let sum = round.wrapping_mul(0x9E37_79B9);
        a = a.wrapping_add(mixed(b) ^ sum.wrapping_add(key[sum as usize % 4]));
        let sum = sum.wrapping_add(0x9E37_79B9);
        b = b.wrapping_add(mixed(a) ^ sum.wrapping_add(key[(sum >> 11) as usize % 4]));
    }
    [a, b]
}

fn rc4(key: &[u8], length: usize) -> Vec<u8> {
    let mut s: Vec<u8> = (0..=255).collect();
    let mut j = 0;
    for i in 0..256 {
        j = (j + usize::from(s[i]) + usize::from(key[i % key.len()])) % 256;
        s.swap(i, j);
    }
    j = 0;
    let next = |i: usize| {
        let i = i % 256;
        j = (j + usize::from(s[i])) % 256;
        s.swap(i, j);
        s[(usize::from(s[i]) + usize::from(s[j])) % 256]
    };
    (1..=length).map(next).collect()
}

pub(super) fn of_xtea() -> Vec<Case> {
    let key = Random::new(184).words(4);
    let plain = |size: usize| -> Vec<[u32; 2]> {
        let mut random = Random::new(185);
        (0..groups_of(size) * size).map(|_| [random.u32(), random.u32()]).collect()
    };
    let secret = |size: usize| plain(size).iter().map(|block| xtea(&key, *block)).collect::<Vec<[u32; 2]>>();
    let on_blocks = |kernel: &str, size: usize, from: Vec<[u32; 2]>, to: Vec<[u32; 2]>| -> Parts {
        let launches = vec![launch(kernel, Space::d1(from.len(), size), [mem(0), mem(1)])];
        (vec![Memory::of(&key), Memory::of(&from)], launches, equal(1, to))
    };
    let mut cases =
        in_groups("encrypt", &SIZES, |size| on_blocks("encrypt", size, plain(size), secret(size)));
    cases.extend(in_groups("decrypt", &SIZES, |size| on_blocks("decrypt", size, secret(size), plain(size))));
    cases.extend(in_groups("rc4", &SIZES, |size| {
        let (n, key_length, length) = (3 * size.min(100), 7, 40);
        let n = n.div_ceil(size).max(3) * size;
        let keys = Random::new(186).bytes(n * key_length);
        let expected = keys.chunks(key_length).flat_map(|key| rc4(key, length)).collect();
        let arguments = [mem(0), uint(key_length), mem(1), uint(length)];
        let launches = vec![launch("rc4", Space::d1(n, size), arguments)];
        (vec![Memory::of(&keys), Memory::unset::<u8>(n * length)], launches, equal(1, expected))
    }));
    cases
}

#[cfg(test)]
mod tests {
    use super::{aes, chacha20, expanded, rc4, sbox, xtea};

    #[test]
    fn aes_is_that_of_fips_197() {
        let sbox = sbox();
        let key = std::array::from_fn(|i| i as u8);
        let text = std::array::from_fn(|i| 0x11 * i as u8);
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128;
        assert_eq!(u128::from_be_bytes(aes(&expanded(key, &sbox), &sbox, text)), expected);
    }

    #[test]
    fn chacha20_is_that_of_rfc_8439() {
        let bytes: Vec<u8> = (0..32).collect();
        let key: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        let block = chacha20(&key, 1, &[0x0900_0000, 0x4a00_0000, 0]);
        assert_eq!(block[..4], [0xe4e7_f110, 0x1559_3bd1, 0x1fdd_0f50, 0xc471_20a3]);
        assert_eq!(block[15], 0x4e3c_50a2);
    }

    #[test]
    fn xtea_is_the_published_one() {
        let key = [0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f];
        assert_eq!(xtea(&key, [0x4142_4344, 0x4546_4748]), [0x497d_f3d0, 0x7261_2cb5]);
    }

    #[test]
    fn rc4_is_the_published_one() {
        assert_eq!(rc4(b"Key", 8), [0xEB, 0x9F, 0x77, 0x81, 0xB7, 0x34, 0xCA, 0x72]);
        assert_eq!(rc4(b"Wiki", 6), [0x60, 0x44, 0xDB, 0x6D, 0x41, 0xB7]);
    }
}
