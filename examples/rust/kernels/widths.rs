//! Operations that become integers of unusual widths, wide products, intrinsics and copies. They are exact, so that devices and
//! host agree in every bit.

use oclave_kernel::{Item, Out, kernel};

/// The first byte that differs, as `memcmp` finds it.
fn differs(a: &[u8], b: &[u8]) -> u64 {
    u64::from(a == b) + u64::from(a < b) * 2
}

#[inline(never)]
fn fold(x: &[u64], by: u64) -> u64 {
    x.iter().fold(by, |a, b| a.rotate_left(5) ^ b.wrapping_mul(31))
}

static TABLE: [u64; 5] = [2, 3, 5, 7, 11];

/// Fills and copies of memory, of bytes and of larger integers. Some lengths are known when the kernel is built.
#[kernel]
pub fn copies(item: Item<1>, numbers: &[u64], mut out: Out<[u64; 4]>) {
    let [i] = item.global_id();
    let x = &numbers[i..];
    let (mut bytes, mut halves, mut words, mut wide) =
        ([i as u8; 301], [7_u16; 90], [!0_u32; 70], [1_u64; 40]);
    bytes[5..200].fill(x[0] as u8);
    bytes[200 + i % 7..290 - i % 11].fill(x[1] as u8);
    halves[3..80].fill(0);
    halves[i % 40..40 + i % 50].fill(0x101 * (i as u8) as u16);
    words[1..65].fill(0);
    words[i % 30..35 + i % 30].fill(x[1] as u32);
    wide[2..38].fill(u64::MAX);
    wide[..16].copy_from_slice(&x[..16]);
    let count = 9 + i % 8;
    wide[20..20 + count].copy_from_slice(&x[..count]);
    wide.copy_within(1..31, 4);
    wide.copy_within(i % 6..i % 6 + 20, 3);
    words.copy_within(9..50, 2);
    halves.copy_within(0..70, 11 + i % 5);
    bytes.copy_within(i % 90..i % 90 + 150, 37);
    let [of_bytes, of_halves, of_words] = [
        bytes.iter().fold(0, |sum: u64, x| sum.rotate_left(3) ^ u64::from(*x)),
        halves.iter().fold(0, |sum: u64, x| sum.rotate_left(3) ^ u64::from(*x)),
        words.iter().fold(0, |sum: u64, x| sum.rotate_left(3) ^ u64::from(*x)),
    ];
    *out = [of_bytes, of_halves, of_words, fold(&wide, 3)];
}

