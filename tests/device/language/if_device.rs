//! `if_device` and `if_host`: shared functions on the host and on devices, programs compiled once
//! for both, and Rust.
#![deny(unsafe_code)]

use crate::common;

use oclave::device::{Aspects, DeviceKind};
use oclave::kernel::{Kernel, KernelCall, Side};
use oclave::memory::usm;
use oclave::vector::{Float2, Float3, Float4, Int2, Uchar3};
use oclave::{Context, Device, ErrorKind, Queue, UsmSlice, half::f16};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

mod single_pass {
    oclave::include_kernels!("single_pass");
}
mod single_pass_o0 {
    oclave::include_kernels!("single_pass_o0");
}

use crate::kernels::shared_builtins::{self, Operands};
use crate::kernels::{shared_c, shared_sides};

fn queue() -> Option<Queue> {
    Some(Queue::new(&common::context()?).unwrap())
}

fn upload<T: oclave::bytemuck::Pod>(queue: &Queue, data: &[T]) -> UsmSlice<T, usm::DeviceOnly> {
    let memory = queue.context().alloc_device::<T>(data.len()).unwrap();
    queue.write(&memory, data).unwrap();
    memory
}

fn run(
    queue: &Queue,
    x: &[i32],
    call: impl FnOnce(&UsmSlice<i32, usm::DeviceOnly>) -> KernelCall,
) -> Vec<i32> {
    let memory = upload(queue, x);
    queue.parallel_for(x.len(), call(&memory)).unwrap();
    queue.read(&memory).unwrap()
}

#[device_test(queue)]
fn equal_bodies_give_equal_results(queue: Queue) {
    let numbers = prop::collection::vec((any::<i32>(), any::<u32>()), 1..200);
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    runner
        .run(&(numbers, any::<i32>()), |(numbers, salt)| {
            let (x, y): (Vec<i32>, Vec<u32>) = numbers.into_iter().unzip();
            let (of_x, of_y) = (upload(&queue, &x), upload(&queue, &y));
            let out = run(&queue, &x, |out| shared_sides::mixtures(&of_x, &of_y, salt, out));
            let expected: Vec<i32> =
                x.iter().zip(&y).map(|(x, y)| shared_sides::mixture(*x, *y, salt)).collect();
            prop_assert_eq!(out, expected);
            Ok(())
        })
        .unwrap();
}

#[device_test(queue)]
fn each_side_follows_its_own_branch(queue: Queue) {
    let mut runner = TestRunner::new(Config { cases: 16, ..Config::default() });
    let count = shared_sides::LAUNCHES.id();
    assert!(count.ends_with("launches"), "{count}");
    runner
        .run(&prop::collection::vec(-1000i32..1000, 1..50), |x| {
            let of_x = upload(&queue, &x);
            let before = queue.read(&shared_sides::LAUNCHES).unwrap();
            let out = upload(&queue, &vec![0; 6 * x.len()]);
            queue.parallel_for(x.len(), shared_sides::sides(&of_x, &out)).unwrap();
            let out = queue.read(&out).unwrap();
            for (x, out) in x.iter().zip(out.chunks_exact(6)) {
                let x = *x;
                prop_assert_eq!(out, [x + 1000, x + 22, x + 1001, x.max(7), x + 1, x * 3]);
                let host = [
                    shared_sides::side(x),
                    shared_sides::nested(x),
                    shared_sides::through_another(x),
                    shared_sides::larger_int(x, 7),
                    shared_sides::count(x),
                    shared_c::scaled_in_c(x, 3),
                ];
                prop_assert_eq!(host, [x + 1, x + 11, x + 3, x.max(7), x + 1, x * 3]);
            }
            let after = queue.read(&shared_sides::LAUNCHES).unwrap();
            prop_assert_eq!(after - before, x.len() as i32);
            Ok(())
        })
        .unwrap();
}

#[test]
fn bodies_for_the_host_call_its_own_functions() {
    let upper: Vec<i32> = [97, 122, 65, 48].into_iter().map(shared_sides::upper).collect();
    assert_eq!(upper, [65, 90, 65, 48]);
}

