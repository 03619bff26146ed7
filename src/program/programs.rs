//! The programs of a context: from what a launch names to a kernel that is ready.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::Arc;

use oclave_image::DeviceGlobalInfo;

use super::build::Builder;
use super::bundle;
use super::device::DeviceState;
use super::disk::{DiskCache, ProgramCache};
use super::globals::Globals;
use super::interpreter::{
    InterpreterPart, InterpreterProgram, InterpreterSlot, JoinedSlots, Names, joined_image,
};
use super::map::{GlobalKey, KernelKey, ProgramKey, ProgramMap};
use super::prints::{PrintSink, Prints};
use super::ready::{BuiltProgram, ReadyKernel};
use super::signature;
use super::spec::{self, SpecValue};
use super::target::CallTarget;
use super::virtual_faults::VirtualFaults;
use crate::MakeError as _;
use crate::driver::Device;
use crate::driver::context::Context;
use crate::driver::queue::Queue;
use crate::image::{self, Kernel, Known, LoadedImage, candidates};
use crate::memory::Region;
use crate::program::bundle::BundleKernel;
use crate::{Error, ErrorKind, Result};

/// The programs, kernels and device globals of one context.
pub(crate) struct Programs {
    context: Arc<Context>,
    disk: Option<Arc<DiskCache>>,
    devices: Vec<DeviceState>,
    /// Of image tables; bundles have their own.
    map: ProgramMap,
    globals: Globals,
    joined: JoinedSlots,
    known: Known,
    faults: Arc<VirtualFaults>,
    virtual_call_checks: bool,
    /// Where the program wants what kernels print.
    prints: Option<Arc<Prints>>,
    /// For the driver's compiler.
    options: CString,
}

