//! Queues, kernels and addresses for programs that also use OpenCL directly.

use std::ffi::c_void;

use super::Queue;
use crate::command::{CopyFrom, KernelCall, NativeKernel};
use crate::driver::native::{QueueHandle, cl_command_queue};
use crate::driver::queue as driver;
use crate::{Context, Result};

impl Queue {
    /// A queue of OpenCL's, of a context, with the properties that it was made with. Its reference
    /// is released with the result, and with the last of what was made from it. Raw commands may be
    /// put on it from elsewhere, too.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a queue of another context, or one on the device;
    /// [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) for an out-of-order queue of
    /// a driver that hangs when threads use such (Intel's CPU runtime; [`Queue::builder`] makes
    /// queues that order commands by their dependencies there).
    pub fn from_native(context: &Context, handle: QueueHandle) -> Result<Self> {
        Ok(Self::around(context.clone(), driver::Queue::of_native(context.driver(), handle)?))
    }

    /// OpenCL's handle, good as long as the queue or a clone lives.
    ///
    /// Raw commands on it run after the commands that the driver has. They do not wait for deferred
    /// commands (host tasks and commands that depend on them).
    /// [`Command::native`](crate::Command::native) does. [`Queue::wait`] also waits for raw
    /// commands. The library does not know which memory they use. The caller must keep it alive,
    /// and must not access it from the host. On Intel's CPU runtime, the handle of an out-of-order
    /// queue is one of an in-order queue.
    pub fn native(&self) -> cl_command_queue {
        self.driver().raw()
    }

    /// A kernel object for raw commands, with the arguments of a call set. Of accessors the address
    /// of their first element is set; the contents are only there for commands that [name
    /// them](crate::Command::native).
    ///
    /// How pointers are set on NVIDIA's driver: [`NativeKernel::program`].
    ///
    /// # Errors
    /// As [`Queue::parallel_for`].
    pub fn native_kernel(&self, call: &KernelCall) -> Result<NativeKernel> {
        NativeKernel::new(self, call)
    }

    /// The address, on the queue's device, of the first byte of USM, of a part of a buffer, of
    /// elements of a device global. It is good as long as the memory lives: that of a buffer in a
    /// context, as long as the buffer.
    ///
    /// # Errors
    /// As a command on the memory.
    pub fn native_address(&self, of: &impl CopyFrom) -> Result<*mut c_void> {
        of.place(false).into_block(self)?.region.span().map(|span| span.address())
    }
}
