//! OpenCL's own handles, out of the library and into it, with who releases what; on the selected device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "raw OpenCL is the other side")]

mod common;
#[path = "../benches/raw/mod.rs"]
mod raw;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use common::{bundle, call, context, device, freed, queues_and_eventless};
use oclave::native::{
    ContextHandle, DeviceHandle, EventHandle, MemHandle, QueueHandle, UsmHandle, cl_command_queue,
    cl_context, cl_event, cl_kernel, cl_mem,
};
use oclave::record::Session;
use oclave::{
    Buffer, Command, Context, Device, ErrorKind, Event, EventStatus, Graph, HostTarget, KernelBundle, Queue,
    UsmSlice, usm,
};
use opencl_sys::{
    CL_CONTEXT_REFERENCE_COUNT, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_EVENT_REFERENCE_COUNT,
    CL_KERNEL_NUM_ARGS, CL_MEM_COPY_HOST_PTR, CL_MEM_HOST_NO_ACCESS, CL_MEM_READ_WRITE,
    CL_MEM_REFERENCE_COUNT, CL_MEM_SIZE, CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, CL_QUEUE_REFERENCE_COUNT, cl_int,
    cl_uint, cl_ulong,
};
use raw::{Raw, check};

/// Raw OpenCL on the selected device, where it has what is needed.
fn raw(out_of_order: bool) -> Option<(Device, Raw)> {
    let device = device()?;
    if device.capabilities().usm.is_none() {
        println!("skipped: the device has no USM");
        return None;
    }
    let raw = Raw::new(device.name(), out_of_order);
    Some((device, raw))
}

