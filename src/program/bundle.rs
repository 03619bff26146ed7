//! Kernel bundles: modules that are given at run time.

use std::fmt;
use std::sync::Arc;

use oclave_image::{
    Aspects, DeviceImage, ImageError, KernelSignature, PostLinkOptions, SplitMode, TranslationUnit,
    forms_without_fp64, passes, post_link,
};
use oclave_spirv::Module;

use super::map::ProgramMap;
use super::signature::declaration;
use crate::MakeError as _;
use crate::device_global::BundleGlobal;
use crate::image::LoadedImage;
use crate::{Context, Error, Result};

/// The name of a bundle's images in messages.
pub(super) const NAME: &str = "kernel bundle";

/// Kernels of a module that is given at run time.
///
/// The structure of the module is checked before a driver sees it: malformed bytes are an error.
/// The library cannot check the code of its kernels, so loading one is `unsafe`. The first launch of a kernel
/// builds its program, which is kept with the bundle. Other bundles of the same bytes find it in
/// the disk cache.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// # let context = oclave::Context::new(&oclave::Device::select()?)?;
/// # let queue = oclave::Queue::new(&context)?;
/// let spirv = std::fs::read("scale.spv").unwrap_or_default();
/// // SAFETY: the file is ours, and its kernels keep within the memory that they are given.
/// let bundle = unsafe { oclave::kernel::KernelBundle::from_spirv(&context, &spirv) }?;
/// let scale = bundle.kernel("scale")?;
/// let x = context.alloc_device::<f32>(1000)?;
/// queue.parallel_for(1000, scale.call().value(2.0f32).pointer_mut(&x))?.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct KernelBundle(Arc<Bundle>);

/// The state that the clones of a bundle, its kernels and their calls share.
pub(crate) struct Bundle {
    /// Before the images, whose addresses are its keys.
    programs: ProgramMap,
    images: Vec<Arc<LoadedImage>>,
    context: Context,
}

impl KernelBundle {
    /// The kernels of a SPIR-V module, in either byte order. Markers of `oclave.h` in it are
    /// honoured.
    ///
    /// # Errors
    /// [`ErrorKind::Image`](crate::ErrorKind::Image) when the bytes are not a sound module.
    ///
    /// # Safety
    /// On CPU devices kernels run in this process and can reach all of its memory. The caller
    /// vouches for the module as for kernels of the own build script. It is valid SPIR-V. Whatever
    /// arguments and ranges the program launches its kernels with, they access only memory that
    /// they are given.
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub unsafe fn from_spirv(context: &Context, bytes: &[u8]) -> Result<Self> {
        Self::of_spirv(context, bytes)
    }

    pub(crate) fn of_spirv(context: &Context, bytes: &[u8]) -> Result<Self> {
        let images = images_of(bytes).map_err(|error| Error::from(error).at(NAME))?;
        Self::new(context, images, bytes)
    }

    /// The kernels of a device image, as `oclave-build` writes it.
    ///
    /// # Errors
    /// [`ErrorKind::Image`](crate::ErrorKind::Image) when the bytes are not a sound image of this
    /// version.
    ///
    /// # Safety
    /// As for [`KernelBundle::from_spirv`]. An image may also hold binaries
    /// ([`build_ahead_of_time`](crate::kernel::build_ahead_of_time)). They are machine code that the driver
    /// runs as it is, so this library's own functions must have written them.
    #[expect(unsafe_code, reason = "the caller promises what nobody can check; nothing unsafe is done here")]
    pub unsafe fn from_image(context: &Context, bytes: &[u8]) -> Result<Self> {
        Self::of_image(context, bytes)
    }

    pub(crate) fn of_image(context: &Context, bytes: &[u8]) -> Result<Self> {
        let image = DeviceImage::from_bytes(bytes).map_err(|error| Error::from(error).at(NAME))?;
        Self::new(context, vec![image], bytes)
    }

    pub(super) fn new(context: &Context, images: Vec<DeviceImage>, bytes: &[u8]) -> Result<Self> {
        let mut images = images
            .into_iter()
            .map(|image| {
                // A module that was split gives several images, which must not share their hash.
                let identity = [bytes, image.name.as_bytes()].concat();
                LoadedImage::from_bytes(image, &identity).map(Arc::new)
            })
            .collect::<Result<Vec<_>>>()?;
        images.retain(|image| context.devices().iter().any(|device| image.serves(device.side())));
        context.programs().enter(&images);
        Ok(Self(Arc::new(Bundle { programs: ProgramMap::default(), images, context: context.clone() })))
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), with the kernels that there are and
    /// their arguments, when it has no such kernel.
    pub fn kernel(&self, name: &str) -> Result<BundleKernel> {
        self.0.index_of(name).map(|index| BundleKernel { bundle: Arc::clone(&self.0), index }).ok_or_else(
            || {
                let kernels: Vec<String> = self.0.kernels().map(declaration).collect();
                let what = match kernels.as_slice() {
                    [] => format!("there is no kernel `{name}`, nor any other"),
                    kernels => format!("there is no kernel `{name}`: there is `{}`", kernels.join("`, `")),
                };
                Error::invalid(what).at(NAME)
            },
        )
    }

