//! Variables with `device_image_scope` (`kernels/tests/globals_scope.cl`): they live in their
//! programs.

use oclave::device::Aspects;
use oclave::device::mask::Mask;
use oclave::kernel::{DeviceGlobal, HostAccess, ProgramCache};
use oclave::record::{ObjectKind, Session};
use oclave::{Context, ErrorKind, Queue};

use crate::common;
use crate::common::queue;

use crate::kernels;
use crate::kernels::globals_scope as scope;

/// The image of the source, for bundles.
const IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_scope.oclimg"));

/// What `scoped_read` sees: `scoped`, the table, `scoped_seen`, `scoped_private`, `shared_private`;
/// and the gain.
fn read(queue: &Queue) -> (Vec<i32>, f32) {
    read_with(queue, None)
}

fn read_with(queue: &Queue, step: Option<i32>) -> (Vec<i32>, f32) {
    let (out, gain) =
        (queue.context().alloc_device::<i32>(8).unwrap(), queue.context().alloc_device::<f32>(1).unwrap());
    let call = scope::scoped_read(&out, &gain);
    let call = match step {
        Some(step) => call.spec(&scope::SCOPED_STEP, step),
        None => call,
    };
    queue.single_task(call).unwrap();
    (queue.read(&out).unwrap(), queue.read(&gain).unwrap()[0])
}

#[test]
fn the_host_first() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let session = Session::start();
        assert_eq!(queue.read(&scope::SCOPED).unwrap(), 17);
        assert_eq!(session.count("clBuildProgram"), 1, "the program is built on demand");
        let by_library = session.count("clEnqueueNDRangeKernel");
        assert!(by_library <= 1, "no kernel of the user runs");
        assert_eq!(queue.read(&scope::SCOPED_TABLE).unwrap(), [1, 2, 3, 4]);
        assert_eq!(queue.read(&scope::SCOPED_SEEN).unwrap(), 0);
        queue.write(&scope::SCOPED, &20).unwrap();
        queue.write(&scope::SCOPED_TABLE.slice(2..4).unwrap(), &[30, 40]).unwrap();
        queue.write(&scope::SCOPED_GAIN, &1.5).unwrap();
        assert_eq!(read(&queue), (vec![20, 1, 2, 30, 40, 0, 0, 0], 1.5));
        assert_eq!(session.count("clBuildProgram"), 1, "kernels use the same program");
    }
}

#[test]
fn a_kernel_first() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let session = Session::start();
        queue.single_task(scope::scoped_add(2)).unwrap();
        queue.single_task(scope::scoped_write(1, 9)).unwrap();
        assert_eq!(queue.read(&scope::SCOPED).unwrap(), 19);
        assert_eq!(queue.read(&scope::SCOPED_TABLE).unwrap(), [1, 9, 3, 4]);
        assert_eq!(queue.read(&scope::SCOPED_SEEN).unwrap(), 1);
        queue.write(&scope::SCOPED, &100).unwrap();
        queue.single_task(scope::scoped_add(1)).unwrap();
        assert_eq!(read(&queue), (vec![101, 1, 9, 3, 4, 2, 2, 2], 0.5));
        assert_eq!(session.count("clBuildProgram"), 1);
    }
}

#[test]
fn a_specialized_kernel_first() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        queue.single_task(scope::scoped_add(2).spec(&scope::SCOPED_STEP, 10)).unwrap();
        assert_eq!(queue.read(&scope::SCOPED).unwrap(), 37);
    }
}

#[test]
fn values_that_are_the_default_make_no_other_program() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let session = Session::start();
        queue.single_task(scope::scoped_add(2).spec(&scope::SCOPED_STEP, 1)).unwrap();
        queue.single_task(scope::scoped_add(2)).unwrap();
        assert_eq!(queue.read(&scope::SCOPED).unwrap(), 21);
        assert_eq!(session.count("clBuildProgram"), 1);
    }
}

