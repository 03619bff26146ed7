//! Kernel objects for raw commands.

use std::sync::Arc;

use super::launch;
use crate::command::describe::argument::Argument;
use crate::command::describe::call::KernelCall;
use crate::driver::kernel::Kernel;
use crate::driver::native::{KernelHandle, ProgramHandle, cl_kernel};
use crate::program::ReadyKernel;
use crate::{Queue, Result};

/// A kernel object of OpenCL, with the arguments of a call set, for raw commands. Made by
/// [`Queue::native_kernel`](crate::Queue::native_kernel). It is nobody else's: its arguments may be
/// set to others.
///
/// It keeps the program and the memory of the arguments alive. The library does not know when raw
/// commands use them. So keep this value until they have ended, or enqueue them in a
/// [`Command::native`](crate::Command::native) that names the memory.
#[derive(Debug)]
pub struct NativeKernel {
    kernel: Kernel,
    _arguments: Vec<Argument>,
    _ready: Arc<ReadyKernel>,
}

impl NativeKernel {
    pub(crate) fn new(queue: &Queue, call: &KernelCall) -> Result<Self> {
        let named = |error| launch::named(error, call.kernel_name());
        let (ready, arguments) = launch::bind(queue, call.clone()).map_err(named)?;
        let mut kernel = ready.another()?;
        kernel.set_all(arguments.iter().map(|argument| launch::argument(argument, false))).map_err(named)?;
        Ok(Self { kernel, _arguments: arguments, _ready: ready })
    }

    /// The kernel, good as long as this lives.
    pub fn raw(&self) -> cl_kernel {
        self.kernel.raw()
    }

    /// A reference of the caller's own.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn handle(&self) -> Result<KernelHandle> {
        self.kernel.handle()
    }

    /// A reference to the program of the caller's own: other kernels can be made from it.
    ///
    /// On NVIDIA's driver, in a context with one device, pointers to global memory are arguments of
    /// eight bytes. `clSetKernelArg` takes the address, and `clSetKernelArgSVMPointer` rejects it.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn program(&self) -> Result<ProgramHandle> {
        self.kernel.program_handle()
    }
}
