//! USM: allocation, copies, fills, guards, and lifetimes, on the selected device.

use crate::common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::context;
use oclave::device::mask::Mask;
use oclave::device::{MemoryKind, SvmCapabilities};
use oclave::graph::ReplayStrategy;
use oclave::memory::{HostAddressable, usm};
use oclave::record::Session;
use oclave::{Command, Context, Device, ErrorKind, Graph, Queue, UsmSlice};

use crate::kernels::indirect;

#[device_test]
fn copies_arrive(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let data: Vec<u32> = (0..1000).collect();
    let a = context.alloc_device::<u32>(1000).unwrap();
    let b = context.alloc_shared::<u32>(1000).unwrap();
    let c = context.alloc_host::<u32>(1000).unwrap();
    queue.write(&a, &data).unwrap();
    queue.copy(&a, &b).unwrap();
    queue.copy(&b, &c).unwrap();
    assert_eq!(queue.read(&c).unwrap(), data);
    assert_eq!(*c.read().unwrap(), *data);
    let back = queue.read_async(&a).unwrap();
    assert_eq!(back.wait().unwrap(), data);
    let twice: Vec<u32> = data.iter().map(|x| x * 2).collect();
    queue.write_async(&a, twice.clone()).unwrap();
    assert_eq!(queue.read(&a).unwrap(), twice);
    let shared: Arc<[u32]> = data.clone().into();
    queue.write_async(&a, shared).unwrap();
    assert_eq!(queue.read(&a).unwrap(), data);
}

#[device_test]
fn fills_of_any_size(context: Context) {
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let bytes = context.alloc_device::<u8>(100).unwrap();
    queue.memset(&bytes, 7).unwrap().wait().unwrap();
    assert_eq!(queue.read(&bytes).unwrap(), [7; 100]);
    let odd = context.alloc_device::<[f32; 3]>(100_000).unwrap();
    let event = queue.fill(&odd, [1.0, 2.0, 3.0]).unwrap();
    assert!(queue.after(&[&event]).read(&odd).unwrap().iter().all(|v| *v == [1.0, 2.0, 3.0]));
    let middle = odd.slice(10..20).unwrap();
    queue.fill(&middle, [0.0, 0.0, 5.0]).unwrap().wait().unwrap();
    let all = queue.read(&odd).unwrap();
    let changed: Vec<usize> = (0..all.len()).filter(|i| all[*i][2] == 5.0).collect();
    assert_eq!(changed, (10..20).collect::<Vec<_>>());
    drop(queue);
}

