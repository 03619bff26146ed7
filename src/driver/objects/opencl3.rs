//! Handles of `opencl3`'s objects.

use super::native::{
    ContextHandle, DeviceHandle, EventHandle, KernelHandle, MemHandle, ProgramHandle, QueueHandle,
};
use crate::error::{Error, Result};
use ::opencl3::memory::ClMem;

macro_rules! handles {
    ($($theirs:ty => $handle:ident, $get:ident;)*) => {$(
        /// Takes a reference of its own.
        impl TryFrom<&$theirs> for $handle {
            type Error = Error;

            fn try_from(theirs: &$theirs) -> Result<Self> {
                // SAFETY: an object of opencl3 owns a reference, so its handle is alive. Root
                // devices always are; parts of them are kept by the object's owner.
                unsafe { Self::retain(theirs.$get()) }
            }
        }
    )*};
}

handles! {
    ::opencl3::device::Device => DeviceHandle, id;
    ::opencl3::device::SubDevice => DeviceHandle, id;
    ::opencl3::context::Context => ContextHandle, get;
    ::opencl3::command_queue::CommandQueue => QueueHandle, get;
    ::opencl3::event::Event => EventHandle, get;
    ::opencl3::program::Program => ProgramHandle, get;
    ::opencl3::kernel::Kernel => KernelHandle, get;
}

/// Takes a reference of its own.
impl<T> TryFrom<&::opencl3::memory::Buffer<T>> for MemHandle {
    type Error = Error;

    fn try_from(theirs: &::opencl3::memory::Buffer<T>) -> Result<Self> {
        // SAFETY: a buffer of opencl3 owns a reference, so its handle is alive.
        unsafe { Self::retain(theirs.get()) }
    }
}

impl ContextHandle {
    /// Another reference to a context of the library.
    pub(crate) fn of(context: &super::context::Context) -> Result<Self> {
        // SAFETY: the context is alive.
        unsafe { Self::retain(context.raw()) }
    }
}

impl QueueHandle {
    /// Another reference to a queue of the library.
    pub(crate) fn of(queue: &super::queue::Queue) -> Result<Self> {
        // SAFETY: the queue is alive.
        unsafe { Self::retain(queue.raw()) }
    }
}
