//! The host's side of device globals: every form of copy, by name, refusals, and devices that run out of memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use oclave::record::Session;
use oclave::{Context, DeviceGlobal, ErrorKind, Event, HostAccess, ImageTable, Queue, Readback, host_access};
use oclave_image::{DeviceGlobalInfo, DeviceImage};

mod common;
use common::queue;

mod kernels {
    oclave::include_kernels!("tests");
}
use kernels::{globals_define as define, globals_pointers as pointers, globals_types as types};

const ACCESS_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_access.oclimg"));
const DEFINE_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_define.oclimg"));

/// A variable that only its image knows.
fn made_up(name: &str, size_bytes: u32, scope: bool) -> &'static ImageTable {
    let mut image = DeviceImage { name: format!("image of {name}"), ..DeviceImage::default() };
    image.insert_device_global(&DeviceGlobalInfo {
        id: name.to_owned(),
        size_bytes,
        device_image_scope: scope,
        ..DeviceGlobalInfo::default()
    });
    let bytes: &'static [u8] = image.to_bytes().leak();
    Box::leak(Box::new(common::load::table("made up", Box::leak(Box::new([bytes])))))
}

#[test]
fn every_form_with_no_one_and_many_dependencies() {
    for device in common::variable_devices() {
        for queue in common::queues(queue(&device).context()) {
            let other = Queue::new(queue.context()).unwrap();
            for count in [0, 1, 12] {
                let events: Vec<Event> = (0..count)
                    .map(|n| if n % 2 == 0 { queue.marker() } else { other.marker() }.unwrap())
                    .collect();
                let events: Vec<&Event> = events.iter().collect();
                let n = count as u32;
                let after = || queue.after(&events);

                after().copy_to_global(&define::HISTOGRAM, &[n; 8]).unwrap();
                assert_eq!(after().copy_from_global(&define::HISTOGRAM).unwrap(), [n; 8]);
                after().copy_to_global_at(&define::HISTOGRAM, 4, &[1, 2]).unwrap();
                let mut part = [0; 3];
                after().copy_from_global_at(&define::HISTOGRAM, 3, &mut part).unwrap();
                assert_eq!(part, [n, 1, 2]);
                after().memcpy_to_global(&define::HISTOGRAM, 1, &[7]).unwrap();
                let mut bytes = [0; 2];
                after().memcpy_from_global(&define::HISTOGRAM, 0, &mut bytes).unwrap();
                assert_eq!(bytes, [n as u8, 7]);

                let shared: Arc<[u32]> = vec![30, 31].into();
                let one = after().copy_to_global_async(&define::HISTOGRAM, 0, vec![20, 21]).unwrap();
                let two = queue.after(&[&one]).copy_to_global_async(&define::HISTOGRAM, 6, shared).unwrap();
                let three =
                    queue.after(&[&two]).memcpy_to_global_async(&define::HISTOGRAM, 8, vec![9, 0, 0, 0]);
                let three = three.unwrap();
                let back: Readback<u32> =
                    queue.after(&[&three]).copy_from_global_async(&define::HISTOGRAM, 0, 8).unwrap();
                let bytes =
                    queue.after(&[&three]).memcpy_from_global_async(&define::HISTOGRAM, 24, 5).unwrap();
                assert_eq!(back.wait().unwrap(), [20, 21, 9, n, 1, 2, 30, 31]);
                assert_eq!(bytes.wait().unwrap(), [30, 0, 0, 0, 31]);

                queue.copy_to_global(&define::COUNTER, &40).unwrap();
                let added = after().single_task(define::count_up(1)).unwrap();
                assert_eq!(queue.after(&[&added]).copy_from_global(&define::COUNTER).unwrap(), 41);
                queue
                    .after(&[&added])
                    .copy_to_global_async(&define::COUNTER, 0, vec![50])
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(queue.copy_from_global(&define::COUNTER).unwrap(), 50);
            }
        }
    }
}

