//! What kernels share with each other and the host, objects, groups.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Data, Global, Item, Local, MathExt, Out, device_global, kernel, spec_constant};

/// A struct in a device global.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Limits {
    /// The least.
    pub least: i32,
    /// The greatest, and one more.
    pub rest: [i32; 2],
}

device_global! {
    /// A number.
    pub static FACTOR: u32 = 3;
    /// A struct.
    pub static LIMITS: Limits = Limits { least: -5, rest: [50, 7] };
    /// An array.
    pub static STEPS: [u16; 6] = [1, 2, 3, 4, 5, 6];
    /// A counter.
    pub static CALLS: AtomicU32 = AtomicU32::new(100);
    /// Counters.
    pub static SIGNS: [AtomicI32; 3] = [const { AtomicI32::new(-1) }; 3];
    /// What the host cannot write.
    #[host_access(read)]
    pub static LAST: u32 = 0;
}

spec_constant! {
    /// How many rounds.
    #[id(0)]
    pub static ROUNDS: u32 = 2;
    /// What the kernel adds.
    #[id(1)]
    pub static ADDED: i64 = -1;
    /// By what.
    #[id(2)]
    pub static SCALE: f32 = 0.5;
}

/// Reads device globals, and counts in them.
#[kernel]
pub fn globals(item: Item<1>, mut out: Out<i32>) {
    let [i] = item.global_id();
    let limits = LIMITS.get();
    let value = (i as u32 * FACTOR.get()) as i32 + i32::from(STEPS.elements().get(i % 6));
    CALLS.fetch_add(1, Relaxed);
    SIGNS[i % 3].fetch_sub(2, Relaxed);
    *out = value.clamp(limits.least, limits.rest[0]) + limits.rest[1];
}

/// Changes device globals.
#[kernel]
pub fn change(_item: Item<1>, by: u16) {
    let steps = STEPS.elements();
    for at in 0..steps.len() {
        steps.set(at, steps.get(at) + by);
    }
    LIMITS.set(Limits { least: -i32::from(by), ..LIMITS.get() });
    LAST.set(u32::from(by));
}

/// Uses specialization constants.
#[kernel]
pub fn constants(_item: Item<1>, mut out: Out<[f32; 2]>) {
    for _ in 0..ROUNDS.get() {
        out[0] = out[0] * SCALE.get() + ADDED.get() as f32;
    }
    out[1] = ROUNDS.get() as f32;
}

/// What has a size.
trait Sized3 {
    fn size(&self) -> u32;

    fn doubled(&self) -> u32 {
        self.size() * 2
    }
}

struct Cube(u32);

struct Plane<'a> {
    sides: &'a [u32],
}

impl Sized3 for Cube {
    fn size(&self) -> u32 {
        self.0 * self.0 * self.0
    }
}

impl Sized3 for Plane<'_> {
    fn size(&self) -> u32 {
        self.sides.iter().product()
    }

    fn doubled(&self) -> u32 {
        self.size() * 2 + 1
    }
}

/// Objects of a trait, by reference and in an array.
#[kernel]
pub fn objects(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let (cube, plane) = (Cube(x[i] % 100), Plane { sides: &x[i..i + 2] });
    let one: &dyn Sized3 = if x[i].is_multiple_of(2) { &cube } else { &plane };
    let all: [&dyn Sized3; 3] = [one, &plane, &cube];
    *out =
        all.iter().skip(i % 3).map(|object| object.doubled()).fold(one.size(), |a, b| a.wrapping_mul(31) ^ b);
}

fn plus(x: u32, by: u32) -> u32 {
    x.wrapping_add(by)
}

fn times(x: u32, by: u32) -> u32 {
    x.wrapping_mul(by)
}

static OPERATIONS: [fn(u32, u32) -> u32; 3] = [plus, times, |x, by| x ^ by << 3];

/// Functions in a table, and closures.
#[kernel]
pub fn functions(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let [i] = item.global_id();
    let (low, high) = (move |x: u32| x % (i as u32 + 1), |x: u32| x >> 5);
    let last: &dyn Fn(u32) -> u32 = if i % 2 == 0 { &low } else { &high };
    *out = last(OPERATIONS[x[i] as usize % 3](x[i], OPERATIONS[i % 3](i as u32, 5)));
}

enum Step {
    Add(u32),
    Rotate { by: u8 },
    Swap([u8; 4]),
    Stop,
}

impl Step {
    fn of(code: u32) -> Option<Self> {
        Some(match code % 5 {
            0 => Self::Add(code),
            1 => Self::Rotate { by: (code >> 3) as u8 % 32 },
            2 => Self::Swap(code.to_be_bytes()),
            3 if code % 2 == 1 => Self::Stop,
            _ => return None,
        })
    }
}

/// Enums with payloads, options and `match`.
#[kernel]
pub fn steps(item: Item<1>, codes: &[u32], mut out: Out<u32>) {
    let start = item.global_id()[0];
    let mut value = 1_u32;
    for step in codes.iter().skip(start).filter_map(|code| Step::of(*code)).take(12) {
        match step {
            Step::Add(by) => value = value.wrapping_add(by),
            Step::Rotate { by } => value = value.rotate_left(u32::from(by)),
            Step::Swap(bytes) => value ^= u32::from_le_bytes(bytes),
            Step::Stop => break,
        }
    }
    *out = value;
}