    /// The names of the kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.0.kernels().map(|kernel| kernel.name.as_str())
    }

    /// The device global with the unique id `name`, or the only one that is called so in its
    /// source.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), with the names that there are, when there
    /// is none or several.
    pub fn device_global(&self, name: &str) -> Result<BundleGlobal> {
        let all = || {
            self.0.images.iter().enumerate().flat_map(|(at, image)| {
                image.device_globals().iter().enumerate().map(move |(index, global)| (at, index, global))
            })
        };
        let mut found: Vec<_> = all().filter(|(.., global)| global.id == name).take(1).collect();
        if found.is_empty() {
            // Ids of static variables are `source.name`.
            found.extend(all().filter(|(.., global)| global.id.rsplit('.').next() == Some(name)));
            found.dedup_by_key(|(.., global)| &global.id);
        }
        match found.as_slice() {
            [(at, index, global)] => Ok(BundleGlobal::new(self, *at, *index, global)),
            found => {
                let ids: std::collections::BTreeSet<&str> =
                    all().map(|(.., global)| global.id.as_str()).collect();
                let ids: Vec<&str> = ids.into_iter().collect();
                let what = match (found, ids.as_slice()) {
                    ([], []) => format!("there is no device global `{name}`, nor any other"),
                    ([], ids) => {
                        format!("there is no device global `{name}`: there is `{}`", ids.join("`, `"))
                    }
                    (_, ids) => {
                        format!("several device globals are called `{name}`: there is `{}`", ids.join("`, `"))
                    }
                };
                Err(Error::invalid(what).at(NAME))
            }
        }
    }

    pub(crate) fn images(&self) -> &[Arc<LoadedImage>] {
        &self.0.images
    }

    pub(crate) fn programs(&self) -> &ProgramMap {
        &self.0.programs
    }

    /// The context that the bundle was made for.
    pub fn context(&self) -> &Context {
        &self.0.context
    }
}

/// The images of a module that is given at run time.
fn images_of(bytes: &[u8]) -> Result<Vec<DeviceImage>, ImageError> {
    let module = Module::from_bytes(bytes)?;
    // Annotations leave strings that break the rules; post-link reads them and drops them, too.
    oclave_spirv::check::check(&oclave_spirv::transform::strip::strip(&module, |_| false)?)?;
    let mut options = PostLinkOptions::default();
    // The module's own version of OpenCL C decides.
    options.non_uniform_work_groups = true;
    options.split = SplitMode::Off;
    let prints = passes::printf::prints(&module);
    let unit = [TranslationUnit::new(NAME, module)];
    let mut images = post_link(&unit, &options)?;
    // Without the source, only the arguments of `printf` can become floats.
    let needs_fp64 = |image: &DeviceImage| image.kernels.iter().any(|k| k.aspects.contains(Aspects::FP64));
    if prints && images.iter().any(needs_fp64) {
        for (index, form) in forms_without_fp64(&images, &unit, &options)? {
            if let Some(image) = images.get_mut(index) {
                image.insert_without_fp64(&form);
            }
        }
    }
    Ok(images)
}

impl fmt::Debug for KernelBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelBundle").field("kernels", &self.kernel_names().collect::<Vec<_>>()).finish()
    }
}

impl Bundle {
    fn kernels(&self) -> impl Iterator<Item = &KernelSignature> {
        self.images.iter().flat_map(|image| image.image().kernels.iter())
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.kernels().position(|kernel| kernel.name == name)
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn images(&self) -> &[Arc<LoadedImage>] {
        &self.images
    }

    pub(crate) fn programs(&self) -> &ProgramMap {
        &self.programs
    }
}

/// A kernel of a [`KernelBundle`].
#[derive(Clone)]
pub struct BundleKernel {
    bundle: Arc<Bundle>,
    index: usize,
}

impl BundleKernel {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        self.signature().map_or("", |kernel| kernel.name.as_str())
    }

    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Tells the kernels of the bundle apart.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn signature(&self) -> Option<&KernelSignature> {
        self.bundle.kernels().nth(self.index)
    }
}

impl fmt::Debug for BundleKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleKernel").field("name", &self.name()).finish_non_exhaustive()
    }
}