/// Everything of two numbers.
#[kernel]
pub fn widths(item: Item<1>, numbers: &[u64], mut out: Out<[u64; 26]>) {
    let [i] = item.global_id();
    let (x, y) = (numbers[i], numbers[i + 1]);
    let (f, g) = (x as u32 as f32 / 1024.0, y as i32 as f32 / 4096.0);
    let mut bytes = [0_u8; 24];
    bytes[..8].copy_from_slice(&x.to_le_bytes());
    bytes[8..16].copy_from_slice(&y.to_be_bytes());
    bytes.copy_within(i % 5..i % 5 + 11, 13 - i % 7);
    *out = [
        x.checked_add(y).unwrap_or(1),
        x.saturating_sub(y) ^ x.saturating_add(y),
        (x as i64).saturating_add(y as i64) as u64 ^ (x as i8).saturating_sub(y as i8) as u64,
        ((u128::from(x) * u128::from(y)) >> 31) as u64,
        ((u128::from(x) << (y % 128)) >> 64) as u64,
        ((x as i64 as i128 - y as i64 as i128) >> (y % 100)) as u64,
        u64::from((x as i64 as i128) < (y as i64 as i128 * 5 - 3)),
        x.rotate_left(y as u32) ^ x.swap_bytes() ^ y.reverse_bits(),
        u64::from(
            x.leading_zeros() + y.trailing_zeros() + (x as u16).count_zeros() + (y as u8).leading_ones(),
        ),
        u64::from((x as u16).checked_mul(y as u16).unwrap_or(9))
            ^ u64::from((x as i32).wrapping_abs() as u32),
        (g as i8 as u64)
            ^ u64::from(f as u16)
            ^ (g * 1e12) as i32 as u64
            ^ u64::from((f - f32::INFINITY) as u32)
            ^ (g * 0.01) as i8 as u64,
        if x % 7 == 3 { x.min(y) } else { x.max(y) } ^ u64::from((x & 255).is_power_of_two()),
        x.checked_mul(y & 15).unwrap_or(3) ^ (x as i64).checked_mul(y as i64 & 7).unwrap_or(3) as u64,
        (0..x >> 54).sum::<u64>() ^ (0..(y as u32 >> 23)).map(u64::from).sum::<u64>(),
        match x % 9 {
            0 => y,
            3 => x,
            4 => 7,
            5 => x ^ y,
            8 => 1,
            _ => 0,
        },
        u64::from(f.floor().to_bits()) << 32
            ^ u64::from(f.mul_add(2.0, 1.0).abs().to_bits())
            ^ u64::from(g.max(f).to_bits()) << 7,
        u64::from(g.is_nan())
            ^ u64::from(f.is_normal()) << 1
            ^ u64::from(g.round().to_bits()) << 32
            ^ u64::from(f.trunc().to_bits()),
        u64::from((g.copysign(-f) - 0.5).ceil().to_bits()) ^ u64::from((f * g + 1.0).to_bits()) << 32,
        (x as i64 / (y as i64 | 1)) as u64 ^ (x as i64 % (y as i64 | 1)) as u64 ^ (x / (y | 1)),
        u64::from((x as i16 >> (y % 16)) as u16) ^ u64::from((x as i8).wrapping_mul(y as i8) as u8) << 16,
        differs(&bytes[..8], &bytes[8..16]) ^ u64::from(bytes[i % 24]) << 8,
        u64::from_le_bytes([
            bytes[3], bytes[9], bytes[1], bytes[20], bytes[13], bytes[14], bytes[15], bytes[16],
        ]),
        fold(&numbers[i..i + 2], y) ^ fold(&TABLE[i % 5..], x),
        fold(&[x, y, x ^ y, i as u64], 1),
        (x as i64).signum() as u64
            ^ (x as u32).abs_diff(y as u32) as u64
            ^ (x as i64).rem_euclid(1000) as u64,
        u64::from((x as u8 as char).is_ascii_alphabetic()) ^ u64::from(x > y) << 3 ^ x.isqrt() << 9,
    ];
}

/// What rustc has functions for in numbers of 128 bits: quotients, checks, saturation, counts of bits.
#[kernel]
pub fn of_128_bits(item: Item<1>, x: &[[u64; 2]], mut out: Out<[u64; 2]>) {
    let number = |at: usize| u128::from(x[at][0]) << 64 | u128::from(x[at][1]);
    let [i] = item.global_id();
    let (a, b) = (number(i), number(i + 1));
    let (c, d) = (a.cast_signed(), b.cast_signed());
    let mut result = (a / (b | 1)) ^ (a % (b | 1));
    result ^= (c / (d >> 70 | 1)).cast_unsigned() ^ (c.checked_rem(d).unwrap_or(7)).cast_unsigned();
    for (value, overflows) in [a.overflowing_add(b), a.overflowing_sub(b), a.overflowing_mul(b >> (a % 128))]
    {
        result = result.rotate_left(9) ^ value ^ u128::from(overflows);
    }
    for (value, overflows) in [c.overflowing_add(d), c.overflowing_sub(d), c.overflowing_mul(d >> (a % 128))]
    {
        result = result.rotate_left(9) ^ value.cast_unsigned() ^ u128::from(overflows);
    }
    result ^= a.saturating_add(b) ^ a.saturating_sub(b) ^ c.saturating_add(d).cast_unsigned();
    result ^= c.saturating_sub(d).cast_unsigned() ^ a.min(b) ^ c.max(d).cast_unsigned() ^ c.unsigned_abs();
    result ^= u128::from(a.leading_zeros() + b.trailing_zeros() * 200 + (a & b).count_ones() * 50_000);
    result ^= a.swap_bytes() ^ b.reverse_bits() ^ a.rotate_right((b % 300) as u32);
    let order = c.cmp(&d) as i8 * 4 + a.cmp(&b) as i8;
    result ^= u128::from(order.cast_unsigned());
    // The product of two numbers in a field.
    result ^= u128::from((u128::from(x[i][0]) * u128::from(x[i][1]) % 0xffff_ffff_0000_0001) as u64);
    *out = [(result >> 64) as u64, result as u64];
}