#[test]
fn in_several_programs_it_is_ambiguous_to_the_host() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        queue.single_task(scope::scoped_add(1)).unwrap();
        queue.single_task(scope::scoped_add(1).spec(&scope::SCOPED_STEP, 10)).unwrap();
        let refused = [
            queue.read(&scope::SCOPED).unwrap_err(),
            queue.write(&scope::SCOPED, &1).unwrap_err(),
            queue.read_into(&scope::SCOPED_TABLE.bytes(..4).unwrap(), &mut [0; 4]).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(format!("{error:#}").contains("device global `scoped"), "{error}");
            assert!(format!("{error:#}").contains("2 programs"), "{error}");
        }
        // Each kernel continues with its own variable, and the shared one counts all.
        assert_eq!(read(&queue).0, [18, 1, 2, 3, 4, 1, 1, 2]);
        assert_eq!(read_with(&queue, Some(10)).0, [27, 1, 2, 3, 4, 1, 1, 2]);
    }
}

#[test]
fn without_a_kernel_there_is_none() {
    static UNUSED: DeviceGlobal<i32> = DeviceGlobal::new(scope::SCOPED.images(), "scoped_unused");
    for device in common::variable_devices() {
        let queue = queue(&device);
        for error in [queue.read(&UNUSED).unwrap_err(), queue.write(&UNUSED, &1).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
            assert!(format!("{error:#}").contains("`scoped_unused`"), "{error}");
        }
    }
}

#[test]
fn bounds_and_sizes() {
    static NARROW: DeviceGlobal<i16> = DeviceGlobal::new(scope::SCOPED.images(), "scoped");
    for device in common::variable_devices() {
        let queue = queue(&device);
        let error = queue.read(&NARROW).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("`scoped`") && format!("{error:#}").contains("i16"), "{error}");
        for (start, count) in [(4, 1), (0, 5), (usize::MAX, 1), (5, 0)] {
            let error = scope::SCOPED_TABLE.slice::<i32>(start..start.saturating_add(count)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{start} {count}");
        }
    }
}

#[test]
fn contexts_and_devices_have_their_own() {
    for device in common::variable_devices() {
        let (one, other) = (queue(&device), queue(&device));
        one.write(&scope::SCOPED, &1).unwrap();
        other.single_task(scope::scoped_add(1)).unwrap();
        assert_eq!(one.read(&scope::SCOPED).unwrap(), 1);
        assert_eq!(other.read(&scope::SCOPED).unwrap(), 18);
        let Ok(parts) = device.partition_equally(1) else {
            println!("skipped: {} has no sub-devices", device.name());
            continue;
        };
        let Some(pair) = parts.get(..2) else {
            println!("skipped: {} has one sub-device", device.name());
            continue;
        };
        let context = Context::builder(pair).build().unwrap();
        let queues: Vec<Queue> =
            pair.iter().map(|part| Queue::builder(&context).device(part).build().unwrap()).collect();
        queues[0].write(&scope::SCOPED, &50).unwrap();
        queues[1].single_task(scope::scoped_add(3)).unwrap();
        queues[0].single_task(scope::scoped_add(1)).unwrap();
        assert_eq!(queues[0].read(&scope::SCOPED).unwrap(), 51);
        assert_eq!(queues[1].read(&scope::SCOPED).unwrap(), 20);
    }
}

#[test]
fn first_access_from_many_threads() {
    for device in common::variable_devices() {
        for _ in 0..4 {
            let queue = queue(&device);
            let barrier = std::sync::Barrier::new(8);
            std::thread::scope(|scope_of_threads| {
                for thread in 0..8 {
                    let (queue, barrier) = (&queue, &barrier);
                    scope_of_threads.spawn(move || {
                        barrier.wait();
                        match thread % 4 {
                            0 => queue.single_task(scope::scoped_add(1)).map(drop).unwrap(),
                            1 => queue.write(&scope::SCOPED_TABLE.slice(3..4).unwrap(), &[7]).unwrap(),
                            2 => assert_eq!(queue.read(&scope::SCOPED_TABLE).unwrap()[0], 1),
                            _ => assert!(scope::SCOPED.device_address(queue).unwrap() != 0),
                        }
                    });
                }
            });
            assert_eq!(read(&queue).0, [19, 1, 2, 3, 7, 2, 2, 2]);
        }
    }
}