#[device_test(queue)]
fn structs_vectors_and_references_are_the_same_on_both_sides(queue: Queue) {
    let pixel = |n: u8| {
        let n = f32::from(n);
        let raw = [n as u8, 2, 3];
        shared_sides::Pixel::new(Float4::from([n, 2.0 * n, 0.5, -n]), Uchar3::from(raw), 30000 + n as i16)
    };
    let (a, b): (Vec<_>, Vec<_>) = (0..40).map(|n| (pixel(n), pixel(100 - n))).unzip();
    let out = upload(&queue, &a);
    queue.parallel_for(a.len(), shared_sides::blends(upload(&queue, &a), upload(&queue, &b), &out)).unwrap();
    let out = queue.read(&out).unwrap();
    for (i, ((a, b), out)) in a.iter().zip(&b).zip(&out).enumerate() {
        let mut expected = shared_sides::blend(*a, b, i % 2 == 1);
        shared_sides::fade(&mut expected);
        assert_eq!(out.rgba, expected.rgba);
        assert_eq!(out.raw.lanes(), expected.raw.lanes());
        assert_eq!(out.weight, expected.weight);
        let sum = (i32::from(a.weight) + i32::from(b.weight)).min(32767) as i16;
        assert_eq!(expected.weight, if i % 2 == 1 { sum } else { a.weight });
    }
}

#[test]
fn shared_functions_of_all_shapes_are_safe_rust() {
    assert_eq!(
        shared_sides::twice_float4(Float4::from([1.0, -2.0, 3.5, 0.0])).lanes(),
        &[2.0, -4.0, 7.0, 0.0]
    );
    assert_eq!(shared_sides::twice_int2(Int2::from([3, -4])).lanes(), &[6, -8]);
    assert_eq!(shared_sides::quarter(f16::from_f32(10.0)), f16::from_f32(2.5));
    assert!(shared_sides::is_even(-4) && !shared_sides::is_even(7));
    assert_eq!((shared_sides::apply(0, 7, 3), shared_sides::apply(5, 7, 3)), (10, 4));
    assert_eq!(shared_sides::larger_float(1.5, -2.0), 1.5);
    assert_eq!(shared_sides::next(4), 7);
    let (mut sums, mut none) = ([0u64; 3], [0u64; 0]);
    assert_eq!(shared_sides::weigh(&[1, 2, 3, u32::MAX], &mut sums), 6 + u64::from(u32::MAX));
    assert_eq!(sums, [1, 3, 6]);
    assert_eq!(shared_sides::weigh(&[], &mut none), 0);
    // A function that takes a bare pointer is unsafe: this is its type.
    let _: unsafe fn(*const i32) -> i32 = shared_sides::first;
    assert_eq!((shared_c::which_side(), shared_c::from_table(6)), (1, 100));
    assert_eq!((shared_c::in_header(1), shared_sides::in_header(1)), (0x54, 0x54));
    assert_eq!(shared_c::norm_float2(Float2::from([3.0, 4.0])), 5.0);
    assert_eq!(shared_c::norm_float3(Float3::from([2.0, 3.0, 6.0])), 7.0);
}

#[device_test(queue)]
fn opencl_c_has_the_macro(queue: Queue) {
    assert_eq!(run(&queue, &[0; 4], |out| shared_c::in_c(out)), [2, 42, 100, 0x54]);
    if !queue.device().capabilities().aspects.contains(Aspects::FP64) {
        return println!("skipped: the device has no fp64");
    }
    let span = shared_c::Span::new(1.0, 2.0, [1, 2, 3], [4, 5, 6, 7]);
    let spans = upload(&queue, &[span; 3]);
    queue.parallel_for(3, shared_c::widen(&spans, 0.25)).unwrap();
    assert_eq!(queue.read(&spans).unwrap(), vec![shared_c::widened(span, 0.25); 3]);
}

/// Room for the results of one item of `shared_builtins`.
const RESULTS: usize = 600;

