//! Decoded images, and which of them serves a kernel on a device.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use oclave_image::passes;
use oclave_image::{
    Aspects, DeviceGlobalInfo, DeviceImage, DeviceProfile, KernelSignature, Needs, Side, SpecConstantInfo,
    VirtualFunctions,
};
use oclave_spirv::Module;

use super::linked::LinkedImages;
use crate::MakeError as _;
use crate::{Error, ErrorKind, Result};

/// An image that the runtime can build programs from, with its property sets read.
pub(crate) struct LoadedImage {
    /// Of a linked image, all but the module.
    image: DeviceImage,
    needs: Needs,
    device_globals: Vec<DeviceGlobalInfo>,
    spec_constants: Vec<SpecConstantInfo>,
    virtual_functions: VirtualFunctions,
    /// The image that devices without fp64 load instead.
    without_fp64: Option<Arc<LoadedImage>>,
    /// Whether it cannot be built without linking; asked once.
    needs_dispatchers: OnceLock<bool>,
    /// The kernels that follow pointers which are not their arguments; asked once.
    /// `None` where the module cannot be read.
    indirect: OnceLock<Option<BTreeSet<String>>>,
    source: Source,
    hash: OnceLock<[u8; 32]>,
    /// The hashes of the images with virtual functions that it was linked with, or that the image was
    /// that it was made of.
    sets: Vec<[u8; 32]>,
    /// The table that the image is embedded in; `None` for bundles that were loaded at run time.
    table: Option<&'static str>,
}

/// Where an image comes from.
enum Source {
    /// The bytes that it was read from, for its hash.
    Container(&'static [u8]),
    /// Made at run time; the hash is known.
    Memory,
    /// Linked when the module is needed.
    Linked(LinkedImages),
}

impl LoadedImage {
    /// Reads an image that is embedded in the program.
    pub(crate) fn from_container(container: &'static [u8], table: &'static str) -> Result<Self> {
        let mut loaded = Self::new(DeviceImage::from_bytes(container)?, Source::Container(container))?;
        if let Some(form) = loaded.without_fp64.as_mut().and_then(Arc::get_mut) {
            form.table = Some(table);
        }
        Ok(Self { table: Some(table), ..loaded })
    }

    /// Takes an image that was made at run time from `bytes`.
    pub(crate) fn from_bytes(image: DeviceImage, bytes: &[u8]) -> Result<Self> {
        let loaded = Self::new(image, Source::Memory)?;
        loaded.hash.get_or_init(|| *blake3::hash(bytes).as_bytes());
        Ok(loaded)
    }

    /// An image of several others, `hash` standing for what they are and how they are linked.
    pub(crate) fn linked(parts: LinkedImages, hash: [u8; 32]) -> Result<Self> {
        let sets = parts.set_hashes();
        let loaded = Self::new(parts.describe()?, Source::Linked(parts))?;
        loaded.hash.get_or_init(|| hash);
        Ok(Self { sets, ..loaded })
    }

    /// An image that was made of another; `hash` stands for how.
    pub(crate) fn derived(image: DeviceImage, hash: [u8; 32], of: &Self) -> Result<Self> {
        let loaded = Self::new(image, Source::Memory)?;
        loaded.hash.get_or_init(|| hash);
        Ok(Self { table: of.table, sets: of.sets.clone(), ..loaded })
    }

