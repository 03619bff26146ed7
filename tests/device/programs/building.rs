//! Programs: how many are built, specialization constants, images that a device cannot run, kernel
//! bundles.

use std::sync::Barrier;

use oclave::device::mask::Mask;
use oclave::kernel::{ImageTable, Kernel, KernelCall, SpecConstant};
use oclave::record::Session;
use oclave::{Context, Device, ErrorKind, Queue};

use crate::common;
use crate::common::queue;
use crate::kernels;
use crate::kernels::{optional_features, saxpy, spec_constants};

fn specialized(queue: &Queue, call: impl FnOnce(&oclave::UsmSlice<f32>) -> KernelCall) -> f32 {
    let x = queue.context().alloc_device::<f32>(1).unwrap();
    queue.write(&x, &[10.0]).unwrap();
    queue.single_task(call(&x)).unwrap();
    queue.read(&x).unwrap()[0]
}

#[device_test]
fn a_prepared_kernel_is_not_built_at_its_launch(device: Device) {
    let queue = queue(&device);
    let session = Session::start();
    let x = queue.upload(&[10.0_f32]).unwrap();
    queue.prepare(&spec_constants::specialized(&x)).unwrap();
    assert_eq!((session.count("clBuildProgram"), session.count("clEnqueueNDRangeKernel")), (1, 0));
    queue.single_task(spec_constants::specialized(&x)).unwrap();
    assert_eq!(queue.read(&x).unwrap(), [30.5]);
    assert_eq!(session.count("clBuildProgram"), 1);
}

#[device_test]
fn options_reach_the_compiler(device: Device) {
    let context =
        |options: &str| Context::builder(std::slice::from_ref(&device)).compiler_options(options).build();
    let run = |options: &str| {
        let queue = Queue::new(&context(options)?)?;
        let x = queue.upload(&[10.0_f32])?;
        queue.single_task(spec_constants::specialized(&x))?;
        queue.read(&x)
    };
    assert_eq!(run("-cl-opt-disable").unwrap(), [30.5]);
    // A compiler that is given the option refuses it. That of rusticl refuses none, nor does
    // NVIDIA's for PTX.
    let takes_all = device.platform().name().contains("rusticl") || device.capabilities().ptx.is_some();
    assert_eq!(run("-no-such-option").is_ok(), takes_all);
    assert_eq!(context("a\0b").unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn two_kernels_of_one_image_are_one_build(device: Device) {
    let queue = queue(&device);
    let session = Session::start();
    let x = queue.context().alloc_device::<f32>(1).unwrap();
    let out = queue.context().alloc_device::<u64>(1).unwrap();
    for _ in 0..3 {
        queue.single_task(spec_constants::specialized(&x)).unwrap();
        queue.single_task(spec_constants::large_constant(&out)).unwrap();
    }
    queue.wait().unwrap();
    assert_eq!(session.count("clBuildProgram"), 1);
    assert_eq!(session.count("clCreateKernel"), 2);
}

#[device_test]
fn many_threads_build_once(device: Device) {
    let queue = queue(&device);
    let session = Session::start();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (queue, barrier, handle) = (&queue, &barrier, session.handle());
            scope.spawn(move || {
                let _entered = handle.enter();
                let y = queue.context().alloc_device::<f32>(1).unwrap();
                queue.write(&y, &[2.0]).unwrap();
                barrier.wait();
                queue.single_task(saxpy::saxpy(0.0, &y, &y)).unwrap();
                assert_eq!(queue.read(&y).unwrap(), [2.0]);
            });
        }
    });
    assert_eq!(session.count("clBuildProgram"), 1);
    assert_eq!(session.count("clCreateKernel"), 1);
}

/// Sixteen programs at once, from one image and eight threads.
#[device_test]
fn different_programs_are_built_side_by_side(device: Device) {
    let queue = queue(&device);
    let session = Session::start();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (queue, handle) = (&queue, session.handle());
            scope.spawn(move || {
                let _entered = handle.enter();
                for factor in [thread, thread + 8] {
                    let call = |x: &_| spec_constants::specialized(x).spec(&spec_constants::FACTOR, factor);
                    assert_eq!(specialized(queue, call), 10.0 * factor as f32 + 0.5);
                }
            });
        }
    });
    assert_eq!(session.count("clBuildProgram"), 16);
}