trait Monoid: Copy {
    const NEUTRAL: Self;
    fn join(self, other: Self) -> Self;
}

impl Monoid for u32 {
    const NEUTRAL: Self = 0;

    fn join(self, other: Self) -> Self {
        self.max(other)
    }
}

impl<A: Monoid, B: Monoid> Monoid for (A, B) {
    const NEUTRAL: Self = (A::NEUTRAL, B::NEUTRAL);

    fn join(self, other: Self) -> Self {
        (self.0.join(other.0), self.1.join(other.1))
    }
}

impl Monoid for i64 {
    const NEUTRAL: Self = 1;

    fn join(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

fn fold<M: Monoid>(of: impl Iterator<Item = M>) -> M {
    of.fold(M::NEUTRAL, M::join)
}

/// Generic functions and iterators.
#[kernel]
pub fn generics(item: Item<1>, x: &[u32], mut out: Out<i64>) {
    let own = x.iter().skip(item.global_id()[0]).take(9);
    let (most, (product, odd)) = fold(own.map(|x| (*x, (i64::from(*x) | 1, x & 1))));
    *out = product ^ i64::from(most) ^ i64::from(odd) << 40;
}

/// Functions of mathematics.
#[kernel]
pub fn mathematics(item: Item<1>, x: &[f32], mut out: Out<[f32; 8]>) {
    let x = x[item.global_id()[0]];
    *out = [
        x.sin(),
        x.abs().sqrt(),
        x.exp2(),
        x.mul_add(2.0, 1.0),
        x.floor() + x.fract(),
        (x * x + 1.0).rsqrt(),
        (x * x + 1.0).ln(),
        x.hypot(3.0).atan2(2.0),
    ];
}

/// A sum by a tree in local memory.
#[kernel]
pub fn tree(item: Item<1>, x: &[u32], tile: Local<u32>, sums: Global<u32>) {
    let ([me], [size]) = (item.local_id(), item.local_size());
    tile.set(me, x.get(item.global_id()[0]).copied().unwrap_or(0));
    item.barrier();
    let mut half = size / 2;
    while half > 0 {
        if me < half {
            tile.set(me, tile.get(me).wrapping_add(tile.get(me + half)));
        }
        item.barrier();
        half /= 2;
    }
    if me == 0 {
        sums.set(item.group_id()[0], tile.get(0));
    }
}

/// A scan of each work-group, in local memory, with two barriers a round.
#[kernel]
pub fn scan(item: Item<1>, x: &[u32], tile: Local<u32>, mut out: Out<u32>) {
    let ([me], [size]) = (item.local_id(), item.local_size());
    tile.set(me, x[item.global_id()[0]]);
    item.local_barrier();
    let mut distance = 1;
    while distance < size {
        let before = if me >= distance { tile.get(me - distance) } else { 0 };
        item.local_barrier();
        tile.set(me, tile.get(me).wrapping_add(before));
        item.local_barrier();
        distance *= 2;
    }
    *out = tile.get(me);
}

/// Passes values on in global memory, from neighbour to neighbour of a work-group.
#[kernel]
pub fn passed(item: Item<1>, rounds: u32, x: Global<u32>) {
    let ([me], [size]) = (item.local_id(), item.local_size());
    let first = item.group_id()[0] * size;
    for _ in 0..rounds {
        let next = x.get(first + (me + 1) % size);
        item.global_barrier();
        x.set(first + me, next + 1);
        item.global_barrier();
    }
}

/// Functions of the work-group.
#[kernel]
pub fn work_groups(item: Item<1>, x: &[u32], mut out: Out<[u32; 9]>) {
    let value = x[item.global_id()[0]];
    let group = item.work_group();
    *out = [
        group.reduce_add(value),
        group.reduce_min(value),
        group.reduce_max(-(value as i32)) as u32,
        group.scan_inclusive_add(value),
        group.scan_exclusive_add(value),
        group.scan_exclusive_max(value),
        group.broadcast(value, [3]),
        u32::from(group.all(value < 900)),
        u32::from(group.any(value < 10)),
    ];
}

/// Functions of the sub-group, and its ids.
#[kernel]
pub fn sub_groups(item: Item<1>, x: &[u32], mut out: Out<[u32; 8]>) {
    let value = x[item.global_id()[0]];
    let group = item.sub_group();
    *out = [
        group.id(),
        group.size(),
        group.local_id(),
        group.reduce_add(value),
        group.reduce_max(value),
        group.scan_inclusive_add(value),
        group.broadcast(value, 0),
        u32::from(group.all(value < 900)) | u32::from(group.any(value < 10)) << 1,
    ];
    group.barrier();
}

/// One more than a multiple, for chains in graphs.
#[kernel]
pub fn advance(_item: Item<1>, factor: u32, addend: u32, mut x: Out<u32>) {
    *x = x.wrapping_mul(factor).wrapping_add(addend);
}

/// From one memory to another.
#[kernel]
pub fn moved(item: Item<1>, from: &[u32], mut to: Out<u32>) {
    *to = from[item.global_id()[0]].wrapping_add(1);
}

/// One less, as long as there is something left.
#[kernel]
pub fn count_down(_item: Item<1>, mut left: Out<u32>) {
    *left = left.saturating_sub(1);
}