    fn new(image: DeviceImage, source: Source) -> Result<Self> {
        let place =
            |error: oclave_image::ImageError| Error::from(error).at(format!("image `{}`", image.name));
        let without_fp64 = match image.without_fp64().map_err(place)? {
            Some(form) => {
                let bytes = form.to_bytes();
                Some(Arc::new(Self::from_bytes(form, &bytes)?))
            }
            None => None,
        };
        Ok(Self {
            without_fp64,
            needs: image.needs().map_err(place)?,
            device_globals: image.device_globals().map_err(place)?,
            spec_constants: image.spec_constants().map_err(place)?,
            virtual_functions: image.virtual_functions().map_err(place)?,
            needs_dispatchers: OnceLock::new(),
            indirect: OnceLock::new(),
            image,
            source,
            hash: OnceLock::new(),
            sets: Vec::new(),
            table: None,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.image.name
    }

    /// Whether both images are embedded in one program.
    pub(crate) fn is_of_program_of(&self, other: &Self) -> bool {
        self.table.is_some() && self.table == other.table
    }

    /// The image and where it comes from, for messages.
    pub(crate) fn place(&self) -> String {
        match self.table {
            Some(table) => format!("image `{}` of program `{table}`", self.name()),
            None => format!("image `{}` of a bundle that was loaded at run time", self.name()),
        }
    }

    /// Kernels and properties; the module is in [`LoadedImage::whole`].
    pub(crate) fn image(&self) -> &DeviceImage {
        &self.image
    }

    /// The image with its module, which is linked now if need be.
    pub(crate) fn whole(&self) -> Result<Cow<'_, DeviceImage>> {
        match &self.source {
            Source::Linked(parts) => parts.link().map(Cow::Owned),
            Source::Container(_) | Source::Memory => Ok(Cow::Borrowed(&self.image)),
        }
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<&KernelSignature> {
        self.image.kernel(name)
    }

    /// Whether a kernel may follow pointers that are not its arguments.
    pub(crate) fn follows_pointers(&self, kernel: &str) -> bool {
        // The functions that its virtual calls reach are not known here.
        if matches!(self.source, Source::Linked(_)) || self.needs_dispatchers().unwrap_or(true) {
            return true;
        }
        let found = self.indirect.get_or_init(|| {
            let module = Module::from_words(self.image.spirv.clone());
            module.ok().map(|module| passes::kernels_that_follow_pointers(&module))
        });
        found.as_ref().is_none_or(|kernels| kernels.contains(kernel))
    }

    /// The features that the module as a whole needs.
    pub(crate) fn aspects(&self) -> Aspects {
        self.needs.aspects
    }

    /// The features that the image as a whole needs.
    pub(crate) fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether the image may run on this side.
    pub(crate) fn serves(&self, side: Side) -> bool {
        self.needs.serves(side)
    }

    /// Sorted by unique id.
    pub(crate) fn device_globals(&self) -> &[DeviceGlobalInfo] {
        &self.device_globals
    }

    /// Whether virtual calls that reach no function are noted: it is linked, now or ahead of time.
    pub(crate) fn reports_faults(&self) -> bool {
        self.device_globals.iter().any(|global| global.id == passes::VIRTUAL_FAULT)
    }

    pub(crate) fn spec_constants(&self) -> &[SpecConstantInfo] {
        &self.spec_constants
    }

    pub(crate) fn virtual_functions(&self) -> &VirtualFunctions {
        &self.virtual_functions
    }

    /// Whether its kernels make virtual calls, for which it must be linked.
    pub(crate) fn needs_dispatchers(&self) -> Result<bool> {
        match self.needs_dispatchers.get() {
            Some(needs) => Ok(*needs),
            None => {
                let needs = passes::needs_dispatchers(&self.image)
                    .map_err(|error| Error::from(error).at(format!("image `{}`", self.image.name)))?;
                Ok(*self.needs_dispatchers.get_or_init(|| needs))
            }
        }
    }

    /// The hashes of the images with virtual functions that it is linked with.
    pub(crate) fn sets(&self) -> &[[u8; 32]] {
        &self.sets
    }

    /// Hash of the bytes that the image was read from, for cache keys.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        self.hash.get_or_init(|| match self.source {
            Source::Container(bytes) => *blake3::hash(bytes).as_bytes(),
            Source::Memory | Source::Linked(_) => [0; 32],
        })
    }
}

impl fmt::Debug for LoadedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedImage").field("name", &self.image.name).finish_non_exhaustive()
    }
}

/// The images that hold `kernel` and that the device can run, in the order of the table. Never
/// empty.
pub(crate) fn candidates<'a>(
    source: &str,
    images: &[&'a Arc<LoadedImage>],
    kernel: &str,
    device: &DeviceProfile,
) -> Result<Vec<&'a Arc<LoadedImage>>> {
    let mut fitting = Vec::new();
    let mut refusals = Vec::new();
    for &image in images {
        let Some(signature) = image.kernel(kernel) else { continue };
        let form = image.without_fp64.as_ref().filter(|_| !device.aspects.contains(Aspects::FP64));
        let without_fp64 = form.and_then(|form| Some((form, form.kernel(kernel)?)));
        let (image, signature) = without_fp64.unwrap_or((image, signature));
        match device.refusal(image.needs, signature) {
            None => fitting.push(image),
            Some(reason) => refusals.push(format!("image `{}` {reason}", image.name())),
        }
    }
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    if refusals.is_empty() {
        return Err(unknown_kernel(source, images, kernel));
    }
    Err(Error::new(ErrorKind::KernelNotSupported, format!("device `{}` cannot run it: {}", device.name, refusals.join("; ")))
        .at(format!("kernel `{kernel}` of `{source}`"))
        .remedy("choose a device that has what is missing (`oclave devices` lists them), or a kernel that does without"))
}

