//! The programs of a context: from what a launch names to a kernel that is ready.

use std::sync::Arc;

use oclave_image::DeviceGlobalInfo;

use super::build::Builder;
use super::bundle;
use super::device::DeviceState;
use super::disk::{DiskCache, ProgramCache};
use super::globals::Globals;
use super::map::{KernelKey, ProgramKey, ProgramMap};
use super::ready::{BuiltProgram, ReadyKernel};
use super::spec::{self, SpecValue};
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::usm::Allocation;
use crate::image::{LoadedImage, candidates};
use crate::queue::CallTarget;
use crate::{Error, ErrorKind, Kernel, Result};

/// The programs, kernels and device globals of one context.
pub(crate) struct Programs {
    context: Arc<Context>,
    disk: Option<DiskCache>,
    devices: Vec<DeviceState>,
    /// Of image tables; bundles have their own.
    map: ProgramMap,
    globals: Globals,
}

impl Programs {
    pub(crate) fn new(context: &Arc<Context>, cache: &ProgramCache) -> Self {
        Self {
            context: Arc::clone(context),
            disk: DiskCache::open(cache),
            devices: context.devices().iter().map(DeviceState::new).collect(),
            map: ProgramMap::default(),
            globals: Globals::default(),
        }
    }

    /// The kernel of a call, ready to be launched on a device of the context. Builds its program if nobody did.
    pub(crate) fn kernel(
        &self,
        device: &Device,
        target: &CallTarget,
        specs: &[SpecValue],
    ) -> Result<Arc<ReadyKernel>> {
        let (index, state) = self.device(device)?;
        match target {
            CallTarget::Image(kernel) => {
                let key = KernelKey { kernel: std::ptr::from_ref::<Kernel>(kernel).addr(), device: index };
                let source = || Ok((kernel.images().name(), kernel.images().images()?, kernel.name()));
                self.kernel_of(&self.map, key, specs, state, source)
            }
            CallTarget::Bundle(kernel) => {
                let bundle = kernel.bundle();
                if !Arc::ptr_eq(bundle.context().driver(), &self.context) {
                    return Err(Error::invalid("the kernel's bundle belongs to another context")
                        .at(format!("kernel `{}`", kernel.name()))
                        .remedy("load the bundle in the context of the queue"));
                }
                let key = KernelKey { kernel: kernel.index(), device: index };
                let source = || Ok((bundle::NAME, bundle.images(), kernel.name()));
                self.kernel_of(bundle.programs(), key, specs, state, source)
            }
        }
    }

    fn kernel_of<'a>(
        &self,
        map: &ProgramMap,
        key: KernelKey,
        specs: &[SpecValue],
        state: &DeviceState,
        source: impl FnOnce() -> Result<(&'a str, &'a [LoadedImage], &'a str)>,
    ) -> Result<Arc<ReadyKernel>> {
        if let Some(ready) = map.kernel(key, specs) {
            return Ok(ready);
        }
        let (source, images, kernel) = source()?;
        let ready = self.make(map, source, images, kernel, (key.device, state), specs)?;
        map.insert_kernel(key, specs, &ready);
        Ok(ready)
    }

    #[cold]
    fn make(
        &self,
        map: &ProgramMap,
        source: &str,
        images: &[LoadedImage],
        kernel: &str,
        (index, state): (usize, &DeviceState),
        specs: &[SpecValue],
    ) -> Result<Arc<ReadyKernel>> {
        let place = |error: Error| error.at(format!("kernel `{kernel}` of `{source}`"));
        spec::check(specs, images).map_err(place)?;
        let mut refusal = None;
        for image in candidates(source, images, kernel, state.profile())? {
            match self.program(map, image, (index, state), specs) {
                Ok(program) => return program.kernel(image, kernel),
                // The next image may be in a form that the device takes.
                Err(error) if error.kind() == ErrorKind::KernelNotSupported => refusal = Some(error),
                Err(error) => return Err(place(error.at(format!("image `{}`", image.name())))),
            }
        }
        Err(place(refusal.unwrap_or_else(|| Error::invalid("no image holds it"))))
    }

    fn program(
        &self,
        map: &ProgramMap,
        image: &LoadedImage,
        (index, state): (usize, &DeviceState),
        specs: &[SpecValue],
    ) -> Result<Arc<BuiltProgram>> {
        let specs = spec::of_image(specs, image);
        let key = ProgramKey {
            image: std::ptr::from_ref(image).addr(),
            device: index,
            specs: specs.clone().into(),
        };
        let builder = Builder { context: &self.context, disk: self.disk.as_ref(), globals: &self.globals };
        map.program(key, || builder.build(image, state, &specs))
    }

    /// The memory of a device global that `image` declares.
    pub(crate) fn global(
        &self,
        device: &Device,
        declaration: &DeviceGlobalInfo,
        image: &str,
    ) -> Result<Arc<Allocation>> {
        let (_, state) = self.device(device)?;
        let queue = state.queue(&self.context)?;
        self.globals.memory(&self.context, &queue, declaration, image)
    }

    fn device(&self, device: &Device) -> Result<(usize, &DeviceState)> {
        self.devices
            .iter()
            .enumerate()
            .find(|(_, state)| state.device() == device)
            .ok_or_else(|| Error::invalid(format!("device `{}` is not in the context", device.name())))
    }
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs")
            .field("devices", &self.devices)
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}