fn queue_info<T: Default>(raw: &Raw, queue: cl_command_queue, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: the queue is alive, the value is of the size that is asked for.
    check(unsafe {
        (raw.cl.clGetCommandQueueInfo)(queue, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

fn event_info<T: Default>(raw: &Raw, event: cl_event, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: as above.
    check(unsafe {
        (raw.cl.clGetEventInfo)(event, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

fn context_references(raw: &Raw, context: cl_context) -> cl_uint {
    let mut count = 0_u32;
    // SAFETY: as above.
    check(unsafe {
        (raw.cl.clGetContextInfo)(context, CL_CONTEXT_REFERENCE_COUNT, 4, (&raw mut count).cast(), null_mut())
    });
    count
}

fn status(raw: &Raw, event: cl_event) -> cl_int {
    event_info(raw, event, CL_EVENT_COMMAND_EXECUTION_STATUS)
}

fn user_event(raw: &Raw, context: cl_context) -> cl_event {
    let mut code = 0;
    // SAFETY: the context is alive.
    let event = unsafe { (raw.cl.clCreateUserEvent)(context, &mut code) };
    check(code);
    event
}

fn set_status(raw: &Raw, event: cl_event, status: cl_int) {
    // SAFETY: a user event whose status was not set.
    check(unsafe { (raw.cl.clSetUserEventStatus)(event, status) });
}

/// One work-item of a kernel, after events.
fn launch(raw: &Raw, queue: cl_command_queue, kernel: cl_kernel, wait: &[cl_event]) -> cl_event {
    let mut event = null_mut();
    let list = if wait.is_empty() { null() } else { wait.as_ptr() };
    // SAFETY: all objects are alive, the arguments are set.
    check(unsafe {
        let count = wait.len() as cl_uint;
        (raw.cl.clEnqueueNDRangeKernel)(queue, kernel, 1, null(), &1, null(), count, list, &mut event)
    });
    event
}

fn own(event: cl_event) -> EventHandle {
    // SAFETY: a new event's only reference.
    unsafe { EventHandle::from_raw(event) }.unwrap()
}

fn bump(bundle: &KernelBundle, value: &UsmSlice<i32, impl oclave::UsmKind>, step: i32) -> oclave::KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(value).value(step)
}

#[test]
fn handles_of_objects() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let queue = Queue::new(&context).unwrap();
    assert_eq!(queue_info::<usize>(&raw, queue.native(), CL_QUEUE_CONTEXT), context.native() as usize);
    assert_eq!(queue_info::<usize>(&raw, queue.native(), CL_QUEUE_DEVICE), queue.device().native() as usize);
    assert!(!context.device().platform().native().is_null());
    // Showing gives no reference.
    let (before, same) =
        (queue_info::<cl_uint>(&raw, queue.native(), CL_QUEUE_REFERENCE_COUNT), queue.native());
    assert_eq!(queue_info::<cl_uint>(&raw, same, CL_QUEUE_REFERENCE_COUNT), before);
    // A device is the same that the library lists.
    // SAFETY: the device is alive.
    let device =
        Device::from_native(unsafe { DeviceHandle::retain(queue.device().native()) }.unwrap()).unwrap();
    assert_eq!(device, *context.device());
    if let Ok(parts) = device.partition_equally(1) {
        // SAFETY: the sub-device is alive.
        let handle = unsafe { DeviceHandle::retain(parts[0].native()) }.unwrap();
        let part = Device::from_native(handle).unwrap();
        drop(parts);
        assert_eq!(part.parent(), Some(&device));
        let context = Context::new(&part).unwrap();
        Queue::new(&context).unwrap().wait().unwrap();
    }
    // SAFETY: null is refused before anything is done.
    let null_handles = unsafe {
        [
            DeviceHandle::retain(null_mut()).map(drop),
            ContextHandle::from_raw(null_mut()).map(drop),
            QueueHandle::retain(null_mut()).map(drop),
            EventHandle::from_raw(null_mut()).map(drop),
        ]
    };
    assert!(null_handles.into_iter().all(|result| result.unwrap_err().kind() == ErrorKind::Invalid));
}

#[test]
fn contexts_and_queues_come_in() {
    for out_of_order in [false, true] {
        let Some((device, raw)) = raw(out_of_order) else { return };
        let before = (
            context_references(&raw, raw.context),
            queue_info::<cl_uint>(&raw, raw.queue, CL_QUEUE_REFERENCE_COUNT),
        );
        let session = Session::start();
        {
            // SAFETY: both are alive.
            let (context, queue) = unsafe {
                (ContextHandle::retain(raw.context).unwrap(), QueueHandle::retain(raw.queue).unwrap())
            };
            let context = Context::from_native(context).unwrap();
            assert_eq!(context.devices(), std::slice::from_ref(&device));
            assert_eq!(context.native(), raw.context);
            let queue = match Queue::from_native(&context, queue) {
                Ok(queue) => queue,
                Err(error) => {
                    // Such a queue hangs on Intel's runtime.
                    assert!(out_of_order && device.platform().vendor().contains("Intel"), "{error}");
                    assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
                    continue;
                }
            };
            assert_eq!((queue.native(), queue.is_out_of_order()), (raw.queue, out_of_order));
            // The library's kernels and raw ones on one queue and one memory.
            let bundle = bundle(&context);
            let pointer = raw.alloc(4);
            // SAFETY: it is freed below, when all that uses it has ended and is gone.
            let memory = unsafe { UsmHandle::borrow(pointer, 4) };
            let value = UsmSlice::<i32>::from_native(&context, memory, 1).unwrap();
            assert_eq!(value.native(), pointer);
            let mut last = queue.fill(&value, 5).unwrap();
            let kernel = queue.native_kernel(&bump(&bundle, &value, 7)).unwrap();
            for _ in 0..3 {
                let wait = last.to_native(&context).unwrap();
                let event = own(launch(&raw, queue.native(), kernel.raw(), &[wait.raw()]));
                let raw_done = Event::from_native(event).unwrap();
                last = queue.after(&[&raw_done]).single_task(bump(&bundle, &value, 1)).unwrap();
                // Until the driver has it, no raw command of its queue may wait for it.
                last.wait().unwrap();
            }
            assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [5 + 3 * 8]);
            queue.wait().unwrap();
            drop((value, kernel));
            // SAFETY: the pointer is an allocation of the context, which nothing uses any more.
            check(unsafe { (raw.cl.clMemFreeINTEL)(raw.context, pointer) });
        }
        assert_eq!(session.count("clReleaseContext"), session.count("clRetainContext"));
        assert_eq!(session.count("clReleaseCommandQueue"), session.count("clRetainCommandQueue"));
        assert!(session.live().is_empty(), "{:?}", session.live());
        if device.platform().version().contains("PoCL 6") {
            // It keeps a reference to the queue once a copy has run, whoever made it.
            continue;
        }
        let after = || {
            let queue: cl_uint = queue_info(&raw, raw.queue, CL_QUEUE_REFERENCE_COUNT);
            (context_references(&raw, raw.context), queue)
        };
        // Drivers let go of what has ended in their own time.
        for _ in 0..200 {
            if after() == before {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(after(), before, "references of context and queue");
    }
}

#[test]
fn the_last_reference_may_be_the_librarys() {
    let Some((_, raw)) = raw(false) else { return };
    let session = Session::start();
    // SAFETY: both references are given away, and not used again.
    let (context, queue) =
        unsafe { (ContextHandle::from_raw(raw.context).unwrap(), QueueHandle::from_raw(raw.queue).unwrap()) };
    let context = Context::from_native(context).unwrap();
    let queue = Queue::from_native(&context, queue).unwrap();
    let value = context.alloc_device::<u32>(100).unwrap();
    queue.fill(&value, 3).unwrap();
    drop((context, queue));
    drop(value);
    assert_eq!(session.count("clReleaseContext"), 1);
    assert_eq!(session.count("clReleaseCommandQueue"), 1);
}

#[test]
fn queues_of_other_contexts_are_refused() {
    let Some(context) = context() else { return };
    let other = Queue::new(&Context::new(context.device()).unwrap()).unwrap();
    // SAFETY: the queue is alive.
    let handle = unsafe { QueueHandle::retain(other.native()) }.unwrap();
    let error = Queue::from_native(&context, handle).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn memory_comes_in() {
    let Some((_, raw)) = raw(false) else { return };
    // SAFETY: the context is alive.
    let context = Context::from_native(unsafe { ContextHandle::retain(raw.context) }.unwrap()).unwrap();
    let queue = Queue::new(&context).unwrap();
    let pointer = raw.alloc(400);
    // SAFETY: an allocation of that many bytes, which is the library's from here on.
    let memory = || unsafe { UsmHandle::borrow(pointer, 400) };
    for error in [
        UsmSlice::<i32>::from_native(&context, memory(), 101).unwrap_err(),
        UsmSlice::<i32, usm::Host>::from_native(&context, memory(), 100).unwrap_err(),
        // SAFETY: null is refused.
        UsmSlice::<i32>::from_native(&context, unsafe { UsmHandle::borrow(null_mut(), 4) }, 1).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    let session = Session::start();
    drop(UsmSlice::<i32>::from_native(&context, memory(), 100).unwrap());
    assert_eq!(freed(&session, &context), 0);
    // SAFETY: nobody else frees or uses it.
    let memory = unsafe { UsmHandle::from_raw(pointer, 400) };
    let values = UsmSlice::<i32>::from_native(&context, memory, 100).unwrap();
    queue.fill(&values.slice(50..).unwrap(), 4).unwrap();
    assert_eq!(queue.read(&values).unwrap()[50..], [4; 50]);
    drop(values);
    assert_eq!(freed(&session, &context), 1);
}

#[test]
fn user_events_hold_what_depends_on_them_and_nothing_else() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        let free = context.alloc_device::<i32>(1).unwrap();
        let filled = queue.fill(&value, 1).unwrap();
        let zero = queue.fill(&free, 0).unwrap();
        let gate = user_event(&raw, context.native());
        // SAFETY: the event is alive.
        let given = Event::from_native(unsafe { EventHandle::retain(gate) }.unwrap()).unwrap();
        assert_eq!(given.status().unwrap(), EventStatus::Queued);
        let behind = queue.after(&[&given, &filled]).single_task(bump(&bundle, &value, 2)).unwrap();
        let further = queue.after(&[&behind]).single_task(bump(&bundle, &value, 4)).unwrap();
        // On another queue, and on this one when it is out of order.
        let other = if queue.is_out_of_order() { queue.clone() } else { Queue::new(&context).unwrap() };
        other.after(&[&zero]).single_task(bump(&bundle, &free, 9)).unwrap().wait().unwrap();
        assert_eq!(behind.status().unwrap(), EventStatus::Queued);
        assert_eq!(further.status().unwrap(), EventStatus::Queued);
        // Waits from several threads.
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| further.wait().unwrap());
            }
            std::thread::sleep(Duration::from_millis(5));
            set_status(&raw, gate, 0);
        });
        assert_eq!(given.status().unwrap(), EventStatus::Complete);
        given.wait().unwrap();
        assert_eq!(queue.after(&[&further]).read(&value).unwrap(), [7]);
        assert_eq!(given.profiling().unwrap_err().kind(), ErrorKind::Profiling);
        raw.release(gate);
    }
}

#[test]
fn user_events_that_fail() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        let filled = queue.fill(&value, 1).unwrap();
        let gate = user_event(&raw, context.native());
        // SAFETY: the event is alive.
        let given = Event::from_native(unsafe { EventHandle::retain(gate) }.unwrap()).unwrap();
        let behind = queue.after(&[&given]).single_task(bump(&bundle, &value, 2)).unwrap();
        set_status(&raw, gate, -77);
        let error = given.wait().unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Kernel, Some(-77)), "{error}");
        let error = behind.wait().unwrap_err();
        assert!(error.to_string().contains("depends on"), "{error}");
        // The queue goes on.
        let last = queue.after(&[&filled]).single_task(bump(&bundle, &value, 4)).unwrap();
        assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [5]);
        raw.release(gate);
    }
}