fn unknown_kernel(source: &str, images: &[&Arc<LoadedImage>], kernel: &str) -> Error {
    let mut names: Vec<&str> = images
        .iter()
        .flat_map(|image| image.image.kernels.iter())
        .map(|kernel| kernel.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let there_are =
        if names.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", names.join("`, `")) };
    Error::invalid(format!("there is no kernel `{kernel}` in `{source}`: {there_are}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn kernel(name: &str, aspects: Aspects) -> KernelSignature {
        KernelSignature {
            name: name.to_owned(),
            parameters: Vec::new(),
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects,
            device_globals: Vec::new(),
        }
    }

    fn image(name: &str, kernels: Vec<KernelSignature>) -> Arc<LoadedImage> {
        let image = DeviceImage { name: name.to_owned(), kernels, ..DeviceImage::default() };
        Arc::new(LoadedImage::from_bytes(image, name.as_bytes()).unwrap())
    }

    fn device(aspects: Aspects) -> DeviceProfile {
        DeviceProfile { name: "toy".to_owned(), aspects, ..DeviceProfile::default() }
    }

    #[test]
    fn takes_the_image_whose_aspects_the_device_has() {
        let images = [
            image("rich", vec![kernel("k", Aspects::FP64)]),
            image("plain", vec![kernel("k", Aspects::empty())]),
        ];
        let names = |aspects| {
            let found = candidates("s", &images.each_ref(), "k", &device(aspects)).unwrap();
            found.iter().map(|image| image.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(Aspects::empty()), ["plain"]);
        assert_eq!(names(Aspects::FP64), ["rich", "plain"]);
    }

    #[test]
    fn each_side_takes_its_own_image_or_one_without_side() {
        let sided = |name: &str, side| {
            let mut image = DeviceImage {
                name: name.to_owned(),
                kernels: vec![kernel("k", Aspects::empty())],
                ..DeviceImage::default()
            };
            image.insert_side(side);
            Arc::new(LoadedImage::from_bytes(image, name.as_bytes()).unwrap())
        };
        let images = [sided("device", Side::Device), sided("host", Side::Host)];
        for (side, expected) in [(Side::Device, "device"), (Side::Host, "host")] {
            let device = DeviceProfile { side, ..device(Aspects::empty()) };
            let found = candidates("s", &images.each_ref(), "k", &device).unwrap();
            assert_eq!(found.iter().map(|image| image.name()).collect::<Vec<_>>(), [expected]);
            let both = [image("both", vec![kernel("k", Aspects::empty())])];
            assert!(candidates("s", &both.each_ref(), "k", &device).is_ok());
        }
        let error = candidates("s", &[&images[1]], "k", &device(Aspects::empty())).unwrap_err().to_string();
        assert!(error.contains("`host` has the bodies of if_host"), "{error}");
    }

    #[test]
    fn a_missing_aspect_is_named_with_image_and_kernel() {
        let images = [image("rich", vec![kernel("k", Aspects::FP64 | Aspects::FP16)])];
        let error = candidates("s", &images.each_ref(), "k", &device(Aspects::FP16)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        let text = error.to_string();
        for part in ["kernel `k`", "image `rich`", "needs fp64", "device `toy`"] {
            assert!(text.contains(part), "{part} in: {text}");
        }
        assert!(!text.contains("fp16"), "{text}");
    }

    #[test]
    fn a_neighbours_aspect_counts() {
        let images = [image("both", vec![kernel("k", Aspects::empty()), kernel("other", Aspects::FP64)])];
        let error = candidates("s", &images.each_ref(), "k", &device(Aspects::empty())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    }

    #[test]
    fn an_unknown_kernel_lists_those_that_exist() {
        let images = [
            image("a", vec![kernel("blur", Aspects::empty())]),
            image("b", vec![kernel("add", Aspects::FP64)]),
        ];
        let error = candidates("s", &images.each_ref(), "blurr", &device(Aspects::empty())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("`add`, `blur`"), "{error}");
    }
}
