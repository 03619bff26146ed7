//! What Rust has that C has not: enums with payloads, iterators, checked arithmetic, panics.

use oclave_kernel::{Data, Global, Item, Out, if_device, if_host, kernel};

/// A shape.
#[derive(Clone, Copy)]
enum Shape {
    Circle(f32),
    Square(f32),
    Rect { width: f32, height: f32 },
}

impl Shape {
    fn area(self) -> f32 {
        match self {
            Self::Circle(radius) => 3.0 * radius * radius,
            Self::Square(side) => side * side,
            Self::Rect { width, height } => width * height,
        }
    }
}

/// Areas of shapes on a stack of options.
#[kernel]
pub fn shapes(item: Item<1>, kinds: &[u32], mut out: Out<f32>) {
    let [i] = item.global_id();
    let kind = kinds[i];
    let shape = match kind % 3 {
        0 => Shape::Circle(kind as f32),
        1 => Shape::Square(i as f32),
        _ => Shape::Rect { width: 2.0, height: kind as f32 },
    };
    let mut stack = [None; 8];
    for (n, place) in stack.iter_mut().enumerate().take(kind as usize % 8) {
        *place = Some(match shape {
            Shape::Circle(radius) => Shape::Square(radius + n as f32),
            other => other,
        });
    }
    *out = stack.iter().flatten().map(|shape| shape.area()).sum();
}

const TABLE: [u32; 7] = [3, 1, 4, 1, 5, 9, 2];

/// Integers of all widths.
#[kernel]
pub fn integers(item: Item<1>, x: &[u64], mut out: Out<u64>) {
    let [i] = item.global_id();
    let v = x[i];
    let (a, b) = (v as u32, (v >> 32) as u32);
    let mut hash = u64::from(a.checked_mul(77777).unwrap_or(5));
    hash ^= u64::from(b.saturating_sub(100).rotate_left(3) ^ a.leading_zeros() ^ b.count_ones());
    hash = hash.wrapping_add(v.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33);
    hash = hash.wrapping_add(((u128::from(v) * u128::from(v | 1)) >> 57) as u64);
    hash ^=
        (v as i64 >> 7) as u64 ^ v.swap_bytes() ^ u64::from(a.reverse_bits()) ^ u64::from(v.trailing_zeros());
    hash = hash.wrapping_add(u64::from((a as u8).wrapping_mul(b as u8) as i8 as i16 as u16));
    hash ^= i64::from((f32::from(a as u16) - 30000.0) as i8) as u64;
    hash = hash.wrapping_add(v.checked_add(u64::from(b) << 40).map_or(1, |sum| sum % 1_000_003));
    let mut sorted = [0_u32; 12];
    for (n, x) in sorted.iter_mut().enumerate() {
        *x = a.rotate_right(n as u32).wrapping_add(TABLE[(n + i) % TABLE.len()]);
    }
    for n in 1..sorted.len() {
        let mut at = n;
        while at > 0 && sorted[at - 1] > sorted[at] {
            sorted.swap(at - 1, at);
            at -= 1;
        }
    }
    for part in sorted.chunks(5) {
        hash = part.iter().fold(hash, |hash, x| hash.wrapping_mul(31).wrapping_add(u64::from(*x)));
    }
    *out = hash;
}

/// A value that is passed as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Settings {
    /// Added.
    pub offset: u32,
    /// Divided by.
    pub divisor: u32,
    /// Multiplied by, one after the other.
    pub factors: [u32; 3],
}

/// Panics for a divisor of zero, for an index beyond the end, and where a check of its own fails.
#[kernel]
pub fn faults(item: Item<1>, settings: Settings, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let value = x[i] / settings.divisor;
    assert!(value != 1000, "a thousand is too much");
    let product = settings.factors.iter().fold(value + settings.offset, |a, b| a.wrapping_mul(*b));
    out.set(i, product);
}

/// Of what may be one memory.
#[kernel]
pub fn differences(item: Item<1>, x: &[u32], y: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    *out = x[i].wrapping_sub(y[i]);
}

/// The number of elements, and the last of them.
#[kernel]
pub fn lengths(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [_] = item.global_id();
    *out = x.len() as u32 * 1000 + x[x.len() - 1];
}

/// A hash. The host calculates it by wider numbers.
fn hash(x: u32) -> u32 {
    if_host!({
        (u64::from(x) * 0x9e37_79b9 % (1 << 32)) as u32
    } else {
        x.wrapping_mul(0x9e37_79b9)
    })
}

/// The same numbers by code for each side, and a number that tells the side.
#[kernel]
pub fn sides(item: Item<1>, x: &[u32], mut out: Out<[u32; 2]>) {
    out[0] = hash(x[item.global_id()[0]]);
    if_device! {
        out[1] = 1;
    }
}
