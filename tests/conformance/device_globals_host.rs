//! DG: the host's side of device globals, scopes, and kernel bundles.

use oclave::kernel::DeviceGlobal;
use oclave::{Command, ErrorKind, Event, Graph, Queue};

use crate::kernels::{
    globals_access as access, globals_define as define, globals_pointers as pointers, globals_scope as scope,
    globals_static_a as static_a, globals_static_b as static_b, globals_types as types,
};
use crate::support::{DEVICE_GLOBAL_MASKS, queues};

const DEFINE_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_define.oclimg"));
const SCOPE_IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_scope.oclimg"));

/// `scoped`, the table, `scoped_seen` as kernels see them.
fn read_scoped(queue: &Queue) -> Vec<i32> {
    let out = queue.context().alloc_device::<i32>(8).unwrap();
    let gain = queue.context().alloc_device::<f32>(1).unwrap();
    queue.single_task(scope::scoped_read(&out, &gain)).unwrap();
    queue.read(&out).unwrap()[..6].to_vec()
}

#[test]
fn dg_ini_008_kernels_only_read_what_the_host_writes() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let x = queue.context().alloc_device::<f32>(1).unwrap();
        queue.fill(&x, 1.0).unwrap();
        let settings = define::Settings { gain: 42.0, ..bytemuck::Zeroable::zeroed() };
        queue.write(&define::SETTINGS, &settings).unwrap();
        queue.parallel_for(1, define::apply_settings(&x)).unwrap();
        assert_eq!(queue.read(&x).unwrap(), [42.0]);
    }
}

#[test]
fn dg_ini_009_a_large_variable_begins_as_zeroes() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let all = queue.read_async(&types::G_LARGE.slice::<u32>(..1 << 20).unwrap()).unwrap().wait().unwrap();
        assert!(all.len() == 1 << 20 && all.iter().all(|word| *word == 0));
        queue.parallel_for(1 << 20, types::types_fill_large(3)).unwrap();
        let mut last = [0];
        queue.read_into(&types::G_LARGE.slice((1 << 20) - 1..).unwrap(), &mut last).unwrap();
        assert_eq!(last, [(1 << 20) + 2]);
    }
}

#[test]
fn dg_cpy_001_whole_values_in_all_forms() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let events: Vec<Event> = (0..3).map(|_| queue.marker().unwrap()).collect();
        let list: Vec<&Event> = events.iter().collect();
        for (n, after) in [&list[..0], &list[..1], &list].into_iter().enumerate() {
            let value = [n as u32; 8];
            queue.after(after).write(&define::HISTOGRAM, &value).unwrap();
            assert_eq!(queue.after(after).read(&define::HISTOGRAM).unwrap(), value);
            let value = [n as u32 + 10; 8];
            let sent = queue.after(after).write_async(&define::HISTOGRAM, value).unwrap();
            let back = queue.after(&[&sent]).read_async(&define::HISTOGRAM).unwrap();
            assert_eq!(back.wait().unwrap(), value);
            let value = [n as u32 + 20; 8];
            queue
                .after(after)
                .write(&define::HISTOGRAM.bytes(..).unwrap(), bytemuck::bytes_of(&value))
                .unwrap();
            let mut bytes = [0; 32];
            queue.after(after).read_into(&define::HISTOGRAM.bytes(..).unwrap(), &mut bytes).unwrap();
            assert_eq!(bytes, bytemuck::bytes_of(&value));
        }
    }
}

#[test]
fn dg_cpy_001_from_and_to_memory_of_every_kind() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let device = queue.context().alloc_device::<u32>(8).unwrap();
        let host = queue.context().alloc_host::<u32>(8).unwrap();
        let shared = queue.context().alloc_shared::<u32>(8).unwrap();
        queue.fill(&device, 7).unwrap();
        queue.copy(&device, &define::HISTOGRAM.slice(..device.len()).unwrap()).unwrap();
        queue.copy(&define::HISTOGRAM.slice(..host.len()).unwrap(), &host).unwrap().wait().unwrap();
        assert_eq!(&host.read().unwrap()[..], [7; 8]);
        host.write().unwrap()[3] = 9;
        queue.copy(&host, &define::HISTOGRAM.slice(..host.len()).unwrap()).unwrap();
        queue.copy(&define::HISTOGRAM.slice(..shared.len()).unwrap(), &shared).unwrap().wait().unwrap();
        assert_eq!(&shared.read().unwrap()[..], [7, 7, 7, 9, 7, 7, 7, 7]);
    }
}

