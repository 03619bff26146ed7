//! Built programs and kernels that are ready to be launched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use oclave_image::KernelSignature;

use super::attach::Attached;
use super::flight::lock;
use super::interpreter::InterpreterSlot;
use crate::driver::kernel::SharedKernel;
use crate::driver::usm::Allocation;
use crate::driver::{self, Device};
use crate::image::LoadedImage;
use crate::memory::Region;
use crate::{Error, ErrorKind, Result};

/// A program that was built for one device, its device globals attached, with the kernels made from
/// it so far.
#[derive(Debug)]
pub(crate) struct BuiltProgram {
    program: Arc<driver::program::Program>,
    globals: Attached,
    kernels: Mutex<HashMap<String, Arc<ReadyKernel>>>,
    interpreters: Arc<InterpreterSlot>,
}

impl BuiltProgram {
    pub(super) fn new(program: Arc<driver::program::Program>, globals: Attached) -> Self {
        Self { program, globals, kernels: Mutex::default(), interpreters: Arc::default() }
    }

    /// The memory of a variable with `device_image_scope`.
    pub(super) fn own_global(&self, id: &str) -> Option<&Region> {
        self.globals.own.get(id)
    }

    /// The table of addresses that kernels get as a hidden argument, where this program's do.
    pub(super) fn hidden(&self) -> Option<&Arc<Allocation>> {
        self.globals.hidden.as_ref()
    }

    /// Its interpreter programs.
    pub(super) fn interpreters(&self) -> &Arc<InterpreterSlot> {
        &self.interpreters
    }

    /// The kernel `name`; one object however often it is asked for.
    pub(crate) fn kernel(&self, image: &LoadedImage, name: &str) -> Result<Arc<ReadyKernel>> {
        let mut kernels = lock(&self.kernels);
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let signature = image
            .kernel(name)
            .ok_or_else(|| Error::invalid(format!("image `{}` has no kernel `{name}`", image.name())))?;
        let kernel = Arc::new(ReadyKernel::new(self, signature)?);
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }
}

/// A kernel object with what is known about it. Threads that set arguments and enqueue take turns
/// by [`Self::lock`].
#[derive(Debug)]
pub(crate) struct ReadyKernel {
    kernel: Arc<SharedKernel>,
    device: Device,
    signature: KernelSignature,
    max_work_group_size: OnceLock<usize>,
    /// Those of its program.
    interpreters: Arc<InterpreterSlot>,
    /// The memory of its hidden argument, if it has one.
    hidden: Option<Arc<Allocation>>,
}

impl ReadyKernel {
    fn new(of: &BuiltProgram, signature: &KernelSignature) -> Result<Self> {
        let program = &of.program;
        let (kernel, hidden) = first(program, of.hidden(), signature)?;
        Ok(Self {
            kernel: Arc::new(SharedKernel::new(kernel)),
            device: program.device().clone(),
            signature: signature.clone(),
            max_work_group_size: OnceLock::new(),
            interpreters: Arc::clone(&of.interpreters),
            hidden,
        })
    }

    /// One more object of the same kernel.
    pub(crate) fn another(&self) -> Result<driver::kernel::Kernel> {
        let mut kernel = driver::kernel::Kernel::new(self.kernel.program(), &self.signature.name)?;
        set_hidden(&mut kernel, self.hidden.as_ref(), &self.signature)?;
        Ok(kernel)
    }

    pub(crate) fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The interpreter programs of its program.
    pub(crate) fn interpreters(&self) -> &Arc<InterpreterSlot> {
        &self.interpreters
    }

    /// The kernel object, for setting arguments and enqueueing as one step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, driver::kernel::Kernel> {
        self.kernel.lock()
    }

    /// The kernel object, for launches to come.
    pub(crate) fn shared(&self) -> &Arc<SharedKernel> {
        &self.kernel
    }

    /// Work-items that one work-group may have; asked once.
    pub(crate) fn max_work_group_size(&self) -> Result<usize> {
        cached(&self.max_work_group_size, || self.lock().max_work_group_size())
    }
}

/// The first object of a kernel, and the memory of its hidden argument, if it has one.
fn first(
    program: &Arc<driver::program::Program>,
    hidden: Option<&Arc<Allocation>>,
    signature: &KernelSignature,
) -> Result<(driver::kernel::Kernel, Option<Arc<Allocation>>)> {
    let place = || format!("kernel `{}`", signature.name);
    let mut kernel =
        driver::kernel::Kernel::new(program, &signature.name).map_err(|error| error.at(place()))?;
    // A signature that does not match the object would let arguments be set past its end.
    let (known, described) = (kernel.argument_count()?, signature.parameters.len());
    // Of a linked program's kernels only those have the hidden argument that reach a variable.
    let hidden = hidden.filter(|_| usize::try_from(known) == Ok(described + 1));
    if usize::try_from(known) != Ok(described + usize::from(hidden.is_some())) {
        return Err(Error::new(
            ErrorKind::Image,
            format!("the driver sees {known} parameters, the image describes {described}"),
        )
        .at(place())
        .remedy("rebuild the image"));
    }
    set_hidden(&mut kernel, hidden, signature).map_err(|error| error.at(place()))?;
    Ok((kernel, hidden.cloned()))
}

/// Sets what launches do not name: the hidden argument, behind the others, and how the kernel
/// reaches device globals.
fn set_hidden(
    kernel: &mut driver::kernel::Kernel,
    hidden: Option<&Arc<Allocation>>,
    signature: &KernelSignature,
) -> Result<()> {
    if let Some(hidden) = hidden {
        let span = hidden.span(0, hidden.size_bytes())?;
        kernel.set_memory(signature.parameters.len() as u32, &span)?;
        kernel.hold(hidden);
    }
    if !signature.device_globals.is_empty() {
        // The variables are reached through pointers that are no arguments.
        kernel.set_indirect_access()?;
    }
    Ok(())
}

fn cached(cell: &OnceLock<usize>, ask: impl FnOnce() -> Result<usize>) -> Result<usize> {
    match cell.get() {
        Some(value) => Ok(*value),
        None => Ok(*cell.get_or_init({
            let value = ask()?;
            move || value
        })),
    }
}
