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