impl Programs {
    fn builder(&self) -> Builder<'_> {
        let Self { context, disk, globals, options, .. } = self;
        Builder { context, disk: disk.as_ref(), globals, options }
    }

    pub(crate) fn new(
        context: &Arc<Context>,
        cache: &ProgramCache,
        options: CString,
        virtual_call_checks: bool,
        printf: Option<PrintSink>,
    ) -> Self {
        let faults = Arc::<VirtualFaults>::default();
        let explaining = Arc::clone(&faults);
        context.explain_faults(Box::new(move |note| explaining.explain(note)));
        let prints = printf.map(|sink| Arc::new(Prints::new(sink)));
        if let Some(prints) = prints.clone() {
            context.take_prints(Box::new(move |batch| prints.deliver(batch)));
        }
        Self {
            context: Arc::clone(context),
            disk: DiskCache::open(cache).map(Arc::new),
            devices: context.devices().iter().map(|device| DeviceState::new(context, device)).collect(),
            map: ProgramMap::default(),
            globals: Globals::default(),
            joined: JoinedSlots::default(),
            known: Known::default(),
            faults,
            virtual_call_checks,
            prints,
            options,
        }
    }

    /// Where binaries are kept between runs.
    #[cfg(feature = "compiler")]
    pub(super) fn disk(&self) -> Option<&DiskCache> {
        self.disk.as_deref()
    }

    /// The kernel of a call, ready to be launched on a device of the context. Builds its program if
    /// nobody did.
    #[inline(always)]
    pub(crate) fn kernel<'a>(
        &'a self,
        device: &Device,
        target: &'a CallTarget,
        specs: &[SpecValue],
    ) -> Result<Cow<'a, Arc<ReadyKernel>>> {
        let (index, state) = self.device(device)?;
        match target {
            CallTarget::Image(kernel) => {
                let key = KernelKey { kernel: std::ptr::from_ref::<Kernel>(kernel).addr(), device: index };
                self.kernel_of(&self.map, key, target, specs, state)
            }
            CallTarget::Bundle(kernel) => {
                let map = self.programs_of(kernel)?;
                let key = KernelKey { kernel: kernel.index(), device: index };
                self.kernel_of(map, key, target, specs, state)
            }
        }
    }

    /// The programs of a kernel's bundle, which must be of this context.
    fn programs_of<'a>(&self, kernel: &'a BundleKernel) -> Result<&'a ProgramMap> {
        let bundle = kernel.bundle();
        if !Arc::ptr_eq(bundle.context().driver(), &self.context) {
            return Err(Error::invalid("the kernel's bundle belongs to another context")
                .at(format!("kernel `{}`", kernel.name()))
                .remedy("load the bundle in the context of the queue"));
        }
        Ok(bundle.programs())
    }

    #[inline(always)]
    fn kernel_of<'a>(
        &self,
        map: &'a ProgramMap,
        key: KernelKey,
        target: &CallTarget,
        specs: &[SpecValue],
        state: &DeviceState,
    ) -> Result<Cow<'a, Arc<ReadyKernel>>> {
        match map.kernel(key, specs) {
            Some(ready) => Ok(ready),
            None => self.build_kernel(map, key, target, specs, state).map(Cow::Owned),
        }
    }

    #[cold]
    fn build_kernel(
        &self,
        map: &ProgramMap,
        key: KernelKey,
        target: &CallTarget,
        specs: &[SpecValue],
        state: &DeviceState,
    ) -> Result<Arc<ReadyKernel>> {
        let source = Source::of(target, specs)?;
        // Before the images are looked at: what becomes known meanwhile is seen at the next launch.
        let generation = image::generation();
        let (ready, is_linked) = self.make(map, &source, (key.device, state), specs)?;
        map.insert_kernel(key, specs, is_linked.then_some(generation), &ready);
        Ok(ready)
    }

    fn make(
        &self,
        map: &ProgramMap,
        source: &Source<'_>,
        (index, state): (usize, &DeviceState),
        specs: &[SpecValue],
    ) -> Result<(Arc<ReadyKernel>, bool)> {
        let kernel = source.kernel;
        let place = |error: Error| error.at(format!("kernel `{kernel}` of `{}`", source.name));
        spec::check(specs, &source.images).map_err(place)?;
        let mut refusal = None;
        for image in candidates(source.name, &source.images, kernel, state.profile())? {
            if let Some(kernel) = image.image().kernels.iter().find(|each| each.name == kernel) {
                signature::check_counts(kernel, state.device()).map_err(place)?;
            }
            match self.program(map, image, (index, state), specs) {
                Ok((program, built)) => {
                    return Ok((program.kernel(&built, kernel)?, !Arc::ptr_eq(&built, image)));
                }
                // The next image may be in a form that the device takes.
                Err(error) if error.kind() == ErrorKind::KernelNotSupported => refusal = Some(error),
                Err(error) => return Err(place(error.at(format!("image `{}`", image.name())))),
            }
        }
        Err(place(refusal.unwrap_or_else(|| Error::invalid("no image holds it"))))
    }

    /// The program of an image, and the image that it was made from: the linked one where there are
    /// virtual calls.
    fn program(
        &self,
        map: &ProgramMap,
        image: &Arc<LoadedImage>,
        (index, state): (usize, &DeviceState),
        specs: &[SpecValue],
    ) -> Result<(Arc<BuiltProgram>, Arc<LoadedImage>)> {
        let mut key = program_key(image, index);
        let mut built = Arc::clone(image);
        if image.needs_dispatchers()? {
            built = self.linked(map, image, state)?;
            key.linked = built.hash().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        }
        if built.reports_faults() {
            self.faults.enter(image, &self.known);
        }
        if let Some(printing) = self.printing(map, &built, state)? {
            key.linked = printing.hash().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            built = printing;
        }
        let image = built;
        let specs = spec::of_image(specs, &image);
        let builder = self.builder();
        let program = map.program(key, &specs, || builder.build(&image, state, &specs))?;
        Ok((program, image))
    }

    /// The image, linked with the virtual functions that it calls.
    fn linked(
        &self,
        map: &ProgramMap,
        image: &Arc<LoadedImage>,
        state: &DeviceState,
    ) -> Result<Arc<LoadedImage>> {
        let report = self.virtual_call_checks && self.context.can_watch(state.device());
        let linked = image::link(image, self.known.all(image), state.profile(), report)?;
        Ok(map.linked(linked))
    }

    /// The image with calls of `printf` that give the program the text, where it wants it.
    fn printing(
        &self,
        map: &ProgramMap,
        image: &LoadedImage,
        state: &DeviceState,
    ) -> Result<Option<Arc<LoadedImage>>> {
        let Some(prints) = self.prints.as_ref() else { return Ok(None) };
        if !self.context.can_watch(state.device()) {
            let device = state.device().name();
            log::warn!(
                "printf goes where the driver of `{device}` sends it: the host does not reach its memory"
            );
            return Ok(None);
        }
        prints.lowered(map, image)
    }

    /// Makes the virtual functions of a bundle known to the kernels of the context.
    pub(crate) fn enter(&self, images: &[Arc<LoadedImage>]) {
        self.known.enter(images);
    }

    /// Where interpreter programs with kernels of several programs are.
    pub(crate) fn joined_slot(&self, parts: &[InterpreterPart]) -> Arc<InterpreterSlot> {
        self.joined.slot(parts)
    }

    /// The interpreter program for kernels of several programs, `kernels` as it calls them. Builds all of them if
    /// nobody did.
    ///
    /// # Errors
    /// As [`Self::interpreter`], also when the images do not link.
    pub(crate) fn joined_interpreter(
        &self,
        device: &Device,
        parts: &[InterpreterPart],
        slot: &InterpreterSlot,
        kernels: &BTreeSet<String>,
    ) -> Result<Arc<InterpreterProgram>> {
        let (_, state) = self.device(device)?;
        slot.find_or_build(kernels, || {
            let built = parts
                .iter()
                .map(|part| self.program_of_call(device, &part.target, &part.specs))
                .collect::<Result<Vec<_>>>()?;
            let images: Vec<_> = parts
                .iter()
                .zip(&built)
                .map(|(part, (_, image))| (part, &**image, spec::of_image(&part.specs, image)))
                .collect();
            let programs: Vec<&BuiltProgram> = built.iter().map(|(program, _)| &**program).collect();
            let own = images.iter().flat_map(|(_, image, _)| image.device_globals());
            let mut own: Vec<&str> =
                own.filter(|global| global.device_image_scope).map(|global| global.id.as_str()).collect();
            own.sort_unstable();
            if let Some([id, _]) = own.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
                let what = format!("two programs have a device global `{id}` of their own");
                return Err(Error::new(ErrorKind::KernelNotSupported, what));
            }
            let image = joined_image(&images)?;
            self.builder().build_interpreter(&image, state, &[], &programs, (kernels, Names::of(parts)))
        })
    }

    /// The interpreter program for some kernels of the program that a call's kernel is in. Builds
    /// both if nobody did.
    ///
    /// # Errors
    /// [`ErrorKind::KernelNotSupported`](crate::ErrorKind::KernelNotSupported) with the reasons,
    /// when it can run none of the kernels.
    pub(crate) fn interpreter(
        &self,
        device: &Device,
        target: &CallTarget,
        specs: &[SpecValue],
        kernels: &BTreeSet<String>,
    ) -> Result<Arc<InterpreterProgram>> {
        let ready = self.kernel(device, target, specs)?;
        if let Some(known) = ready.interpreters().find(kernels) {
            return known;
        }
        let (_, state) = self.device(device)?;
        let (program, image) = self.program_of_call(device, target, specs)?;
        let specs = spec::of_image(specs, &image);
        program.interpreters().find_or_build(kernels, || {
            let names = (kernels, Names::default());
            self.builder().build_interpreter(&image, state, &specs, &[&*program], names)
        })
    }

    /// The program that a call's kernel is in, and its image.
    fn program_of_call(
        &self,
        device: &Device,
        target: &CallTarget,
        specs: &[SpecValue],
    ) -> Result<(Arc<BuiltProgram>, Arc<LoadedImage>)> {
        let (index, state) = self.device(device)?;
        let source = Source::of(target, specs)?;
        let map = match target {
            CallTarget::Image(_) => &self.map,
            CallTarget::Bundle(kernel) => kernel.bundle().programs(),
        };
        let candidates = candidates(source.name, &source.images, source.kernel, state.profile())?;
        // The one that the kernel came from: the others were refused.
        candidates
            .into_iter()
            .find_map(|image| self.program(map, image, (index, state), specs).ok())
            .ok_or_else(|| Error::invalid("no image holds it"))
    }

    /// The memory of a device global that `image`, of a table or of the bundle whose map this is,
    /// declares as `global`.
    ///
    /// # Errors
    /// For variables with `device_image_scope`: [`ErrorKind::Invalid`] when several programs have
    /// one, [`ErrorKind::KernelNotSupported`] when no kernel uses it or the device cannot run any.
    pub(crate) fn global(
        &self,
        device: &Device,
        bundle: Option<&ProgramMap>,
        image: &Arc<LoadedImage>,
        global: &DeviceGlobalInfo,
    ) -> Result<Region> {
        let (index, state) = self.device(device)?;
        let map = bundle.unwrap_or(&self.map);
        if global.device_image_scope {
            return self.own_global(map, image, global, (index, state));
        }
        let key = GlobalKey { declaration: std::ptr::from_ref(global).addr(), device: index };
        if let Some(memory) = map.global(key) {
            return Ok(memory);
        }
        let queue = state.queue(&self.context)?;
        let made = self.globals.memory(&self.context, &queue, &[global], image.name())?;
        let memory = made.into_iter().next().ok_or_else(|| Error::invalid("a variable without memory"))?;
        map.insert_global(key, &memory);
        Ok(memory)
    }

    /// A variable of the one program of an image; where there is none yet it is built, without
    /// specialization.
    fn own_global(
        &self,
        map: &ProgramMap,
        image: &Arc<LoadedImage>,
        global: &DeviceGlobalInfo,
        (index, state): (usize, &DeviceState),
    ) -> Result<Region> {
        if image.virtual_functions().provides.is_some() {
            let mut programs = map.programs_on(index);
            programs.retain(|program| program.is_linked_with(image));
            return global_of_set(&programs, &global.id)
                .map_err(|error| error.at(format!("image `{}`", image.name())));
        }
        if !image.image().kernels.iter().any(|kernel| kernel.device_globals.contains(&global.id)) {
            let what = "it has device_image_scope, and no kernel uses it";
            return Err(Error::new(ErrorKind::KernelNotSupported, what)
                .at(format!("image `{}`", image.name()))
                .remedy("use it in a kernel"));
        }
        let programs = map.programs_of(program_key(image, index));
        let program = match programs.as_slice() {
            [] => {
                if let Some(misfit) = state.profile().misfit(image.needs()) {
                    let what =
                        format!("device `{}` cannot run its image: it {misfit}", state.device().name());
                    return Err(Error::new(ErrorKind::KernelNotSupported, what)
                        .at(format!("image `{}`", image.name())));
                }
                &self.program(map, image, (index, state), &[])?.0
            }
            [program] => program,
            several => {
                return Err(Error::invalid(format!(
                    "it has device_image_scope, and {} programs have an instance each, with different values of \
                     specialization constants",
                    several.len()
                ))
                .remedy("drop device_image_scope, or use one set of values in this context"));
            }
        };
        program.own_global(&global.id).cloned().ok_or_else(|| {
            Error::new(
                ErrorKind::Image,
                format!("image `{}` declares it, its program lacks it", image.name()),
            )
            .remedy("rebuild the image")
        })
    }

    /// The in-order queue of a device for what the library does on its own account.
    pub(crate) fn queue(&self, device: &Device) -> Result<Arc<Queue>> {
        self.device(device)?.1.queue(&self.context)
    }

    fn device(&self, device: &Device) -> Result<(usize, &DeviceState)> {
        self.devices
            .iter()
            .enumerate()
            .find(|(_, state)| state.device() == device)
            .ok_or_else(|| Error::invalid(format!("device `{}` is not in the context", device.name())))
    }
}

