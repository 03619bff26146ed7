//! Conversions between devices and handles of this crate and objects of `opencl3`.

use super::native::{
    ContextHandle, DeviceHandle, EventHandle, KernelHandle, MemHandle, ProgramHandle, QueueHandle,
};
use crate::{Device, Error, Result};
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

impl TryFrom<&::opencl3::device::Device> for Device {
    type Error = Error;

    /// As [`Device::from_native`].
    fn try_from(theirs: &::opencl3::device::Device) -> Result<Self> {
        Self::from_native(DeviceHandle::try_from(theirs)?)
    }
}

impl From<&Device> for ::opencl3::device::Device {
    /// Valid as long as the device or a clone lives: devices of `opencl3` own no reference.
    fn from(ours: &Device) -> Self {
        Self::new(ours.native())
    }
}

impl From<EventHandle> for ::opencl3::event::Event {
    /// Of what `Event::to_native` returns.
    fn from(ours: EventHandle) -> Self {
        Self::new(ours.into_raw())
    }
}

impl From<KernelHandle> for ::opencl3::kernel::Kernel {
    /// Of what `NativeKernel::handle` returns. Keep the
    /// `NativeKernel` until commands with it have ended.
    fn from(ours: KernelHandle) -> Self {
        Self::new(ours.into_raw())
    }
}

impl<T> From<MemHandle> for ::opencl3::memory::Buffer<T> {
    /// Of what `Buffer::to_native` returns: a copy of the contents.
    fn from(ours: MemHandle) -> Self {
        Self::new(ours.into_raw())
    }
}

impl ContextHandle {
    /// Another reference to a context of the library.
    #[doc(hidden)]
    pub fn of(context: &super::context::Context) -> Result<Self> {
        // SAFETY: the context is alive.
        unsafe { Self::retain(context.raw()) }
    }
}

impl QueueHandle {
    /// Another reference to a queue of the library.
    #[doc(hidden)]
    pub fn of(queue: &super::queue::Queue) -> Result<Self> {
        // SAFETY: the queue is alive.
        unsafe { Self::retain(queue.raw()) }
    }
}
