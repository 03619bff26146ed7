//! RK: code for devices or for the host only, in kernels in Rust.

use std::sync::atomic::Ordering::Relaxed;

use oclave::device::{Aspects, DeviceKind};
use oclave::kernel::Side;
use oclave::{Context, ErrorKind, Queue};
use oclave_kernel::HostRange;

use super::rust_support::on_device::sides as two_images;
use super::rust_support::{numbers, panics, run, setting, sides, single_pass::sides as one_source};

#[device_test(setting)]
fn rk_sid_001_bodies_of_one_side((_, queue): (Context, Queue)) {
    let x: Vec<i32> = (-20..20).map(|x| 2 * x).collect();
    let on_devices: Vec<i32> = x.iter().map(|x| 2 * (x + 101) + 1).collect();
    let on_the_host: Vec<i32> = x.iter().map(|x| x * 3 / 2 + 4).collect();
    let memory = queue.upload(&x).unwrap();
    run(&queue, x.len(), two_images::branch(&memory));
    assert_eq!(queue.read(&memory).unwrap(), on_devices);
    let mut found = x;
    sides::branch::run_on_host(HostRange::new([40]), &mut found);
    assert_eq!(found, on_the_host);
}

#[device_test(setting)]
fn rk_sid_002_effects_and_panics_of_bodies((_, queue): (Context, Queue)) {
    let x = numbers(50);
    let (given, out) = (queue.upload(&x).unwrap(), queue.upload(&[0_u32; 50]).unwrap());
    run(&queue, 50, two_images::effects(1000, &given, &out));
    assert_eq!(queue.read(&out).unwrap(), x.iter().map(|x| x + 5).collect::<Vec<_>>());
    assert_eq!(queue.read(&two_images::ON_DEVICES).unwrap(), 50);
    let most = *x.iter().max().unwrap();
    panics(&queue, 50, two_images::effects(most, &given, &out), &["too much for a device", "sides.rs"]);

    let (before, mut found) = (sides::ON_DEVICES.load(Relaxed), vec![0; 50]);
    sides::effects::run_on_host(HostRange::new([50]), 0, &x, &mut found);
    assert_eq!(found, x.iter().map(|x| x + 6).collect::<Vec<_>>());
    assert_eq!(sides::ON_DEVICES.load(Relaxed), before);
}

#[device_test(setting)]
fn rk_sid_003_both_sides_compiled_once((context, queue): (Context, Queue)) {
    let x = numbers(30);
    let given = queue.upload(&x).unwrap();
    let out = queue.upload(&[0_u32; 30]).unwrap();
    run(&queue, 30, one_source::effects(1000, &given, &out));
    assert_eq!(queue.read(&out).unwrap(), x.iter().map(|x| x + 5).collect::<Vec<_>>());
    assert_eq!(queue.read(&one_source::ON_DEVICES).unwrap(), 30);
    panics(&queue, 30, one_source::effects(0, &given, &out), &["too much for a device", "sides.rs"]);
    let numbers: Vec<i32> = (0..30).collect();
    let on_device = queue.upload(&numbers).unwrap();
    run(&queue, 30, one_source::branch(&on_device));
    assert_eq!(
        queue.read(&on_device).unwrap(),
        numbers.iter().map(|x| 2 * (x + 101) + 1).collect::<Vec<_>>()
    );

    if context.device().kind() != DeviceKind::Cpu {
        skip!("only a CPU device serves as the host");
    }
    let host = context.device().as_host().unwrap();
    assert_eq!(host.side(), Side::Host);
    let queue = Queue::new(&Context::new(&host).unwrap()).unwrap();
    let given = queue.upload(&x).unwrap();
    let out = queue.upload(&[0_u32; 30]).unwrap();
    run(&queue, 30, one_source::effects(0, &given, &out));
    assert_eq!(queue.read(&out).unwrap(), x.iter().map(|x| x + 6).collect::<Vec<_>>());
    assert_eq!(queue.read(&one_source::ON_DEVICES).unwrap(), 0);
    let on_host = queue.upload(&numbers).unwrap();
    if host.capabilities().aspects.contains(Aspects::FP64) {
        run(&queue, 30, one_source::branch(&on_host));
        let wanted: Vec<i32> = numbers.iter().map(|x| x * 3 / 2 + 4).collect();
        assert_eq!(queue.read(&on_host).unwrap(), wanted);
    } else {
        // The body of the host alone has doubles.
        let error = queue.parallel_for(30, one_source::branch(&on_host)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    }
}
