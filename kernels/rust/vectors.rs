//! Vectors, and floating-point numbers of 16 bits.

use oclave_kernel::{
    Data, Global, Item, Local, Out, Vec2, Vec3, Vec4, Vec8, Vec16, device_global, f16, kernel,
};

/// Vectors of all sizes by value.
#[allow(clippy::too_many_arguments, reason = "one of each size")]
#[kernel]
pub fn by_value(
    _item: Item<1>,
    a: Vec2<u8>,
    b: Vec3<f32>,
    c: Vec4<i16>,
    d: Vec8<u32>,
    e: Vec16<i64>,
    h: f16,
    mut out: Out<[i64; 6]>,
) {
    *out = [
        i64::from(a.x) * 1000 + i64::from(a.y),
        (b.x * 10000.0 + b.y * 100.0 + b.z) as i64,
        c.to_array().iter().fold(0, |all, x| all * 1000 + i64::from(*x)),
        (0..8).fold(0, |all, at| all * 10 + i64::from(d[at])),
        e.s0 - e.s7 + e.sa * e.sf,
        h.to_f32() as i64,
    ];
}

/// Vectors in memory of all kinds.
#[kernel]
pub fn in_memory(
    item: Item<1>,
    x: &[Vec4<f32>],
    y: Global<Vec3<f32>>,
    tile: Local<Vec2<u32>>,
    bytes: &[Vec16<u8>],
    mut out: Out<Vec4<f32>>,
) {
    let ([i], [me], [size]) = (item.global_id(), item.local_id(), item.local_size());
    tile.set(me, Vec2::new(me as u32, i as u32));
    item.barrier();
    let other = tile.get((me + 1) % size);
    let corner = y.get(i);
    y.set(i, corner.cross(x[i].xyz()) + Vec3::new(other.x as f32, other.y as f32, 0.5));
    let mut sums = Vec8::<u16>::splat(0);
    let both = bytes[i];
    sums += both.lo().map(u16::from);
    sums += both.hi().map(u16::from);
    *out = x[i] * x[(i + 1) % x.len()].swizzle([3, 2, 1, 0]) + 1.0;
    out[3] += f32::from(sums.even().odd().sum());
}

/// Operators of integers.
#[kernel]
pub fn integers(item: Item<1>, x: &[Vec4<u32>], by: Vec4<u32>, mut out: Out<[Vec4<u32>; 5]>) {
    let x = x[item.global_id()[0]];
    *out = [
        ((x / 7) ^ by) * 3 + (x % by),
        (x << 3 | x >> Vec4::new(29, 28, 27, 26)) & !by,
        1_000_000 - x,
        (-x.map(|x| x as i32)).map(|x| x as u32),
        x.zip_map(by, u32::max),
    ];
}

/// A struct with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Particle {
    /// Where it is.
    pub place: Vec3<f32>,
    /// Where it goes.
    pub speed: Vec4<f32>,
    /// What it is.
    pub kinds: Vec2<u32>,
    /// Its colour.
    pub colour: Vec4<u8>,
    /// Its weight and charge.
    pub weight: Vec2<f16>,
}

device_global! {
    /// What draws particles.
    pub static CENTRE: Vec3<f32> = Vec3::new(1.0, -2.0, 4.0);
}

/// Structs with vectors in memory and by value, and a vector in a device global.
#[kernel]
pub fn particles(_item: Item<1>, time: f32, first: Particle, mut all: Out<Particle>) {
    let own = &mut *all;
    own.place += own.speed.xyz() * time + (CENTRE.get() - own.place) * first.weight.x.to_f32();
    own.kinds += first.kinds;
    own.colour = own.colour.zip_map(first.colour, u8::saturating_add);
    own.weight.y = f16::from_f32(own.weight.y.to_f32() * 2.0);
}

/// Lengths and products.
#[kernel]
pub fn geometry(item: Item<1>, x: &[Vec3<f32>], mut out: Out<Vec4<f32>>) {
    let [i] = item.global_id();
    let (a, b) = (x[i], x[(i + 1) % x.len()]);
    *out = a.normalize().extend(a.distance(b)) + Vec4::from([a.dot(b), b.length(), 0.0, 0.0]);
}

/// All conversions of halves.
#[kernel]
pub fn halves(item: Item<1>, x: &[f16], y: &[f32], mut wide: Out<f32>, mut narrow: Out<f16>) {
    let [i] = item.global_id();
    *wide = x[i].to_f32();
    *narrow = f16::from_f32(y[i]);
}

/// Arithmetic that only some devices have.
#[kernel]
pub fn half_arithmetic(item: Item<1>, x: &[Vec4<f16>], by: f16, mut out: Out<Vec4<f16>>) {
    let x = x[item.global_id()[0]];
    *out = (x * by + x.swizzle([1, 0, 2, 3])) / (x - f16::ONE);
}
