//! Conversions between this library's objects and those of the crate `opencl3`.
//!
//! Both sides count references, so that objects of either side may be dropped in any order.

use bytemuck::Pod;
use opencl3::command_queue::CommandQueue;
use opencl3::memory::ClMem;

use crate::MakeError as _;
use crate::driver::native::{ContextHandle, EventHandle, MemHandle, QueueHandle};
use crate::{Buffer, Context, Device, Error, Event, Queue, Result};

impl TryFrom<&opencl3::context::Context> for Context {
    type Error = Error;

    /// As [`Context::from_native`].
    fn try_from(theirs: &opencl3::context::Context) -> Result<Self> {
        Self::from_native(ContextHandle::try_from(theirs)?)
    }
}

impl TryFrom<&Context> for opencl3::context::Context {
    type Error = Error;

    fn try_from(ours: &Context) -> Result<Self> {
        let devices: Vec<_> = ours.devices().iter().map(Device::native).collect();
        Ok(Self::new(ContextHandle::of(ours.driver())?.into_raw(), &devices))
    }
}

impl TryFrom<(&Context, &CommandQueue)> for Queue {
    type Error = Error;

    /// A queue of this context. As [`Queue::from_native`].
    fn try_from((context, theirs): (&Context, &CommandQueue)) -> Result<Self> {
        Self::from_native(context, QueueHandle::try_from(theirs)?)
    }
}

impl TryFrom<&Queue> for CommandQueue {
    type Error = Error;

    /// The conditions of [`Queue::native`] hold for the result, too.
    fn try_from(ours: &Queue) -> Result<Self> {
        let device = opencl3::device::Device::from(ours.device());
        let dimensions =
            device.max_work_item_dimensions().map_err(|error| Error::cl("clGetDeviceInfo", error.0))?;
        Ok(Self::new(QueueHandle::of(ours.driver())?.into_raw(), dimensions))
    }
}

impl TryFrom<&opencl3::event::Event> for Event {
    type Error = Error;

    /// As [`Event::from_native`].
    fn try_from(theirs: &opencl3::event::Event) -> Result<Self> {
        Self::from_native(EventHandle::try_from(theirs)?)
    }
}

impl<T: Pod> TryFrom<(&Context, &opencl3::memory::Buffer<T>)> for Buffer<T> {
    type Error = Error;

    /// A one-dimensional buffer with all elements. As [`Buffer::from_native`]: they are copied, and
    /// copied back when the buffer is dropped.
    fn try_from((context, theirs): (&Context, &opencl3::memory::Buffer<T>)) -> Result<Self> {
        let size_bytes = theirs.size().map_err(|error| Error::cl("clGetMemObjectInfo", error.0))?;
        let len = size_bytes.checked_div(size_of::<T>()).unwrap_or(0);
        Self::from_native(context, MemHandle::try_from(theirs)?, len)
    }
}