#[test]
fn from_and_to_usm_of_every_kind() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let context = queue.context();
        macro_rules! check {
            ($alloc:ident) => {{
                let source = context.$alloc::<u32>(8).unwrap();
                let target = context.$alloc::<u32>(8).unwrap();
                queue.copy_to_device(&[1, 2, 3, 4, 5, 6, 7, 8], &source).unwrap();
                queue.copy_to_global_usm(&define::HISTOGRAM, 0, &source).unwrap();
                let part = source.slice(4..6).unwrap();
                let event = queue.copy_to_global_usm(&define::HISTOGRAM, 1, &part).unwrap();
                queue
                    .after(&[&event])
                    .copy_from_global_usm(&define::HISTOGRAM, 0, &target)
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(queue.read(&target).unwrap(), [1, 5, 6, 4, 5, 6, 7, 8]);
                let bytes = target.cast::<u8>().unwrap().slice(..3).unwrap();
                queue.memcpy_from_global_usm(&define::HISTOGRAM, 7, &bytes).unwrap();
                queue.memcpy_to_global_usm(&define::HISTOGRAM, 28, &bytes).unwrap();
                assert_eq!(queue.copy_from_global(&define::HISTOGRAM).unwrap()[7], 6 << 8);
                let error = queue.copy_to_global_usm(&define::HISTOGRAM, 1, &source).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                assert!(format!("{error:#}").contains("`histogram`"), "{error}");
                let foreign = Context::new(&device).unwrap().$alloc::<u32>(8).unwrap();
                let error = queue.copy_from_global_usm(&define::HISTOGRAM, 0, &foreign).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                // One scalar.
                let one = source.slice(..1).unwrap().cast::<i32>().unwrap();
                queue.copy_to_global_usm(&define::COUNTER, 0, &one).unwrap();
                assert_eq!(queue.copy_from_global(&define::COUNTER).unwrap(), 1);
            }};
        }
        check!(alloc_device);
        check!(alloc_host);
        check!(alloc_shared);
        // The host's guard keeps copies off.
        let host = context.alloc_host::<u32>(8).unwrap();
        let guard = host.write().unwrap();
        let error = queue.copy_from_global_usm(&define::HISTOGRAM, 0, &host).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        drop(guard);
        queue.copy_from_global_usm(&define::HISTOGRAM, 0, &host).unwrap();
    }
}

#[test]
fn rows_and_elements_of_rows() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        queue.copy_to_global_at(&types::G_TABLE, 1, &[[50, 60]]).unwrap();
        let one: i32 = 70;
        queue.copy_to_global_at(&types::G_TABLE, 4, &[one]).unwrap();
        assert_eq!(queue.copy_from_global(&types::G_TABLE).unwrap(), [[3, 4], [50, 60], [70, 8]]);
        let mut last = [0i32; 2];
        queue.copy_from_global_at(&types::G_TABLE, 4, &mut last).unwrap();
        assert_eq!(last, [70, 8]);
        assert_eq!(
            queue.copy_to_global_at(&types::G_TABLE, 6, &[one]).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

#[test]
fn asynchronous_forms_keep_bounds() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        for (start, count) in [(8, 1), (0, 9), (usize::MAX, 1), (usize::MAX / 4 + 1, 1), (1, usize::MAX)] {
            let errors = [
                queue.copy_from_global_async::<u32, _>(&define::HISTOGRAM, start, count).unwrap_err(),
                queue.memcpy_from_global_async(&define::HISTOGRAM, start.max(32), count).unwrap_err(),
                queue
                    .copy_to_global_async(&define::HISTOGRAM, start, vec![0; count.min(9)])
                    .err()
                    .unwrap_or_else(|| {
                        queue.copy_to_global_async(&define::HISTOGRAM, 0, vec![0; 9]).unwrap_err()
                    }),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                assert!(format!("{error:#}").contains("`histogram`"), "{error}");
            }
        }
    }
}

#[test]
fn addresses_and_views() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let address = pointers::TARGET.device_address(&queue).unwrap();
        assert_eq!(address, pointers::TARGET.device_address(&queue).unwrap(), "it does not move");
        let out = queue.context().alloc_device::<u64>(1).unwrap();
        queue.single_task(pointers::pointers_publish(&out)).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [address + 8], "kernels see the same");
        queue.single_task(pointers::pointers_write_to(address + 4, 21)).unwrap();
        assert_eq!(queue.copy_from_global(&pointers::TARGET).unwrap(), [10, 21, 30, 40]);
        let view = queue.global_memory::<i32, _>(&pointers::TARGET).unwrap();
        assert_eq!(queue.read(&view).unwrap(), [10, 21, 30, 40]);
        queue.fill(&view.slice(2..).unwrap(), 5).unwrap();
        assert_eq!(queue.copy_from_global(&pointers::TARGET).unwrap(), [10, 21, 5, 5]);
    }
}

