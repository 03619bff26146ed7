//! The host's side of device globals: every form of copy, by name, refusals, and devices that run
//! out of memory.

use std::sync::Arc;

use oclave::kernel::{DeviceGlobal, HostAccess, ImageTable, host_access};
use oclave::memory::Readback;
use oclave::record::Session;
use oclave::{Context, ErrorKind, Event, Queue};
use oclave_image::{DeviceGlobalInfo, DeviceImage};

use crate::common;
use crate::common::{memory_call, queue};

use crate::kernels::{globals_define as define, globals_pointers as pointers, globals_types as types};

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

                after().write(&define::HISTOGRAM, &[n; 8]).unwrap();
                assert_eq!(after().read(&define::HISTOGRAM).unwrap(), [n; 8]);
                after().write(&define::HISTOGRAM.slice(4..6).unwrap(), &[1, 2]).unwrap();
                let mut part = [0; 3];
                after().read_into(&define::HISTOGRAM.slice(3..3 + part.len()).unwrap(), &mut part).unwrap();
                assert_eq!(part, [n, 1, 2]);
                after().write(&define::HISTOGRAM.bytes(1..2).unwrap(), &[7]).unwrap();
                let mut bytes = [0; 2];
                after().read_into(&define::HISTOGRAM.bytes(..bytes.len()).unwrap(), &mut bytes).unwrap();
                assert_eq!(bytes, [n as u8, 7]);

                let shared: Arc<[u32]> = vec![30, 31].into();
                let one = after().write_async(&define::HISTOGRAM.slice(..2).unwrap(), vec![20, 21]).unwrap();
                let two = queue
                    .after(&[&one])
                    .write_async(&define::HISTOGRAM.slice(6..6 + shared.len()).unwrap(), shared)
                    .unwrap();
                let three = queue
                    .after(&[&two])
                    .write_async(&define::HISTOGRAM.bytes(8..12).unwrap(), vec![9, 0, 0, 0]);
                let three = three.unwrap();
                let back: Readback<u32> =
                    queue.after(&[&three]).read_async(&define::HISTOGRAM.slice(..8).unwrap()).unwrap();
                let bytes =
                    queue.after(&[&three]).read_async(&define::HISTOGRAM.bytes(24..29).unwrap()).unwrap();
                assert_eq!(back.wait().unwrap(), [20, 21, 9, n, 1, 2, 30, 31]);
                assert_eq!(bytes.wait().unwrap(), [30, 0, 0, 0, 31]);

                queue.write(&define::COUNTER, &40).unwrap();
                let added = after().single_task(define::count_up(1)).unwrap();
                assert_eq!(queue.after(&[&added]).read(&define::COUNTER).unwrap(), 41);
                queue.after(&[&added]).write_async(&define::COUNTER, 50).unwrap().wait().unwrap();
                assert_eq!(queue.read(&define::COUNTER).unwrap(), 50);
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
                queue.write(&source, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
                queue.copy(&source, &define::HISTOGRAM.slice(..source.len()).unwrap()).unwrap();
                let part = source.slice(4..6).unwrap();
                let event = queue.copy(&part, &define::HISTOGRAM.slice(1..1 + part.len()).unwrap()).unwrap();
                queue
                    .after(&[&event])
                    .copy(&define::HISTOGRAM.slice(..target.len()).unwrap(), &target)
                    .unwrap()
                    .wait()
                    .unwrap();
                assert_eq!(queue.read(&target).unwrap(), [1, 5, 6, 4, 5, 6, 7, 8]);
                let bytes = target.cast::<u8>().unwrap().slice(..3).unwrap();
                queue.copy(&define::HISTOGRAM.bytes(7..7 + bytes.size_bytes()).unwrap(), &bytes).unwrap();
                queue.copy(&bytes, &define::HISTOGRAM.bytes(28..28 + bytes.size_bytes()).unwrap()).unwrap();
                assert_eq!(queue.read(&define::HISTOGRAM).unwrap()[7], 6 << 8);
                let error = queue.copy(&source, &define::HISTOGRAM.slice(1..).unwrap()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                assert!(format!("{error:#}").contains("`histogram`"), "{error}");
                let foreign = Context::new(&device).unwrap().$alloc::<u32>(8).unwrap();
                let error =
                    queue.copy(&define::HISTOGRAM.slice(..foreign.len()).unwrap(), &foreign).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                // One scalar.
                let one = source.slice(..1).unwrap().cast::<i32>().unwrap();
                queue.copy(&one, &define::COUNTER.slice(..one.len()).unwrap()).unwrap();
                assert_eq!(queue.read(&define::COUNTER).unwrap(), 1);
            }};
        }
        check!(alloc_device);
        check!(alloc_host);
        check!(alloc_shared);
        // The host's guard keeps copies off.
        let host = context.alloc_host::<u32>(8).unwrap();
        let guard = host.write().unwrap();
        let error = queue.copy(&define::HISTOGRAM.slice(..host.len()).unwrap(), &host).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        drop(guard);
        queue.copy(&define::HISTOGRAM.slice(..host.len()).unwrap(), &host).unwrap();
    }
}

