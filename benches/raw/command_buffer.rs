//! Command buffers of raw OpenCL, by the functions whose form is that of the versions that the
//! library uses.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use oclave::{Device, Graph};
use opencl_sys::{
    CL_INVALID_OPERATION, cl_command_buffer_khr, cl_command_queue, cl_event, cl_int, cl_kernel,
    cl_mutable_command_khr, cl_sync_point_khr, cl_uint, cl_ulong,
};

use super::{Raw, check};

type Create = unsafe extern "C" fn(
    cl_uint,
    *const cl_command_queue,
    *const cl_ulong,
    *mut cl_int,
) -> cl_command_buffer_khr;
type Launch = unsafe extern "C" fn(
    cl_command_buffer_khr,
    cl_command_queue,
    *const cl_ulong,
    cl_kernel,
    cl_uint,
    *const usize,
    *const usize,
    *const usize,
    cl_uint,
    *const cl_sync_point_khr,
    *mut cl_sync_point_khr,
    *mut cl_mutable_command_khr,
) -> cl_int;
type OfBuffer = unsafe extern "C" fn(cl_command_buffer_khr) -> cl_int;
type Enqueue = unsafe extern "C" fn(
    cl_uint,
    *const cl_command_queue,
    cl_command_buffer_khr,
    cl_uint,
    *const cl_event,
    *mut cl_event,
) -> cl_int;
type Update =
    unsafe extern "C" fn(cl_command_buffer_khr, cl_uint, *const cl_uint, *mut *const c_void) -> cl_int;

/// How often a buffer that is still pending is enqueued again.
const MOST_TRIES: usize = 100_000;

/// The functions of the extension.
pub(crate) struct CommandBuffers {
    create: Create,
    launch: Launch,
    finalize: OfBuffer,
    enqueue: Enqueue,
    release: OfBuffer,
    /// Where the device updates commands.
    pub(crate) update: Option<Update>,
}

impl CommandBuffers {
    /// `None` where the library uses no command buffers of the device.
    pub(crate) fn of(raw: &Raw, device: &Device) -> Option<Self> {
        // SAFETY: the device has the extension, and the functions of these names are of these
        // types. An update function that it does not have is null, hence `None`.
        Graph::support(device).command_buffers.then(|| unsafe {
            Self {
                create: required(raw, c"clCreateCommandBufferKHR"),
                launch: required(raw, c"clCommandNDRangeKernelKHR"),
                finalize: required(raw, c"clFinalizeCommandBufferKHR"),
                enqueue: required(raw, c"clEnqueueCommandBufferKHR"),
                release: required(raw, c"clReleaseCommandBufferKHR"),
                update: std::mem::transmute::<*const c_void, Option<Update>>(
                    raw.function(c"clUpdateMutableCommandsKHR"),
                ),
            }
        })
    }

    /// A command buffer for the queue; properties end in 0, or are empty.
    pub(crate) fn create(&self, raw: &Raw, properties: &[cl_ulong]) -> cl_command_buffer_khr {
        let mut code = 0;
        // SAFETY: the queue is alive, the list ends in 0.
        let buffer = unsafe { (self.create)(1, &raw.queue, list(properties), &mut code) };
        check(code);
        buffer
    }

    /// Records a launch of so many work-items after the commands of some points. A command with
    /// properties (a list that ends in 0) has a handle, by which it is updated.
    pub(crate) fn launch(
        &self,
        buffer: cl_command_buffer_khr,
        properties: &[cl_ulong],
        kernel: cl_kernel,
        (items, local): (usize, Option<usize>),
        wait: &[cl_sync_point_khr],
    ) -> (cl_sync_point_khr, cl_mutable_command_khr) {
        let (mut point, mut handle) = (0, null_mut());
        let local = local.as_ref().map_or(null(), std::ptr::from_ref);
        let place = if properties.is_empty() { null_mut() } else { &raw mut handle };
        let count = wait.len() as cl_uint;
        // SAFETY: the objects are alive, sizes have one element, lists are as long as said or end
        // in 0.
        check(unsafe {
            (self.launch)(
                buffer,
                null_mut(),
                list(properties),
                kernel,
                1,
                null(),
                &items,
                local,
                count,
                list(wait),
                &mut point,
                place,
            )
        });
        (point, handle)
    }

    pub(crate) fn finalize(&self, buffer: cl_command_buffer_khr) {
        // SAFETY: the buffer is alive, and was not finalized yet.
        check(unsafe { (self.finalize)(buffer) });
    }

    /// Submits it; `clFinish` has waited for an earlier replay. PoCL takes the buffer again only
    /// some microseconds after that (pocl#2306).
    pub(crate) fn enqueue(&self, buffer: cl_command_buffer_khr) {
        // SAFETY: the buffer is alive.
        let enqueue = || unsafe { (self.enqueue)(0, null(), buffer, 0, null(), null_mut()) };
        let mut code = enqueue();
        for _ in 0..MOST_TRIES {
            if code != CL_INVALID_OPERATION {
                break;
            }
            std::thread::yield_now();
            code = enqueue();
        }
        check(code);
    }

    pub(crate) fn release(&self, buffer: cl_command_buffer_khr) {
        // SAFETY: the reference is the caller's.
        check(unsafe { (self.release)(buffer) });
    }
}

/// Null for an empty list.
fn list<T>(list: &[T]) -> *const T {
    if list.is_empty() { null() } else { list.as_ptr() }
}

/// # Safety
/// `F` is the type of the function of this name.
unsafe fn required<F>(raw: &Raw, name: &CStr) -> F {
    let address = raw.function(name);
    assert!(!address.is_null(), "no {name:?}");
    // SAFETY: the caller's promise; a function pointer is as large as an address.
    unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) }
}
