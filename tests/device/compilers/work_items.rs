//! Kernels whose work-items take different ways, or meet at barriers in loops and branches: each is
//! its own work-item everywhere.

use crate::common::{call, load};
use oclave::kernel::{KernelBundle, Local, NdRange};
use oclave::{Context, Queue};

const ITEMS: i32 = 256;

/// The kernels as the compiler writes them without optimisation, and with it.
fn bundles(context: &Context) -> [(&'static str, KernelBundle); 2] {
    let plain = include_bytes!("../../../crates/oclave-image/tests/fixtures/work_items.O0.spv").as_slice();
    let optimised =
        include_bytes!("../../../crates/oclave-image/tests/fixtures/work_items.O2.spv").as_slice();
    [("-O0", plain), ("-O2", optimised)].map(|(level, module)| (level, load::spirv(context, module).unwrap()))
}

/// The kernels with neighbouring elements, in the same two forms.
fn neighbour_bundles(context: &Context) -> [(&'static str, KernelBundle); 2] {
    let plain = include_bytes!("../../../crates/oclave-image/tests/fixtures/neighbours.O0.spv").as_slice();
    let optimised =
        include_bytes!("../../../crates/oclave-image/tests/fixtures/neighbours.O2.spv").as_slice();
    [("-O0", plain), ("-O2", optimised)].map(|(level, module)| (level, load::spirv(context, module).unwrap()))
}

/// The kernels with barriers on some ways, in the same two forms.
fn barrier_bundles(context: &Context) -> [(&'static str, KernelBundle); 2] {
    let plain = include_bytes!("../../../crates/oclave-image/tests/fixtures/barriers.O0.spv").as_slice();
    let optimised = include_bytes!("../../../crates/oclave-image/tests/fixtures/barriers.O2.spv").as_slice();
    [("-O0", plain), ("-O2", optimised)].map(|(level, module)| (level, load::spirv(context, module).unwrap()))
}

/// What `some_rounds` computes for a group of `n`.
fn some_rounds(group: u32, n: u32, odd: u32, rounds: u32) -> Vec<u32> {
    let at = |of: &[u32], lid: u32| of[(lid % n) as usize];
    let mut value: Vec<u32> = (0..n).map(|lid| lid + 7).collect();
    let mut last = vec![group; n as usize];
    for i in 0..rounds {
        if i & 1 == odd {
            let other: Vec<u32> = (0..n).map(|lid| at(&value, lid + i + 1)).collect();
            if group + i > 5 {
                break;
            }
            value = other.iter().zip(&last).map(|(o, l)| o.wrapping_mul(31).wrapping_add(*l)).collect();
        }
        last = value.iter().map(|v| v ^ i).collect();
        value = (0..n).map(|lid| at(&value, lid).wrapping_add(i * lid)).collect();
    }
    (0..n).map(|lid| at(&value, lid).wrapping_mul(31).wrapping_add(at(&last, n - 1 - lid))).collect()
}

/// What `some_ways` computes for a group of `n`.
fn some_ways(group: u32, n: u32, which: u32, rounds: u32) -> Vec<u32> {
    let at = |of: &[u32], lid: u32| of[(lid % n) as usize];
    let mut value: Vec<u32> = (0..n).collect();
    let mut s: Vec<u32> = (0..n).map(|lid| lid * lid).collect();
    match (which + group) % 3 {
        0 => {
            value = (0..n).map(|lid| lid + at(&s, lid + 1)).collect();
            s.clone_from(&value);
        }
        1 => {
            for i in 0..rounds {
                value = (0..n).map(|lid| at(&value, lid).wrapping_add(at(&s, lid + i))).collect();
                s = s.iter().zip(&value).map(|(s, v)| s.wrapping_add(*v)).collect();
            }
        }
        _ if rounds > 3 => return (0..n).map(|lid| at(&s, n - 1 - lid) + 1).collect(),
        _ => value = vec![5; n as usize],
    }
    (0..n).map(|lid| at(&value, lid).wrapping_mul(31).wrapping_add(at(&s, n - 1 - lid))).collect()
}

/// What `counted` counts.
fn counted(_group: u32, n: u32, from: u32, rounds: u32) -> Vec<u32> {
    (0..n).map(|lid| (lid + 1 + (from..rounds).sum::<u32>()) * 3 + 1).collect()
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

#[device_test]
fn inner_loops_run_for_each_work_item(context: Context) {
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

#[device_test]
fn flags_stay_those_of_a_work_item_at_barriers(context: Context) {
    let queue = Queue::new(&context).unwrap();
    // At -O2 the way out of the loop joins the one that leads past it, behind the test of the flag.
    let cases = [(32, 1), (32, 4), (64, 5), (256, 9)];
    for ((level, bundle), (group, rounds)) in
        bundles(&context).iter().flat_map(|bundle| cases.map(|case| (bundle, case)))
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

#[device_test]
fn groups_meet_at_barriers_on_some_ways(context: Context) {
    const GROUPS: u32 = 12;
    let queue = Queue::new(&context).unwrap();
    type Wanted = fn(u32, u32, u32, u32) -> Vec<u32>;
    let kernels: [(&str, Wanted); 3] =
        [("some_rounds", some_rounds), ("some_ways", some_ways), ("counted", counted)];
    let sizes = [[1, 1], [2, 1], [1, 2], [3, 1], [1, 8], [16, 4]];
    let arguments = [[0, 1], [1, 2], [0, 6], [1, 9]];
    for (level, bundle) in barrier_bundles(&context) {
        for ((kernel, wanted), [x, y]) in kernels.iter().flat_map(|kernel| sizes.map(|size| (kernel, size))) {
            let n = x * y;
            let out = context.alloc_shared::<u32>((n * GROUPS) as usize).unwrap();
            for [a, b] in arguments {
                let run = call(&bundle, kernel)
                    .pointer_mut::<u32>(&out)
                    .value(a)
                    .value(b)
                    .local(Local::<u32>::new(n as usize));
                queue.fill(&out, 0).unwrap();
                let range = NdRange::new([(x * GROUPS) as usize, y as usize], [x as usize, y as usize]);
                queue.parallel_for(range, run).unwrap();
                let wanted: Vec<u32> = (0..GROUPS).flat_map(|group| wanted(group, n, a, b)).collect();
                assert_eq!(
                    &*out.read().unwrap(),
                    wanted,
                    "{kernel} with {a} and {b} at {level} in groups of {x} x {y}"
                );
            }
        }
    }
}

#[device_test]
fn a_work_item_reads_what_it_wrote_between_its_neighbours(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let kernels = [
        ("stores", [8, 7, 5, 3]),
        ("loads", [2, 100, 7, 6]),
        ("kept", [7, 8, 5, 3]),
        ("apart", [2, 2, 2, 2]),
    ];
    for ((level, bundle), (kernel, wanted)) in
        neighbour_bundles(&context).iter().flat_map(|bundle| kernels.map(|kernel| (bundle, kernel)))
    {
        let out = context.alloc_shared::<u32>(4 * 64).unwrap();
        queue.fill(&out, u32::from(kernel == "apart")).unwrap();
        let run = call(bundle, kernel).pointer_mut::<u32>(&out).value(1_u32);
        queue.parallel_for(NdRange::new(64, 32), run).unwrap();
        assert_eq!(&*out.read().unwrap(), wanted.repeat(64), "{kernel} at {level}");
    }
}

#[device_test]
fn groups_meet_at_barriers_in_branches(context: Context) {
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
