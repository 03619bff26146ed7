//! Commands on memory by addresses, and its way to the host.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::{MemoryApi, Pointers, Unified};
use crate::MakeError as _;
use crate::ext::command_buffer::Recorder;
use crate::sys::*;
use crate::{Error, Result};

/// For all functions: queue and events are alive and of the context, which the memory belongs to.
/// Memory and host memory have as many bytes behind their addresses, until the command has ended. A
/// pattern is copied in the call.
impl Pointers {
    /// Copies from memory to memory, which do not overlap.
    ///
    /// # Safety
    /// As said above.
    pub(crate) unsafe fn copy(
        &self,
        queue: cl_command_queue,
        to: *mut c_void,
        from: *const c_void,
        size_bytes: usize,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => {
                    usm.clEnqueueMemcpyINTEL(queue, CL_FALSE, to, from, size_bytes, wait, event)
                }
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    api.clEnqueueSVMMemcpy(queue, CL_FALSE, to, from, size_bytes, wait, event)
                }
                MemoryApi::Buffers(api, _) => {
                    let (to, to_offset) = self.live.find(to.addr())?;
                    let (from, from_offset) = self.live.find(from.addr())?;
                    let (from, to) = (from.buffer, to.buffer);
                    api.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size_bytes, wait, event)
                }
            }
        }
    }

    /// Copies from the host; `blocking`: and waits.
    ///
    /// # Safety
    /// As said above.
    #[allow(clippy::too_many_arguments, reason = "those of OpenCL's function")]
    pub(crate) unsafe fn write(
        &self,
        queue: cl_command_queue,
        blocking: cl_bool,
        to: *mut c_void,
        from_host: *const c_void,
        size_bytes: usize,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => {
                    usm.clEnqueueMemcpyINTEL(queue, blocking, to, from_host, size_bytes, wait, event)
                }
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    api.clEnqueueSVMMemcpy(queue, blocking, to, from_host, size_bytes, wait, event)
                }
                MemoryApi::Buffers(api, _) => {
                    let (to, offset) = self.live.find(to.addr())?;
                    api.clEnqueueWriteBuffer(
                        queue, to.buffer, blocking, offset, size_bytes, from_host, wait, event,
                    )
                }
            }
        }
    }

    /// Copies to the host; `blocking`: and waits.
    ///
    /// # Safety
    /// As said above.
    #[allow(clippy::too_many_arguments, reason = "those of OpenCL's function")]
    pub(crate) unsafe fn read(
        &self,
        queue: cl_command_queue,
        blocking: cl_bool,
        to_host: *mut c_void,
        from: *const c_void,
        size_bytes: usize,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => {
                    usm.clEnqueueMemcpyINTEL(queue, blocking, to_host, from, size_bytes, wait, event)
                }
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => match self.buffer_at(from) {
                    Some((buffer, offset)) => api.clEnqueueReadBuffer(
                        queue, buffer, blocking, offset, size_bytes, to_host, wait, event,
                    ),
                    None => api.clEnqueueSVMMemcpy(queue, blocking, to_host, from, size_bytes, wait, event),
                },
                MemoryApi::Buffers(api, _) => {
                    let (from, offset) = self.live.find(from.addr())?;
                    api.clEnqueueReadBuffer(
                        queue,
                        from.buffer,
                        blocking,
                        offset,
                        size_bytes,
                        to_host,
                        wait,
                        event,
                    )
                }
            }
        }
    }

    /// The buffer over SVM around an address, if there is one, and the address' offset in it.
    fn buffer_at(&self, address: *const c_void) -> Option<(cl_mem, usize)> {
        let (block, offset) = self.live.find(address.addr()).ok().filter(|_| self.support.mapped)?;
        (!block.buffer.is_null()).then_some((block.buffer, offset))
    }

    /// The buffer that contains an address, and the address's offset in bytes. OpenCL copies
    /// buffers to images and back. `None` if no buffer contains it, or if the driver handles
    /// buffers over SVM wrongly.
    pub(crate) fn buffer_around(&self, address: *const c_void) -> Option<(cl_mem, usize)> {
        match self.memory_api {
            MemoryApi::Usm(_) | MemoryApi::Unified(_) => None,
            MemoryApi::Svm(_) => self.images_by_buffers.then(|| self.buffer_at(address)).flatten(),
            MemoryApi::Buffers(..) => {
                self.live.find(address.addr()).ok().map(|(block, offset)| (block.buffer, offset))
            }
        }
    }

    /// Fills with a pattern of 1, 2, 4, … 128 bytes that divides the size, and to which the address
    /// is aligned.
    ///
    /// # Safety
    /// As said above.
    pub(crate) unsafe fn fill(
        &self,
        queue: cl_command_queue,
        to: *mut c_void,
        pattern: &[u8],
        size_bytes: usize,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        let (start, length) = (pattern.as_ptr().cast::<c_void>(), pattern.len());
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => {
                    usm.clEnqueueMemFillINTEL(queue, to, start, length, size_bytes, wait, event)
                }
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    match self.fills_by_buffers.then(|| self.buffer_at(to)).flatten() {
                        Some((buffer, offset)) => api.clEnqueueFillBuffer(
                            queue, buffer, start, length, offset, size_bytes, wait, event,
                        ),
                        None => api.clEnqueueSVMMemFill(queue, to, start, length, size_bytes, wait, event),
                    }
                }
                MemoryApi::Buffers(api, _) => {
                    let (to, offset) = self.live.find(to.addr())?;
                    api.clEnqueueFillBuffer(queue, to.buffer, start, length, offset, size_bytes, wait, event)
                }
            }
        }
    }

    /// Whether there is a command that moves memory to the device ahead of its use.
    pub(crate) fn can_prefetch(&self) -> bool {
        match self.memory_api {
            MemoryApi::Usm(usm) => usm.clEnqueueMigrateMemINTEL.is_some(),
            MemoryApi::Svm(api) | MemoryApi::Buffers(api, _) | MemoryApi::Unified(Unified { api, .. }) => {
                api.clEnqueueSVMMigrateMem.is_some()
            }
        }
    }

    /// Moves memory to the device of the queue ahead of its use.
    ///
    /// # Safety
    /// As said above.
    pub(crate) unsafe fn prefetch(
        &self,
        queue: cl_command_queue,
        start: *mut c_void,
        size_bytes: usize,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        // Flags of 0 mean the device of the queue.
        // SAFETY: the caller's promise; the lists have one element.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(usm) => usm.clEnqueueMigrateMemINTEL(queue, start, size_bytes, 0, wait, event),
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    let (start, size_bytes) = (start.cast_const(), size_bytes);
                    api.clEnqueueSVMMigrateMem(queue, &[start], &size_bytes, 0, wait, event)
                }
                MemoryApi::Buffers(api, _) => {
                    let (block, _) = self.live.find(start.addr())?;
                    api.clEnqueueMigrateMemObjects(queue, &[block.buffer], 0, wait, event)
                }
            }
        }
    }

    /// Records [`Pointers::copy`].
    ///
    /// # Safety
    /// As said above; the command buffer is alive, and not finalized yet.
    #[allow(clippy::too_many_arguments, reason = "those of OpenCL's function")]
    pub(crate) unsafe fn record_copy(
        &self,
        recorder: Recorder,
        buffer: cl_command_buffer_khr,
        to: *mut c_void,
        from: *const c_void,
        size_bytes: usize,
        wait: &[cl_sync_point_khr],
        point: *mut cl_sync_point_khr,
    ) -> Result<()> {
        let queue = std::ptr::null_mut();
        // SAFETY: the caller's promise; no queue means that of the buffer.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(_) | MemoryApi::Svm(_) | MemoryApi::Unified(_) => {
                    recorder.memcpy(buffer, queue, to, from, size_bytes, wait, point)
                }
                MemoryApi::Buffers(..) => {
                    let (to, to_at) = self.live.find(to.addr())?;
                    let (from, from_at) = self.live.find(from.addr())?;
                    let (from, to) = (from.buffer, to.buffer);
                    recorder.copy_buffer(buffer, queue, from, to, from_at, to_at, size_bytes, wait, point)
                }
            }
        }
    }

    /// Records [`Pointers::fill`].
    ///
    /// # Safety
    /// As for [`Pointers::record_copy`].
    #[allow(clippy::too_many_arguments, reason = "those of OpenCL's function")]
    pub(crate) unsafe fn record_fill(
        &self,
        recorder: Recorder,
        buffer: cl_command_buffer_khr,
        to: *mut c_void,
        pattern: &[u8],
        size_bytes: usize,
        wait: &[cl_sync_point_khr],
        point: *mut cl_sync_point_khr,
    ) -> Result<()> {
        let queue = std::ptr::null_mut();
        let (start, length) = (pattern.as_ptr().cast::<c_void>(), pattern.len());
        // SAFETY: the caller's promise; no queue means that of the buffer.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(_) | MemoryApi::Svm(_) | MemoryApi::Unified(_) => {
                    recorder.memfill(buffer, queue, to, start, length, size_bytes, wait, point)
                }
                MemoryApi::Buffers(..) => {
                    let (to, at) = self.live.find(to.addr())?;
                    recorder.fill_buffer(buffer, queue, to.buffer, start, length, at, size_bytes, wait, point)
                }
            }
        }
    }

    /// Gives the host access to mapped memory until [`Pointers::unmap`], and says where the host
    /// finds it. Waits.
    ///
    /// # Safety
    /// As said above. Until then no command uses the memory.
    pub(crate) unsafe fn map(
        &self,
        queue: cl_command_queue,
        start: NonNull<c_void>,
        size_bytes: usize,
        write: bool,
    ) -> Result<NonNull<c_void>> {
        let flags = if write { CL_MAP_READ | CL_MAP_WRITE } else { CL_MAP_READ };
        let no_event = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(_) => Ok(start),
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    let pointer = start.as_ptr();
                    api.clEnqueueSVMMap(queue, CL_TRUE, flags, pointer, size_bytes, &[], no_event)?;
                    Ok(start)
                }
                MemoryApi::Buffers(api, _) => {
                    let (block, at) = self.live.find(start.addr().get())?;
                    let buffer = block.buffer;
                    let mapped =
                        api.clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, at, size_bytes, &[], no_event)?;
                    NonNull::new(mapped).ok_or_else(|| Error::invalid("the driver mapped memory to null"))
                }
            }
        }
    }

    /// Ends [`Pointers::map`], which gave `mapped`, and waits.
    ///
    /// # Safety
    /// As said above. The host does not use the memory any more.
    pub(crate) unsafe fn unmap(
        &self,
        queue: cl_command_queue,
        start: NonNull<c_void>,
        mapped: NonNull<c_void>,
    ) -> Result<()> {
        let no_event = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            match self.memory_api {
                MemoryApi::Usm(_) => Ok(()),
                MemoryApi::Svm(api) | MemoryApi::Unified(Unified { api, .. }) => {
                    api.clEnqueueSVMUnmap(queue, start.as_ptr(), &[], no_event)?;
                    api.clFinish(queue)
                }
                MemoryApi::Buffers(api, _) => {
                    let (block, _) = self.live.find(start.addr().get())?;
                    api.clEnqueueUnmapMemObject(queue, block.buffer, mapped.as_ptr(), &[], no_event)?;
                    api.clFinish(queue)
                }
            }
        }
    }
}
