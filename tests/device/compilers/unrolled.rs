//! Loops that are unrolled, as they are for NVIDIA's devices, compute the same on every device.

use crate::common::{call, load};
use oclave::kernel::{KernelBundle, KernelCall};
use oclave::memory::usm;
use oclave::{Context, Queue, UsmSlice};
use oclave_spirv::check;
use oclave_spirv::transform::unroll::unroll;
use oclave_spirv::{Module, Op};

const BYTES: &[u8] = include_bytes!("../../fixtures/unrolled.spv");
/// The kernels of `tests/fixtures/unrolled.cl`, and whether they take 64 bits.
const KERNELS: [(&str, bool); 9] = [
    ("below_signed", false),
    ("below_unsigned", false),
    ("until_equal", false),
    ("down", false),
    ("wide", true),
    ("exchanged", false),
    ("stored", false),
    ("one_after_the_other", false),
    ("one_in_the_other", false),
];

#[device_test]
fn unrolled_loops_compute_the_same(context: Context) {
    let module = Module::from_bytes(BYTES).unwrap();
    let branches = |module: &Module| module.instructions().filter(|i| i.is(Op::BranchConditional)).count();
    let unrolled = unroll(module.clone()).unwrap();
    check::check(&unrolled).unwrap();
    // Three more for each loop: all kernels but `stored` have one, and `one_after_the_other` has two.
    assert_eq!(branches(&unrolled), branches(&module) + 3 * 9, "these loops are unrolled");
    let bundles = [module, unrolled].map(|module| load::spirv(&context, &module.to_bytes()).unwrap());
    let queue = Queue::new(&context).unwrap();
    let out = context.alloc_device::<u64>(16).unwrap();
    let run = |bundle: &KernelBundle, (kernel, is_wide): (&str, bool), start: i64, end: i64| {
        queue.write(&out, &std::array::from_fn::<u64, 16, _>(|i| i as u64)).unwrap();
        queue.single_task(call_of(bundle, (kernel, is_wide), &out, start, end)).unwrap();
        queue.read(&out).unwrap()
    };
    let most = i64::from(i32::MAX);
    for kernel in KERNELS {
        let nested = kernel.0 == "one_in_the_other";
        // Also near the ends of the numbers.
        for start in [0, 1, 5, -9, most - 20, -most + 9] {
            for rounds in (0..if nested { 12 } else { 21 }).chain([100]) {
                let end = start + rounds;
                let [one, other] = [0, 1].map(|at| run(&bundles[at], kernel, start, end));
                assert!(one == other, "{} from {start} to {end}: {one:?} and {other:?}", kernel.0);
            }
        }
        let wraps = ["until_equal", "down"].contains(&kernel.0);
        for (start, end) in [(u32::MAX - 3, 6), (u32::MAX, 0)].into_iter().filter(|_| wraps) {
            let (start, end) = (i64::from(start), i64::from(end));
            let [one, other] = [0, 1].map(|at| run(&bundles[at], kernel, start, end));
            assert!(one == other, "{} from {start} to {end}: {one:?} and {other:?}", kernel.0);
        }
        // Nothing to do, as it ends before it begins.
        if !wraps {
            let [one, other] = [0, 1].map(|at| run(&bundles[at], kernel, 7, 3));
            assert!(one == other, "{}: {one:?} and {other:?}", kernel.0);
        }
    }
}

fn call_of(
    bundle: &KernelBundle,
    (kernel, is_wide): (&str, bool),
    out: &UsmSlice<u64, usm::DeviceOnly>,
    start: i64,
    end: i64,
) -> KernelCall {
    let call = call(bundle, kernel).pointer_mut::<u64>(out);
    match is_wide {
        true => call.value(start as u64).value(end as u64),
        false => call.value(start as u32).value(end as u32),
    }
}
