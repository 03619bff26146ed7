//! Kernels for raw commands, and commands of the library that call OpenCL themselves.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use super::opencl::{bump, launch, own};
use super::raw::{Raw, check};
use crate::common::{bundle, call, context, queues_and_eventless};
use oclave::native::{EventHandle, Submission, cl_kernel};
use oclave::{Buffer, Command, Context, ErrorKind, Event, Graph, Queue, UsmSlice};
use opencl_sys::CL_KERNEL_NUM_ARGS;

#[device_test]
fn kernels_for_raw_commands(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    let queue = Queue::new(&context).unwrap();
    let value = context.alloc_shared::<i32>(1).unwrap();
    queue.fill(&value, 0).unwrap().wait().unwrap();
    let kernel = queue.native_kernel(&bump(&bundle, &value, 3)).unwrap();
    let mut count = 0_u32;
    // SAFETY: the kernel is alive.
    check(unsafe {
        (raw.cl.clGetKernelInfo)(kernel.raw(), CL_KERNEL_NUM_ARGS, 4, (&raw mut count).cast(), null_mut())
    });
    assert_eq!(count, 2);
    drop(own(launch(&raw, queue.native(), kernel.raw(), &[])));
    // Its arguments are its own: the library's launches do not see them changed, nor change them.
    let step = 100_i32;
    // SAFETY: the kernel is alive, and takes an `int`.
    check(unsafe { (raw.cl.clSetKernelArg)(kernel.raw(), 1, 4, (&raw const step).cast()) });
    queue.single_task(bump(&bundle, &value, 1)).unwrap();
    drop(own(launch(&raw, queue.native(), kernel.raw(), &[])));
    queue.wait().unwrap();
    assert_eq!(*value.read().unwrap(), [104]);
    // Another kernel of its program.
    let program = kernel.program().unwrap();
    let handle = kernel.handle().unwrap();
    drop(kernel);
    assert!(!handle.raw().is_null());
    let mut code = 0;
    // SAFETY: the program is alive.
    let ids = unsafe { (raw.cl.clCreateKernel)(program.raw(), c"ids".as_ptr(), &mut code) };
    check(code);
    let address = value.native();
    // SAFETY: kernel and memory are alive. `NativeKernel::program` says where pointers are numbers.
    check(unsafe {
        match context.device().platform().name() {
            "NVIDIA CUDA" => (raw.cl.clSetKernelArg)(ids, 0, 8, (&raw const address).cast()),
            _ => (raw.cl.clSetKernelArgMemPointerINTEL)(ids, 0, address),
        }
    });
    drop(own(launch(&raw, queue.native(), ids, &[])));
    queue.wait().unwrap();
    // SAFETY: the reference is this function's.
    check(unsafe { (raw.cl.clReleaseKernel)(ids) });
    assert_eq!(*value.read().unwrap(), [1]);
    let wrong = call(&bundle, "bump_by").value(1_i32);
    assert_eq!(queue.native_kernel(&wrong).unwrap_err().kind(), ErrorKind::KernelArgument);
}

/// What a native command needs of the other side, wherever it is called.
pub(crate) struct Shared {
    pub(crate) raw: Raw,
    pub(crate) kernel: cl_kernel,
}

// SAFETY: function pointers and handles, the kernel's arguments are set once.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// A context whose driver takes the SPIR-V of [`raw_bump_with`].
pub(crate) fn context_with_spirv() -> Option<Context> {
    let context = context()?;
    if context.device().capabilities().spirv_versions.is_empty() {
        println!("skipped: the driver takes no SPIR-V, and the test's own kernel is SPIR-V");
        return None;
    }
    Some(context)
}

fn raw_bump(context: &Context, value: *mut c_void, step: i32) -> Arc<Shared> {
    // SAFETY: kernel and memory are alive, and the kernel takes a pointer first.
    let set = |raw: &Raw, kernel| check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, value) });
    raw_bump_with(context, set, step)
}

/// The same, on memory that is set otherwise.
pub(crate) fn raw_bump_with(context: &Context, set: impl FnOnce(&Raw, cl_kernel), step: i32) -> Arc<Shared> {
    let mut raw = Raw::new(context.device().name(), false);
    // In the context of the library's queues.
    raw.context = context.native();
    raw.device = context.device().native();
    let kernel = raw.kernel(include_bytes!("../../../benches/kernels/bump.spv"), c"bump_by");
    set(&raw, kernel);
    // SAFETY: the kernel is alive, and takes an `int` second.
    check(unsafe { (raw.cl.clSetKernelArg)(kernel, 1, 4, (&raw const step).cast()) });
    Arc::new(Shared { raw, kernel })
}

