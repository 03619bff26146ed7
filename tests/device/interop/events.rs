//! Events from outside, and the library's for others.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::opencl::{bump, event_info, own, set_status, status, user_event};
use super::raw::{Raw, check};
use crate::common::{bundle, call, queues_and_eventless, single};
use oclave::event::EventStatus;
use oclave::native::{ContextHandle, EventHandle, UsmHandle};
use oclave::{Context, ErrorKind, Event, Graph, Queue, UsmSlice};
use opencl_sys::{CL_EVENT_REFERENCE_COUNT, cl_uint};

mod kernels {
    oclave::include_kernels!("virtual_functions");
}
use kernels::nesting::{make_leaves, use_leaves};

#[device_test]
fn user_events_hold_what_depends_on_them_and_nothing_else(context: Context) {
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

#[device_test]
fn user_events_that_fail(context: Context) {
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
        assert!(format!("{error:#}").contains("depends on"), "{error}");
        // The raw side of what depends on it gets to know the first code, too.
        for event in [&given, &behind] {
            let handle = event.to_native(&context).unwrap();
            for _ in 0..10_000 {
                if status(&raw, handle.raw()) <= 0 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(status(&raw, handle.raw()), -77);
        }
        // The queue goes on.
        let last = queue.after(&[&filled]).single_task(bump(&bundle, &value, 4)).unwrap();
        assert_eq!(queue.after(&[&last]).read(&value).unwrap(), [5]);
        raw.release(gate);
    }
}

#[device_test]
fn raw_commands_wait_for_events_of_every_kind(context: Context) {
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
        // A command of the context.
        let filled = queue.fill(&value, 1).unwrap();
        assert_eq!(wait(&marker(&filled.to_native(&context).unwrap())), 0);

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

        // One that has ended already, and one that has failed.
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

/// The event that crosses has a code only.
#[device_test]
fn failures_keep_their_cause_when_native_events_cross_contexts(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let other = Context::new(context.device()).unwrap();
    for queue in queues_and_eventless(&context) {
        let failed = queue.host_task(|| Err::<(), _>("the disk is full")).unwrap();
        // Once as a handle, once as the caller's own reference.
        let handle = failed.to_native(&other).unwrap();
        let again = failed.to_native(&other).unwrap().into_raw();
        // SAFETY: the event is alive, and the reference is this function's.
        let again = unsafe { EventHandle::from_raw(again) }.unwrap();
        let last = handle.try_clone().unwrap();
        let there = Queue::new(&other).unwrap();
        let value = other.alloc_device::<i32>(1).unwrap();
        for handle in [handle, again] {
            let far = Event::from_native(handle).unwrap();
            // Refused at once where the failure is known by then.
            let behind = there.after(&far).fill(&value, 1).and_then(|behind| behind.wait());
            for error in [behind, far.wait()] {
                let error = error.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Kernel, "{error:#}");
                assert!(format!("{error:#}").contains("the disk is full"), "{error:#}");
            }
        }
        // It has failed by now, and gives its cause at once.
        let far = Event::from_native(last.try_clone().unwrap()).unwrap();
        assert!(format!("{:#}", far.wait().unwrap_err()).contains("the disk is full"));
        assert!(queue.wait().is_err());
        drop((far, there, value));
        assert!(status(&raw, last.raw()) < 0);
    }
}

/// An event that failed is kept for its cause, but no longer than its context.
#[device_test]
fn failed_events_are_released_with_their_context(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    let queue = Queue::new(&context).unwrap();
    let failed = queue.host_task(|| Err::<(), _>("no")).unwrap();
    assert!(failed.wait().is_err());
    assert!(queue.wait().is_err());
    let other = Context::new(context.device()).unwrap();
    let handles: Vec<EventHandle> = (0..70).map(|_| failed.to_native(&other).unwrap()).collect();
    let references = |event: &EventHandle| event_info::<cl_uint>(&raw, event.raw(), CL_EVENT_REFERENCE_COUNT);
    let last = handles.last().unwrap();
    let kept = references(last);
    assert!(references(&handles[0]) < kept, "more are kept than the last 64");
    drop(other);
    assert_eq!(references(last), kept - 1);
}

/// Kernels with virtual calls know two words where they leave faults, and no driver knows that they
/// do. So these words stay until such kernels have ended.
#[device_test]
fn contexts_go_after_kernels_that_may_leave_faults(context: Context) {
    if context.device().capabilities().usm.is_none() {
        println!("skipped: the raw calls of this test need USM");
        return;
    }
    let mut raw = Raw::new(context.device().name(), false);
    (raw.context, raw.device) = (context.native(), context.device().native());
    // SAFETY: the context is alive.
    let _alive = unsafe { ContextHandle::retain(context.native()) }.unwrap();
    // The library waits for commands that use its own memory. This is not such memory.
    let bytes = |size_bytes: usize| {
        // SAFETY: it is never freed.
        let memory = unsafe { UsmHandle::borrow(raw.alloc(size_bytes), size_bytes) };
        UsmSlice::<i8>::from_native(&context, memory, size_bytes).unwrap()
    };
    let (objects, out) = (bytes(32), bytes(8).cast::<i32>().unwrap());
    let value = bytes(4).cast::<u32>().unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.fill(&value, 0_u32).unwrap();
    single(&queue, make_leaves(&objects));
    let bundle = bundle(&context);
    let slow = call(&bundle, "slow").pointer_mut::<u32>(&value).value(20_000_000_u32);
    queue.single_task(slow).unwrap();
    let last = queue.parallel_for(2, use_leaves(&objects, &out)).unwrap().to_native(&context).unwrap();
    assert_ne!(status(&raw, last.raw()), 0, "the kernel before was too quick");
    drop((objects, out, value, bundle, queue, context));
    assert_eq!(status(&raw, last.raw()), 0);
}

#[device_test]
fn each_handle_is_one_reference(context: Context) {
    let raw = Raw::new(context.device().name(), false);
    // Drivers refer to the events of their own commands as long as they like, but not to this one.
    let gate = user_event(&raw, context.native());
    let references = || event_info::<cl_uint>(&raw, gate, CL_EVENT_REFERENCE_COUNT);
    let before = references();
    // SAFETY: the event is alive.
    let handle = unsafe { EventHandle::retain(gate) }.unwrap();
    assert_eq!(references(), before + 1);
    let again = handle.try_clone().unwrap();
    assert_eq!(references(), before + 2);
    raw.release(again.into_raw());
    assert_eq!(references(), before + 1);
    drop(handle);
    assert_eq!(references(), before);
    set_status(&raw, gate, 0);
    raw.release(gate);
}

#[device_test]
fn storms_with_user_events(context: Context) {
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