fn operands() -> impl Strategy<Value = Operands> {
    let ints = || prop::array::uniform4(prop_oneof![any::<i32>(), -3..3]);
    let longs = || prop::array::uniform2(prop_oneof![any::<i64>(), -3..3i64]);
    let floats = || prop::array::uniform4(prop_oneof![-100.0f32..100.0, (-8i8..8).prop_map(f32::from)]);
    let bytes = || prop::array::uniform8(any::<u8>());
    let integers = (ints(), ints(), ints(), longs(), longs(), longs());
    (integers, (bytes(), bytes(), bytes()), (floats(), floats(), floats())).prop_map(|(i, b, f)| {
        let (u, v, w) = (b.0.into(), b.1.into(), b.2.into());
        let (x, y, z) = (f.0.into(), f.1.into(), f.2.into());
        Operands::new(
            i.0.into(),
            i.1.into(),
            i.2.into(),
            i.3.into(),
            i.4.into(),
            i.5.into(),
            u,
            v,
            w,
            x,
            y,
            z,
        )
    })
}

#[device_test(queue)]
fn built_in_functions_of_integers_agree(queue: Queue) {
    let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
    runner
        .run(&prop::collection::vec(operands(), 1..40), |operands| {
            let out = upload(&queue, &vec![0i64; operands.len() * RESULTS]);
            let call = shared_builtins::all_integers(upload(&queue, &operands), &out, RESULTS as u64);
            queue.parallel_for(operands.len(), call).unwrap();
            for (operands, out) in operands.iter().zip(queue.read(&out).unwrap().chunks(RESULTS)) {
                let mut expected = [0; RESULTS];
                shared_builtins::integers(*operands, &mut expected);
                for (at, (device, host)) in out.iter().zip(&expected).enumerate() {
                    prop_assert_eq!(device, host, "result {} of {:?}", at, operands);
                }
                prop_assert!(expected[RESULTS - 4..] == [0; 4] && expected[..300] != [0; 300]);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn saturating_products_are_exact_on_the_host() {
    let mut runner = TestRunner::new(Config { cases: 500, ..Config::default() });
    runner
        .run(&operands(), |o| {
            let (ints, longs) =
                (shared_builtins::saturated(o.a, o.b, o.c), shared_builtins::saturated_long(o.l, o.m, o.n));
            for lane in 0..4 {
                let exact = i64::from(o.a[lane]) * i64::from(o.b[lane]) + i64::from(o.c[lane]);
                prop_assert_eq!(i64::from(ints[lane]), exact.clamp(i32::MIN.into(), i32::MAX.into()));
            }
            for lane in 0..2 {
                let exact = i128::from(o.l[lane]) * i128::from(o.m[lane]) + i128::from(o.n[lane]);
                prop_assert_eq!(i128::from(longs[lane]), exact.clamp(i64::MIN.into(), i64::MAX.into()));
            }
            Ok(())
        })
        .unwrap();
}

#[device_test(queue)]
fn built_in_functions_of_floats_agree_within_their_accuracy(queue: Queue) {
    let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
    runner
        .run(&prop::collection::vec(operands(), 1..40), |operands| {
            let out = upload(&queue, &vec![0f32; operands.len() * RESULTS]);
            let call = shared_builtins::all_floats(upload(&queue, &operands), &out, RESULTS as u64);
            queue.parallel_for(operands.len(), call).unwrap();
            for (operands, out) in operands.iter().zip(queue.read(&out).unwrap().chunks(RESULTS)) {
                let mut expected = [0.0; RESULTS];
                shared_builtins::floats(*operands, &mut expected);
                for (at, (device, host)) in out.iter().zip(&expected).enumerate() {
                    // half_… and fast_… may be wrong by 8192 units in the last place.
                    let close = (device - host).abs() <= 1e-3 * host.abs().max(0.05);
                    let same = device == host || device.is_nan() && host.is_nan();
                    prop_assert!(close || same, "result {}: {} and {}: {:?}", at, device, host, operands);
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn rust_is_the_host() {
    let mut ran = Vec::new();
    oclave::kernel::if_host(|| ran.push(1));
    oclave::kernel::if_device(|| unreachable!());
    let text = oclave::kernel::if_host(|| "host").otherwise(|| unreachable!());
    let other = oclave::kernel::if_device(|| unreachable!()).otherwise(|| "host again");
    assert_eq!((ran, text, other), (vec![1], "host", "host again"));
}

/// Whether the device can have the role of the host. Says so where it cannot.
fn can_be_host(device: &Device) -> bool {
    let is_cpu = device.kind() == DeviceKind::Cpu;
    if !is_cpu {
        let error = device.as_host().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        println!("skipped: {error}");
    }
    is_cpu
}

/// The device, and the same in the role of the host.
fn both_sides() -> Option<[Queue; 2]> {
    let device = common::context()?.devices()[0].clone();
    if !can_be_host(&device) {
        return None;
    }
    let queue = |device: &Device| Queue::new(&Context::new(device).unwrap()).unwrap();
    Some([queue(&device), queue(&device.as_host().unwrap())])
}

#[device_test(both_sides)]
fn a_program_compiled_once_has_both_sides([device, host]: [Queue; 2]) {
    assert_eq!((device.device().side(), host.device().side()), (Side::Device, Side::Host));
    let x: Vec<i32> = (-20..20).map(|x| 2 * x).collect();
    let on_devices: Vec<i32> = x.iter().map(|x| 2 * (x + 101) + 1).collect();
    let on_the_host: Vec<i32> = x.iter().map(|x| x * 3 / 2 + 4).collect();
    for _ in 0..2 {
        assert_eq!(run(&device, &x, |out| single_pass::bodies::branch(out)), on_devices);
        assert_eq!(run(&device, &x, |out| single_pass_o0::bodies::branch(out)), on_devices);
        if !host.device().capabilities().aspects.contains(Aspects::FP64) {
            println!("skipped: the host's part needs fp64, which the device lacks");
            continue;
        }
        assert_eq!(run(&host, &x, |out| single_pass::bodies::branch(out)), on_the_host);
        assert_eq!(run(&host, &x, |out| single_pass_o0::bodies::branch(out)), on_the_host);
    }
}

#[device_test(both_sides)]
fn what_a_body_does_not_do_stays_as_it_was([device, host]: [Queue; 2]) {
    let x: Vec<i32> = (0..10).collect();
    for (queue, expected) in [(&device, -5), (&host, 6)] {
        let expected: Vec<i32> = x.iter().map(|x| x + expected).collect();
        assert_eq!(run(queue, &x, |out| single_pass::bodies::keeps(out)), expected);
        assert_eq!(run(queue, &x, |out| single_pass_o0::bodies::keeps(out)), expected);
    }
}

#[device_test(both_sides)]
fn bodies_synchronise_and_use_device_globals([device, host]: [Queue; 2]) {
    let x: Vec<i32> = (0..8).collect();
    assert_eq!(run(&device, &x, |out| single_pass::bodies::group(out)), [6, 6, 6, 6, 22, 22, 22, 22]);
    assert_eq!(device.read(&single_pass::bodies::SEEN).unwrap(), 8);
    assert_eq!(run(&host, &x, |out| single_pass::bodies::group(out)), [0, -1, -2, -3, -4, -5, -6, -7]);
    assert_eq!(host.read(&single_pass::bodies::SEEN).unwrap(), 0);
}

/// Only a body for the host uses double: a device without it runs the kernel.
#[device_test]
fn devices_need_nothing_of_the_hosts_bodies(device: Device) {
    let poor = device.masked(oclave::device::mask::Mask::FP64);
    if poor.capabilities().memory().is_none() {
        return println!("skipped: kernels cannot address memory by pointers on the device");
    }
    let queue = Queue::new(&Context::new(&poor).unwrap()).unwrap();
    assert_eq!(run(&queue, &[1], |out| single_pass::bodies::branch(out)), [205]);
    if !can_be_host(&poor) {
        return;
    }
    let host = Queue::new(&Context::new(&poor.as_host().unwrap()).unwrap()).unwrap();
    let memory = upload(&host, &[1]);
    let error = host.parallel_for(1, single_pass::bodies::branch(&memory)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    assert!(format!("{error:#}").contains("needs fp64"), "{error}");
    // Programs without sides run in either role.
    assert_eq!(run(&host, &[0; 4], |out| shared_c::in_c(out))[0], 2);
}

#[test]
fn a_device_in_the_role_of_the_host_is_another_device() {
    let Some(device) = common::device().filter(can_be_host) else { return };
    let host = device.as_host().unwrap();
    assert_ne!(host, device);
    assert_eq!(host, host.as_host().unwrap());
    assert_eq!(host.masked(oclave::device::mask::Mask::FP64).side(), Side::Host);
    assert!(format!("{host:?}").contains("Host"));
    static KERNEL: Kernel = Kernel::new(&single_pass::IMAGES, "branch");
    assert_eq!(KERNEL.name(), "branch");
}

mod sides_virtual {
    oclave::include_kernels!("sides_virtual");
}
mod sides_virtual_o0 {
    oclave::include_kernels!("sides_virtual_o0");
}
mod single_pass_virtual {
    oclave::include_kernels!("single_pass_virtual");
}
mod single_pass_virtual_o0 {
    oclave::include_kernels!("single_pass_virtual_o0");
}

/// What `areas` of `kernels/sides/shapes.clcpp` gives.
fn areas(side: i32, grown: i32, on_host: bool) -> i32 {
    let square = |grown: i32| (side + grown) * (side + grown) + if on_host { 1000 } else { 0 };
    let frame = square(grown + if on_host { 2 } else { 1 }) - square(grown);
    10 * (square(grown) + 400_000) + frame
}

#[device_test(queue)]
fn virtual_functions_have_sides_too(queue: Queue) {
    let mut runner = TestRunner::new(Config { cases: 8, ..Config::default() });
    runner
        .run(&(prop::collection::vec(-100i32..100, 1..40), -20i32..20), |(side, grown)| {
            let sides = upload(&queue, &side);
            let expected: Vec<i32> = side.iter().map(|side| areas(*side, grown, false)).collect();
            let out = run(&queue, &side, |out| sides_virtual::shapes::all_areas(&sides, grown, out));
            prop_assert_eq!(&out, &expected);
            let out = run(&queue, &side, |out| sides_virtual_o0::shapes::all_areas(&sides, grown, out));
            prop_assert_eq!(&out, &expected);
            for side in side {
                let on_host = areas(side, grown, true);
                prop_assert_eq!(sides_virtual::shapes::areas(side, grown), on_host);
                prop_assert_eq!(sides_virtual_o0::shapes::areas(side, grown), on_host);
            }
            Ok(())
        })
        .unwrap();
    let before = queue.read(&sides_virtual::shapes::AREAS_ON_DEVICES).unwrap();
    run(&queue, &[1; 5], |out| sides_virtual::shapes::all_areas(upload(&queue, &[1; 5]), 1, out));
    let after = queue.read(&sides_virtual::shapes::AREAS_ON_DEVICES).unwrap();
    assert_eq!(after - before, 3 * 5);
}

#[device_test(both_sides)]
fn virtual_functions_of_a_program_compiled_once_follow_the_side(queues: [Queue; 2]) {
    let side: Vec<i32> = (-7..9).collect();
    for (queue, on_host) in queues.iter().zip([false, true]) {
        let expected: Vec<i32> = side.iter().map(|side| areas(*side, 3, on_host)).collect();
        let sides = upload(queue, &side);
        let out = run(queue, &side, |out| single_pass_virtual::shapes::all_areas(&sides, 3, out));
        assert_eq!(out, expected, "{:?}", queue.device().side());
        let out = run(queue, &side, |out| single_pass_virtual_o0::shapes::all_areas(&sides, 3, out));
        assert_eq!(out, expected, "{:?}, unoptimised", queue.device().side());
    }
}