#[test]
fn by_name() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let bundle = common::load::image(queue.context(), DEFINE_IMAGE).unwrap();
        assert!(bundle.has_device_global("counter") && !bundle.has_device_global("countess"));
        let error = bundle.device_global("countess").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("`counter`, `histogram`"), "{error}");
        let counter = bundle.device_global("counter").unwrap();
        assert_eq!((counter.id(), counter.size_bytes()), ("counter", 4));
        assert!(!counter.has_device_image_scope());
        assert_eq!(counter.host_access(), HostAccess::ReadWrite);
        // Shared with the program's own images.
        queue.copy_to_global(&define::COUNTER, &31).unwrap();
        assert_eq!(queue.copy_from_global::<i32, _>(&counter).unwrap(), 31);
        assert_eq!(counter.device_address(&queue).unwrap(), define::COUNTER.device_address(&queue).unwrap());
        // A static variable by its plain name and by its id.
        let last = bundle.device_global("last").unwrap();
        assert_eq!(last.id(), define::LAST.id());
        assert_eq!(bundle.device_global(last.id()).unwrap().size_bytes(), 8);

        let histogram = bundle.device_global("histogram").unwrap();
        queue.copy_to_global_at(&histogram, 2, &[5u32, 6]).unwrap();
        let mut words = [0u16; 4];
        queue.copy_from_global_at(&histogram, 4, &mut words).unwrap();
        assert_eq!(words, [5, 0, 6, 0]);
        for error in [
            queue.copy_from_global::<i64, _>(&counter).unwrap_err(),
            queue.copy_to_global(&counter, &1u8).unwrap_err(),
            queue.copy_to_global_at(&counter, 0, &[[0u8; 3]]).unwrap_err(),
            queue.copy_to_global_at(&counter, 1, &[1i32]).unwrap_err(),
            queue.memcpy_to_global(&counter, usize::MAX, &[1, 2]).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(format!("{error:#}").contains("`counter`"), "{error}");
        }
        let stranger = self::queue(&device);
        let error = stranger.copy_from_global::<i32, _>(&counter).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("another context"), "{error}");
    }
}

#[test]
fn host_access_by_name_is_checked_at_run_time() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let bundle = common::load::image(queue.context(), ACCESS_IMAGE).unwrap();
        for (name, read, write) in [
            ("access_read", true, false),
            ("access_write", false, true),
            ("access_read_write", true, true),
            ("access_none", false, false),
            ("access_const", true, false),
        ] {
            let global = bundle.device_global(name).unwrap();
            let target = queue.context().alloc_device::<i32>(1).unwrap();
            let reads = [
                queue.copy_from_global::<i32, _>(&global).map(drop),
                queue.copy_from_global_at(&global, 0, &mut [0i32]),
                queue.memcpy_from_global(&global, 0, &mut [0]),
                queue.copy_from_global_async::<i32, _>(&global, 0, 1).map(drop),
                queue.memcpy_from_global_async(&global, 0, 1).map(drop),
                queue.copy_from_global_usm(&global, 0, &target).map(drop),
                queue.memcpy_from_global_usm(&global, 0, &target).map(drop),
            ];
            let writes = [
                queue.copy_to_global(&global, &1i32),
                queue.copy_to_global_at(&global, 0, &[1i32]),
                queue.memcpy_to_global(&global, 0, &[1]),
                queue.copy_to_global_async(&global, 0, vec![1i32]).map(drop),
                queue.memcpy_to_global_async(&global, 0, vec![1]).map(drop),
                queue.copy_to_global_usm(&global, 0, &target).map(drop),
                queue.memcpy_to_global_usm(&global, 0, &target).map(drop),
            ];
            for (allowed, outcomes) in [(read, reads), (write, writes)] {
                for outcome in outcomes {
                    assert_eq!(outcome.is_ok(), allowed, "{name}: {outcome:?}");
                    if let Err(error) = outcome {
                        assert_eq!(error.kind(), ErrorKind::Invalid);
                        assert!(format!("{error:#}").contains(&format!("`{name}`")), "{error}");
                    }
                }
            }
            let view = queue.global_memory::<i32, _>(&global);
            assert_eq!(view.is_ok(), read && write, "{name}");
        }
    }
}