#[test]
fn raw_commands_wait_for_events_of_every_kind() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let other = Context::new(context.device()).unwrap();
    // The raw queue is of the context, and nobody else's.
    let side = Queue::new(&context).unwrap();
    let marker = |wait: &EventHandle| {
        let (mut event, list) = (null_mut(), [wait.raw()]);
        // SAFETY: queue and event are alive.
        check(unsafe { (raw.cl.clEnqueueMarkerWithWaitList)(side.native(), 1, list.as_ptr(), &mut event) });
        // SAFETY: as above.
        check(unsafe { (raw.cl.clFlush)(side.native()) });
        own(event)
    };
    let wait = |event: &EventHandle| {
        let list = [event.raw()];
        // SAFETY: the event is alive.
        unsafe { (raw.cl.clWaitForEvents)(1, list.as_ptr()) }
    };
    for queue in queues_and_eventless(&context) {
        let value = context.alloc_device::<i32>(1).unwrap();
        // A command of the context: its own event, with one reference more.
        let filled = queue.fill(&value, 1).unwrap();
        let handle = filled.to_native(&context).unwrap();
        let references: cl_uint = event_info(&raw, handle.raw(), CL_EVENT_REFERENCE_COUNT);
        let again = handle.try_clone().unwrap();
        assert_eq!(event_info::<cl_uint>(&raw, handle.raw(), CL_EVENT_REFERENCE_COUNT), references + 1);
        raw.release(again.into_raw());
        assert_eq!(event_info::<cl_uint>(&raw, handle.raw(), CL_EVENT_REFERENCE_COUNT), references);
        assert_eq!(wait(&marker(&handle)), 0);

        // A host task, and what is behind it.
        let (open, opened) = mpsc::channel::<()>();
        let opened = std::sync::Mutex::new(opened);
        let task = queue.host_task(move || opened.lock().unwrap().recv()).unwrap();
        let behind = queue.after(&[&task]).fill(&value, 2).unwrap();
        let handles = [&task, &behind].map(|event| event.to_native(&context).unwrap());
        let markers = handles.each_ref().map(marker);
        std::thread::sleep(Duration::from_millis(5));
        assert!(markers.iter().all(|marker| status(&raw, marker.raw()) > 0));
        open.send(()).unwrap();
        assert!(markers.iter().all(|marker| wait(marker) == 0));

        // Another context.
        let there = Queue::new(&other).unwrap();
        let far = there.fill(&other.alloc_device::<i32>(9).unwrap(), 3).unwrap();
        assert_eq!(wait(&marker(&far.to_native(&context).unwrap())), 0);

        // What has ended already, and what has failed.
        task.wait().unwrap();
        assert_eq!(status(&raw, task.to_native(&context).unwrap().raw()), 0);
        let failed = queue.host_task(|| Err::<(), _>("no")).unwrap();
        let early = failed.to_native(&context).unwrap();
        assert!(failed.wait().is_err());
        assert!(status(&raw, failed.to_native(&context).unwrap().raw()) < 0);
        while status(&raw, early.raw()) > 0 {
            std::thread::yield_now();
        }
        assert!(status(&raw, early.raw()) < 0);
        assert!(queue.wait().is_err());
    }
    let graph = Graph::new(&context, context.device()).unwrap();
    let queue = Queue::new(&context).unwrap();
    graph.begin_recording(&queue).unwrap();
    let recorded = queue.fill(&context.alloc_device::<i32>(1).unwrap(), 1).unwrap();
    assert_eq!(recorded.to_native(&context).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn kernels_for_raw_commands() {
    let Some(context) = context() else { return };
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
    assert_eq!(program.raw(), kernel.raw_program());
    let handle = kernel.handle().unwrap();
    drop(kernel);
    assert!(!handle.raw().is_null());
    let mut code = 0;
    // SAFETY: the program is alive.
    let ids = unsafe { (raw.cl.clCreateKernel)(program.raw(), c"ids".as_ptr(), &mut code) };
    check(code);
    // SAFETY: kernel and memory are alive.
    check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(ids, 0, value.native()) });
    drop(own(launch(&raw, queue.native(), ids, &[])));
    queue.wait().unwrap();
    // SAFETY: the reference is this function's.
    check(unsafe { (raw.cl.clReleaseKernel)(ids) });
    assert_eq!(*value.read().unwrap(), [1]);
    let wrong = call(&bundle, "bump_by").value(1_i32);
    assert_eq!(queue.native_kernel(&wrong).unwrap_err().kind(), ErrorKind::KernelArgument);
}

