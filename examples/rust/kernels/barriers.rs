//! Panics before barriers that other work-items wait at.

use oclave_kernel::{Global, Item, Local, kernel};

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
    let ([me], [at]) = (item.local_id(), item.global_id());
    let (mut kept, mut sum, mut step) = (2_u32, 0_u32, 0_u32);
    loop {
        let more =
            if item.group_id()[0] % 2 == 1 { x[step as usize % 8] } else { x[(step as usize + 1) % 8] / 2 };
        if step >= steps + more {
            break;
        }
        step += x[step as usize % 8] % 3 + 1;
        item.local_barrier();
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