#[device_test]
fn slices_know_their_bounds(context: Context) {
    let a = context.alloc_device::<u16>(10).unwrap();
    assert_eq!(a.slice(2..=4).unwrap().len(), 3);
    assert_eq!(a.slice(..).unwrap().slice(3..).unwrap().len(), 7);
    assert!(a.slice(10..).unwrap().is_empty());
    for bad in [5..11, 11..11, 0..usize::MAX] {
        assert_eq!(a.slice(bad).unwrap_err().kind(), ErrorKind::Invalid);
    }
    #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
    let reversed = 5..4;
    assert_eq!(a.slice(reversed).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.slice(..=usize::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.cast::<u32>().unwrap().len(), 5);
    assert_eq!(a.slice(1..5).unwrap().cast::<u32>().unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(a.slice(..3).unwrap().cast::<u32>().unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn lengths_must_agree(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_device::<u32>(10).unwrap();
    assert_eq!(queue.write(&a, &[0; 9]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.read_into(&a, &mut [0; 11]).unwrap_err().kind(), ErrorKind::Invalid);
    let parts = (a.slice(0..5).unwrap(), a.slice(4..9).unwrap());
    assert_eq!(queue.copy(&parts.0, &parts.1).unwrap_err().kind(), ErrorKind::Invalid);
    queue.copy(&a.slice(0..5).unwrap(), &a.slice(5..10).unwrap()).unwrap().wait().unwrap();
}

#[device_test]
fn nothing_is_fine(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_device::<f64>(0).unwrap();
    let b = context.alloc_shared::<f64>(0).unwrap();
    queue.write(&a, &[]).unwrap();
    queue.copy(&a, &b).unwrap().wait().unwrap();
    queue.fill(&a, 1.0).unwrap().wait().unwrap();
    assert!(queue.read(&a).unwrap().is_empty());
    assert!(b.read().unwrap().is_empty());
    assert!(b.write().unwrap().is_empty());
}

#[device_test]
fn too_much_is_an_error(context: Context) {
    for len in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        assert_eq!(context.alloc_device::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        assert_eq!(context.alloc_host::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
        assert_eq!(context.alloc_shared::<u64>(len).unwrap_err().kind(), ErrorKind::MemoryAllocation);
    }
}

#[device_test]
fn memory_of_another_context_is_refused(context: Context) {
    let other = Context::new(context.device()).unwrap();
    let queue = Queue::new(&context).unwrap();
    let foreign = other.alloc_device::<u32>(4).unwrap();
    assert_eq!(queue.write(&foreign, &[0; 4]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.fill(&foreign, 1).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.read_async(&foreign).unwrap_err().kind(), ErrorKind::Invalid);
}

#[device_test]
fn guards_keep_commands_off_and_wait_for_them(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_shared::<u32>(1 << 20).unwrap();
    queue.fill(&a, 3).unwrap();
    {
        let read = a.read().unwrap();
        assert!(read.iter().all(|x| *x == 3));
        let second = a.slice(5..6).unwrap().read().unwrap();
        assert_eq!(*second, [3]);
        assert_eq!(a.write().unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(queue.fill(&a, 4).unwrap_err().kind(), ErrorKind::Invalid);
    }
    {
        let mut write = a.slice(..2).unwrap().write().unwrap();
        write[1] = 9;
        assert_eq!(a.read().unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(queue.read(&a).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(queue.read(&a.slice(..3).unwrap()).unwrap(), [3, 9, 3]);
}

#[device_test]
fn hints_keep_the_order(context: Context) {
    let queue = Queue::new(&context).unwrap();
    let a = context.alloc_shared::<u8>(4096).unwrap();
    queue.fill(&a, 1).unwrap();
    queue.prefetch(&a).unwrap();
    queue
        .submit(oclave::Command::mem_advise(&a, oclave::command::Advice::ReadMostly))
        .unwrap()
        .wait()
        .unwrap();
    assert!(a.read().unwrap().iter().all(|x| *x == 1));
}

#[test]
fn everything_is_send_sync_and_clone() {
    fn all<T: Send + Sync + Clone + std::fmt::Debug>() {}
    fn most<T: Send + Sync + std::fmt::Debug>() {}
    all::<Device>();
    all::<Context>();
    all::<Queue>();
    all::<oclave::Event>();
    all::<oclave::kernel::KernelCall>();
    all::<oclave::UsmSlice<f32, usm::DeviceOnly>>();
    all::<oclave::UsmSlice<f32, usm::Shared>>();
    most::<oclave::memory::Readback<f32>>();
    most::<oclave::memory::ReadGuard<f32>>();
    most::<oclave::memory::WriteGuard<f32>>();
    most::<oclave::Error>();
}

/// The selected device with each kind of memory that it has.
fn each_kind(device: &Device) -> Vec<Device> {
    let masks = [Mask::empty(), Mask::USM, Mask::USM | Mask::SVM_FINE, Mask::USM | Mask::SVM];
    let mut devices: Vec<Device> = Vec::new();
    let unified = device.with_memory(MemoryKind::UnifiedSvm).ok();
    for masked in masks.map(|mask| device.masked(mask)).into_iter().chain(unified) {
        let memory = masked.capabilities().memory();
        if memory.is_some() && !devices.iter().any(|other| other.capabilities().memory() == memory) {
            devices.push(masked);
        }
    }
    devices
}

/// Whether one flag lets kernels reach all memory of `cl_khr_unified_svm` that the library uses.
fn has_flag(device: &Device) -> bool {
    let capabilities = device.capabilities();
    // Types that are mapped are among those of OpenCL 2.0.
    let is_used =
        capabilities.memory().is_some_and(|memory| memory.kind == MemoryKind::UnifiedSvm && !memory.mapped);
    let types = capabilities.unified_svm.iter().flat_map(|support| &support.types);
    is_used && types.into_iter().any(|one| one.contains(SvmCapabilities::INDIRECT_ACCESS))
}

/// NVIDIA's driver is not told, as that makes each launch slower (Q31). PoCL 7.1 is not told, as it would abort (Q84).
fn reaches_all_untold(device: &Device) -> bool {
    let platform = device.platform();
    platform.name() == "NVIDIA CUDA" || platform.version().contains("PoCL 7.1")
}

/// A target, memory that keeps its address, and a call that reads behind that address.
fn kept_address(queue: &Queue) -> (UsmSlice<i32>, UsmSlice<u64>, UsmSlice<i32, usm::Shared>) {
    let context = queue.context();
    let target = context.alloc_device::<i32>(1).unwrap();
    let kept = context.alloc_device::<u64>(1).unwrap();
    let out = context.alloc_shared::<i32>(1).unwrap();
    queue.write(&target, &[42]).unwrap();
    queue.single_task(indirect::keep_address(&target, &kept)).unwrap();
    (target, kept, out)
}

#[device_test]
fn kernels_follow_pointers_in_memory(context: Context) {
    for device in each_kind(context.device()) {
        let kind = device.capabilities().memory().unwrap().kind;
        let queue = common::queue(&device);
        let session = Session::start();
        let (_target, kept, out) = kept_address(&queue);
        assert_eq!(
            session.count("clSetKernelExecInfo"),
            0,
            "{kind:?}: its arguments are all that it reaches"
        );
        queue.single_task(indirect::follow_address(&kept, &out)).unwrap();
        assert_eq!(*out.read().unwrap(), [42], "{kind:?}");
        // USM has a flag for each of three kinds, unified SVM has one flag or a list, the others have a list.
        let calls = match kind {
            MemoryKind::Usm => 3,
            MemoryKind::UnifiedSvm if has_flag(&device) => 1,
            _ if reaches_all_untold(&device) => 0,
            _ => 1,
        };
        assert_eq!(session.count("clSetKernelExecInfo"), calls, "{kind:?}");
    }
}

/// NVIDIA's driver gives no memory to a thread while another one allocates or frees some (Q90).
#[device_test]
fn threads_allocate_at_once(context: Context) {
    for device in each_kind(context.device()) {
        let mut contexts = vec![Context::new(&device).unwrap(); 6];
        contexts.extend((0..6).map(|_| Context::new(&device).unwrap()));
        std::thread::scope(|scope| {
            for context in contexts {
                scope.spawn(move || {
                    // Larger than what is cut out of other allocations.
                    let allocate = |_| context.alloc_device::<u8>(70 << 10).unwrap();
                    drop((0..100).map(allocate).collect::<Vec<_>>());
                });
            }
        });
    }
}

/// A kernel may follow pointers to all memory of its context, while other memory is freed and allocated. PoCL 7.1 aborts
/// if it is told which memory that is (Q84).
#[device_test]
fn memory_comes_and_goes_while_a_kernel_follows_pointers(context: Context) {
    for device in each_kind(context.device()) {
        let kind = device.capabilities().memory().unwrap().kind;
        let queue = common::queue(&device);
        let (_target, kept, out) = kept_address(&queue);
        let allocate =
            |len| (0..200).map(|_| queue.context().alloc_device::<u8>(len).unwrap()).collect::<Vec<_>>();
        let follow = |loops| indirect::follow_address_late(&kept, &out, loops);
        let start = Instant::now();
        queue.single_task(follow(50_000_000)).unwrap().wait().unwrap();
        let loops = 50_000_000.0 * 2.0 / start.elapsed().as_secs_f32();
        let early = allocate(70 << 10);
        let event = queue.single_task(follow(loops as u32)).unwrap();
        drop(early);
        // Freed memory has been kept for long enough. The driver gets it back, and gives it out again.
        std::thread::sleep(Duration::from_millis(1200));
        drop(queue.context().alloc_device::<u8>(200 << 10).unwrap());
        let late = allocate(90 << 10);
        println!("{kind:?}: the kernel has ended before: {}", event.is_complete().unwrap());
        drop(late);
        event.wait().unwrap();
        assert_eq!(*out.read().unwrap(), [42], "{kind:?}");
    }
}

#[device_test]
fn launches_cost_as_much_however_much_memory_there_is(context: Context) {
    for device in each_kind(context.device()) {
        let kind = device.capabilities().memory().unwrap().kind;
        let queue = common::queue(&device);
        let (_target, kept, out) = kept_address(&queue);
        let follow = || Command::single_task(indirect::follow_address(&kept, &out));
        let session = Session::start();
        let mut costs = Vec::new();
        let mut more = Vec::new();
        for blocks in [0, 200] {
            more.extend((0..blocks).map(|_| queue.context().alloc_shared::<i32>(1).unwrap()));
            let graph = Graph::new(queue.context(), &device).unwrap();
            graph.add(follow()).unwrap();
            let executable = graph.finalizer().strategy(ReplayStrategy::Enqueue).finalize().unwrap();
            // Their first runs tell the driver what there is.
            let first = session.count("clSetKernelExecInfo");
            queue.submit(follow()).unwrap().wait().unwrap();
            queue.submit_graph(&executable).unwrap().wait().unwrap();
            let is_told = session.count("clSetKernelExecInfo") > first;
            let is_listed = kind != MemoryKind::Usm && !has_flag(&device);
            assert_eq!(is_told, is_listed && !reaches_all_untold(&device), "{kind:?}");
            session.reset();
            for _ in 0..10 {
                queue.submit(follow()).unwrap();
                queue.submit_graph(&executable).unwrap();
            }
            queue.wait().unwrap();
            assert_eq!(session.count("clSetKernelExecInfo"), 0, "{kind:?}: nothing has changed");
            let kernels = ["clEnqueueNDRangeKernel", "clSetKernelArg", "clSetKernelArgSVMPointer"];
            costs.push(kernels.map(|call| session.count(call)));
            out.write().unwrap()[0] = 0;
            queue.submit(follow()).unwrap();
            assert_eq!(*out.read().unwrap(), [42], "{kind:?}");
        }
        assert_eq!(costs.first(), costs.last(), "{kind:?}");
    }
}

#[test]
fn shared_and_host_memory_mean_the_same_whatever_they_are() {
    fn check<K: HostAddressable>(queue: &Queue, memory: &UsmSlice<i32, K>, kind: MemoryKind) {
        memory.write().unwrap().copy_from_slice(&[1, 2, 3, 4]);
        let bundle = common::bundle(queue.context());
        let bump = || common::call(&bundle, "bump_by").pointer_mut::<i32>(memory).value(10_i32);
        queue.parallel_for(4, bump()).unwrap();
        // The guard waits for the kernel.
        let guard = memory.read().unwrap();
        assert_eq!(*guard, [11, 12, 13, 14], "{kind:?}");
        // Commands and the host take turns, also where the driver would let them run together.
        assert_eq!(queue.parallel_for(4, bump()).unwrap_err().kind(), ErrorKind::Invalid, "{kind:?}");
        drop(guard);
        queue.parallel_for(4, bump()).unwrap();
        assert_eq!(queue.read(memory).unwrap(), [21, 22, 23, 24], "{kind:?}");
    }
    let Some(context) = context() else { return };
    for device in each_kind(context.device()) {
        let kind = device.capabilities().memory().unwrap().kind;
        let queue = common::queue(&device);
        check(&queue, &queue.context().alloc_shared(4).unwrap(), kind);
        check(&queue, &queue.context().alloc_host(4).unwrap(), kind);
    }
}

#[device_test]
fn what_usm_a_device_lacks_is_an_error_of_the_allocation(context: Context) {
    let memory = context.device().capabilities().memory().unwrap();
    if memory.kind != MemoryKind::Usm {
        println!("skipped: the device's memory is no USM of which a kind could be hidden");
        return;
    }
    let lacking = |mask| Context::new(&context.device().masked(mask)).unwrap();
    let session = Session::start();
    let errors = [
        (lacking(Mask::DEVICE_USM).alloc_device::<u8>(1).map(drop), "device memory"),
        (lacking(Mask::SHARED_USM).alloc_shared::<u8>(1).map(drop), "shared memory"),
        (lacking(Mask::HOST_USM).alloc_host::<u8>(1).map(drop), "host memory"),
    ];
    for (result, what) in errors {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
        assert!(format!("{error:#}").contains(what), "{error:#}");
    }
    let allocations = ["clDeviceMemAllocINTEL", "clSharedMemAllocINTEL", "clHostMemAllocINTEL", "clSVMAlloc"];
    assert!(allocations.iter().all(|call| session.count(call) == 0), "{:?}", session.counts());
}

/// All tests of this module hold where memory is of `cl_khr_unified_svm`, whatever its types. Coarse-grained memory is mapped for
/// the host.
#[test]
fn memory_may_be_unified_svm() {
    if common::has_unified_svm() {
        let memory = common::device().unwrap().capabilities().memory().unwrap();
        assert_eq!(memory.kind, MemoryKind::UnifiedSvm);
        return;
    }
    for types in ["", "fine", "coarse", "device,coarse"] {
        common::with_unified_svm(types, &["memory::usm::"]);
    }
}
