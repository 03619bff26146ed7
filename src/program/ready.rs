//! Built programs and kernels that are ready to be launched.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use oclave_image::KernelSignature;
use oclave_image::passes::UnsupportedKernel;

use super::attach::Attached;
use super::build::refused;
use super::interpreter::InterpreterSlot;
use super::slices::{self, Slices};
use crate::MakeError as _;
use crate::driver::kernel::SharedKernel;
use crate::driver::sync::{Mutex, MutexGuard};
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
    /// Those of the image that it lacks, as the device cannot run them.
    unsupported: Vec<UnsupportedKernel>,
    interpreters: Arc<InterpreterSlot>,
    /// The hashes of the images with virtual functions that it is linked with.
    sets: Vec<[u8; 32]>,
}

/// Arguments that launches do not name, and that every object of a kernel gets.
#[derive(Debug)]
struct Hidden {
    /// The memory of the hidden argument, if there is one.
    table: Option<Arc<Allocation>>,
    /// Whether the kernel follows pointers that are not its arguments.
    indirect: bool,
}

impl BuiltProgram {
    /// The program that was built of `image`.
    pub(super) fn new(
        image: &LoadedImage,
        program: Arc<driver::program::Program>,
        unsupported: Vec<UnsupportedKernel>,
        globals: Attached,
    ) -> Self {
        Self {
            program,
            globals,
            kernels: Mutex::default(),
            unsupported,
            interpreters: Arc::default(),
            sets: image.sets().to_vec(),
        }
    }

    /// Whether it is linked with the virtual functions of an image.
    pub(super) fn is_linked_with(&self, image: &LoadedImage) -> bool {
        self.sets.contains(image.hash())
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
        let mut kernels = self.kernels.lock();
        if let Some(kernel) = kernels.get(name) {
            return Ok(Arc::clone(kernel));
        }
        let signature = image
            .kernel(name)
            .ok_or_else(|| Error::invalid(format!("image `{}` has no kernel `{name}`", image.name())))?;
        if let Some(UnsupportedKernel { reason, .. }) = self.unsupported.iter().find(|of| of.name == name) {
            return Err(refused(reason.clone(), self.program.device()));
        }
        let kernel = Arc::new(ReadyKernel::new(self, image, signature)?);
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
    hidden: Hidden,
    slices: Option<Slices>,
}

impl ReadyKernel {
    fn new(of: &BuiltProgram, image: &LoadedImage, signature: &KernelSignature) -> Result<Self> {
        let program = &of.program;
        // Device globals are reached through pointers that are no arguments.
        let indirect = image.follows_pointers(&signature.name) || !signature.device_globals.is_empty();
        let (kernel, hidden) = first(program, of.hidden(), signature, indirect)?;
        Ok(Self {
            kernel: Arc::new(SharedKernel::new(kernel)),
            device: program.device().clone(),
            signature: signature.clone(),
            max_work_group_size: OnceLock::new(),
            interpreters: Arc::clone(&of.interpreters),
            hidden,
            slices: slices::of(image, signature),
        })
    }

    /// One more object of the same kernel.
    pub(crate) fn another(&self) -> Result<driver::kernel::Kernel> {
        let mut kernel = driver::kernel::Kernel::new(self.kernel.program(), &self.signature.name)?;
        set_hidden(&mut kernel, &self.hidden, &self.signature)?;
        Ok(kernel)
    }

    pub(crate) fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    /// What its launches check, if it is a kernel in Rust.
    #[inline]
    pub(crate) fn slices(&self) -> Option<&Slices> {
        self.slices.as_ref()
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

/// The first object of a kernel, and what all its objects get.
fn first(
    program: &Arc<driver::program::Program>,
    hidden: Option<&Arc<Allocation>>,
    signature: &KernelSignature,
    indirect: bool,
) -> Result<(driver::kernel::Kernel, Hidden)> {
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
    let hidden = Hidden { table: hidden.cloned(), indirect };
    set_hidden(&mut kernel, &hidden, signature).map_err(|error| error.at(place()))?;
    Ok((kernel, hidden))
}

/// Sets what launches do not name: the hidden argument, behind the others, and that the kernel
/// follows pointers.
fn set_hidden(
    kernel: &mut driver::kernel::Kernel,
    hidden: &Hidden,
    signature: &KernelSignature,
) -> Result<()> {
    if let Some(table) = &hidden.table {
        let span = table.span(0, table.size_bytes())?;
        kernel.set_memory(signature.parameters.len() as u32, &span)?;
        kernel.hold(table);
    }
    if hidden.indirect {
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
