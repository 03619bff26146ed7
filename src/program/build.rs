//! From an image to a built program: from the disk cache or legalized SPIR-V, with its device globals attached.

use std::sync::Arc;

use oclave_image::ImageError;
use oclave_image::passes::{self, GLOBAL_ACCESS_KERNEL};

use super::device::{DeviceState, VariableAccess};
use super::disk::{CacheKey, CacheKeyBuilder, DiskCache};
use super::globals::Globals;
use super::ready::BuiltProgram;
use super::spec::SpecValue;
use crate::driver::context::Context;
use crate::driver::kernel::Kernel;
use crate::driver::program::Program;
use crate::driver::usm::{Allocation, Kind};
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};

/// What the driver's compiler is told. Part of the cache key.
const BUILD_OPTIONS: &std::ffi::CStr = c"";

/// What builds have in common.
pub(crate) struct Builder<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) disk: Option<&'a DiskCache>,
    pub(crate) globals: &'a Globals,
}

impl Builder<'_> {
    /// A program of an image for a device, with specialization values that the image has.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`] when the module cannot be put in a form that the device takes.
    pub(crate) fn build(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
    ) -> Result<Arc<BuiltProgram>> {
        let program = self.built(image, device, specs)?;
        let hidden = self.attach_globals(&program, image, device)?;
        Ok(Arc::new(BuiltProgram::new(program, hidden)))
    }

    fn built(&self, image: &LoadedImage, device: &DeviceState, specs: &[SpecValue]) -> Result<Arc<Program>> {
        let cache = self.disk.map(|disk| (disk, cache_key(image, device, specs)));
        if let Some((disk, key)) = &cache
            && let Some(binary) = disk.load(key)
        {
            match self.program_of_binary(device, &binary) {
                Ok(program) => return Ok(Arc::new(program)),
                Err(error) => {
                    log::debug!("the driver refuses a cached binary of image `{}`: {error}", image.name());
                    disk.remove(key);
                }
            }
        }
        let words = legal_words(image, device)?;
        let program = Program::from_spirv(self.context, device.device(), &words)?;
        for spec in specs {
            program
                .set_spec_constant(spec.id(), spec.bytes())
                .map_err(|error| error.at(format!("specialization constant {}", spec.id())))?;
        }
        program.build(BUILD_OPTIONS)?;
        if let Some((disk, key)) = &cache {
            match program.binary() {
                Ok(binary) => disk.store(key, &binary),
                Err(error) => log::debug!("no binary of image `{}` to cache: {error}", image.name()),
            }
        }
        Ok(Arc::new(program))
    }

    fn program_of_binary(&self, device: &DeviceState, binary: &[u8]) -> Result<Program> {
        let program = Program::from_binary(self.context, device.device(), binary)?;
        program.build(BUILD_OPTIONS)?;
        Ok(program)
    }

    /// Points the program's variables to the memory that all programs of the context and device share; or gives the table
    /// of addresses for the kernels' hidden argument.
    fn attach_globals(
        &self,
        program: &Arc<Program>,
        image: &LoadedImage,
        device: &DeviceState,
    ) -> Result<Option<Arc<Allocation>>> {
        let globals = image.device_globals();
        if globals.is_empty() {
            return Ok(None);
        }
        let queue = device.queue(self.context)?;
        let mut addresses = vec![0u64; globals.len()];
        for (address, global) in addresses.iter_mut().zip(globals) {
            let place = |error: Error| error.at(format!("device global `{}`", global.id));
            if global.device_image_scope {
                self.globals.check(global, image.name()).map_err(place)?;
            } else {
                let memory =
                    self.globals.memory(self.context, &queue, global, image.name()).map_err(place)?;
                *address = memory.address().addr() as u64;
            }
        }
        if device.variable_access() == VariableAccess::Functions {
            for (address, global) in
                addresses.iter().zip(globals).filter(|(_, global)| !global.device_image_scope)
            {
                program.write_variable(&queue, &global.id, device.pointer_bytes(address))?;
            }
            return Ok(None);
        }
        let bytes = bytemuck::cast_slice(&addresses);
        let table = Allocation::new(self.context, Some(device.device()), Kind::Device, bytes.len(), 8)?;
        let span = table.span(0, bytes.len())?;
        queue.write(bytes, span, &[])?;
        if device.variable_access() == VariableAccess::Argument {
            // Launches do not name it among their arguments.
            table.used_by_any_queue();
            return Ok(Some(table));
        }
        let mut kernel = Kernel::new(program, GLOBAL_ACCESS_KERNEL)?;
        kernel.set_indirect_access()?;
        kernel.set_memory(0, &span)?;
        kernel
            .run_once(&queue)
            .map_err(|error| error.at(format!("device globals of image `{}`", image.name())))?;
        Ok(None)
    }
}

/// The module as the device takes it.
fn legal_words(image: &LoadedImage, device: &DeviceState) -> Result<Vec<u32>> {
    let globals = image.device_globals();
    passes::legalize_with(image.image(), device.target(), |module| match device.variable_access() {
        _ if globals.is_empty() => Ok(module),
        VariableAccess::Functions => Ok(module),
        VariableAccess::Kernel => passes::add_global_access_kernel(&module, globals),
        VariableAccess::Argument => {
            passes::lower_globals_to_hidden_argument(&module, globals).map(|lowered| lowered.module)
        }
    })
    .map_err(|error| match &error {
        ImageError::DeviceLacks { .. } | ImageError::Unsupported(_) => {
            let device = device.device().name();
            Error::new(ErrorKind::KernelNotSupported, format!("device `{device}` cannot run it"))
                .with_source(error)
        }
        _ => Error::from(error),
    })
}

fn cache_key(image: &LoadedImage, device: &DeviceState, specs: &[SpecValue]) -> CacheKey {
    let mut key =
        CacheKeyBuilder::new().part(image.hash()).part(device.fingerprint()).part(BUILD_OPTIONS.to_bytes());
    for spec in specs {
        key = key.part(&spec.id().to_le_bytes()).part(spec.bytes());
    }
    key.finish()
}
