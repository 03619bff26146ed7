//! Memory of `cl_khr_unified_svm`: USV. No driver has the extension. So most of these run again in a process with a library that shows
//! it.

use std::sync::OnceLock;

use oclave::command::Advice;
use oclave::device::mask::Mask;
use oclave::device::{MemoryKind, SvmCapabilities};
use oclave::memory::usm;
use oclave::native::UsmHandle;
use oclave::record::{ObjectKind, Session};
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};

use super::common::{has_unified_svm, run_with_unified_svm};
use super::kernels::{indirect, saxpy::saxpy};
use super::support::device;

/// The types of memory that the driver shows, in turns: all, and those of OpenCL 2.0 with and without mapping.
const TYPES: [&str; 4] = ["", "fine", "coarse", "device,coarse"];

/// Tests of graphs that also run with it, for the first and the third of the types.
const OF_GRAPHS: [&str; 4] = ["graph_run::", "graph_memory::", "graph_arenas::", "graph_sub::"];
const OF_UPDATES: &str = "graph_update::";

/// The device, in a process where it has the extension. Elsewhere, the test passes if it does in such processes.
fn unified(test: &str) -> Option<Device> {
    if has_unified_svm() {
        return Some(Device::select().unwrap());
    }
    check_runs(&[&format!("unified_svm::{test}")]);
    None
}

/// Checks the tests whose names begin so, in the processes where the device has the extension: one for each of the types. All
/// tests run there at once, because starting a driver and building programs takes longer than most tests.
fn check_runs(beginnings: &[&str]) {
    static RUNS: OnceLock<Option<Vec<(bool, String)>>> = OnceLock::new();
    if device().is_none() {
        return;
    }
    if std::env::var_os("OCLAVE_MASK").is_some() {
        skip!("masks hide other kinds of memory; this one is tested without them");
    }
    let run = |(number, types): (usize, &&str)| {
        let mut tests = vec!["unified_svm::"];
        if number % 2 == 0 {
            tests.extend(OF_GRAPHS.iter().chain(&[OF_UPDATES]));
            // Where memory of graphs lies depends on no kind of memory, and these take the longest.
            tests.extend(["--skip", "gm_rnd_001", "--skip", "gm_chn_001"]);
        }
        run_with_unified_svm(types, &tests)
    };
    let runs = RUNS.get_or_init(|| TYPES.iter().enumerate().map(run).collect());
    let Some(runs) = runs else { skip!("there is no library with cl_khr_unified_svm (ci/on sets it)") };
    let mut passed = 0;
    for (_, text) in runs {
        assert!(text.contains("\ntest result: "), "the process ended early: {text}");
        let tests = text.lines().filter_map(|line| line.strip_prefix("test "));
        for test in tests.filter(|test| beginnings.iter().any(|beginning| test.starts_with(beginning))) {
            assert!(test.ends_with("... ok"), "{text}");
            passed += 1;
        }
    }
    assert!(passed > 0, "no test is called so: {beginnings:?}");
    if let Some(line) = runs.iter().find_map(|(_, text)| skip_of(text, beginnings)) {
        println!("{line}");
    }
}

/// Why a single test was skipped, in the output of a process.
fn skip_of<'t>(text: &'t str, beginnings: &[&str]) -> Option<&'t str> {
    let is_of_others =
        |line: &&str| !beginnings.iter().any(|test| *line == format!("---- {test} stdout ----"));
    let mut own = text.lines().skip_while(is_of_others).skip(1).take_while(|line| !line.starts_with("---- "));
    own.find(|line| line.starts_with("skipped: "))
}

fn queue(device: &Device) -> Queue {
    Queue::new(&Context::new(device).unwrap()).unwrap()
}

#[test]
fn usv_dev_001_it_is_used_where_it_is_chosen() {
    let Some(preferred) = unified("usv_dev_001_it_is_used_where_it_is_chosen") else { return };
    let kind = |device: &Device| device.capabilities().memory().unwrap().kind;
    // By the environment.
    assert_eq!(kind(&preferred), MemoryKind::UnifiedSvm);
    assert_ne!(kind(&preferred.masked(Mask::UNIFIED_SVM)), MemoryKind::UnifiedSvm);
    let others = [MemoryKind::Usm, MemoryKind::Svm, MemoryKind::BufferAddress];
    for other in others.into_iter().filter_map(|other| preferred.with_memory(other).ok()) {
        assert_ne!(kind(&other), MemoryKind::UnifiedSvm);
        assert_ne!(other, preferred);
        let back = other.with_memory(MemoryKind::UnifiedSvm).unwrap();
        assert_eq!((kind(&back), &back), (MemoryKind::UnifiedSvm, &preferred));
        let context = Context::builder(&[other]).memory(MemoryKind::UnifiedSvm).build().unwrap();
        assert_eq!(context.device(), &preferred);
        assert!(format!("{:?}", context.device()).contains("UnifiedSvm"));
    }
    let support = preferred.capabilities().unified_svm.clone().unwrap();
    assert_eq!(support.version.to_string(), "0.9");
    assert!(support.types.iter().any(|one| one.contains(SvmCapabilities::DEVICE_READ)));
}

