//! Each kind of parameter.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use oclave_kernel::{Data, Global, Item, Local, Out, kernel};

/// A number of each type.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub fn numbers(
    _item: Item<1>,
    a: i8,
    b: u8,
    c: i16,
    d: u16,
    e: i32,
    f: u32,
    g: i64,
    h: u64,
    k: f32,
    mut out: Out<[i64; 9]>,
) {
    *out = [
        i64::from(a),
        i64::from(b),
        i64::from(c),
        i64::from(d),
        i64::from(e),
        i64::from(f),
        g,
        h as i64,
        (k * 4.0) as i64,
    ];
}

/// Numbers of 64 bits with a fraction.
#[kernel]
pub fn doubles(item: Item<1>, factor: f64, x: &[f64], mut out: Out<f64>) {
    *out += factor * x[item.global_id()[0]];
}

/// Arrays by value.
#[kernel]
pub fn arrays(item: Item<1>, weights: [i16; 5], table: [[u32; 2]; 3], mut out: Out<[i32; 2]>) {
    let [i] = item.global_id();
    *out = [i32::from(weights[i % 5]), (table[i % 3][0] * 100 + table[i % 3][1]) as i32];
}

/// A struct in a struct.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Place {
    /// A corner.
    pub corner: [f32; 2],
    /// Which one.
    pub number: i32,
}

/// A struct of several kinds of fields.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Scene {
    /// Of 64 bits.
    pub wide: u64,
    /// Two structs.
    pub places: [Place; 2],
    /// Small ones.
    pub bytes: [u8; 6],
    /// One of two bytes.
    pub short: u16,
}

/// Structs by value, in memory, and as results.
#[kernel]
pub fn structs(item: Item<1>, scene: Scene, places: &[Place], mut out: Out<Scene>) {
    let [i] = item.global_id();
    let mut new = scene;
    new.wide += i as u64;
    new.places[i % 2] = places[i];
    new.bytes[i % 6] = 200;
    new.short -= i as u16;
    *out = new;
}

/// Lengths of slices, and their sum, empty ones included.
#[kernel]
pub fn slices(_item: Item<1>, x: &[u16], y: &[[u32; 3]], mut out: Out<[u64; 4]>) {
    let sum = x.iter().map(|x| u64::from(*x)).sum();
    let squares = y.iter().flatten().map(|y| u64::from(y * y)).sum();
    *out = [x.len() as u64, sum, y.len() as u64, squares];
}

/// All ways to read a slice.
#[kernel]
pub fn reads(item: Item<1>, x: &[u32], mut out: Out<[u32; 6]>) {
    let [i] = item.global_id();
    let windows = x.windows(2).filter(|pair| pair[0] < pair[1]).count();
    let (left, right) = x.split_at(i);
    *out = [
        x.get(i + 100).copied().unwrap_or(7),
        x.first().map_or(0, |x| *x) + x.last().map_or(0, |x| *x),
        windows as u32,
        left.len() as u32 * 1000 + right[0],
        x.iter().rev().skip(i).step_by(3).take(4).fold(0, |a, x| a * 3 + x),
        x.chunks(4).map(|part| part.iter().max().copied().unwrap_or(0)).sum(),
    ];
}

/// One element a work-item, of several memories.
#[kernel]
pub fn outs(item: Item<2>, mut bytes: Out<u8>, mut pairs: Out<[u16; 2]>, mut wide: Out<i64>) {
    let [x, y] = item.global_id();
    let before = *bytes;
    *bytes = before.wrapping_add(x as u8);
    pairs[0] += 1;
    pairs[1] = (x * 10 + y) as u16;
    let mut other = -(x as i64) - 5 * y as i64;
    std::mem::swap(&mut *wide, &mut other);
}

/// Memory for all work-items: reversed in place by half as many work-items.
#[kernel]
pub fn reverse(item: Item<1>, x: Global<u32>) {
    let [i] = item.global_id();
    let other = x.len() - 1 - i;
    let mine = x.swap(i, x.get(other));
    x.set(other, mine + u32::from(x.is_empty()));
}

/// Atomic operations of 32 bits.
#[kernel]
pub fn atomics(item: Item<1>, x: &[AtomicU32], y: &[AtomicI32]) {
    let i = item.global_id()[0] as u32;
    let order = Ordering::Relaxed;
    x[0].fetch_add(i, order);
    x[1].fetch_sub(1, order);
    x[2].fetch_max(i * 3, order);
    x[3].fetch_min(i + 2, order);
    x[4].fetch_or(1 << (i % 32), order);
    x[5].fetch_and(!(1 << (i % 7)), order);
    x[6].fetch_xor(i, order);
    y[0].fetch_min(-(i as i32), order);
    y[1].fetch_max(-(i as i32) - 3, Ordering::AcqRel);
    // Counts by an exchange that fails as long as others are faster.
    let mut seen = x[7].load(Ordering::Relaxed);
    while let Err(now) = x[7].compare_exchange(seen, seen + 2, Ordering::AcqRel, Ordering::Relaxed) {
        seen = now;
    }
    if i == 5 {
        x[8].store(77, Ordering::Release);
        x[9].swap(78, Ordering::SeqCst);
    }
}

/// Atomic operations of 64 bits.
#[kernel]
pub fn wide_atomics(item: Item<1>, x: &[AtomicU64], y: &[AtomicI64]) {
    let i = item.global_id()[0] as u64;
    x[0].fetch_add(i << 33, Ordering::Relaxed);
    x[1].fetch_max(i << 40, Ordering::Relaxed);
    y[0].fetch_min(-((i as i64) << 35), Ordering::Relaxed);
}

/// Local memory of a size that the host gives: the work-group's elements, one further.
#[kernel]
pub fn shifted(item: Item<1>, x: &[u32], tile: Local<u32>, pairs: Local<[u16; 2]>, mut out: Out<u32>) {
    let [me] = item.local_id();
    tile.set(me, x[item.global_id()[0]]);
    pairs.set(me, [me as u16, 1]);
    item.local_barrier();
    let next = (me + 1) % tile.len();
    let [number, one] = pairs.get(next);
    *out = tile.get(next) * 1000 + u32::from(number) * 10 + u32::from(one);
}

/// Two local arrays whose sizes the kernel knows.
#[kernel(work_group = [8, 2, 1])]
pub fn tiles(item: Item<2>, x: &[u32], mut out: Out<u32>) {
    let (small, large) = (item.local_array::<u8, 16>(), item.local_array::<u64, 32>());
    let ([me_x, me_y], [x_size, _]) = (item.local_id(), item.global_size());
    let me = me_y * 8 + me_x;
    let [column, row] = item.global_id();
    small.set(15 - me, me as u8);
    large.set(me, u64::from(x[row * x_size + column]) << 20);
    large.set(me + 16, 1);
    item.barrier();
    *out = u32::from(small.get(me)) + ((large.get(15 - me) + large.get(16 + me)) >> 10) as u32;
}

/// Ids and sizes.
#[kernel]
pub fn ids(item: Item<3>, out: Global<[u32; 18]>) {
    let all = [
        item.global_id(),
        item.global_size(),
        item.local_id(),
        item.local_size(),
        item.group_id(),
        item.group_count(),
    ];
    let mut found = [0; 18];
    for (to, from) in found.iter_mut().zip(all.iter().flatten()) {
        *to = *from as u32;
    }
    let ([x, y, z], [width, height, _]) = (item.global_id(), item.global_size());
    // The range begins at 1, 2, 3.
    out.set(((z - 3) * height + y - 2) * width + x - 1, found);
}
