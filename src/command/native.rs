//! Raw commands in the place of one of the library's, and kernel objects for raw commands.

use std::fmt;
use std::sync::Arc;

use super::task::caught;
use super::{Argument, KernelCall, Place, index_space, launch};
use crate::driver::kernel::Kernel;
use crate::driver::native::{Enqueue, EventHandle, KernelHandle, ProgramHandle, Submission, cl_kernel};
use crate::program::ReadyKernel;
use crate::{NdRange, Queue, Result};

/// Raw commands, with the memory that they use.
#[derive(Clone)]
pub(crate) struct NativeCommand {
    pub(super) enqueue: Enqueue,
    pub(super) uses: Vec<Place>,
}

impl NativeCommand {
    pub(super) fn new<E>(
        uses: Vec<Place>,
        enqueue: impl Fn(&Submission<'_>) -> std::result::Result<EventHandle, E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let refused =
            || crate::Error::new(crate::ErrorKind::Runtime, "raw commands were not put on the queue");
        // The thread that calls it may be the library's. The conversion of the error is the user's
        // code, too.
        let enqueue = move |to: &Submission<'_>| {
            let outcome = caught("what puts them there", || {
                Ok(enqueue(to).map_err(|error| refused().with_source(error)))
            });
            outcome.unwrap_or_else(|panic| Err(refused().with_source(panic)))
        };
        Self { enqueue: Arc::new(enqueue), uses }
    }

    /// A kernel with its arguments set.
    pub(super) fn of_kernel(uses: Vec<Place>, kernel: KernelHandle, range: NdRange) -> Self {
        let [offset, local] = [range.offset(), range.local()].map(|sizes| sizes.map(|sizes| sizes.sizes()));
        let sizes = [offset, Some(range.global().sizes()), local];
        // PoCL 6.0 divides by a group size without a check.
        Self::new(uses, move |to| {
            index_space::check_form(&range)?;
            kernel.enqueue(to, range.global().dimensions(), sizes)
        })
    }

    /// The places that it uses.
    pub(crate) fn places(&self) -> &[Place] {
        &self.uses
    }
}

impl fmt::Debug for NativeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeCommand").field("uses", &self.uses).finish_non_exhaustive()
    }
}

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