#[device_test]
fn usv_dev_002_a_device_without_it_says_what_it_has(device: Device) {
    let poor = device.masked(Mask::UNIFIED_SVM);
    assert_eq!(poor.capabilities().unified_svm, None);
    let error = poor.with_memory(MemoryKind::UnifiedSvm).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
    let text = format!("{error:#}");
    let has = format!("MemoryKind::{:?}", poor.capabilities().memory().unwrap().kind);
    assert!(text.contains("cl_khr_unified_svm 0.9") && text.contains(&has), "{text}");
    let built = Context::builder(&[poor]).memory(MemoryKind::UnifiedSvm).build();
    assert_eq!(built.unwrap_err().kind(), ErrorKind::FeatureNotSupported);
}

#[test]
fn usv_dev_003_contexts_of_several_devices() {
    let Some(device) = unified("usv_dev_003_contexts_of_several_devices") else { return };
    if !device.capabilities().partition_equally {
        skip!("the device cannot be partitioned");
    }
    let parts = device.partition_equally(1).unwrap();
    let context = Context::builder(&parts).memory(MemoryKind::UnifiedSvm).build().unwrap();
    assert_eq!(context.devices(), parts);
    // Of a type that all of them reach.
    let (x, y) = (context.alloc_host::<f32>(64).unwrap(), context.alloc_shared::<f32>(64).unwrap());
    x.write().unwrap().fill(1.0);
    y.write().unwrap().fill(0.0);
    let mut expected = 0.0;
    for (part, number) in parts.iter().zip(1_u8..) {
        let queue = Queue::builder(&context).device(part).build().unwrap();
        let own = context.alloc_device_on::<f32>(part, 64).unwrap();
        queue.fill(&own, f32::from(number)).unwrap();
        queue.parallel_for(64, saxpy(2.0_f32, &x, &own)).unwrap();
        queue.parallel_for(64, saxpy(10.0_f32, &own, &y)).unwrap();
        let graph = Graph::from_queue(&queue);
        graph.add(Command::parallel_for(64, saxpy(1.0_f32, &own, &y))).unwrap();
        queue.submit_graph(&graph.finalize().unwrap()).unwrap().wait().unwrap();
        expected += 11.0 * (f32::from(number) + 2.0);
        assert_eq!(*y.read().unwrap(), [expected; 64]);
        assert_eq!(queue.read(&own).unwrap(), [f32::from(number) + 2.0; 64]);
        // What belongs to one of them is not for the others.
        if let Some(other) = parts.iter().find(|other| *other != part) {
            let other = Queue::builder(&context).device(other).build().unwrap();
            assert_eq!(other.fill(&own, 0.0).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }
}

#[test]
fn usv_mem_001_kernels_and_host_use_it_in_place() {
    let Some(device) = unified("usv_mem_001_kernels_and_host_use_it_in_place") else { return };
    let queue = queue(&device);
    let context = queue.context();
    let (x, y) = (context.alloc_host::<f32>(64).unwrap(), context.alloc_shared::<f32>(64).unwrap());
    let sum = context.alloc_device::<f32>(64).unwrap();
    let session = Session::start();
    x.write().unwrap().fill(2.0);
    y.write().unwrap().fill(1.0);
    queue.fill(&sum, 0.5).unwrap();
    queue.parallel_for(64, saxpy(3.0_f32, &x, &y)).unwrap();
    queue.parallel_for(64, saxpy(2.0_f32, &y, &sum)).unwrap();
    assert_eq!(*y.read().unwrap(), [7.0; 64]);
    assert_eq!((session.count("clEnqueueSVMMemcpy"), session.count("clEnqueueReadBuffer")), (0, 0));
    let maps = if device.capabilities().memory().unwrap().mapped { 3 } else { 0 };
    assert_eq!(session.count("clEnqueueSVMMap"), maps);
    assert_eq!(queue.read(&sum).unwrap(), [14.5; 64]);
}

#[test]
fn usv_mem_002_kernels_follow_pointers_to_it() {
    let Some(device) = unified("usv_mem_002_kernels_follow_pointers_to_it") else { return };
    let queue = queue(&device);
    let context = queue.context();
    let kept = context.alloc_device::<u64>(1).unwrap();
    let out = context.alloc_shared::<i32>(1).unwrap();
    let targets = [context.alloc_shared::<i32>(1).unwrap(), context.alloc_shared::<i32>(1).unwrap()];
    for (value, target) in (7..).zip(&targets) {
        target.write().unwrap()[0] = value;
        queue.single_task(indirect::keep_address(target, &kept)).unwrap();
        queue.single_task(indirect::follow_address(&kept, &out)).unwrap();
        assert_eq!(*out.read().unwrap(), [value]);
    }
}

#[test]
fn usv_mem_003_copies_fills_and_hints() {
    let Some(device) = unified("usv_mem_003_copies_fills_and_hints") else { return };
    let queue = queue(&device);
    let context = queue.context();
    let device = context.alloc_device::<u32>(16).unwrap();
    let (host, shared) = (context.alloc_host::<u32>(16).unwrap(), context.alloc_shared::<u32>(16).unwrap());
    let data: Vec<u32> = (0..16).collect();
    queue.write(&device, &data).unwrap();
    queue.copy(&device, &host).unwrap();
    queue.prefetch(&shared).unwrap();
    queue.submit(Command::mem_advise(&shared, Advice::PreferDevice)).unwrap();
    queue.copy(&host, &shared).unwrap();
    queue.copy(&shared.slice(..4).unwrap(), &device.slice(12..).unwrap()).unwrap();
    queue.fill(&device.slice(..2).unwrap(), 9).unwrap();
    queue.memset(&device.slice(2..3).unwrap(), 1).unwrap();
    let back = queue.read_async(&device).unwrap().wait().unwrap();
    assert_eq!(back, [9, 9, 0x0101_0101, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]);
    assert_eq!(*shared.read().unwrap(), *data);
}

/// More than the extension aligns memory to.
#[derive(Clone, Copy, PartialEq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(1024))]
struct Page([u8; 1024]);

#[test]
fn usv_mem_004_large_alignments_and_freed_memory() {
    let Some(device) = unified("usv_mem_004_large_alignments_and_freed_memory") else { return };
    let session = Session::start();
    let queue = queue(&device);
    let context = queue.context();
    for len in [1, 3] {
        let page = context.alloc_device::<Page>(len).unwrap();
        let shared = context.alloc_shared::<Page>(len).unwrap();
        queue.write(&page, &vec![Page([len as u8; 1024]); len]).unwrap();
        queue.copy(&page, &shared).unwrap();
        assert_eq!(*shared.read().unwrap(), vec![Page([len as u8; 1024]); len]);
    }
    queue.wait().unwrap();
    drop(queue);
    super::common::settle(&session);
    assert_eq!(session.live().get(&ObjectKind::Svm), None);
    let calls = ["clSVMAllocWithPropertiesKHR", "clSVMFreeWithPropertiesKHR"].map(|call| session.count(call));
    assert!(calls[0] >= 4 && calls[0] == calls[1], "{calls:?}");
}

#[test]
fn usv_mem_005_memory_from_outside_is_looked_up() {
    let Some(device) = unified("usv_mem_005_memory_from_outside_is_looked_up") else { return };
    let (queue, other) = (queue(&device), Context::new(&device).unwrap());
    let shared = queue.context().alloc_shared::<u32>(64).unwrap();
    shared.write().unwrap().fill(5);
    let pointer = shared.slice(32..).unwrap().native();
    // SAFETY: these bytes are a part of memory that outlives what is made of them, and nobody else uses them meanwhile.
    let part = || unsafe { UsmHandle::borrow(pointer, 128) };
    let outside = UsmSlice::<u32, usm::Shared>::from_native(queue.context(), part(), 32).unwrap();
    queue.fill(&outside, 6).unwrap();
    drop(outside);
    assert_eq!((queue.read(&shared).unwrap()[31], queue.read(&shared).unwrap()[32]), (5, 6));
    let refused = UsmSlice::<u32, usm::Shared>::from_native(&other, part(), 32).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}

/// What holds of graphs, whatever the memory: runs, updates, memory of graphs, loops.
#[test]
fn usv_grf_001_graphs_by_every_strategy() {
    if !has_unified_svm() {
        check_runs(&OF_GRAPHS);
    }
}

#[test]
fn usv_upd_001_updates_of_graphs() {
    if !has_unified_svm() {
        check_runs(&[OF_UPDATES]);
    }
}