/// Where a kernel comes from.
struct Source<'a> {
    name: &'a str,
    images: Vec<&'a Arc<LoadedImage>>,
    kernel: &'a str,
}

impl<'a> Source<'a> {
    /// Also selects the images to search. With specialization values these include images without
    /// the kernel, because the constants of all kernels of a source form one list.
    fn of(target: &'a CallTarget, specs: &[SpecValue]) -> Result<Self> {
        Ok(match target {
            CallTarget::Image(kernel) => {
                let (table, name) = (kernel.images(), kernel.name());
                let images = if specs.is_empty() { table.images_with(name)? } else { table.images()? };
                Self { name: table.name(), images, kernel: name }
            }
            CallTarget::Bundle(kernel) => {
                let images = kernel.bundle().images().iter().collect();
                Self { name: bundle::NAME, images, kernel: kernel.name() }
            }
        })
    }
}

/// A variable with `device_image_scope` that virtual functions use. It lives in the program of the
/// kernels that call them, which is one of `programs`: those that are linked with the functions.
fn global_of_set(programs: &[Arc<BuiltProgram>], id: &str) -> Result<Region> {
    let found: Vec<&Region> = programs.iter().filter_map(|program| program.own_global(id)).collect();
    match found.as_slice() {
        [memory] => Ok(Region::clone(memory)),
        [] => Err(Error::invalid(
            "it has device_image_scope, only virtual functions use it, and no program with them was built yet",
        )
        .remedy("launch a kernel that calls them first, or drop device_image_scope")),
        several => Err(Error::invalid(format!(
            "it has device_image_scope, only virtual functions use it, and {} programs have an instance each",
            several.len()
        ))
        .remedy("drop device_image_scope")),
    }
}

fn program_key(image: &LoadedImage, device: usize) -> ProgramKey {
    ProgramKey { image: std::ptr::from_ref(image).addr(), linked: 0, device }
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs")
            .field("devices", &self.devices)
            .field("disk", &self.disk)
            .finish_non_exhaustive()
    }
}
