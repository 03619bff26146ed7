//! Kernels whose indices can, or cannot, be known to be within their slices when they start.

use std::sync::atomic::{AtomicU32, Ordering};

use oclave_kernel::{Global, Item, Out, kernel};

/// Reads at a distance.
#[kernel]
pub fn shifted(item: Item<1>, a: u64, _b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[i + a as usize]);
}

/// The same, where the sum may be more than an integer holds.
#[kernel]
pub fn wrapped(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[i.wrapping_add(a as usize).wrapping_sub(b as usize)]);
}

/// Reads every some elements.
#[kernel]
pub fn strided(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[i.wrapping_mul(a as usize).wrapping_add(b as usize)]);
}

/// Reads rows from their ends.
#[kernel]
pub fn mirrored(item: Item<1>, a: u64, _b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let width = a as usize;
    let (row, column) = (i / width, i % width);
    out.set(i, x[row * width + (width - 1 - column)]);
}

/// Reads what is beside an element, within a width.
#[kernel]
pub fn beside(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let left = if i > b as usize { x[i - 1] } else { 0 };
    let right = if i + 1 < a as usize { x[i + 1] } else { 0 };
    out.set(i, left ^ right);
}

/// Reads up to a number.
#[kernel]
pub fn upwards(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let mut sum = 0_u32;
    for k in b as usize..a as usize {
        sum = sum.wrapping_add(x[k.wrapping_add(i)]);
    }
    out.set(i, sum);
}

/// Reads every third element up to a number.
#[kernel]
pub fn in_steps(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let mut sum = 0_u32;
    for k in (b as usize..a as usize).step_by(3) {
        sum = sum.wrapping_add(x[k]);
    }
    out.set(i, sum);
}

/// Reads down from a number.
#[kernel]
pub fn downwards(item: Item<1>, a: u64, _b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let (mut k, mut sum) = (a as usize, 0_u32);
    while k > 0 {
        k -= 1;
        sum = sum.wrapping_add(x[k]);
    }
    out.set(i, sum);
}

/// Reads down to the first element, which ends the loop.
#[kernel]
pub fn down_to_first(item: Item<1>, a: u64, _b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let (mut k, mut sum) = (a as usize, 0_u32);
    loop {
        sum = sum.wrapping_add(x[k]);
        if k == 0 {
            break;
        }
        k -= 1;
    }
    out.set(i, sum);
}

/// Reads at half the distance each time.
#[kernel]
pub fn halves(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let (mut k, mut sum) = (a as usize, 0_u32);
    while k > 0 {
        sum = sum.wrapping_add(x[(k - 1) ^ b as usize]);
        k /= 2;
    }
    out.set(i, sum);
}

/// Counts in 32 bits.
#[kernel]
pub fn narrow(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let mut sum = 0_u32;
    for k in 0..a as u32 {
        sum = sum.wrapping_add(x[k.wrapping_mul(2).wrapping_add(b as u32) as usize]);
    }
    out.set(i, sum);
}

/// Counts with a sign.
#[kernel]
pub fn signed(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let at = (i as i32).wrapping_sub(a as i32);
    let value = if at >= -(b as u8 as i32) { x[at as usize] } else { 7 };
    out.set(i, value);
}

/// Reads at bits of a number.
#[kernel]
pub fn masked(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[(i ^ a as usize) & b as usize] ^ x[i % (b as usize | 1)]);
}

/// Reads between two numbers.
#[kernel]
pub fn between(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[i.max(b as usize).min(a as usize)] ^ x[i.saturating_sub(a as usize)]);
}

/// Reads a part.
#[kernel]
pub fn part(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    out.set(i, x[b as usize..a as usize].iter().fold(i as u32, |sum, value| sum.wrapping_add(*value)));
}

/// Reads the elements up to the work-item's own.
#[kernel]
pub fn triangle(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let mut sum = 0_u32;
    for j in 0..=i {
        for k in j..(b as usize).min(i + 1) {
            sum = sum.wrapping_add(x[(k + j).wrapping_add(a as usize)]);
        }
    }
    out.set(i, sum);
}

/// Reads until a number is met, which is not met from beyond it.
#[kernel]
pub fn until(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let (mut k, mut sum) = (b as usize, 0_u32);
    while k != a as usize {
        sum = sum.wrapping_add(x[k]);
        k = k.wrapping_add(1);
    }
    out.set(i, sum);
}

/// Reads at one of two places in turns.
#[kernel]
pub fn in_turns(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    let (mut first, mut second, mut sum) = (i, a as usize, 0_u32);
    for _ in 0..b.min(9) {
        sum = sum.wrapping_add(x[first]);
        (first, second) = (second, first);
    }
    out.set(i, sum);
}

/// Writes where it is told.
#[kernel]
pub fn scattered(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let [i] = item.global_id();
    if i < x.len() && x[i] & 1 == 0 {
        out.set((a as usize).wrapping_add(b as usize), 5);
    }
}

/// Waits between its accesses.
#[kernel]
pub fn waiting(item: Item<1>, a: u64, b: u64, x: &[u32], out: Global<u32>) {
    let tile = item.local_array::<u32, 4>();
    let ([i], [own]) = (item.global_id(), item.local_id());
    let mut sum = 0_u32;
    for k in b as usize..a as usize {
        tile.set(own, x[k.wrapping_add(i)]);
        item.local_barrier();
        sum = sum.wrapping_mul(3).wrapping_add(tile.get((own + k) % 4));
        item.local_barrier();
    }
    if sum & 1 == 0 {
        sum = sum.wrapping_add(x[own]);
    }
    out.set(i, sum);
}

#[cold]
#[inline(never)]
#[expect(clippy::panic, reason = "tests want the panic of a function that never returns")]
fn end_at(seen: &[AtomicU32], i: usize) -> ! {
    seen[0].fetch_add(1, Ordering::Relaxed);
    panic!("index {i} is odd");
}

/// Changes what all work-items share, in turns.
#[kernel]
pub fn in_common(_item: Item<1>, shared: &[AtomicU32], mut out: Out<u32>) {
    *out = std::hint::black_box(shared[0].fetch_nand(0xff, Ordering::Relaxed));
}

/// Counts work-items before they panic in a function.
#[kernel]
pub fn odd_ones(item: Item<1>, seen: &[AtomicU32], mut out: Out<u32>) {
    let [i] = item.global_id();
    if i % 2 == 1 {
        end_at(seen, i);
    }
    *out = 7;
}

/// Adds up what lies between two neighbours, whose places come from memory.
#[kernel]
pub fn gaps(_item: Item<1>, places: &[u32], x: &[u32], mut sum: Out<u32>) {
    let mut total = 0_u32;
    for place in places {
        let place = *place as usize;
        total = total.wrapping_add(x[place + 1].wrapping_sub(x[place]));
    }
    *sum = total;
}