#[test]
fn dg_cpy_006_writing_a_const_global_by_name_is_refused() {
    let image = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_access.oclimg"));
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let constant = crate::common::load::image(queue.context(), image)
            .unwrap()
            .device_global("access_const")
            .unwrap();
        assert_eq!(
            queue.write(&constant.slice(..).unwrap(), &[1i32]).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert_eq!(queue.read(&access::ACCESS_CONST).unwrap(), 5);
    }
}

#[test]
fn dg_cpy_007_by_name_access_is_refused_at_run_time() {
    let image = include_bytes!(concat!(env!("OUT_DIR"), "/tests.globals_access.oclimg"));
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let bundle = crate::common::load::image(queue.context(), image).unwrap();
        for (name, read, write) in [
            ("access_read", true, false),
            ("access_write", false, true),
            ("access_read_write", true, true),
            ("access_none", false, false),
        ] {
            let global = bundle.device_global(name).unwrap();
            for (allowed, outcome) in [
                (read, queue.read(&global.slice::<i32>(..).unwrap()).map(drop)),
                (write, queue.write(&global.slice(..).unwrap(), &[1i32])),
            ] {
                let refused = outcome.err().map(|error| error.kind());
                assert_eq!(refused, if allowed { None } else { Some(ErrorKind::Invalid) }, "{name}");
            }
        }
    }
}

#[test]
fn dg_cpy_011_after_the_event_of_a_kernel() {
    for in_order in queues(&DEVICE_GLOBAL_MASKS) {
        let Ok(queue) = Queue::builder(in_order.context()).out_of_order().build() else {
            println!("skipped: {} has no out-of-order queues", in_order.device().name());
            continue;
        };
        let added = queue.single_task(define::count_up(1)).unwrap();
        assert_eq!(queue.after(&[&added]).read(&define::COUNTER).unwrap(), 6);
        let written = queue.after(&[&added]).write_async(&define::COUNTER, 50).unwrap();
        let added = queue.after(&[&written]).single_task(define::count_up(1)).unwrap();
        let back = in_order.after(&[&added]).read_async(&define::COUNTER).unwrap();
        assert_eq!(back.wait().unwrap(), 51);
    }
}

#[test]
fn dg_scp_002_values_survive_other_builds() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&define::COUNTER, &60).unwrap();
        for round in 1..4 {
            let bundle = crate::common::load::image(queue.context(), DEFINE_IMAGE).unwrap();
            queue.single_task(bundle.kernel("count_up").unwrap().call().value(1)).unwrap();
            assert_eq!(queue.read(&define::COUNTER).unwrap(), 60 + round);
        }
    }
}

#[test]
fn dg_scp_002_shared_values_survive_other_specializations() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let out = queue.context().alloc_device::<i32>(8).unwrap();
        let gain = queue.context().alloc_device::<f32>(1).unwrap();
        for step in 1..5 {
            queue.single_task(scope::scoped_add(1).spec(&scope::SCOPED_STEP, step)).unwrap();
        }
        queue.single_task(scope::scoped_read(&out, &gain)).unwrap();
        let seen = queue.read(&out).unwrap();
        assert_eq!((seen[7], seen[6]), (4, 1), "one shared by four programs, one in each");
    }
}

#[test]
fn dg_scp_005_the_host_first_builds_the_program() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.write(&scope::SCOPED, &30).unwrap();
        assert_eq!(read_scoped(&queue), [30, 1, 2, 3, 4, 0]);
    }
}

#[test]
fn dg_scp_006_a_kernel_first_its_program_is_used() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.single_task(scope::scoped_add(3)).unwrap();
        assert_eq!(queue.read(&scope::SCOPED).unwrap(), 20);
        queue.write(&scope::SCOPED_TABLE.slice(1..3).unwrap(), &[8, 9]).unwrap();
        assert_eq!(read_scoped(&queue), [20, 1, 8, 9, 4, 1]);
    }
}

#[test]
fn dg_scp_006_in_two_programs_the_host_is_refused() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        queue.single_task(scope::scoped_add(3)).unwrap();
        queue.single_task(scope::scoped_add(3).spec(&scope::SCOPED_STEP, 2)).unwrap();
        let error = queue.read(&scope::SCOPED).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[test]
fn dg_scp_008_without_a_kernel_no_image_holds_it() {
    static UNUSED: DeviceGlobal<i32> = DeviceGlobal::new(scope::SCOPED.images(), "scoped_unused");
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let error = queue.read(&UNUSED).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported, "{error}");
    }
}