#[test]
fn rows_and_elements_of_rows() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        queue.write(&types::G_TABLE.slice(1..2).unwrap(), &[[50, 60]]).unwrap();
        let one: i32 = 70;
        queue.write(&types::G_TABLE.slice(4..5).unwrap(), &[one]).unwrap();
        assert_eq!(queue.read(&types::G_TABLE).unwrap(), [[3, 4], [50, 60], [70, 8]]);
        let mut last = [0i32; 2];
        queue.read_into(&types::G_TABLE.slice(4..4 + last.len()).unwrap(), &mut last).unwrap();
        assert_eq!(last, [70, 8]);
        assert_eq!(types::G_TABLE.slice::<i32>(6..7).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn asynchronous_forms_keep_bounds() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        for (start, count) in [(8, 1), (0, 9), (usize::MAX, 1), (usize::MAX / 4 + 1, 1), (1, usize::MAX)] {
            let end = start.saturating_add(count);
            let errors = [
                define::HISTOGRAM.slice::<u32>(start..end).unwrap_err(),
                define::HISTOGRAM.bytes(start.max(32)..end.max(33)).unwrap_err(),
                queue.write_async(&define::HISTOGRAM.slice(..).unwrap(), vec![0; 9]).unwrap_err(),
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
        assert_eq!(queue.read(&pointers::TARGET).unwrap(), [10, 21, 30, 40]);
        let view = pointers::TARGET.memory::<i32>(&queue).unwrap();
        assert_eq!(queue.read(&view).unwrap(), [10, 21, 30, 40]);
        queue.fill(&view.slice(2..).unwrap(), 5).unwrap();
        assert_eq!(queue.read(&pointers::TARGET).unwrap(), [10, 21, 5, 5]);
    }
}

#[test]
fn by_name() {
    for device in common::variable_devices() {
        let queue = queue(&device);
        let bundle = common::load::image(queue.context(), DEFINE_IMAGE).unwrap();
        let error = bundle.device_global("countess").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains("`counter`, `histogram`"), "{error}");
        let counter = bundle.device_global("counter").unwrap();
        assert_eq!((counter.id(), counter.size_bytes()), ("counter", 4));
        assert!(!counter.has_device_image_scope());
        assert_eq!(counter.host_access(), HostAccess::ReadWrite);
        // Shared with the program's own images.
        queue.write(&define::COUNTER, &31).unwrap();
        assert_eq!(queue.read(&counter.slice::<i32>(..).unwrap()).unwrap(), [31]);
        assert_eq!(counter.device_address(&queue).unwrap(), define::COUNTER.device_address(&queue).unwrap());
        // A static variable by its plain name and by its id.
        let last = bundle.device_global("last").unwrap();
        assert_eq!(last.id(), define::LAST.id());
        assert_eq!(bundle.device_global(last.id()).unwrap().size_bytes(), 8);

        let histogram = bundle.device_global("histogram").unwrap();
        queue.write(&histogram.slice(2..4).unwrap(), &[5u32, 6]).unwrap();
        let mut words = [0u16; 4];
        queue.read_into(&histogram.slice(4..4 + words.len()).unwrap(), &mut words).unwrap();
        assert_eq!(words, [5, 0, 6, 0]);
        // By value: all of it, and one element, as of variables that rustc knows.
        let value = counter.value::<i32>().unwrap();
        queue.write(&value, &7).unwrap();
        assert_eq!((queue.read(&value).unwrap(), queue.read(&define::COUNTER).unwrap()), (7, 7));
        queue.write_async(&value, 8).unwrap().wait().unwrap();
        assert_eq!(queue.read_async(&value).unwrap().wait().unwrap(), 8);
        queue.write(&histogram.element(3).unwrap(), &9_u32).unwrap();
        assert_eq!(queue.read(&define::HISTOGRAM.element::<u32>(3).unwrap()).unwrap(), 9);
        queue.write(&define::HISTOGRAM.element(2).unwrap(), &4_u32).unwrap();
        assert_eq!(queue.read(&histogram.slice::<u32>(2..4).unwrap()).unwrap(), [4, 9]);
        for error in [
            counter.value::<i64>().unwrap_err(),
            counter.value::<[i32; 0]>().unwrap_err(),
            counter.value::<i16>().unwrap_err(),
            counter.element::<i32>(1).unwrap_err(),
            counter.element::<i32>(usize::MAX).unwrap_err(),
            counter.element::<[u8; 3]>(0).unwrap_err(),
            define::COUNTER.element(1).unwrap_err(),
            counter.slice::<i64>(..).unwrap_err(),
            queue.write(&counter.slice(..).unwrap(), &[1u8]).unwrap_err(),
            counter.slice::<[u8; 3]>(..1).unwrap_err(),
            counter.slice::<i32>(1..2).unwrap_err(),
            counter.slice::<u8>(usize::MAX..).unwrap_err(),
            counter.slice::<u8>(..=usize::MAX).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(format!("{error:#}").contains("`counter`"), "{error}");
        }
        let stranger = self::queue(&device);
        let error = stranger.read(&counter.slice::<i32>(..).unwrap()).unwrap_err();
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
            let bytes = target.cast::<u8>().unwrap();
            let reads = [
                queue.read(&global.slice::<i32>(..).unwrap()).map(drop),
                queue.read_into(&global.slice(..1).unwrap(), &mut [0i32]),
                queue.read(&global.value::<i32>().unwrap()).map(drop),
                queue.read_into(&global.slice::<u8>(..1).unwrap(), &mut [0]),
                queue.read_async(&global.slice::<i32>(..1).unwrap()).map(drop),
                queue.read_async(&global.slice::<u8>(..1).unwrap()).map(drop),
                queue.copy(&global.slice(..target.len()).unwrap(), &target).map(drop),
                queue.copy(&global.slice::<u8>(..).unwrap(), &bytes).map(drop),
            ];
            let writes = [
                queue.write(&global.slice(..).unwrap(), &[1i32]),
                queue.write(&global.slice(..1).unwrap(), &[1i32]),
                queue.write(&global.value().unwrap(), &1i32),
                queue.write(&global.slice::<u8>(..1).unwrap(), &[1]),
                queue.write_async(&global.slice(..1).unwrap(), vec![1i32]).map(drop),
                queue.write_async(&global.slice::<u8>(..1).unwrap(), vec![1]).map(drop),
                queue.copy(&target, &global.slice(..target.len()).unwrap()).map(drop),
                queue.copy(&bytes, &global.slice::<u8>(..).unwrap()).map(drop),
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
            let view = global.memory::<i32>(&queue);
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
            queue.write_async(&types::G_LARGE.slice(3..4).unwrap(), vec![77]).unwrap();
            let back = queue.read_async(&types::G_LARGE.slice::<u32>(..5).unwrap()).unwrap();
            queue.parallel_for(1 << 16, types::types_fill_large(round + 1)).unwrap();
            let later = queue.read_async(&types::G_LARGE.slice::<u32>(..5).unwrap()).unwrap();
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
        queue.write(&define::COUNTER, &3).unwrap();
        let live = session.live();
        // The size is refused before anything is allocated.
        assert_eq!(queue.read(&large).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(session.live(), live);
        session.fail(memory_call("clDeviceMemAllocINTEL"), 1, -4);
        let error = queue.read_into(&types::G_LARGE.bytes(..4).unwrap(), &mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(
            format!("{error:#}").contains("`g_large`") && format!("{error:#}").contains("4194304"),
            "{error}"
        );
        assert_eq!(session.live(), live, "nothing is left over");
        session.fail(memory_call("clDeviceMemAllocINTEL"), 1, -4);
        let error = queue.single_task(types::types_add_one()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(format!("{error:#}").contains("device global"), "{error}");
        queue.single_task(define::count_up(1)).unwrap();
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 4);
        queue.single_task(types::types_add_one()).unwrap();
        assert_eq!(queue.read(&types::G_INT).unwrap(), 4);
        drop(queue);
        common::settle(&session);
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
}

/// A variable that no device has room for; where one has, it is too large for the driver's limit at
/// least.
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
        let error = queue.read_into(&huge.bytes(..4).unwrap(), &mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MemoryAllocation, "{error}");
        assert!(format!("{error:#}").contains("`huge`"), "{error}");
        assert_eq!(queue.read(&define::COUNTER).unwrap(), 5);
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
        let global = |name| bundle.device_global(name).unwrap().slice::<i32>(..).unwrap();
        queue.write(&global("of_thousand_105"), &[41]).unwrap();
        queue.write(&global("of_thousand_999"), &[1000]).unwrap();
        assert_eq!(sum(), [50]);
        assert_eq!(queue.read(&global("of_thousand_999")).unwrap(), [1000]);
    }
}
