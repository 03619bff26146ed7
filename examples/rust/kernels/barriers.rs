//! Panics before barriers that other work-items wait at.

use oclave_kernel::{Global, Item, Local, Out, kernel};

/// Work-items beyond the end of `x` panic before the barrier.
#[kernel]
pub fn before_barrier(item: Item<1>, x: &[u32], scratch: Local<u32>, sums: Global<u32>) {
    let [me] = item.local_id();
    scratch.set(me, x[item.global_id()[0]]);
    item.barrier();
    let mut half = item.local_size()[0] / 2;
    while half > 0 {
        if me < half {
            scratch.set(me, scratch.get(me).wrapping_add(scratch.get(me + half)));
        }
        item.barrier();
        half /= 2;
    }
    if me == 0 {
        sums.set(item.group_id()[0], scratch.get(0));
    }
}

/// One work-item panics in a loop with a barrier.
#[kernel]
pub fn in_loop(item: Item<1>, limit: u32, scratch: Local<u32>, out: Global<u32>) {
    let [me] = item.local_id();
    for round in 0..8_u32 {
        assert!(me != 5 || round < limit, "the round is too much");
        scratch.set(me, round);
        item.barrier();
        let next = scratch.get((me + 1) % scratch.len());
        item.barrier();
        out.set(item.global_id()[0], next);
    }
}

/// Work-items panic before a function of the work-group.
#[kernel]
pub fn before_sum(item: Item<1>, x: &[u32], sums: Global<u32>) {
    let value = x[item.global_id()[0]];
    let sum = item.work_group().reduce_add(value);
    let all = item.work_group().all(value < 100 / (x.len() as u32 - 100));
    if item.local_id()[0] == 0 {
        sums.set(item.group_id()[0], sum + u32::from(all));
    }
}

/// Each iteration waits. Work-items go on with the next one on different paths, one of which keeps `kept`.
#[kernel]
pub fn by_several_paths(item: Item<1>, steps: u32, x: &[u32], out: Global<u32>) {
    go_on_by_several_paths(&item, steps, x, &out, |_| item.local_barrier());
}

/// The same with a function of the work-group.
#[kernel]
pub fn by_several_paths_with_votes(item: Item<1>, steps: u32, x: &[u32], out: Global<u32>) {
    let mut votes = 0_u32;
    go_on_by_several_paths(&item, steps, x, &out, |step| {
        votes += u32::from(item.work_group().any(step as usize % 8 == item.local_id()[0]));
    });
    let [at] = item.global_id();
    out.set(at, out.get(at) ^ votes << 16);
}

#[inline(always)]
fn go_on_by_several_paths(
    item: &Item<1>,
    steps: u32,
    x: &[u32],
    out: &Global<u32>,
    mut wait: impl FnMut(u32),
) {
    let ([me], [at]) = (item.local_id(), item.global_id());
    let (mut kept, mut sum, mut step) = (2_u32, 0_u32, 0_u32);
    loop {
        let more =
            if item.group_id()[0] % 2 == 1 { x[step as usize % 8] } else { x[(step as usize + 1) % 8] / 2 };
        if step >= steps + more {
            break;
        }
        step += x[step as usize % 8] % 3 + 1;
        wait(step);
        if kept.wrapping_add(me as u32) & 1 != 0 {
            out.set(at, out.get(at).wrapping_mul(3).wrapping_add(step));
            if steps > 4 {
                kept = kept.wrapping_mul(31).wrapping_add(x[kept as usize % 8]);
            } else {
                sum = sum.wrapping_mul(31).wrapping_add(kept);
                kept = kept.wrapping_add(kept) ^ x[sum as usize % 8] << 1;
            }
        } else {
            sum = sum.wrapping_mul(31).wrapping_add(step);
        }
    }
    item.local_barrier();
    out.set(at, out.get(at) ^ sum.wrapping_mul(7) ^ kept);
}

/// The value of another work-item.
#[inline(always)]
fn share(item: Item<1>, tile: Local<u32>, value: u32, from: usize) -> u32 {
    item.local_barrier();
    tile.set(item.local_id()[0], value);
    item.local_barrier();
    tile.get(from % 32)
}

