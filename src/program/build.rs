//! From an image to a built program: from the disk cache or legalized SPIR-V, with its device
//! globals attached.

use oclave_faults::Fault;
use std::ffi::CStr;
use std::sync::Arc;
use std::time::Instant;

use oclave_image::passes::interpreter::{INTERPRETER_SEQ, INTERPRETER_WI};
use oclave_image::passes::{self, Legal, UnsupportedKernel};
use oclave_image::{Aspects, ImageError};

use super::ahead;
use super::attach;
use super::device::DeviceState;
use super::disk::{CacheKey, CacheKeyBuilder, DiskCache};
use super::globals::Globals;
use super::ptx;
use super::ready::BuiltProgram;
use super::spec::SpecValue;
use crate::MakeError as _;
use crate::driver::context::Context;
use crate::driver::program::Program;
use crate::driver::{Device, DeviceGlobalAccess};
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result, trace};

/// The parameters that builds share.
pub(crate) struct Builder<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) disk: Option<&'a Arc<DiskCache>>,
    pub(crate) globals: &'a Globals,
    /// Options for the driver's compiler. Part of the cache key.
    pub(crate) options: &'a CStr,
}

impl Builder<'_> {
    /// A program of an image for a device, with specialization values that the image has.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`] when the module cannot be put in a form that the device
    /// takes.
    pub(crate) fn build(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
    ) -> Result<Arc<BuiltProgram>> {
        trace::build(image.name(), device.device().name(), || {
            let (program, unsupported) = self.built(image, device, specs)?;
            let attached = attach::attach(self, &program, image, device)?;
            Ok(Arc::new(BuiltProgram::new(image, program, unsupported, attached)))
        })
    }

    /// The binary of an image for a device.
    pub(super) fn binary(&self, image: &LoadedImage, device: &DeviceState) -> Result<Vec<u8>> {
        let (program, unsupported) = self.built(image, device, &[])?;
        match unsupported.into_iter().next() {
            Some(kernel) => Err(refused(kernel.reason, device.device())),
            None => program.binary(),
        }
    }

    /// The program of an image, and the kernels that it lacks.
    fn built(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
    ) -> Result<(Arc<Program>, Vec<UnsupportedKernel>)> {
        if let Some(binary) = ahead::binary_of(image, device).filter(|_| specs.is_empty()) {
            match self.program_of_binary(device, binary) {
                Ok(program) => return Ok((Arc::new(program), Vec::new())),
                Err(error) => {
                    log::warn!("the driver refuses the binary in image `{}`: {error:#}", image.name())
                }
            }
        }
        if let Some(target) = device.ptx()
            && let Some(text) = ptx::held(image, target).filter(|_| specs.is_empty())
        {
            match self.program_of_ptx(device, text) {
                Ok(program) => return Ok((Arc::new(program), Vec::new())),
                Err(error) => log::warn!("the driver refuses the PTX in image `{}`: {error:#}", image.name()),
            }
        }
        self.program_of(image, device, specs, "", || legal_module(image, device))
    }

    /// The program of an image in the form that `form` names in the cache, and the kernels that it lacks.
    ///
    /// `legal` returns the module; it is called only when the cache does not have the program.
    pub(super) fn program_of(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
        form: &str,
        legal: impl FnOnce() -> Result<Legal>,
    ) -> Result<(Arc<Program>, Vec<UnsupportedKernel>)> {
        let faults = device.device().driver_faults();
        let has_variables =
            || image.image().kernels.iter().any(|k| k.aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES));
        let disk = self.disk.filter(|disk| {
            (specs.is_empty() || !faults.has(Fault::Q18))
                && !(faults.has(Fault::Q57) && has_variables())
                && (disk.is_chosen() || !faults.has(Fault::Q87))
        });
        let cache = disk.map(|disk| (disk, self.cache_key(image, device, specs, form)));
        if let Some((disk, key)) = &cache
            && let Some(binary) = disk.load(key)
        {
            match self.program_of_binary(device, &binary).and_then(|program| of_image(program, image, form)) {
                Ok(program) => return Ok((Arc::new(program), Vec::new())),
                Err(error) => {
                    log::debug!("the driver refuses a cached binary of image `{}`: {error:#}", image.name());
                    disk.remove(key);
                }
            }
        }
        let kind = if form.is_empty() { "image" } else { "interpreter for image" };
        let name = device.device().name();
        log::info!("compiling {kind} `{}` for `{name}`", image.name());
        let start = Instant::now();
        let (program, unsupported) = trace::compile(image.name(), name, || {
            let Legal { words, unsupported, .. } = legal()?;
            let program = match device.ptx() {
                Some(target) => self.program_of_ptx(device, &ptx::text_of(image, words, specs, target)?),
                None => self.program_of_spirv(device, &words, specs),
            };
            Ok((program?, unsupported))
        })?;
        log::info!("compiled {kind} `{}` for `{name}` in {:.1?}", image.name(), start.elapsed());
        // Only the module tells why a kernel is missing.
        if let Some((disk, key)) = &cache
            && unsupported.is_empty()
        {
            match program.binary() {
                Ok(binary) => disk.store(key, &binary),
                Err(error) => log::debug!("no binary of image `{}` to cache: {error:#}", image.name()),
            }
        }
        Ok((Arc::new(program), unsupported))
    }

    /// The key of an entry of the disk cache: an image, what it was built for, and in what
    /// form.
    pub(super) fn cache_key(
        &self,
        image: &LoadedImage,
        device: &DeviceState,
        specs: &[SpecValue],
        form: &str,
    ) -> CacheKey {
        let mut key = CacheKeyBuilder::new()
            .part(image.hash())
            .part(device.fingerprint())
            .part(self.options.to_bytes())
            .part(form.as_bytes());
        for spec in specs {
            key = key.part(&spec.id().to_le_bytes()).part(spec.bytes());
        }
        key.finish()
    }

    fn program_of_spirv(&self, device: &DeviceState, words: &[u32], specs: &[SpecValue]) -> Result<Program> {
        let program = Program::from_spirv(self.context, device.device(), words)?;
        for spec in specs {
            program
                .set_spec_constant(spec.id(), spec.bytes())
                .map_err(|error| error.at(format!("specialization constant {}", spec.id())))?;
        }
        program.build(self.options)?;
        Ok(program)
    }

    fn program_of_ptx(&self, device: &DeviceState, text: &str) -> Result<Program> {
        let mut bytes = match device.pointers_are_numbers() {
            true => oclave_ptx::with_addresses_as_numbers(text),
            false => text.to_owned(),
        }
        .into_bytes();
        bytes.push(0);
        self.program_of_binary(device, &bytes)
    }

    fn program_of_binary(&self, device: &DeviceState, binary: &[u8]) -> Result<Program> {
        let program = Program::from_binary(self.context, device.device(), binary)?;
        program.build(self.options)?;
        Ok(program)
    }
}

