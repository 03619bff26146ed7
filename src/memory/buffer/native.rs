//! Contents of buffers in OpenCL's own: `cl_mem` in and out.

use std::sync::Arc;

use bytemuck::Pod;

use super::buffer::Buffer;
use crate::MakeError as _;
use crate::driver::mem::MemObject;
use crate::driver::native::MemHandle;
use crate::memory::shape::Shape;
use crate::memory::zeroed;
use crate::{Context, Error, Result};

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
    /// Commands do not use the `cl_mem`: buffers have memory that kernels can address by pointers.
    /// Its elements are copied before this returns. [`Buffer::write_back`] copies them back, and so
    /// does the drop of the last clone, if a command has written to the buffer.
    /// [`Buffer::set_write_back`] turns that off. [`Buffer::set_final_data`] with another target,
    /// or `None`, replaces the `cl_mem` and releases it. Raw commands that write the `cl_mem` must
    /// have ended before this call. None may use it while it is written back. The buffer does not
    /// see later writes. Other contexts can use the buffer, too.
    ///
    /// The reference is released when the buffer is gone, and before this returns if it fails.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a `cl_mem` of another context, one that is no
    /// buffer, and one with fewer elements. The same when the driver refuses to read it
    /// (`CL_MEM_HOST_WRITE_ONLY`, `CL_MEM_HOST_NO_ACCESS`). Otherwise as [`Buffer::new`].
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
    /// [`Accessor::host`](crate::memory::Accessor::host); when the driver has no memory.
    pub fn to_native(&self, context: &Context) -> Result<MemHandle> {
        if self.size_bytes() == 0 {
            return Err(Error::invalid(format!("a `cl_mem` of {self:?}, which has no elements")));
        }
        let contents = self.host_read()?;
        MemObject::with_copy(context.driver(), bytemuck::cast_slice(&contents))
    }
}
