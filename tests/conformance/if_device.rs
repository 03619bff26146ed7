//! ID: `if_device`, `if_host`, and the choice of optional code by device.

use std::sync::{Arc, Mutex};

use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::{Command, Context, Device, ErrorKind, Queue, Result};

use super::kernels::{architecture, optional_features, required_sub_groups, shared_sides};

mod single_pass {
    oclave::include_kernels!("single_pass");
}

fn queue(device: &Device) -> Queue {
    Queue::new(&Context::new(device).unwrap()).unwrap()
}

/// What kernel `sides` gives for `x`: `side`, `nested`, `through_another`, `larger(x, 7)`, `count`,
/// `scaled_in_c(x, 3)`.
fn on_device(queue: &Queue, x: i32) -> [i32; 6] {
    let (of, out) =
        (queue.context().alloc_device::<i32>(1).unwrap(), queue.context().alloc_device::<i32>(6).unwrap());
    queue.write(&of, &[x]).unwrap();
    queue.parallel_for(1, shared_sides::sides(&of, &out)).unwrap();
    queue.read(&out).unwrap().try_into().unwrap()
}

#[device_test]
fn id_001_the_body_runs_on_a_device(device: Device) {
    let queue = queue(&device);
    let before = queue.read(&shared_sides::LAUNCHES).unwrap();
    let out = on_device(&queue, 5);
    assert_eq!((out[0], out[4]), (1005, 6));
    assert_eq!(queue.read(&shared_sides::LAUNCHES).unwrap(), before + 1);
}

#[device_test]
fn id_002_the_body_does_not_run_on_the_host(device: Device) {
    let queue = queue(&device);
    let before = queue.read(&shared_sides::LAUNCHES).unwrap();
    assert_eq!((shared_sides::side(5), shared_sides::count(5)), (6, 6));
    assert_eq!(queue.read(&shared_sides::LAUNCHES).unwrap(), before);
    let mut effects = 0;
    oclave::kernel::if_device(|| effects += 1);
    assert_eq!(effects, 0);
}

#[device_test]
fn id_004_one_body_runs_on_each_side(device: Device) {
    assert_eq!((on_device(&queue(&device), 3)[1], shared_sides::nested(3)), (25, 14));
    let mut ran = Vec::new();
    oclave::kernel::if_host(|| ran.push("host")).otherwise(|| unreachable!());
    assert_eq!(ran, ["host"]);
    assert_eq!(oclave::kernel::if_device(|| "device").otherwise(|| "host"), "host");
}

#[device_test]
fn id_007_selection_is_by_place_of_call(device: Device) {
    assert_eq!((on_device(&queue(&device), 3)[2], shared_sides::through_another(3)), (1004, 6));
}

#[device_test]
fn id_008_a_host_task_and_a_kernel_follow_their_own_branch(device: Device) {
    let queue = queue(&device);
    for x in [-7, 0, 40] {
        let found = Arc::new(Mutex::new(None));
        let from_task = Arc::clone(&found);
        let task = Command::host_task(move || *from_task.lock().unwrap() = Some(shared_sides::side(x)));
        let event = queue.submit(task).unwrap();
        let of_kernel = on_device(&queue, x)[0];
        event.wait().unwrap();
        assert_eq!((*found.lock().unwrap(), of_kernel), (Some(x + 1), x + 1000));
    }
}

#[device_test]
fn id_010_the_feature_constant_is_1(_device: Device) {
    assert_eq!(shared_sides::if_device_version(), 1);
}

/// The runtime compiles the image of a branch only if it is taken. In programs compiled once,
/// devices need no features that only the host's bodies use.
#[device_test]
fn id_011_a_branch_with_fp64_is_not_compiled_for_a_device_without(device: Device) {
    for device in [device.clone(), device.masked(Mask::FP64)] {
        let queue = queue(&device);
        let has = device.capabilities().aspects.contains(Aspects::FP64);
        let precise = queue.context().alloc_device::<f64>(1).unwrap();
        let quick = queue.context().alloc_device::<f32>(1).unwrap();
        queue.write(&precise, &[1.0]).unwrap();
        queue.write(&quick, &[3.0]).unwrap();
        let third = |refused: &mut bool| -> Result<f64> {
            match queue.single_task(optional_features::third_double(&precise)) {
                Ok(_) => Ok(queue.read(&precise)?[0]),
                Err(error) if error.kind() == ErrorKind::KernelNotSupported => {
                    *refused = true;
                    queue.single_task(optional_features::square_float(&quick))?;
                    Ok(queue.read(&quick)?[0].into())
                }
                Err(error) => Err(error),
            }
        };
        let mut refused = false;
        assert_eq!(third(&mut refused).unwrap(), if has { 1.0 / 3.0 } else { 9.0 });
        assert_eq!(refused, !has);
        let out = queue.context().alloc_device::<i32>(1).unwrap();
        queue.write(&out, &[1]).unwrap();
        queue.single_task(single_pass::bodies::branch(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [205]);
    }
}

#[device_test]
fn id_013_the_first_branch_that_matches_and_otherwise_for_unknown(device: Device) {
    let queue = queue(&device);
    let run = |architecture: i32| {
        let out = queue.context().alloc_device::<i32>(1).unwrap();
        queue.write(&out, &[0]).unwrap();
        let call = architecture::by_architecture(&out).spec(&architecture::ARCHITECTURE, architecture);
        queue.single_task(call).unwrap();
        queue.read(&out).unwrap()[0]
    };
    assert_eq!([1, 2, 3, 99].map(run), [1, 10, 10, 1000]);
    let name = device.platform().name();
    let (of_this, expected) = match () {
        () if name.contains("Intel") => (1, 1),
        () if name.contains("Portable") => (2, 10),
        () => (99, 1000),
    };
    assert_eq!(run(of_this), expected);
}

#[device_test]
fn id_016_groups_that_the_device_does_not_offer_are_refused_at_submit(device: Device) {
    let queue = queue(&device);
    let out = queue.context().alloc_device::<i32>(16).unwrap();
    let error = queue.parallel_for(100_000, required_sub_groups::wide_groups(&out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
    let error = queue.parallel_for(16, required_sub_groups::sub_groups_of_7(&out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
    queue.parallel_for(16, required_sub_groups::neighbour(&out)).unwrap();
    assert_eq!(queue.read(&out).unwrap(), [7; 16]);
}
