//! Contents of buffers in OpenCL's own: `cl_mem` in and out.

use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::Buffer;
use crate::driver::mem::MemObject;
use crate::driver::native::MemHandle;
use crate::memory::zeroed;
use crate::{Context, Error, Result, Shape};

/// A `cl_mem` that contents go back to.
pub(super) struct NativeTarget {
    context: Context,
    memory: MemObject,
}

impl NativeTarget {
    pub(super) fn replace<T: Pod>(&self, data: &[T]) -> Result<()> {
        self.memory.write(self.context.transfer_queue()?, bytemuck::cast_slice(data))
    }
}

impl<T: Pod> Buffer<T> {
    /// A buffer with the first elements of a `cl_mem` buffer of a context, to which its contents go
    /// back.
    ///
    /// Buffers have memory that kernels can hold the address of (USM), so the `cl_mem` is not used
    /// by commands: its elements are copied before this returns, and copied back by
    /// [`Buffer::write_back`] and when the last clone of the buffer is dropped, if something has
    /// written to it, as with [`Buffer::set_final_data`] ([`Buffer::set_write_back`] turns that
    /// off, and another target or `None` takes its place and releases the `cl_mem`). Raw commands
    /// that write it must have ended before this, and none may use it while it is written back.
    /// What they write later, the buffer does not see. Other contexts can use the buffer, too.
    ///
    /// The reference is released when the buffer is gone, and before this returns if it fails.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a `cl_mem` of another context, one that is no
    /// buffer, and one with fewer elements; when the driver refuses to read it
    /// (`CL_MEM_HOST_WRITE_ONLY`, `CL_MEM_HOST_NO_ACCESS`); else as [`Buffer::new`].
    pub fn from_native(context: &Context, memory: MemHandle, range: impl Into<Shape>) -> Result<Self> {
        let range = range.into();
        let memory = MemObject::of_native(context.driver(), memory)?;
        let buffer = Self::new(range)?;
        if memory.size_bytes() < buffer.size_bytes() {
            return Err(Error::invalid(format!(
                "a `cl_mem` of {} bytes for {buffer:?}, which has {}",
                memory.size_bytes(),
                buffer.size_bytes()
            )));
        }
        let mut data: Vec<T> = zeroed(buffer.len())?;
        memory.read(context.transfer_queue()?, bytemuck::cast_slice_mut(&mut data))?;
        let buffer = Self::with_data(range, data)?;
        buffer.set_native_target(Arc::new(NativeTarget { context: context.clone(), memory }));
        Ok(buffer)
    }

    /// A new `cl_mem` buffer of a context with a copy of the contents, or of those of this
    /// sub-buffer: for kernels that want one. The reference is the caller's. Waits for the commands
    /// that write the buffer; what happens to one of the two later does not show in the other.
    ///
    /// Raw commands that are to work on the buffer itself take its address
    /// ([`Queue::native_address`](crate::Queue::native_address)) in a
    /// [`Command::native`](crate::Command::native).
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) without elements, as OpenCL has no empty buffers; as
    /// [`Accessor::host`](crate::Accessor::host); when the driver has no memory.
    pub fn to_native(&self, context: &Context) -> Result<MemHandle> {
        if self.size_bytes() == 0 {
            return Err(Error::invalid(format!("a `cl_mem` of {self:?}, which has no elements")));
        }
        let contents = self.host_read()?;
        MemObject::with_copy(context.driver(), bytemuck::cast_slice(&contents))
    }
}
