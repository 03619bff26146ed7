//! Built programs and kernels that are ready to be launched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use oclave_image::KernelSignature;

use super::flight::lock;
use crate::driver::{self, Device};
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};

/// A program that was built for one device, its device globals attached, with the kernels made from it so far.
#[derive(Debug)]
pub(crate) struct BuiltProgram {
    program: Arc<driver::program::Program>,
    kernels: Mutex<HashMap<String, Arc<ReadyKernel>>>,
}

impl BuiltProgram {
    pub(crate) fn new(program: Arc<driver::program::Program>) -> Self {
        Self { program, kernels: Mutex::default() }
    }

    pub(crate) fn program(&self) -> &Arc<driver::program::Program> {
        &self.program
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
        let kernel = Arc::new(ReadyKernel::new(&self.program, signature)?);
        kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Ok(kernel)
    }
}

/// A kernel object with what is known about it. Threads that set arguments and enqueue take turns by [`Self::lock`].
#[derive(Debug)]
pub(crate) struct ReadyKernel {
    kernel: Mutex<driver::kernel::Kernel>,
    device: Device,
    signature: KernelSignature,
    max_work_group_size: OnceLock<usize>,
    preferred_work_group_multiple: OnceLock<usize>,
}

impl ReadyKernel {
    fn new(program: &Arc<driver::program::Program>, signature: &KernelSignature) -> Result<Self> {
        let place = || format!("kernel `{}`", signature.name);
        let mut kernel =
            driver::kernel::Kernel::new(program, &signature.name).map_err(|error| error.at(place()))?;
        // A signature that does not match the object would let arguments be set past its end.
        let (known, described) = (kernel.argument_count()?, signature.parameters.len());
        if usize::try_from(known) != Ok(described) {
            return Err(Error::new(
                ErrorKind::Image,
                format!("the driver sees {known} parameters, the image describes {described}"),
            )
            .at(place())
            .remedy("rebuild the image"));
        }
        if !signature.device_globals.is_empty() {
            // The variables are reached through pointers that are no arguments.
            kernel.set_indirect_access().map_err(|error| error.at(place()))?;
        }
        Ok(Self {
            kernel: Mutex::new(kernel),
            device: program.device().clone(),
            signature: signature.clone(),
            max_work_group_size: OnceLock::new(),
            preferred_work_group_multiple: OnceLock::new(),
        })
    }

    pub(crate) fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The kernel object, for setting arguments and enqueueing as one step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, driver::kernel::Kernel> {
        lock(&self.kernel)
    }

    /// Work-items that one work-group may have; asked once.
    pub(crate) fn max_work_group_size(&self) -> Result<usize> {
        cached(&self.max_work_group_size, || self.lock().max_work_group_size())
    }

    /// What a work-group's size should be a multiple of; asked once.
    pub(crate) fn preferred_work_group_multiple(&self) -> Result<usize> {
        cached(&self.preferred_work_group_multiple, || self.lock().preferred_work_group_multiple())
    }
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
