//! What the other side does: calls of OpenCL.

use std::ptr::{null, null_mut};

use super::raw::{Raw, check};
use crate::common::{call, device};
use oclave::kernel::KernelBundle;
use oclave::native::{EventHandle, cl_command_queue, cl_context, cl_event, cl_kernel};
use oclave::{Device, UsmSlice};
use opencl_sys::{CL_CONTEXT_REFERENCE_COUNT, CL_EVENT_COMMAND_EXECUTION_STATUS, cl_int, cl_uint};

/// Raw OpenCL on the selected device, if it has the required features.
pub(crate) fn raw(out_of_order: bool) -> Option<(Device, Raw)> {
    let device = device()?;
    if device.capabilities().usm.is_none() {
        println!("skipped: the raw calls of this test need USM");
        return None;
    }
    let raw = Raw::new(device.name(), out_of_order);
    Some((device, raw))
}

pub(crate) fn queue_info<T: Default>(raw: &Raw, queue: cl_command_queue, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: the queue is alive, the value is of the size that is asked for.
    check(unsafe {
        (raw.cl.clGetCommandQueueInfo)(queue, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

pub(crate) fn event_info<T: Default>(raw: &Raw, event: cl_event, name: cl_uint) -> T {
    let mut value = T::default();
    // SAFETY: as above.
    check(unsafe {
        (raw.cl.clGetEventInfo)(event, name, size_of::<T>(), (&raw mut value).cast(), null_mut())
    });
    value
}

pub(crate) fn context_references(raw: &Raw, context: cl_context) -> cl_uint {
    let mut count = 0_u32;
    // SAFETY: as above.
    check(unsafe {
        (raw.cl.clGetContextInfo)(context, CL_CONTEXT_REFERENCE_COUNT, 4, (&raw mut count).cast(), null_mut())
    });
    count
}

pub(crate) fn status(raw: &Raw, event: cl_event) -> cl_int {
    event_info(raw, event, CL_EVENT_COMMAND_EXECUTION_STATUS)
}

pub(crate) fn user_event(raw: &Raw, context: cl_context) -> cl_event {
    let mut code = 0;
    // SAFETY: the context is alive.
    let event = unsafe { (raw.cl.clCreateUserEvent)(context, &mut code) };
    check(code);
    event
}

pub(crate) fn set_status(raw: &Raw, event: cl_event, status: cl_int) {
    // SAFETY: a user event whose status was not set.
    check(unsafe { (raw.cl.clSetUserEventStatus)(event, status) });
}

/// One work-item of a kernel, after events.
pub(crate) fn launch(raw: &Raw, queue: cl_command_queue, kernel: cl_kernel, wait: &[cl_event]) -> cl_event {
    let mut event = null_mut();
    let list = if wait.is_empty() { null() } else { wait.as_ptr() };
    // SAFETY: all objects are alive, the arguments are set.
    check(unsafe {
        let count = wait.len() as cl_uint;
        (raw.cl.clEnqueueNDRangeKernel)(queue, kernel, 1, null(), &1, null(), count, list, &mut event)
    });
    event
}

pub(crate) fn own(event: cl_event) -> EventHandle {
    // SAFETY: a new event's only reference.
    unsafe { EventHandle::from_raw(event) }.unwrap()
}

pub(crate) fn bump(
    bundle: &KernelBundle,
    value: &UsmSlice<i32, impl oclave::memory::UsmKind>,
    step: i32,
) -> oclave::kernel::KernelCall {
    call(bundle, "bump_by").pointer_mut::<i32>(value).value(step)
}
