//! Device globals shared by two images (`kernels/tests/globals_define.cl`, `globals_use.cl`), on
//! the selected device, by every way of attaching them that the device has.

use bytemuck::Zeroable;
use oclave::kernel::{DeviceGlobal, ImageTable, ProgramCache};
use oclave::record::Session;
use oclave::{Context, ErrorKind, Queue};
use oclave_image::{DeviceGlobalInfo, DeviceImage, HostAccess};

use crate::common;
use crate::common::{queue, variable_devices as devices};

use crate::kernels::{globals_define as define, globals_use as using};

fn read_shared(queue: &Queue) -> (i32, Vec<u32>) {
    let count = queue.context().alloc_device::<i32>(1).unwrap();
    let bins = queue.context().alloc_device::<u32>(8).unwrap();
    queue.single_task(using::read_shared(&count, &bins)).unwrap();
    (queue.read(&count).unwrap()[0], queue.read(&bins).unwrap())
}

#[test]
fn initial_values_reach_the_host_without_a_kernel() {
    for device in devices() {
        let queue = queue(&device);
        let session = Session::start();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 5);
        assert_eq!(queue.read(&define::HISTOGRAM).unwrap(), [1, 2, 3, 0, 0, 0, 0, 0]);
        assert_eq!(queue.read(&define::LAST).unwrap(), 0);
        assert_eq!(session.count("clBuildProgram"), 0, "no program is needed for that");
    }
}

#[test]
fn initial_values_reach_kernels_before_any_host_access() {
    for device in devices() {
        assert_eq!(read_shared(&queue(&device)), (5, vec![1, 2, 3, 0, 0, 0, 0, 0]));
    }
}

#[test]
fn written_by_the_host_changed_by_two_images_read_back() {
    for device in devices() {
        let queue = queue(&device);
        queue.write(&define::COUNTER, &100).unwrap();
        queue.write(&define::HISTOGRAM, &[10; 8]).unwrap();
        queue.single_task(define::count_up(7)).unwrap();
        queue.single_task(define::add_to_bin(3)).unwrap();
        queue.single_task(using::double_shared()).unwrap();
        queue.single_task(define::count_up(1)).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 215);
        assert_eq!(queue.read(&define::HISTOGRAM).unwrap(), [20, 20, 20, 22, 20, 20, 20, 20]);
        assert_eq!(queue.read(&define::LAST).unwrap(), 215);
        assert_eq!(read_shared(&queue), (215, vec![20, 20, 20, 22, 20, 20, 20, 20]));
    }
}

#[test]
fn a_kernel_first_then_the_host_then_a_kernel() {
    for device in devices() {
        let queue = queue(&device);
        queue.single_task(define::count_up(1)).unwrap();
        queue.write(&define::COUNTER, &40).unwrap();
        queue.single_task(define::count_up(2)).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 42);
    }
}

#[test]
fn structs_and_write_only_access() {
    for device in devices() {
        let queue = queue(&device);
        let x = queue.context().alloc_device::<f32>(3).unwrap();
        queue.write(&x, &[1.0, 2.0, 3.0]).unwrap();
        queue.parallel_for(3, define::apply_settings(&x)).unwrap();
        assert_eq!(queue.read(&x).unwrap(), [2.0, 4.0, 6.0]);
        let mut settings = define::Settings::zeroed();
        settings.gain = 0.5;
        settings.offset = [3, 4];
        queue.write(&define::SETTINGS, &settings).unwrap();
        queue.parallel_for(3, define::apply_settings(&x)).unwrap();
        assert_eq!(queue.read(&x).unwrap(), [8.0, 9.0, 10.0]);
    }
}

#[test]
fn elements_and_bytes_within_bounds() {
    for device in devices() {
        let queue = queue(&device);
        queue.write(&define::HISTOGRAM.slice(5..7).unwrap(), &[50, 60]).unwrap();
        let mut tail = [0; 4];
        queue.read_into(&define::HISTOGRAM.slice(4..4 + tail.len()).unwrap(), &mut tail).unwrap();
        assert_eq!(tail, [0, 50, 60, 0]);
        queue.write(&define::HISTOGRAM.bytes(1..6).unwrap(), &[1, 2, 3, 4, 5]).unwrap();
        let mut bytes = [0; 7];
        queue.read_into(&define::HISTOGRAM.bytes(..bytes.len()).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, [1, 1, 2, 3, 4, 5, 0]);
        queue.write(&define::HISTOGRAM.slice(8..8).unwrap(), &[0u32; 0]).unwrap();
        for (start, count) in [(8, 1), (0, 9), (usize::MAX, 1), (usize::MAX / 4 + 1, 1), (9, 0)] {
            let error = define::HISTOGRAM.slice::<u32>(start..start.saturating_add(count)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{start} + {count}: {error}");
            assert!(format!("{error:#}").contains("histogram"), "{error}");
        }
        let all = define::HISTOGRAM.slice::<u32>(..).unwrap();
        for len in [7, 9] {
            let errors = [
                queue.write(&all, &vec![0; len]).unwrap_err(),
                queue.read_into(&all, &mut vec![0; len]).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{len}");
                assert!(format!("{error:#}").contains("histogram"), "{error}");
            }
        }
        for (offset, count) in [(32, 1), (0, 33), (usize::MAX, 1), (usize::MAX, usize::MAX.wrapping_add(2))] {
            let error = define::HISTOGRAM.bytes(offset..offset.saturating_add(count)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{offset} + {count}");
        }
    }
}

#[test]
fn contexts_have_their_own() {
    for device in devices() {
        let (one, other) = (queue(&device), queue(&device));
        one.write(&define::COUNTER, &1).unwrap();
        one.single_task(define::count_up(1)).unwrap();
        assert_eq!(other.read(&define::COUNTER).unwrap(), 5);
        other.single_task(define::count_up(1)).unwrap();
        assert_eq!(one.read(&define::COUNTER).unwrap(), 2);
        assert_eq!(other.read(&define::COUNTER).unwrap(), 6);
    }
}

#[test]
fn queues_of_one_context_share() {
    for device in devices() {
        let one = queue(&device);
        let other = Queue::builder(one.context()).out_of_order().build().unwrap();
        one.write(&define::COUNTER, &7).unwrap();
        let event = other.single_task(define::count_up(1)).unwrap();
        assert_eq!(other.after(&[&event]).read(&define::COUNTER).unwrap(), 8);
    }
}

#[test]
fn first_access_from_many_threads_makes_one() {
    for device in devices() {
        let queue = queue(&device);
        let session = Session::start();
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (queue, barrier, handle) = (&queue, &barrier, session.handle());
                scope.spawn(move || {
                    let _entered = handle.enter();
                    barrier.wait();
                    if thread % 2 == 0 {
                        assert_eq!(queue.read(&define::HISTOGRAM).unwrap()[1], 2);
                    } else {
                        queue.single_task(define::add_to_bin(7)).unwrap();
                    }
                });
            }
        });
        assert_eq!(queue.read(&define::HISTOGRAM).unwrap(), [1, 2, 3, 0, 0, 0, 0, 4]);
        assert_eq!(session.count("clBuildProgram"), 1);
    }
}