/// What a native command needs of the other side, wherever it is called.
struct Shared {
    raw: Raw,
    kernel: cl_kernel,
}

// SAFETY: function pointers and handles, the kernel's arguments are set once.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

fn raw_bump(context: &Context, value: *mut c_void, step: i32) -> Arc<Shared> {
    // SAFETY: kernel and memory are alive, and the kernel takes a pointer first.
    let set = |raw: &Raw, kernel| check(unsafe { (raw.cl.clSetKernelArgMemPointerINTEL)(kernel, 0, value) });
    raw_bump_with(context, set, step)
}

/// The same, on memory that is set otherwise.
fn raw_bump_with(context: &Context, set: impl FnOnce(&Raw, cl_kernel), step: i32) -> Arc<Shared> {
    let mut raw = Raw::new(context.device().name(), false);
    // In the context of the library's queues.
    raw.context = context.native();
    raw.device = context.device().native();
    let kernel = raw.kernel(include_bytes!("../benches/kernels/bump.spv"), c"bump_by");
    set(&raw, kernel);
    // SAFETY: the kernel is alive, and takes an `int` second.
    check(unsafe { (raw.cl.clSetKernelArg)(kernel, 1, 4, (&raw const step).cast()) });
    Arc::new(Shared { raw, kernel })
}

