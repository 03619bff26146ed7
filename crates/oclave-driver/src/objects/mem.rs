//! Buffers of OpenCL's own, `cl_mem`, as places that contents are copied from and to.

use std::ffi::c_void;
use std::sync::Arc;

use super::context::Context;
use super::native::MemHandle;
use super::queue::Queue;
use crate::MakeError as _;
use crate::info;
use crate::sys::{
    CL_MEM_CONTEXT, CL_MEM_COPY_HOST_PTR, CL_MEM_OBJECT_BUFFER, CL_MEM_READ_WRITE, CL_MEM_SIZE, CL_MEM_TYPE,
    CL_TRUE, cl_context, cl_mem_info, cl_mem_object_type,
};
use crate::{Error, Result};

/// A `cl_mem` buffer of a context, with a reference to it.
#[derive(Debug)]
pub struct MemObject {
    context: Arc<Context>,
    handle: MemHandle,
    size_bytes: usize,
}

impl MemObject {
    /// A new one with a copy of some bytes, of which there is at least one.
    pub fn with_copy(context: &Arc<Context>, bytes: &[u8]) -> Result<MemHandle> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let host = bytes.as_ptr().cast::<c_void>().cast_mut();
        // SAFETY: the context is alive; the bytes are only read, and copied before the call
        // returns. It gives a reference.
        unsafe { MemHandle::from_raw(context.api().clCreateBuffer(context.raw(), flags, bytes.len(), host)?) }
    }

    /// One from outside. Its reference is released with the result.
    pub fn of_native(context: &Arc<Context>, handle: MemHandle) -> Result<Self> {
        let ask = |name: cl_mem_info, size, value: *mut c_void, ret| {
            // SAFETY: the handle is alive; `value` has room for `size` bytes.
            unsafe { context.api().clGetMemObjectInfo(handle.raw(), name, size, value, ret) }
        };
        let kind: cl_mem_object_type = info::value(|size, value, ret| ask(CL_MEM_TYPE, size, value, ret))?;
        if kind != CL_MEM_OBJECT_BUFFER {
            return Err(Error::invalid("the `cl_mem` is an image or a pipe").remedy("give a buffer"));
        }
        let of: cl_context = info::value(|size, value, ret| ask(CL_MEM_CONTEXT, size, value, ret))?;
        if of != context.raw() {
            return Err(Error::invalid("the `cl_mem` belongs to another context")
                .remedy("make the context with `Context::from_native`"));
        }
        let size_bytes = info::value(|size, value, ret| ask(CL_MEM_SIZE, size, value, ret))?;
        Ok(Self { context: Arc::clone(context), handle, size_bytes })
    }

    /// How many bytes.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Whether `bytes` bytes, of which there is one, can be copied by a queue.
    fn check(&self, queue: &Queue, bytes: usize) -> Result<()> {
        if bytes > self.size_bytes || !Arc::ptr_eq(queue.context(), &self.context) {
            return Err(Error::invalid(format!(
                "a copy of {bytes} bytes for a `cl_mem` of {}, or on a queue of another context",
                self.size_bytes
            )));
        }
        Ok(())
    }

    /// Copies its first bytes to the host, and waits.
    pub fn read(&self, queue: &Queue, to: &mut [u8]) -> Result<()> {
        self.check(queue, to.len())?;
        if to.is_empty() {
            return Ok(());
        }
        let (mem, size, to) = (self.handle.raw(), to.len(), to.as_mut_ptr().cast::<c_void>());
        // SAFETY: queue and memory are alive and of one context, and both ends have `size` bytes.
        // The host's stay borrowed until the call returns. By then the command has ended, or was
        // not enqueued (`Queue::end_blocking`).
        queue.submit_blocking(&[], |api, queue, wait| unsafe {
            api.clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, size, to, wait, std::ptr::null_mut())
        })
    }

    /// Copies the host's bytes to its first ones, and waits until they are there.
    pub fn write(&self, queue: &Arc<Queue>, from: &[u8]) -> Result<()> {
        self.check(queue, from.len())?;
        if from.is_empty() {
            return Ok(());
        }
        let (mem, size, from) = (self.handle.raw(), from.len(), from.as_ptr().cast::<c_void>());
        // A blocking write returns when the host's bytes are free, which on Intel's CPU runtime is
        // before they are written. SAFETY: as for reading; the event is for `submit`.
        let written = queue.submit(&[], true, |api, queue, wait, event| unsafe {
            api.clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, size, from, wait, event)
        });
        written.inspect_err(|error| queue.end_blocking(error))?.wait()
    }
}