#[test]
fn nothing_is_left_when_the_context_goes() {
    for device in devices() {
        let session = Session::start();
        let queue = queue(&device);
        queue.single_task(define::count_up(1)).unwrap();
        queue.single_task(using::double_shared()).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 12);
        drop(queue);
        common::settle(&session);
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

/// A module as the compiler leaves it, with markers, shares the variables of the images that were
/// built in.
#[test]
fn bundles_share_variables_with_images() {
    let module = include_bytes!("../../../crates/oclave-image/tests/fixtures/shared.O2.spv");
    for device in devices() {
        let queue = queue(&device);
        let bundle = common::load::spirv(queue.context(), module).unwrap();
        let out = queue.context().alloc_device::<f32>(5).unwrap();
        queue.write(&define::COUNTER, &100).unwrap();
        let count = bundle.kernel("count").unwrap();
        queue.single_task(count.call().pointer_mut(&out).value(5)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [3.0, 4.0, 5.0, 6.0, 3.0]);
        queue.single_task(using::double_shared()).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 220);
        // And they outlive it.
        drop((bundle, count));
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 220);
    }
}

#[test]
fn devices_of_one_context_have_their_own() {
    for device in devices() {
        let parts = match device.partition_equally(1) {
            Ok(parts) if parts.len() > 1 => parts,
            _ => {
                println!("skipped: {} does not split into parts", device.name());
                continue;
            }
        };
        let context = Context::builder(&parts).program_cache(&ProgramCache::Off).build().unwrap();
        let [one, other] = [0, 1].map(|i| Queue::builder(&context).device(&parts[i]).build().unwrap());
        one.write(&define::COUNTER, &1).unwrap();
        one.single_task(define::count_up(1)).unwrap();
        other.single_task(define::count_up(1)).unwrap();
        assert_eq!(one.read(&define::COUNTER).unwrap(), 2);
        assert_eq!(other.read(&define::COUNTER).unwrap(), 6);
    }
}

#[test]
fn a_variable_that_images_declare_differently_is_refused() {
    let image = |name: &str, size_bytes: u32, initial: &[u8]| {
        let mut image = DeviceImage { name: name.to_owned(), ..DeviceImage::default() };
        image.insert_device_global(&DeviceGlobalInfo {
            id: "counter".to_owned(),
            size_bytes,
            device_image_scope: false,
            host_access: HostAccess::ReadWrite,
            initial: initial.to_vec().into(),
            ..DeviceGlobalInfo::default()
        });
        let bytes: &'static [u8] = image.to_bytes().leak();
        let table: &'static ImageTable =
            Box::leak(Box::new(common::load::table("other", Box::leak(Box::new([bytes])))));
        table
    };
    for device in devices() {
        let queue = queue(&device);
        queue.write(&define::COUNTER, &1).unwrap();
        let wide: DeviceGlobal<i64> = DeviceGlobal::new(image("wide", 8, &[]), "counter");
        let other: DeviceGlobal<i32> = DeviceGlobal::new(image("other", 4, &[6, 0, 0, 0]), "counter");
        for (error, what) in
            [(queue.read(&wide).unwrap_err(), "sizes"), (queue.read(&other).unwrap_err(), "initial values")]
        {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            let text = format!("{error:#}");
            assert!(text.contains("`counter`") && text.contains(what), "{text}");
        }
        let narrow: DeviceGlobal<i16> = DeviceGlobal::new(define::COUNTER.images(), "counter");
        assert_eq!(queue.read(&narrow).unwrap_err().kind(), ErrorKind::Invalid);
        let nowhere: DeviceGlobal<i32> = DeviceGlobal::new(define::COUNTER.images(), "nowhere");
        assert_eq!(queue.read(&nowhere).unwrap_err().kind(), ErrorKind::KernelNotSupported);
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 1);
    }
}
