//! OpenCL's own handles, out of the library and into it, with who releases what; on the selected
//! device.

#![allow(unsafe_code, reason = "raw OpenCL is the other side")]

mod commands;
use crate::common;
mod events;
mod memory_objects;
mod opencl;
mod opencl3_objects;
#[path = "../../../benches/raw/mod.rs"]
mod raw;
mod trust;

use std::ptr::null_mut;
use std::time::Duration;

use crate::common::{bundle, freed};
use oclave::memory::usm;
use oclave::native::{ContextHandle, DeviceHandle, EventHandle, QueueHandle, UsmHandle};
use oclave::record::Session;
use oclave::{Buffer, Context, Device, ErrorKind, Event, Queue, UsmSlice};
use opencl::{bump, context_references, launch, own, queue_info, raw};
use opencl_sys::{CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, CL_QUEUE_REFERENCE_COUNT, cl_uint};
use raw::{Raw, check};

#[device_test]
fn handles_of_objects(context: Context) {
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
        // A thread of the library may be about to let go of the last event, and with it of the queue
        // and the context. It need not take part in this session, so that the counts of the driver
        // say whether all has been given back.
        common::settle(&session);
        assert!(session.live().is_empty(), "{:?}", session.live());
        if device.platform().version().contains("PoCL 6") {
            // It keeps a reference to the queue once any copy has run.
            continue;
        }
        let after = || {
            let queue: cl_uint = queue_info(&raw, raw.queue, CL_QUEUE_REFERENCE_COUNT);
            (context_references(&raw, raw.context), queue)
        };
        // Drivers release ended commands in their own time.
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

#[device_test]
fn queues_of_other_contexts_are_refused(context: Context) {
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

#[device_test]
fn addresses(context: Context) {
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
