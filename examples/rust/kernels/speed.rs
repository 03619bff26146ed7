//! The kernels that `ci/bench rust_kernels` compares with those of `speed_c.cl`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oclave_kernel::{Data, Global, Item, Out, kernel};

/// `y += a * x`.
#[kernel]
pub fn saxpy(item: Item<1>, a: f32, x: &[f32], mut y: Out<f32>) {
    *y += a * x[item.global_id()[0]];
}

/// A body of an n-body simulation.
#[derive(Clone, Copy, Debug, PartialEq, Data)]
#[repr(C)]
pub struct Star {
    /// Where it is.
    pub place: [f32; 3],
    /// How heavy it is.
    pub mass: f32,
}

/// The acceleration of each body.
#[kernel]
pub fn bodies(item: Item<1>, stars: &[Star], mut out: Out<[f32; 4]>) {
    let me = stars[item.global_id()[0]];
    let mut sum = [0.0; 3];
    for other in stars {
        let way: [f32; 3] = std::array::from_fn(|axis| other.place[axis] - me.place[axis]);
        let squared = way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + 0.01;
        let strength = other.mass / (squared * squared.sqrt());
        for (sum, way) in sum.iter_mut().zip(way) {
            *sum += strength * way;
        }
    }
    *out = [sum[0], sum[1], sum[2], 0.0];
}

/// The product of square matrices, by tiles in local memory.
#[kernel(work_group = [16, 16, 1])]
pub fn product(item: Item<2>, size: u32, a: &[f32], b: &[f32], c: Global<f32>) {
    let size = size as usize;
    let (tile_a, tile_b) = (item.local_array::<f32, 256>(), item.local_array::<f32, 256>());
    let ([column, row], [x, y]) = (item.global_id(), item.local_id());
    let mut sum = 0.0;
    for first in (0..size).step_by(16) {
        tile_a.set(y * 16 + x, a[row * size + first + x]);
        tile_b.set(y * 16 + x, b[(first + y) * size + column]);
        item.local_barrier();
        for k in 0..16 {
            sum += tile_a.get(y * 16 + k) * tile_b.get(k * 16 + x);
        }
        item.local_barrier();
    }
    c.set(row * size + column, sum);
}

/// The mean of each element's neighbours. What lies outside is 0.
#[kernel]
pub fn stencil(item: Item<2>, x: &[f32], mut out: Out<f32>) {
    let ([column, row], [width, height]) = (item.global_id(), item.global_size());
    let at = row * width + column;
    let left = if column > 0 { x[at - 1] } else { 0.0 };
    let right = if column + 1 < width { x[at + 1] } else { 0.0 };
    let above = if row > 0 { x[at - width] } else { 0.0 };
    let below = if row + 1 < height { x[at + width] } else { 0.0 };
    *out = (left + right + above + below) * 0.25 + x[at] * 0.5;
}

/// The sum of each work-group, by a tree in local memory.
#[kernel(work_group = [256, 1, 1])]
pub fn reduce(item: Item<1>, x: &[u32], sums: Global<u32>) {
    let tile = item.local_array::<u32, 256>();
    let [me] = item.local_id();
    tile.set(me, x[item.global_id()[0]]);
    item.local_barrier();
    let mut half = 128;
    while half > 0 {
        if me < half {
            tile.set(me, tile.get(me).wrapping_add(tile.get(me + half)));
        }
        item.local_barrier();
        half /= 2;
    }
    if me == 0 {
        sums.set(item.group_id()[0], tile.get(0));
    }
}

/// How often each byte occurs.
#[kernel]
pub fn histogram(item: Item<1>, bytes: &[u8], counts: &[AtomicU32]) {
    for byte in bytes.iter().skip(item.global_id()[0]).step_by(item.global_size()[0]) {
        counts[usize::from(*byte)].fetch_add(1, Relaxed);
    }
}

/// The sums up to each element, of each work-group.
#[kernel(work_group = [256, 1, 1])]
pub fn scan(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let tile = item.local_array::<u32, 256>();
    let [me] = item.local_id();
    tile.set(me, x[item.global_id()[0]]);
    item.local_barrier();
    let mut distance = 1;
    while distance < 256 {
        let before = if me >= distance { tile.get(me - distance) } else { 0 };
        item.local_barrier();
        tile.set(me, tile.get(me).wrapping_add(before));
        item.local_barrier();
        distance *= 2;
    }
    *out = tile.get(me);
}

/// Steps until a point leaves the circle.
#[kernel]
pub fn mandelbrot(item: Item<2>, most: u32, mut out: Out<u32>) {
    let ([column, row], [width, height]) = (item.global_id(), item.global_size());
    let (a, b) =
        (column as f32 / width as f32 * 3.0 - 2.0, row as f32 / height as f32 * 2.0 - 1.0);
    let (mut x, mut y, mut steps) = (0.0_f32, 0.0_f32, 0);
    while steps < most && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + a, 2.0 * x * y + b);
        steps += 1;
    }
    *out = steps;
}

/// The product of a sparse matrix (by rows) and a vector.
#[kernel]
pub fn sparse(item: Item<1>, starts: &[u32], columns: &[u32], values: &[f32], x: &[f32], mut out: Out<f32>) {
    let [row] = item.global_id();
    let range = starts[row] as usize..starts[row + 1] as usize;
    *out = columns[range.clone()].iter().zip(&values[range]).map(|(column, value)| value * x[*column as usize]).sum();
}

const ROOTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// SHA-256's state after one block of 16 words for each work-item.
#[kernel]
pub fn sha256(item: Item<1>, blocks: &[[u32; 16]], mut out: Out<[u32; 8]>) {
    let mut words = [0; 64];
    words[..16].copy_from_slice(&blocks[item.global_id()[0]]);
    for t in 16..64 {
        let (a, b) = (words[t - 15], words[t - 2]);
        let small = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
        let large = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
        words[t] = large.wrapping_add(words[t - 7]).wrapping_add(small).wrapping_add(words[t - 16]);
    }
    let start = [
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19_u32,
    ];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = start;
    for (root, word) in ROOTS.iter().zip(&words) {
        let big = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let first =
            h.wrapping_add(big).wrapping_add(choice).wrapping_add(*root).wrapping_add(*word);
        let big = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = big.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    for (out, (start, end)) in out.iter_mut().zip(start.iter().zip([a, b, c, d, e, f, g, h])) {
        *out = start.wrapping_add(end);
    }
}