fn native_bump(shared: &Arc<Shared>, value: &UsmSlice<i32, impl oclave::memory::UsmKind>) -> Command {
    let shared = Arc::clone(shared);
    let enqueue = move |to: &Submission<'_>| -> oclave::Result<EventHandle> {
        Ok(own(launch(&shared.raw, to.queue(), shared.kernel, to.wait_list())))
    };
    // SAFETY: the kernel uses the value only, waits for the list, and the event is its own.
    unsafe { Command::native(&[value], enqueue) }
}

#[device_test(context_with_spirv)]
fn native_commands_take_their_place(context: Context) {
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let value = context.alloc_shared::<i32>(1).unwrap();
        let shared = raw_bump(&context, value.native(), 10);
        let mut last = queue.fill(&value, 0).unwrap();
        for round in 0..20 {
            last = queue.submit(native_bump(&shared, &value).after(&last)).unwrap();
            if round % 5 == 0 {
                last = queue.after(&[&last]).host_task(|| ()).unwrap();
            }
            last = queue.after(&[&last]).single_task(bump(&bundle, &value, 1)).unwrap();
        }
        last.wait().unwrap();
        assert_eq!(*value.read().unwrap(), [220]);
        // The memory that it names is busy.
        let task = queue.host_task(|| std::thread::sleep(Duration::from_millis(10))).unwrap();
        let event = queue.submit(native_bump(&shared, &value).after(&task)).unwrap();
        assert_eq!(*value.read().unwrap(), [230]);
        event.wait().unwrap();
        let guard = value.write().unwrap();
        assert_eq!(queue.submit(native_bump(&shared, &value)).unwrap_err().kind(), ErrorKind::Invalid);
        drop(guard);
    }
}

#[device_test(context_with_spirv)]
fn native_commands_on_buffers_and_in_graphs(context: Context) {
    for queue in queues_and_eventless(&context) {
        // In its place by what it does to the buffer.
        let buffer = Buffer::<i32>::from_vec(vec![1]).unwrap();
        let address = queue.native_address(&buffer.read_write()).unwrap();
        let shared = raw_bump(&context, address, 5);
        queue.fill(&buffer.write(), 2).unwrap();
        let bumps = Arc::clone(&shared);
        let enqueue = move |to: &Submission<'_>| -> oclave::Result<EventHandle> {
            Ok(own(launch(&bumps.raw, to.queue(), bumps.kernel, to.wait_list())))
        };
        // SAFETY: the kernel uses the buffer only, waits for the list, and the event is its own.
        let native = unsafe { Command::native(&[&buffer.read_write()], enqueue) };
        queue.submit(native.clone()).unwrap();
        queue.submit(native).unwrap();
        assert_eq!(*buffer.host_read().unwrap(), [12]);

        let value = context.alloc_device::<i32>(1).unwrap();
        let shared = raw_bump(&context, value.native(), 3);
        let graph = Graph::new(&context, context.device()).unwrap();
        let first = graph.add(Command::fill(&value, 1)).unwrap();
        let node = graph.after(&first).add(native_bump(&shared, &value)).unwrap();
        assert_eq!(node.node_type().to_string(), "native_command");
        graph.after(&node).add(native_bump(&shared, &value)).unwrap();
        let executable = graph.finalize().unwrap();
        let mut last = None;
        for _ in 0..3 {
            let events: Vec<&Event> = last.iter().collect();
            last = Some(queue.after(&events).submit_graph(&executable).unwrap());
        }
        assert_eq!(queue.after(&[&last.unwrap()]).read(&value).unwrap(), [7]);
    }
}

#[device_test]
fn native_commands_that_fail(context: Context) {
    for queue in queues_and_eventless(&context) {
        // SAFETY: nothing is put on the queue.
        let fail =
            || unsafe { Command::native(&[], |_| Err::<EventHandle, _>("the raw side is out of order")) };
        let error = queue.submit(fail()).unwrap_err();
        assert!(format!("{error:#}").contains("the raw side is out of order"), "{error}");
        let task = queue.host_task(|| ()).unwrap();
        let held = queue.after(&[&task]).submit(fail());
        // Deferred or not, the wait reports it.
        let outcome = held.and_then(|event| event.wait());
        assert!(format!("{:#}", outcome.unwrap_err()).contains("the raw side is out of order"));
        let _ = queue.wait();
        queue.wait().unwrap();
    }
}