#[device_test]
fn values_of_specialization_constants_are_programs_of_their_own(device: Device) {
    let queue = queue(&device);
    let session = Session::start();
    assert_eq!(specialized(&queue, |x| spec_constants::specialized(x)), 30.5);
    let five = |x: &_| spec_constants::specialized(x).spec(&spec_constants::FACTOR, 5);
    assert_eq!(specialized(&queue, five), 50.5);
    assert_eq!(specialized(&queue, |x| five(x).spec(&spec_constants::BIAS, -1.0)), 49.0);
    assert_eq!(session.count("clBuildProgram"), 3);
    assert_eq!(specialized(&queue, five), 50.5);
    assert_eq!(
        specialized(&queue, |x| spec_constants::specialized(x)
            .spec(&spec_constants::FACTOR, 9)
            .spec(&spec_constants::FACTOR, 5)),
        50.5
    );
    assert_eq!(specialized(&queue, |x| spec_constants::specialized(x)), 30.5);
    assert_eq!(session.count("clBuildProgram"), 3, "each value is built once, the last one set counts");
}

#[device_test]
fn values_for_no_constant_are_refused(device: Device) {
    let queue = queue(&device);
    let x = queue.context().alloc_device::<f32>(1).unwrap();
    let unknown = SpecConstant::<i32>::new("NOWHERE", 4711);
    let error = queue.single_task(spec_constants::specialized(&x).spec(&unknown, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:#}").contains("4711"), "{error}");
    let wide = SpecConstant::<i64>::new("FACTOR", spec_constants::FACTOR.id());
    let error = queue.single_task(spec_constants::specialized(&x).spec(&wide, 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:#}").contains("4 bytes"), "{error}");
}

#[device_test]
fn an_aspect_that_the_device_lacks_is_named(device: Device) {
    let queue = queue(&device.masked(Mask::FP64));
    let x = queue.context().alloc_device::<f64>(1).unwrap();
    let error = queue.single_task(optional_features::third_double(&x)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    let text = format!("{error:#}");
    assert!(text.contains("fp64") && text.contains("third_double"), "{text}");
    let y = queue.context().alloc_device::<f32>(1).unwrap();
    queue.single_task(saxpy::saxpy(1.0, &y, &y)).unwrap().wait().unwrap();
}

#[device_test]
fn a_kernel_that_does_not_exist(device: Device) {
    static TYPO: Kernel = Kernel::new(&kernels::IMAGES, "saxpi");
    let error = queue(&device).single_task(KernelCall::new(&TYPO)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:#}").contains("`saxpy`"), "{error}");
}

#[device_test]
fn a_table_of_foreign_bytes(device: Device) {
    static TABLE: ImageTable = common::load::table("foreign", &[b"these bytes are no device image at all"]);
    static KERNEL: Kernel = Kernel::new(&TABLE, "k");
    for _ in 0..2 {
        let error = queue(&device).single_task(KernelCall::new(&KERNEL)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Image);
    }
}

#[device_test]
fn a_build_that_fails_has_a_log_and_can_be_tried_again(device: Device) {
    let queue = queue(&device);
    let y = queue.context().alloc_device::<f32>(1).unwrap();
    let session = Session::start();
    session.fail("clBuildProgram", 1, -11);
    let error = queue.single_task(saxpy::saxpy(1.0, &y, &y)).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Build, Some(-11)));
    assert!(error.build_log().is_some());
    queue.single_task(saxpy::saxpy(1.0, &y, &y)).unwrap().wait().unwrap();
}

/// The SPIR-V of `tests/fixtures/spec.cl`.
const SPEC: &[u8] = include_bytes!("../../fixtures/spec.spv");

#[device_test]
fn bundles_run(device: Device) {
    let queue = queue(&device);
    let bundle = common::load::spirv(queue.context(), SPEC).unwrap();
    assert_eq!(bundle.kernel_names().collect::<Vec<_>>(), ["width", "factor"]);
    let width = bundle.kernel("width").unwrap();
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    queue.single_task(width.call().pointer_mut(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [16]);
    let constant = SpecConstant::<i32>::new("spec0", 0);
    queue.single_task(width.call().pointer_mut(&out).spec(&constant, 7)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [7]);
    let out = queue.context().alloc_device::<f32>(1).unwrap();
    queue.single_task(bundle.kernel("factor").unwrap().call().pointer_mut(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [0.5]);
}

#[device_test]
fn calls_of_bundles_are_checked(device: Device) {
    let queue = queue(&device);
    let bundle = common::load::spirv(queue.context(), SPEC).unwrap();
    let error = bundle.kernel("widht").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(format!("{error:#}").contains("`width(int *out)`, `factor(float *out)`"), "{error}");
    let width = bundle.kernel("width").unwrap();
    let ints = queue.context().alloc_device::<i32>(1).unwrap();
    let floats = queue.context().alloc_device::<f32>(1).unwrap();
    let calls = [
        (width.call(), "0 arguments for 1"),
        (width.call().pointer_mut(&ints).value(1), "2 arguments for 1"),
        (width.call().value(1u64), "argument 0 (`out`)"),
        (width.call().local(oclave::kernel::Local::<i32>::new(4)), "local memory"),
        (width.call().pointer_mut(&floats), "float"),
    ];
    for (call, expected) in calls {
        let error = queue.single_task(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelArgument, "{expected}");
        let text = format!("{error:#}");
        assert!(text.contains(expected) && text.contains("`width(int *out)`"), "{expected} in: {text}");
    }
}

#[device_test]
fn bundles_belong_to_their_context(device: Device) {
    let (one, other) = (queue(&device), queue(&device));
    let bundle = common::load::spirv(one.context(), SPEC).unwrap();
    let out = other.context().alloc_device::<i32>(1).unwrap();
    let call = bundle.kernel("width").unwrap().call().pointer_mut(&out);
    assert_eq!(other.single_task(call).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn bundles_come_and_go_without_a_trace(device: Device) {
    let queue = queue(&device);
    let out = queue.context().alloc_device::<i32>(1).unwrap();
    let session = Session::start();
    for _ in 0..20 {
        let bundle = common::load::spirv(queue.context(), SPEC).unwrap();
        queue.single_task(bundle.kernel("width").unwrap().call().pointer_mut(&out)).unwrap().wait().unwrap();
    }
    common::settle(&session);
    assert!(session.live().is_empty(), "{:?}", session.live());
}

#[device_test]
fn bad_modules_are_errors(device: Device) {
    let queue = queue(&device);
    let context = queue.context();
    let mut bad: Vec<(String, Vec<u8>)> =
        vec![("empty".into(), Vec::new()), ("text".into(), b"kernel void k() {}".to_vec())];
    bad.extend((0..SPEC.len()).step_by(7).map(|len| (format!("truncated to {len}"), SPEC[..len].to_vec())));
    let words: Vec<&[u8]> = SPEC.chunks(4).collect();
    bad.push(("reversed".into(), words.iter().rev().flat_map(|word| word.iter().copied()).collect()));
    for (what, bytes) in bad {
        let error = common::load::spirv(context, &bytes).expect_err(&what);
        assert_eq!(error.kind(), ErrorKind::Image, "{what}: {error}");
    }
    // Damaged words: refused, or sound enough to be built, or refused by the driver; a crash would
    // end the test.
    let session = Session::start();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..300 {
        let mut bytes = SPEC.to_vec();
        for _ in 0..2 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = 20 + (random >> 8) as usize % (bytes.len() - 20);
            bytes[at] = random as u8;
        }
        let Ok(bundle) = common::load::spirv(context, &bytes) else { continue };
        let Ok(kernel) = bundle.kernel("width") else { continue };
        // Building is enough: what a damaged kernel computes is its own affair.
        let _ = queue.parallel_for(0, kernel.call());
    }
    let built = session.count("clBuildProgram");
    println!("{built} of 300 damaged modules passed the checks and were given to the driver");
    assert!(built > 0);
}