/// Loops with barriers that run as often as is known when the kernel is built, or nearly.
#[kernel(work_group = [32, 1, 1])]
pub fn counted(item: Item<1>, x: &[u32], mut out: Out<[u32; 4]>) {
    let tile = item.local_array::<u32, 32>();
    let ([me], [at]) = (item.local_id(), item.global_id());
    // Down and up by factors, as in reductions and scans.
    let mut sum = x[at];
    let mut half = 16;
    while half > 0 {
        sum = sum.wrapping_mul(3).wrapping_add(share(item, tile, sum, me + half));
        half /= 2;
    }
    let (mut scan, mut distance) = (x[at], 1);
    while distance < 32 {
        let other = share(item, tile, scan, me + 32 - distance);
        if me >= distance {
            scan = scan.wrapping_add(other);
        }
        distance *= 2;
    }
    // Values that change places.
    let (mut a, mut b) = (me as u32, x[at]);
    for step in 1..=5_usize {
        (a, b) = (b, a.wrapping_mul(7) ^ share(item, tile, b, me + step));
    }
    *out = [sum, scan, a, b];
}

/// Loops with other counters and exits.
#[kernel(work_group = [32, 1, 1])]
pub fn counted_otherwise(item: Item<1>, limit: u32, x: &[u32], mut out: Out<[u32; 4]>) {
    let tile = item.local_array::<u32, 32>();
    let ([me], [at]) = (item.local_id(), item.global_id());
    // Signed and small counters.
    let mut signed = 1_u32;
    for step in (-3..4_i32).rev() {
        signed = signed.wrapping_mul(5)
            ^ share(item, tile, signed, me.wrapping_add_signed(step as isize))
            ^ step as u32;
    }
    let (mut small, mut count) = (x[at], 250_u8);
    while count > 4 {
        small ^= share(item, tile, small.rotate_left(3), me ^ usize::from(count));
        count = count.wrapping_add(1);
    }
    // The exit is in the middle.
    let (mut middle, mut step) = (x[at], 0);
    loop {
        let next = share(item, tile, middle, me + 3);
        if step == 6 {
            break;
        }
        middle = middle.wrapping_add(next) ^ step;
        step = step.wrapping_add(2);
    }
    // Two exits, one of which depends on an argument, and a loop without barriers.
    let mut early = me as u32;
    for step in 0..8_u32 {
        if step == limit {
            break;
        }
        early = (0..step).fold(share(item, tile, early, me + 5), |sum, n| sum.wrapping_mul(9) ^ n);
    }
    *out = [signed, small, middle, early];
}

/// Sorts the numbers of each work-group by a network: one loop is in the other.
#[kernel(work_group = [32, 1, 1])]
pub fn sorted(item: Item<1>, x: &[u32], mut out: Out<u32>) {
    let tile = item.local_array::<u32, 32>();
    let ([me], [at]) = (item.local_id(), item.global_id());
    let mut number = x[at];
    let mut size = 2;
    while size <= 32 {
        let mut distance = size / 2;
        while distance > 0 {
            let other = share(item, tile, number, me ^ distance);
            let is_low = me & distance == 0;
            number = if is_low == (me & size == 0) { number.min(other) } else { number.max(other) };
            distance /= 2;
        }
        size *= 2;
    }
    *out = number;
}

/// Work-items panic before functions of the sub-group, in a loop before a barrier.
#[kernel]
pub fn before_sub_group(item: Item<1>, steps: u32, x: &[u32], scratch: Local<u32>, out: Global<[u32; 2]>) {
    let ([me], [at]) = (item.local_id(), item.global_id());
    let group = item.sub_group();
    let mut sum = 0_u32;
    for step in 0..steps {
        let value = x[at + step as usize];
        sum = sum.wrapping_add(group.reduce_add(value));
        if group.all(value == 77) {
            sum = group.broadcast(x[at], 0);
        }
    }
    scratch.set(me, sum);
    item.local_barrier();
    let other = scratch.get(scratch.len() - 1 - me);
    assert!(group.any(other > 0) || steps == 0, "nothing");
    out.set(at, [sum, other]);
}

/// The same without barriers.
#[kernel]
pub fn before_sub_group_alone(item: Item<1>, x: &[u32], out: Global<u32>) {
    let [at] = item.global_id();
    let group = item.sub_group();
    let first = group.reduce_add(1_u32);
    let sum = group.reduce_max(100 / x[at]);
    out.set(at, sum * 1000 + first);
}

/// Functions of the work-group in a loop, before which work-items may panic.
#[kernel]
pub fn sums_in_loop(item: Item<1>, steps: u32, x: &[u32], out: Global<u32>) {
    let ([me], [at]) = (item.local_id(), item.global_id());
    let (mut sum, mut own) = (0_u32, 0_u32);
    for step in 0..steps {
        let value = x[at + step as usize];
        sum = sum.wrapping_mul(31).wrapping_add(item.work_group().reduce_add(value));
        if (sum >> 3) as usize % 8 == me % 8 {
            own = own.wrapping_mul(7).wrapping_add(sum);
        }
        if item.work_group().any(value == 77) {
            break;
        }
    }
    out.set(at, own);
}