/// The program, if it has the kernels of the image: the driver takes any binary that it made, also
/// of another program.
fn of_image(program: Program, image: &LoadedImage, form: &str) -> Result<Program> {
    let names = program.kernel_names()?;
    let has = |wanted: &str| names.split(';').any(|name| name.trim() == wanted);
    let kernels = image.image().kernels.iter().map(|kernel| kernel.name.as_str());
    let missing = if form.is_empty() {
        kernels.into_iter().find(|name| !has(name))
    } else {
        [INTERPRETER_SEQ, INTERPRETER_WI].into_iter().find(|name| !has(name))
    };
    match missing {
        None => Ok(program),
        Some(name) => Err(Error::new(ErrorKind::Runtime, format!("the binary has no kernel `{name}`"))),
    }
}

/// The module as the device takes it.
fn legal_module(image: &LoadedImage, device: &DeviceState) -> Result<Legal> {
    let globals = image.device_globals();
    let pass = |module| {
        Ok(match device.variable_access(image) {
            _ if globals.is_empty() => module,
            DeviceGlobalAccess::Functions => module,
            DeviceGlobalAccess::Kernel => passes::add_global_access_kernel(&module, globals)?,
            _ => passes::lower_globals_to_hidden_argument(&module, globals)?.module,
        })
    };
    let legal = passes::legalize_with(&*image.whole()?, device.target(), pass)
        .map_err(|error| refused(error, device.device()))?;
    legal.refused_kernels.iter().for_each(|kernel| warn_of_barriers(kernel));
    Ok(legal)
}

fn warn_of_barriers(kernel: &str) {
    log::warn!(
        "kernel `{kernel}` calls a function with barriers under conditions, which the driver's compiler may get wrong (Q15); \
         let the compiler inline the function"
    );
}

/// The error of a module that cannot be put in a form that a device takes.
pub(super) fn refused(error: ImageError, device: &Device) -> Error {
    match &error {
        ImageError::DeviceLacks { .. } | ImageError::Unsupported(_) => {
            let device = device.name();
            Error::new(ErrorKind::KernelNotSupported, format!("device `{device}` cannot run it"))
                .with_source(error)
        }
        _ => Error::from(error),
    }
}