#[test]
fn bundles_have_their_own_and_are_freed_with_them() {
    for device in common::variable_devices() {
        let session = Session::start();
        let queue = queue(&device);
        for round in 0..20 {
            let bundle = common::load::image(queue.context(), IMAGE).unwrap();
            let variable = bundle.device_global("scoped").unwrap();
            let scoped = variable.slice::<i32>(..).unwrap();
            assert!(variable.has_device_image_scope());
            assert_eq!((variable.size_bytes(), variable.host_access()), (4, HostAccess::ReadWrite));
            assert_eq!(queue.read(&scoped).unwrap(), [17], "fresh in each bundle");
            queue.write(&scoped, &[round]).unwrap();
            queue.single_task(bundle.kernel("scoped_add").unwrap().call().value(1)).unwrap();
            // The copy is under way while the bundle goes.
            let table = bundle.device_global("scoped_table").unwrap();
            let copy = queue.read_async(&table.slice::<i32>(1..3).unwrap()).unwrap();
            let late = queue.read_async(&scoped).unwrap();
            drop((bundle, variable, scoped, table));
            assert_eq!(copy.wait().unwrap(), [2, 3]);
            assert_eq!(late.wait().unwrap(), [round + 1]);
        }
        queue.wait().unwrap();
        let programs = session.live().get(&ObjectKind::Program).copied().unwrap_or(0);
        assert_eq!(programs, 0, "{:?}", session.live());
        drop(queue);
        common::settle(&session);
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

#[test]
fn memory_of_a_variable_outlives_its_bundle() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let bundle = common::load::image(queue.context(), IMAGE).unwrap();
        let memory = bundle.device_global("scoped_table").unwrap().memory::<i32>(&queue).unwrap();
        drop(bundle);
        queue.fill(&memory, 6).unwrap();
        queue.prefetch(&memory.slice(1..).unwrap()).unwrap();
        assert_eq!(queue.read(&memory).unwrap(), [6; 4]);
        queue.single_task(kernels::globals_static_a::static_a_add(1, &memory)).unwrap();
        assert_eq!(queue.read(&memory).unwrap(), [101, 6, 6, 6]);
    }
}

/// The same state with binaries from the disk cache.
#[test]
fn cached_binaries_begin_anew() {
    let folder = tempfile::tempdir().unwrap();
    for device in common::variable_devices() {
        for _ in 0..2 {
            let cache = ProgramCache::Directory(folder.path().to_owned());
            let context =
                Context::builder(std::slice::from_ref(&device)).program_cache(&cache).build().unwrap();
            let queue = Queue::new(&context).unwrap();
            assert_eq!(queue.read(&scope::SCOPED_TABLE).unwrap(), [1, 2, 3, 4]);
            queue.single_task(scope::scoped_add(2)).unwrap();
            queue.write(&scope::SCOPED_TABLE.slice(..1).unwrap(), &[5]).unwrap();
            assert_eq!(read(&queue).0, [19, 5, 2, 3, 4, 1, 1, 1]);
        }
    }
}

#[test]
fn masks_lead_to_every_way() {
    let devices = common::variable_devices();
    let Some(first) = devices.first() else { return };
    let ways = 1
        + usize::from(first.capabilities().global_variable_access)
        + usize::from(first.capabilities().global_variable_pointer)
        + usize::from(first.capabilities().aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES));
    assert_eq!(devices.len(), ways);
    assert!(devices.iter().skip(1).all(|device| device.mask() != Mask::empty()));
}