#[test]
fn dg_scp_010_a_size_that_is_not_the_modules_is_refused() {
    static WIDE: DeviceGlobal<i64> = DeviceGlobal::new(scope::SCOPED.images(), "scoped");
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        assert_eq!(queue.read(&WIDE).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(queue.write(&WIDE, &1).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

/// Shared variables live as long as the context, image-scope ones as long as the bundle.
#[test]
fn dg_lnk_003_loaded_and_unloaded_many_times() {
    let is_masked = std::env::var_os("OCLAVE_MASK").is_some();
    for (number, queue) in queues(&DEVICE_GLOBAL_MASKS).into_iter().enumerate() {
        let session = oclave::record::Session::start();
        let mut first = None;
        // What is live is compared in each round, so that a leak shows at once.
        for round in 0..if number == 0 && !is_masked { 100 } else { 50 } {
            let bundle = crate::common::load::image(queue.context(), SCOPE_IMAGE).unwrap();
            let scoped = bundle.device_global("scoped").unwrap().slice::<i32>(..).unwrap();
            assert_eq!(queue.read(&scoped).unwrap(), [17], "round {round}");
            queue.write(&scoped, &[round]).unwrap();
            drop((bundle, scoped));
            queue.wait().unwrap();
            let live = session.live();
            assert_eq!(&live, first.get_or_insert_with(|| live.clone()), "round {round}");
        }
    }
}

#[test]
fn dg_lnk_005_static_variables_of_two_sources() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let out = queue.context().alloc_device::<i32>(1).unwrap();
        queue.single_task(static_a::static_a_add(1, &out)).unwrap();
        queue.single_task(static_b::static_b_add(1, &out)).unwrap();
        assert_eq!(queue.read(&static_a::SAME_NAME).unwrap(), 101);
        assert_eq!(queue.read(&static_b::SAME_NAME).unwrap(), 201);
    }
}

#[test]
fn dg_dev_003_the_address_is_good_for_copies() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let view = pointers::TARGET.memory::<i32>(&queue).unwrap();
        let other = queue.context().alloc_device::<i32>(4).unwrap();
        assert_eq!(view.len(), 4);
        queue.copy(&view, &other).unwrap();
        assert_eq!(queue.read(&other).unwrap(), [10, 20, 30, 40]);
        let out = queue.context().alloc_device::<u64>(1).unwrap();
        queue.single_task(pointers::pointers_publish(&out)).unwrap();
        let address = pointers::TARGET.device_address(&queue).unwrap();
        assert_eq!(queue.read(&out).unwrap(), [address + 8]);
        // In a program as well.
        let view = scope::SCOPED_TABLE.memory::<i32>(&queue).unwrap();
        queue.copy(&view, &other).unwrap();
        assert_eq!(queue.read(&other).unwrap(), [1, 2, 3, 4]);
    }
}

#[test]
fn dg_dev_004_queries_by_name() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let bundle = crate::common::load::image(queue.context(), DEFINE_IMAGE).unwrap();
        assert_eq!(bundle.device_global("histogram").unwrap().size_bytes(), 32);
        let error = bundle.device_global("nothing").unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && format!("{error:#}").contains("`nothing`"), "{error}");
    }
}

/// Both builders refuse copies of device globals in the same words, and both take them where the
/// graph allows it.
#[test]
fn dg_grf_002_copies_in_graphs() {
    for queue in queues(&DEVICE_GLOBAL_MASKS) {
        let context = queue.context();
        let (values, seen) =
            (context.alloc_device::<u32>(8).unwrap(), context.alloc_device::<u32>(8).unwrap());
        let bins = define::HISTOGRAM.slice(..8).unwrap();
        let commands = || [Command::copy(&values, &bins), Command::copy(&bins, &seen)];

        let strict = Graph::new(context, queue.device()).unwrap();
        for command in commands() {
            let added = strict.add(command.clone()).unwrap_err();
            let recording = strict.record(&queue).unwrap();
            let recorded = queue.submit(command).unwrap_err();
            recording.end();
            for error in [added, recorded] {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                assert!(format!("{error:#}").contains("allow_device_globals"), "{error}");
            }
        }
        assert!(strict.is_empty());

        let allowing = || Graph::builder(context, queue.device()).allow_device_globals().build().unwrap();
        let added = allowing();
        for command in commands() {
            added.after_all_leaves().add(command).unwrap();
        }
        let recorded = allowing();
        let recording = recorded.record(&queue).unwrap();
        for command in commands() {
            queue.submit(command).unwrap();
        }
        recording.end();
        for graph in [added, recorded] {
            let executable = graph.finalize().unwrap();
            for replay in 1..=2_u32 {
                queue.fill(&values, replay).unwrap();
                queue.submit_graph(&executable).unwrap();
                queue.single_task(define::add_to_bin(3)).unwrap();
                assert_eq!(queue.read(&seen).unwrap(), [replay; 8]);
                let kept: [u32; 8] = queue.read(&define::HISTOGRAM).unwrap();
                assert_eq!(kept, [replay, replay, replay, replay + 1, replay, replay, replay, replay]);
            }
        }
    }
}