#[test]
fn writes_while_a_kernel_runs_keep_their_place() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let x = queue.context().alloc_device::<i32>(1).unwrap();
        for round in 0..20 {
            queue.parallel_for(1 << 16, types::types_fill_large(round)).unwrap();
            queue.copy_to_global_async(&types::G_LARGE, 3, vec![77]).unwrap();
            let back = queue.copy_from_global_async::<u32, _>(&types::G_LARGE, 0, 5).unwrap();
            queue.parallel_for(1 << 16, types::types_fill_large(round + 1)).unwrap();
            let later = queue.copy_from_global_async::<u32, _>(&types::G_LARGE, 0, 5).unwrap();
            assert_eq!(back.wait().unwrap(), [round, round + 1, round + 2, 77, round + 4]);
            assert_eq!(later.wait().unwrap()[3], round + 4);
        }
        drop(x);
    }
}

/// A large variable and small ones, when the driver has no memory for them once.
#[test]
fn out_of_memory_is_an_error_and_the_rest_is_usable() {
    let table = made_up("large", 64 << 20, false);
    let large: DeviceGlobal<u32, host_access::ReadWrite> = DeviceGlobal::new(table, "large");
    for device in common::variable_devices() {
        let session = Session::start();
        let queue = queue(&device);
        queue.copy_to_global(&define::COUNTER, &3).unwrap();
        let live = session.live();
        // The size is refused before anything is allocated.
        assert_eq!(queue.copy_from_global(&large).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(session.live(), live);
        session.fail("clDeviceMemAllocINTEL", 1, -4);
        let error = queue.memcpy_from_global(&types::G_LARGE, 0, &mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(
            format!("{error:#}").contains("`g_large`") && format!("{error:#}").contains("4194304"),
            "{error}"
        );
        assert_eq!(session.live(), live, "nothing is left over");
        session.fail("clDeviceMemAllocINTEL", 1, -4);
        let error = queue.single_task(types::types_add_one()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(format!("{error:#}").contains("device global"), "{error}");
        queue.single_task(define::count_up(1)).unwrap();
        assert_eq!(queue.copy_from_global(&define::COUNTER).unwrap(), 4);
        queue.single_task(types::types_add_one()).unwrap();
        assert_eq!(queue.copy_from_global(&types::G_INT).unwrap(), 4);
        drop(queue);
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

/// A variable that no device has room for; where one has, it is too large for the driver's limit at least.
#[test]
fn a_variable_larger_than_the_device() {
    type Huge = [[[u8; 1 << 16]; 1 << 15]; 1];
    for device in common::variable_devices() {
        let limit = device.capabilities().limits.max_allocation_bytes;
        if limit >= 1 << 31 {
            println!("skipped: {} takes {limit} bytes in one allocation", device.name());
            continue;
        }
        let table = made_up("huge", 1 << 31, false);
        let huge: DeviceGlobal<Huge> = DeviceGlobal::new(table, "huge");
        let queue = queue(&device);
        let error = queue.memcpy_from_global(&huge, 0, &mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(format!("{error:#}").contains("`huge`"), "{error}");
        assert_eq!(queue.copy_from_global(&define::COUNTER).unwrap(), 5);
    }
}

/// Images with very many variables take another way to them than others.
#[test]
fn a_thousand_variables() {
    let image = include_bytes!(concat!(env!("OUT_DIR"), "/bench.thousand.oclimg"));
    for device in common::variable_devices() {
        let queue = queue(&device);
        let bundle = common::load::image(queue.context(), image).unwrap();
        let out = queue.context().alloc_device::<i32>(1).unwrap();
        let sum = || {
            let call = bundle.kernel("thousand_sum").unwrap().call().pointer_mut(&out);
            queue.single_task(call).unwrap();
            queue.read(&out).unwrap()
        };
        assert_eq!(sum(), [10]);
        queue.copy_to_global(&bundle.device_global("of_thousand_105").unwrap(), &41i32).unwrap();
        queue.copy_to_global(&bundle.device_global("of_thousand_999").unwrap(), &1000i32).unwrap();
        assert_eq!(sum(), [50]);
        let last = bundle.device_global("of_thousand_999").unwrap();
        assert_eq!(queue.copy_from_global::<i32, _>(&last).unwrap(), 1000);
    }
}
