//! The same condition before and behind a wait. rustc copies what is between into both branches.

use oclave_kernel::{Global, Item, Local, kernel};

/// The sum over the work-group.
#[inline(always)]
fn group_sum(item: &Item<1>, scratch: &Local<u32>, value: u32) -> u32 {
    let (me, size) = (item.local_id()[0], item.local_size()[0]);
    scratch.set(me, value);
    item.local_barrier();
    let mut half = size.next_power_of_two() / 2;
    while half > 0 {
        if me < half && me + half < size {
            scratch.set(me, scratch.get(me).wrapping_add(scratch.get(me + half)));
        }
        item.local_barrier();
        half /= 2;
    }
    let sum = scratch.get(0);
    item.local_barrier();
    sum
}

/// The first work-item prepares and writes the result.
#[kernel]
pub fn leader(item: Item<1>, x: &[u32], scratch: Local<u32>, sums: Global<u32>) {
    let start = item.local_array::<u32, 1>();
    let me = item.local_id()[0];
    if me == 0 {
        start.set(0, x[item.group_id()[0]]);
    }
    let sum = group_sum(&item, &scratch, 7);
    if me == 0 {
        sums.set(item.group_id()[0], sum.wrapping_add(start.get(0)));
    }
}

/// Two sums, and three kinds of work-items.
#[kernel]
pub fn kinds(item: Item<1>, x: &[u32], scratch: Local<u32>, out: Global<u32>) {
    let [id] = item.global_id();
    let kind = x[id] % 3;
    let first = match kind {
        0 => x[id],
        1 => 7,
        _ => x[id] >> 3,
    };
    let sum = first.wrapping_add(group_sum(&item, &scratch, first));
    let second = match kind {
        0 => sum ^ 1,
        1 => sum.wrapping_mul(5),
        _ => sum,
    };
    let sum = second ^ group_sum(&item, &scratch, second);
    out.set(id, if kind == 1 { sum } else { !sum });
}

/// Barriers in a loop.
#[inline(always)]
fn turns(item: Item<1>, scratch: &Local<u32>) -> u32 {
    let (me, size) = (item.local_id()[0], item.local_size()[0]);
    let mut seen = 0_u32;
    scratch.set(me, me as u32);
    for turn in 0..size {
        item.local_barrier();
        let next = scratch.get((me + turn) % size);
        item.local_barrier();
        scratch.set(me, next);
        item.local_barrier();
        seen = seen.wrapping_mul(3) ^ scratch.get(turn);
    }
    seen
}

/// The first work-item has another value than the others.
#[kernel]
pub fn turning(item: Item<1>, x: &[u32], scratch: Local<u32>, out: Global<u32>) {
    let is_leader = item.local_id()[0] == 0;
    let mut value = if is_leader { x[3] } else { 5 };
    value ^= turns(item, &scratch);
    value = if is_leader { value.wrapping_add(1) } else { value.wrapping_mul(3) };
    out.set(item.global_id()[0], value);
}

/// A loop that ends when no work-item changes anything. The index is written with the condition of the work-item that resets the flag.
#[kernel]
pub fn until_stable(item: Item<1>, x: &[u32], scratch: Local<u32>, out: Global<u32>) {
    let changed = item.local_array::<u32, 1>();
    let (me, size, id) = (item.local_id()[0], item.local_size()[0], item.global_id()[0]);
    scratch.set(me, x[id] % 64);
    let mut rounds = 0;
    loop {
        item.local_barrier();
        if me == 0 {
            changed.set(0, 0);
        }
        item.local_barrier();
        let (own, before) = (scratch.get(me), scratch.get(if me == 0 { size - 1 } else { me - 1 }));
        item.local_barrier();
        if before < own {
            scratch.set(me, before);
            changed.set(0, 1);
        }
        item.local_barrier();
        rounds += 1;
        if changed.get(0) == 0 {
            break;
        }
    }
    out.set(id, scratch.get(me) + rounds * 100);
}

/// Panics on both sides of the wait: indices beyond 2048, and differences below zero.
#[kernel]
pub fn checked(item: Item<1>, x: &[u32], scratch: Local<u32>, out: Global<u32>) {
    let (me, id) = (item.local_id()[0], item.global_id()[0]);
    let mut value = 5;
    if me == 0 {
        value = x[x[id] as usize % 2048] % 7;
    }
    value += group_sum(&item, &scratch, x[id * 7 % 512] % 16);
    if me == 0 {
        value -= x[value as usize % 16] % 2;
    } else {
        value /= x[id] % 5 + 1;
    }
    out.set(id, value);
}

/// Functions of the work-group.
#[inline(always)]
fn votes(item: Item<1>, value: u32) -> u32 {
    let group = item.work_group();
    let mut result = 0_u32;
    for turn in 0..3 {
        result = result.wrapping_add(group.reduce_add(value ^ turn)).rotate_left(group.scan_exclusive_add(1));
        result ^= u32::from(group.any(value == turn)) + 2 * u32::from(group.all(value > turn));
    }
    result ^ group.broadcast(value, [item.local_size()[0] - 1])
}

/// Small values and others.
#[kernel]
pub fn voting(item: Item<1>, x: &[u32], scratch: Local<u32>, out: Global<u32>) {
    let id = item.global_id()[0];
    let mut value = x[id] % 100;
    let is_small = value < 50;
    if is_small {
        value += 3;
    } else {
        value ^= 5;
    }
    scratch.set(item.local_id()[0], value);
    let voted = votes(item, value);
    out.set(id, if is_small { voted ^ 1 } else { voted.wrapping_add(scratch.get(item.local_id()[0])) });
}