/// Numbers of 128 bits, some of which lie between two numbers of so many bits.
fn wide(x: u64, y: u64, bits: u32) -> [u128; 2] {
    let place = (y % 128) as u32;
    let between = 1_u128 << place | 1 << place.saturating_sub(bits) | u128::from(x & 1) << (place / 2);
    [
        (u128::from(x) << 64 | u128::from(y)) >> (y % 113),
        between.wrapping_add(u128::from(y % 3)).wrapping_sub(1),
    ]
}

/// The halves of a number.
fn halves(wide: u128) -> [u64; 2] {
    [wide as u64, (wide >> 64) as u64]
}

/// Numbers of 128 bits as `f32`, and back.
#[kernel]
pub fn wide_and_floats(item: Item<1>, numbers: &[u64], mut out: Out<[u64; 8]>) {
    let [i] = item.global_id();
    let (x, y) = (numbers[i], numbers[i + 1]);
    let [a, b] = wide(x, y, 24);
    let f = f32::from_bits((x >> 7) as u32);
    let bits = |f: f32| u64::from(f.to_bits());
    let ([c, d], [e, g]) = (halves(f as u128), halves(f as i128 as u128));
    *out = [
        bits(a as f32),
        bits(b as f32),
        bits(a as i128 as f32),
        bits((b as i128).wrapping_neg() as f32),
        c,
        d,
        e,
        g,
    ];
}

/// Numbers of 128 bits as `f64`, and back.
#[kernel]
pub fn wide_and_doubles(item: Item<1>, numbers: &[u64], mut out: Out<[u64; 8]>) {
    let [i] = item.global_id();
    let (x, y) = (numbers[i], numbers[i + 1]);
    let [a, b] = wide(x, y, 53);
    // With an exponent from -65 to 190.
    let f = f64::from_bits(x & !(0x7ff << 52) | (958 + (y >> 13) % 256) << 52);
    let ([c, d], [e, g]) = (halves(f as u128), halves(f as i128 as u128));
    let [h, j, k, l] =
        [a as f64, b as f64, a as i128 as f64, (b as i128).wrapping_neg() as f64].map(f64::to_bits);
    *out = [h, j, k, l, c, d, e, g];
}

/// Tells numbers of 128 bits apart.
#[kernel]
pub fn matched(item: Item<1>, numbers: &[u64], mut out: Out<u64>) {
    let [i] = item.global_id();
    let (x, y) = (numbers[i], numbers[i + 1]);
    let wide = u128::from(x) << 64 | u128::from(y);
    *out = match wide {
        0x1_0000_0000_0000_0000 => x.wrapping_mul(3),
        0x1_0000_0000_0000_0001 => y ^ 77,
        0x2_0000_0000_0000_0000 => x << 9,
        1 => 3 - y,
        u128::MAX => x / 5,
        _ => x ^ y,
    };
}

/// Which bytes of two numbers have their highest bit set, by vector instructions of the host.
#[kernel]
pub fn highest_bits(item: Item<1>, numbers: &[u64], mut out: Out<u32>) {
    let [i] = item.global_id();
    let [x, y] = [numbers[i], numbers[i + 1]];
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_movemask_epi8, _mm_set_epi64x};
        // SAFETY: each processor of this architecture has these instructions.
        *out = unsafe { _mm_movemask_epi8(_mm_set_epi64x(y as i64, x as i64)) } as u32;
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bytes = x.to_le_bytes().into_iter().chain(y.to_le_bytes());
        *out = bytes.rev().fold(0, |bits, byte| bits << 1 | u32::from(byte >> 7));
    }
}
