//! Parts of private arrays. Their pointers move on in loops, and say by null that there is no next element.

use oclave_kernel::{Item, Out, kernel};

/// The bytes of six characters in UTF-8.
#[kernel]
pub fn characters(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let mut hash = 0_u32;
    for word in &x[i..i + 6] {
        let Some(character) = char::from_u32(word % 0x11_0000) else {
            hash += 1;
            continue;
        };
        let (code, mut buffer) = (character as u32, [0_u8; 4]);
        let length = character.len_utf8();
        match length {
            1 => buffer[0] = code as u8,
            2 => {
                buffer[0] = 0xc0 | (code >> 6) as u8;
                buffer[1] = 0x80 | (code & 63) as u8;
            }
            3 => {
                buffer[0] = 0xe0 | (code >> 12) as u8;
                buffer[1] = 0x80 | (code >> 6 & 63) as u8;
                buffer[2] = 0x80 | (code & 63) as u8;
            }
            _ => {
                for (place, byte) in buffer.iter_mut().rev().enumerate() {
                    let bits = (code >> (6 * place)) as u8;
                    *byte = if place == 3 { 0xf0 | bits } else { 0x80 | (bits & 63) };
                }
            }
        }
        hash = buffer[..length].iter().fold(hash, |hash, byte| hash.wrapping_mul(257) ^ u32::from(*byte));
    }
    *out = hash;
}

/// A transformation of 16 numbers like Fourier's, by integers.
#[kernel]
pub fn butterflies(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let mut numbers: [[u32; 2]; 16] = std::array::from_fn(|k| [x[i + k], 0]);
    for k in 0..16_usize {
        let reversed = usize::from((k as u8).reverse_bits() >> 4);
        if k < reversed {
            numbers.swap(k, reversed);
        }
    }
    let mut length = 2;
    while length <= 16 {
        for block in numbers.chunks_mut(length) {
            let (low, high) = block.split_at_mut(length / 2);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let factor = [(k * 7 + length) as u32, (k * 5) as u32];
                let turned = [
                    b[0].wrapping_mul(factor[0]).wrapping_sub(b[1].wrapping_mul(factor[1])),
                    b[0].wrapping_mul(factor[1]).wrapping_add(b[1].wrapping_mul(factor[0])),
                ];
                *b = [a[0].wrapping_sub(turned[0]), a[1].wrapping_sub(turned[1])];
                *a = [a[0].wrapping_add(turned[0]), a[1].wrapping_add(turned[1])];
            }
        }
        length *= 2;
    }
    *out = numbers.as_flattened().iter().fold(0, |hash: u32, number| hash.rotate_left(5) ^ number);
}

/// The same by one length, as floating-point numbers.
#[kernel]
pub fn pairs(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let mut numbers: [[f32; 2]; 16] = std::array::from_fn(|k| [(x[i + k] >> 16) as f32, 1.0]);
    for k in 0..16_usize {
        let reversed = usize::from((k as u8).reverse_bits() >> 4);
        if k < reversed {
            numbers.swap(k, reversed);
        }
    }
    for block in numbers.chunks_mut(2) {
        let (low, high) = block.split_at_mut(1);
        for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
            let turn = (k as f32 * 0.25, k as f32 + 2.0);
            let turned = [b[0] * turn.1 - b[1] * turn.0, b[0] * turn.0 + b[1] * turn.1];
            (*a, *b) = ([a[0] + turned[0], a[1] + turned[1]], [a[0] - turned[0], a[1] - turned[1]]);
        }
    }
    *out = numbers.as_flattened().iter().fold(0, |hash: u32, number| hash.rotate_left(5) ^ number.to_bits());
}

#[inline(never)]
fn sum_of(slots: &[Option<&u32>; 16]) -> u32 {
    slots.iter().flatten().fold(0, |sum: u32, value| sum.rotate_left(5).wrapping_add(**value))
}

/// Private references, or none.
#[kernel]
pub fn slots(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let own: [u32; 4] = std::array::from_fn(|k| x[i + k]);
    let mut slots: [Option<&u32>; 16] = [None; 16];
    slots[x[i] as usize % 16] = Some(&own[i % 4]);
    if x[i + 1].is_multiple_of(2) {
        slots[i % 16] = Some(&own[1]);
    }
    let copied = slots;
    slots[3] = None;
    let here = slots.iter().flatten().fold(0, |sum: u32, value| sum.wrapping_mul(31) ^ **value);
    *out = here ^ sum_of(&copied);
}

static SMALL: [u32; 4] = [1, 2, 3, 5];
static LARGE: [u32; 4] = [100, 400, 900, 1600];
static EVEN: [u32; 4] = [22, 44, 66, 88];
static ODD: [u32; 4] = [7, 77, 777, 7777];

/// One of several tables.
#[kernel]
pub fn tables(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let table = match x[i] % 5 {
        0 => &SMALL,
        1 => &LARGE,
        2 => &EVEN,
        _ => &ODD,
    };
    *out = table[x[i + 1] as usize % 4];
}