fn native_bump(shared: &Arc<Shared>, value: &UsmSlice<i32, impl oclave::UsmKind>) -> Command {
    let shared = Arc::clone(shared);
    Command::native(&[value], move |to| -> oclave::Result<EventHandle> {
        Ok(own(launch(&shared.raw, to.queue(), shared.kernel, to.wait_list())))
    })
}

#[test]
fn native_commands_take_their_place() {
    let Some(context) = context() else { return };
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

#[test]
fn native_commands_on_buffers_and_in_graphs() {
    let Some(context) = context() else { return };
    for queue in queues_and_eventless(&context) {
        // In its place by what it does to the buffer.
        let buffer = Buffer::<i32>::from_vec(vec![1]).unwrap();
        let address = queue.native_address(&buffer.read_write()).unwrap();
        let shared = raw_bump(&context, address, 5);
        queue.fill(&buffer.write(), 2).unwrap();
        let bumps = Arc::clone(&shared);
        let native = Command::native(&[&buffer.read_write()], move |to| -> oclave::Result<EventHandle> {
            Ok(own(launch(&bumps.raw, to.queue(), bumps.kernel, to.wait_list())))
        });
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

#[test]
fn native_commands_that_fail() {
    let Some(context) = context() else { return };
    for queue in queues_and_eventless(&context) {
        let fail = || Command::native(&[], |_| Err::<EventHandle, _>("the raw side is out of order"));
        let error = queue.submit(fail()).unwrap_err();
        assert!(error.to_string().contains("the raw side is out of order"), "{error}");
        let task = queue.host_task(|| ()).unwrap();
        let held = queue.after(&[&task]).submit(fail());
        // Held back or not, whoever waits is told.
        let outcome = held.and_then(|event| event.wait());
        assert!(outcome.unwrap_err().to_string().contains("the raw side is out of order"));
        let _ = queue.wait();
        queue.wait().unwrap();
    }
}

/// A `cl_mem` of OpenCL's, with contents.
fn mem(raw: &Raw, context: cl_context, data: &mut [i32], flags: cl_ulong) -> cl_mem {
    let mut code = 0;
    let (flags, bytes) = (CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR | flags, size_of_val(data));
    // SAFETY: the context is alive, the data is copied.
    let mem = unsafe { (raw.cl.clCreateBuffer)(context, flags, bytes, data.as_mut_ptr().cast(), &mut code) };
    check(code);
    mem
}

/// Its elements.
fn elements<const N: usize>(raw: &Raw, queue: cl_command_queue, mem: cl_mem) -> [i32; N] {
    let mut data = [0_i32; N];
    let to = data.as_mut_ptr().cast();
    // SAFETY: both are alive, and have as many bytes; the call waits.
    check(unsafe { (raw.cl.clEnqueueReadBuffer)(queue, mem, 1, 0, N * 4, to, 0, null(), null_mut()) });
    data
}

fn mem_info<T: Default>(raw: &Raw, mem: cl_mem, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: the memory is alive, the value is of the size that is asked for.
    check(unsafe {
        (raw.cl.clGetMemObjectInfo)(mem, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

/// How many references there are, once they are as many as expected, or else after a while: drivers let go of what has
/// ended in their own time.
fn references(raw: &Raw, mem: cl_mem, expected: cl_uint) -> cl_uint {
    let count = || mem_info::<cl_uint>(raw, mem, CL_MEM_REFERENCE_COUNT);
    for _ in 0..200 {
        if count() == expected {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    count()
}

fn bump_first(bundle: &KernelBundle, buffer: &Buffer<i32>, step: i32) -> oclave::KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(buffer.read_write()).value(step)
}

#[test]
fn buffers_of_memory_objects() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    let side = Queue::new(&context).unwrap();
    let look = |memory| elements::<4>(&raw, side.native(), memory);
    for queue in queues_and_eventless(&context) {
        let memory = mem(&raw, context.native(), &mut [1, 2, 3, 4], 0);
        // SAFETY: the memory is alive.
        let handle = || unsafe { MemHandle::retain(memory) }.unwrap();
        let before = mem_info::<cl_uint>(&raw, memory, CL_MEM_REFERENCE_COUNT);
        // Nobody writes: nothing goes back.
        let session = Session::start();
        let buffer = Buffer::<i32>::from_native(&context, handle(), [2, 2]).unwrap();
        assert_eq!(references(&raw, memory, before + 1), before + 1);
        assert_eq!(*buffer.host_read().unwrap(), [1, 2, 3, 4]);
        drop(buffer);
        assert_eq!(session.count("clEnqueueWriteBuffer"), 0);
        assert_eq!(references(&raw, memory, before), before);
        // Commands, then the host; it goes back when that is asked for, and at the end.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 4).unwrap();
        for _ in 0..3 {
            queue.single_task(bump_first(&bundle, &buffer, 10)).unwrap();
        }
        assert_eq!(look(memory), [1, 2, 3, 4]);
        buffer.write_back().unwrap();
        assert_eq!(look(memory), [31, 2, 3, 4]);
        buffer.host_write().unwrap()[3] = 40;
        let clone = buffer.clone();
        drop(buffer);
        assert_eq!(look(memory), [31, 2, 3, 4]);
        queue.single_task(bump_first(&bundle, &clone, 1)).unwrap();
        drop(clone);
        assert_eq!(look(memory), [32, 2, 3, 40]);
        // Not if it is not to, nor if there is another target.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 2).unwrap();
        buffer.set_write_back(false);
        queue.fill(&buffer.write(), 7).unwrap();
        drop(buffer);
        let buffer = Buffer::<i32>::from_native(&context, handle(), 3).unwrap();
        let target = HostTarget::new(3).unwrap();
        queue.single_task(bump_first(&bundle, &buffer, 1)).unwrap();
        buffer.set_final_data(Some(&target)).unwrap();
        drop(buffer);
        assert_eq!(target.to_vec().unwrap(), [33, 2, 3]);
        assert_eq!(look(memory), [32, 2, 3, 40]);
        // Fewer elements than the memory has: the others stay.
        let buffer = Buffer::<i32>::from_native(&context, handle(), 2).unwrap();
        queue.fill(&buffer.write(), 9).unwrap();
        drop(buffer);
        assert_eq!(look(memory), [9, 9, 3, 40]);
        queue.wait().unwrap();
        assert_eq!(references(&raw, memory, before), before, "references of the memory");
        // The last reference may be the library's.
        let released = session.count("clReleaseMemObject");
        // SAFETY: the reference is given away, and the memory not used again.
        let last = unsafe { MemHandle::from_raw(memory) }.unwrap();
        let buffer = Buffer::<i32>::from_native(&context, last, 4).unwrap();
        assert_eq!(session.count("clReleaseMemObject"), released);
        drop(buffer);
        assert_eq!(session.count("clReleaseMemObject"), released + 1);
    }
}

#[test]
fn memory_objects_that_are_no_buffers_of_the_context() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let other = Context::new(context.device()).unwrap();
    let memory = mem(&raw, context.native(), &mut [1, 2, 3, 4], 0);
    // SAFETY: the memory is alive.
    let handle = || unsafe { MemHandle::retain(memory) }.unwrap();
    for error in [
        Buffer::<i32>::from_native(&context, handle(), 5).unwrap_err(),
        Buffer::<i32>::from_native(&other, handle(), 4).unwrap_err(),
        // SAFETY: null is refused.
        unsafe { MemHandle::from_raw(null_mut()) }.unwrap_err(),
        Buffer::<i32>::new(0).unwrap().to_native(&context).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(references(&raw, memory, 1), 1, "it is released on failure");
    // SAFETY: the reference is given away.
    let last = unsafe { MemHandle::from_raw(memory) }.unwrap();
    assert!(Buffer::<i32>::from_native(&context, last, 0).unwrap().is_empty());
    let closed = mem(&raw, context.native(), &mut [1], CL_MEM_HOST_NO_ACCESS);
    // SAFETY: as above.
    let closed = unsafe { MemHandle::from_raw(closed) }.unwrap();
    let error = Buffer::<i32>::from_native(&context, closed, 1).unwrap_err();
    assert!(error.to_string().contains("clEnqueueReadBuffer"), "{error}");
}

#[test]
fn contents_go_out_as_memory_objects() {
    let Some(context) = context() else { return };
    let bundle = bundle(&context);
    let other = Context::new(context.device()).unwrap();
    for queue in queues_and_eventless(&context) {
        let session = Session::start();
        let buffer = Buffer::<i32>::from_vec(vec![1, 2, 3, 4]).unwrap();
        queue.single_task(bump_first(&bundle, &buffer, 100)).unwrap();
        let memory = buffer.to_native(&context).unwrap();
        let shared = raw_bump_with(
            &context,
            |raw, kernel| {
                let argument = memory.raw();
                assert_eq!(mem_info::<usize>(raw, argument, CL_MEM_SIZE), 16);
                let value = (&raw const argument).cast();
                // SAFETY: kernel and memory are alive, and the kernel takes a pointer first.
                check(unsafe { (raw.cl.clSetKernelArg)(kernel, 0, size_of::<cl_mem>(), value) });
            },
            5,
        );
        // A kernel that wants a `cl_mem` works on the copy, and the buffer keeps its contents.
        drop(own(launch(&shared.raw, queue.native(), shared.kernel, &[])));
        queue.wait().unwrap();
        assert_eq!(elements(&shared.raw, queue.native(), memory.raw()), [106, 2, 3, 4]);
        assert_eq!(*buffer.host_read().unwrap(), [101, 2, 3, 4]);
        // And back in.
        let back = Buffer::<i32>::from_native(&context, memory, 4).unwrap();
        queue.single_task(bump_first(&bundle, &back, 1)).unwrap();
        assert_eq!(*back.host_read().unwrap(), [107, 2, 3, 4]);
        // A part of it, in another context.
        let there = Queue::new(&other).unwrap();
        let part = buffer.sub_buffer(1, 2).unwrap().to_native(&other).unwrap();
        assert_eq!(mem_info::<usize>(&shared.raw, part.raw(), CL_MEM_SIZE), 8);
        assert_eq!(elements(&shared.raw, there.native(), part.raw()), [2, 3]);
        drop((part, back));
        assert_eq!(session.count("clCreateBuffer"), 2);
        assert_eq!(session.count("clReleaseMemObject"), 2);
    }
}

#[test]
fn addresses() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let values = context.alloc_shared::<u32>(100).unwrap();
    let start = values.native() as usize;
    assert_eq!(values.read().unwrap().as_ptr() as usize, start);
    assert_eq!(values.slice(10..).unwrap().native() as usize, start + 40);
    assert_eq!(queue.native_address(&values.slice(5..).unwrap()).unwrap() as usize, start + 20);
    let part = values.rect([10, 10]).unwrap().part([2, 3], [2, 2]).unwrap();
    assert_eq!(queue.native_address(&part).unwrap() as usize, start + 4 * 23);
    let buffer = Buffer::<u64>::new([8, 8]).unwrap();
    let first = queue.native_address(&buffer.read()).unwrap() as usize;
    let inner = buffer.read().part([1, 1], [2, 2]).unwrap();
    assert_eq!(queue.native_address(&inner).unwrap() as usize, first + 8 * 9);
}

#[test]
fn storms_with_user_events() {
    let Some(context) = context() else { return };
    let raw = Raw::new(context.device().name(), false);
    let bundle = bundle(&context);
    for queue in queues_and_eventless(&context) {
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let value = context.alloc_device::<i32>(1).unwrap();
                    let mut last = queue.fill(&value, 0).unwrap();
                    for round in 0..30 {
                        let gate = user_event(&raw, context.native());
                        // SAFETY: the event is alive.
                        let given =
                            Event::from_native(unsafe { EventHandle::retain(gate) }.unwrap()).unwrap();
                        last = queue.after(&[&last, &given]).single_task(bump(&bundle, &value, 1)).unwrap();
                        set_status(&raw, gate, 0);
                        raw.release(gate);
                        match round % 10 {
                            3 => last.wait().unwrap(),
                            7 => queue.wait().unwrap(),
                            _ => {}
                        }
                    }
                    assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [30]);
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(done.into_inner(), 4);
    }
}
