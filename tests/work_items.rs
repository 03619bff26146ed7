//! Kernels whose work-items take different ways, or meet at barriers in loops and branches: each is its own work-item everywhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{call, context, load};
use oclave::{Context, KernelBundle, Local, NdRange, Queue};

const ITEMS: i32 = 256;

/// The kernels as the compiler writes them without optimisation, and with it.
fn bundles(context: &Context) -> [(&'static str, KernelBundle); 2] {
    let plain = include_bytes!("../crates/oclave-image/tests/fixtures/work_items.O0.spv").as_slice();
    let optimised = include_bytes!("../crates/oclave-image/tests/fixtures/work_items.O2.spv").as_slice();
    [("-O0", plain), ("-O2", optimised)].map(|(level, module)| (level, load::spirv(context, module).unwrap()))
}

/// What `collect` counts.
fn collected(x: i32, limit: i32, count: i32) -> i32 {
    let mut t = 0;
    while t < limit {
        t += (0..count).map(|j| (x + j) % 7).sum::<i32>();
    }
    t
}

/// What `shortest` finds for a group.
fn shortest(first: i32, items: usize, rounds: usize) -> Vec<i32> {
    let x = |tx: usize| first + i32::try_from(tx).unwrap();
    let mut prev: Vec<i32> = (0..items).map(|tx| x(tx) * 7 % 16).collect();
    let mut last = Vec::new();
    for i in 0..rounds {
        last = (0..items)
            .map(|tx| {
                let inside = tx > i && tx + 2 + i <= items;
                inside.then(|| {
                    prev[tx - 1..=tx + 1].iter().min().unwrap() + (x(tx) + i32::try_from(i).unwrap()) % 5
                })
            })
            .collect();
        for (tx, value) in last.iter().enumerate() {
            prev[tx] = value.unwrap_or(prev[tx]);
        }
    }
    last.iter().map(|value| value.unwrap_or(-1)).collect()
}

#[test]
fn inner_loops_run_for_each_work_item() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    for (level, bundle) in bundles(&context) {
        for (kernel, group) in
            ["collect", "collect_calls"].into_iter().flat_map(|k| [1, 2, 3, 64].map(|g| (k, g)))
        {
            let items = ITEMS / group * group;
            let out = context.alloc_shared::<i32>(items as usize).unwrap();
            let run = call(&bundle, kernel).pointer_mut::<i32>(&out).value(200_i32).value(3_i32);
            queue.parallel_for(NdRange::new(items as usize, group as usize), run).unwrap();
            let wanted: Vec<i32> = (0..items).map(|x| collected(x, 200, 3)).collect();
            assert_eq!(&*out.read().unwrap(), wanted, "{kernel} at {level} in groups of {group}");
        }
    }
}

#[test]
fn flags_stay_those_of_a_work_item_at_barriers() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    // Of what clang 15 writes at -O2, both PoCL still compute wrongly (issue 16, B3): the flag is a truth value in a phi there.
    let cases = [(32, 1), (32, 4), (64, 5), (256, 9)];
    for ((level, bundle), (group, rounds)) in
        bundles(&context).iter().take(1).flat_map(|bundle| cases.map(|case| (bundle, case)))
    {
        let out = context.alloc_shared::<i32>(ITEMS as usize).unwrap();
        let run = call(bundle, "shortest")
            .pointer_mut::<i32>(&out)
            .value(i32::try_from(rounds).unwrap())
            .local(Local::<i32>::new(group))
            .local(Local::<i32>::new(group));
        queue.parallel_for(NdRange::new(ITEMS as usize, group), run).unwrap();
        let firsts = (0..ITEMS).step_by(group);
        let wanted: Vec<i32> = firsts.flat_map(|first| shortest(first, group, rounds)).collect();
        assert_eq!(&*out.read().unwrap(), wanted, "{rounds} rounds at {level} in groups of {group}");
    }
}

#[test]
fn groups_meet_at_barriers_in_branches() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let cases = [(64_i32, 64_i32), (64, 32), (128, 16)];
    for ((level, bundle), (group, count)) in
        bundles(&context).iter().flat_map(|bundle| cases.map(|case| (bundle, case)))
    {
        let out = context.alloc_shared::<i32>(ITEMS as usize).unwrap();
        let run = call(bundle, "sum_in_branches")
            .pointer_mut::<i32>(&out)
            .value(count)
            .local(Local::<i32>::new(group as usize));
        queue.parallel_for(NdRange::new(ITEMS as usize, group as usize), run).unwrap();
        let sum = |x: i32| (x / group * group..x / group * group + count).sum::<i32>();
        let wanted: Vec<i32> = (0..ITEMS).map(sum).collect();
        assert_eq!(&*out.read().unwrap(), wanted, "{count} of groups of {group} at {level}");
    }
}
