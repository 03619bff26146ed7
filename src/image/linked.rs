//! The images of virtual functions that a kernel's image is linked with.

use std::collections::BTreeSet;
use std::sync::Arc;

use oclave_image::passes::VirtualProgram;
use oclave_image::{DEFAULT_SET, DeviceImage, DeviceProfile, VirtualFunctions};

use super::LoadedImage;
use crate::MakeError as _;
use crate::{Error, ErrorKind, Result};

/// A kernels image and what it is linked with.
pub(crate) struct LinkedImages {
    kernels: Arc<LoadedImage>,
    sets: Vec<Arc<LoadedImage>>,
    known: Vec<Arc<LoadedImage>>,
    report_faults: bool,
}

/// Links an image for a device (design of the virtual functions extension, "Changes to the
/// runtime").
///
/// The image is linked with all images that provide a set that its kernels call, directly or
/// through functions of a set.
///
/// Sets that kernels only create objects of are not linked: an object holds codes, no addresses. So
/// neither the true image nor its dummy is needed, whatever the device lacks.
///
/// # Errors
/// [`ErrorKind::Build`] for a set that no image provides; [`ErrorKind::KernelNotSupported`] for one
/// that needs what the device lacks.
pub(crate) fn link(
    kernels: &Arc<LoadedImage>,
    known: Vec<Arc<LoadedImage>>,
    device: &DeviceProfile,
    report_faults: bool,
) -> Result<LoadedImage> {
    // Programs that were compiled once for both sides have set images for each.
    let known: Vec<_> = known.into_iter().filter(|image| image.serves(device.side)).collect();
    let mut sets = select(kernels, &known, device)?;
    // Stable. Of two functions of one name, a program calls its own.
    sets.sort_by_key(|set| !set.is_of_program_of(kernels));
    let linked = LinkedImages { kernels: Arc::clone(kernels), sets, known, report_faults };
    let hash = linked.hash()?;
    LoadedImage::linked(linked, hash)
}

/// The images of the sets that are called, in the order of `known`.
fn select(
    kernels: &LoadedImage,
    known: &[Arc<LoadedImage>],
    device: &DeviceProfile,
) -> Result<Vec<Arc<LoadedImage>>> {
    let mut called: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<(&str, &LoadedImage)> = calls(kernels).collect();
    while let Some((set, caller)) = open.pop() {
        if !called.insert(set) {
            continue;
        }
        let mut providers = known.iter().filter(|image| provides(image, set)).peekable();
        if providers.peek().is_none() {
            return Err(nobody_provides(set, caller, known));
        }
        for provider in providers {
            if let Some(misfit) = device.misfit(provider.needs()) {
                let what = format!(
                    "device `{}` cannot run {}, which image `{}` calls: image `{}` {misfit}",
                    device.name,
                    named(set),
                    caller.name(),
                    provider.name()
                );
                return Err(Error::new(ErrorKind::KernelNotSupported, what).remedy(
                    "choose a device that has what is missing, or a kernel that does not call the set",
                ));
            }
            open.extend(calls(provider));
        }
    }
    let is_called = |image: &&Arc<LoadedImage>| called.iter().any(|set| provides(image, set));
    Ok(known.iter().filter(is_called).cloned().collect())
}

fn calls(image: &LoadedImage) -> impl Iterator<Item = (&str, &LoadedImage)> {
    image.virtual_functions().calls.iter().map(move |set| (set.as_str(), image))
}

/// Whether an image has the functions of a set, and not only their names.
fn provides(image: &LoadedImage, set: &str) -> bool {
    let all = image.virtual_functions();
    !all.dummy && all.provides.as_deref() == Some(set)
}

fn named(set: &str) -> String {
    if set == DEFAULT_SET { "the default set".to_owned() } else { format!("set `{set}`") }
}

fn nobody_provides(set: &str, caller: &LoadedImage, known: &[Arc<LoadedImage>]) -> Error {
    let there: BTreeSet<&str> =
        known.iter().filter_map(|image| image.virtual_functions().provides.as_deref()).collect();
    let there = match there.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there is `{}`", there.into_iter().collect::<Vec<_>>().join("`, `")),
    };
    let what = format!(
        "no image provides virtual functions of {}, which image `{}` calls; {there}",
        named(set),
        caller.name()
    );
    Error::new(ErrorKind::Build, what).remedy(
        "compare the names of `calls_indirectly` and `indirectly_callable`; register the table of the program that has \
         the functions, or load its bundle in this context",
    )
}

impl LinkedImages {
    fn with<R>(
        &self,
        run: impl FnOnce(VirtualProgram<'_>) -> Result<R, oclave_image::ImageError>,
    ) -> Result<R> {
        let sets: Vec<&DeviceImage> = self.sets.iter().map(|image| image.image()).collect();
        let own = [&self.kernels].into_iter().chain(&self.known);
        let known: Vec<&VirtualFunctions> = own.map(|image| image.virtual_functions()).collect();
        let program = VirtualProgram {
            kernels: self.kernels.image(),
            sets: &sets,
            own_sets: self.sets.iter().take_while(|set| set.is_of_program_of(&self.kernels)).count(),
            known: &known,
            report_faults: self.report_faults,
        };
        run(program).map_err(|error| match error {
            error @ oclave_image::ImageError::Link(_) => {
                Error::new(ErrorKind::Build, "the virtual functions do not link").with_source(error)
            }
            error => Error::from(error),
        })
    }

    /// Names the modules, and all that other images say of functions and that changes the
    /// dispatchers.
    fn hash(&self) -> Result<[u8; 32]> {
        let plan = self.with(|program| program.plan())?;
        let mut hash = blake3::Hasher::new();
        for image in [&self.kernels].into_iter().chain(&self.sets) {
            hash.update(image.hash());
        }
        hash.update(format!("{plan:?} {}", self.report_faults).as_bytes());
        Ok(*hash.finalize().as_bytes())
    }

    /// The hashes of the images with the virtual functions.
    pub(super) fn set_hashes(&self) -> Vec<[u8; 32]> {
        self.sets.iter().map(|image| *image.hash()).collect()
    }

    /// The linked image without its module.
    pub(super) fn describe(&self) -> Result<DeviceImage> {
        self.with(|program| program.describe())
    }

    /// The linked image.
    pub(super) fn link(&self) -> Result<DeviceImage> {
        self.with(|program| program.link()).map_err(|error| self.conflict().unwrap_or(error))
    }

    /// The error for a function of two bodies, which names more than images: these are often called
    /// alike in two bundles.
    fn conflict(&self) -> Option<Error> {
        let conflict = self.with(|program| program.conflict()).ok()??;
        let [first, other] = conflict.images.map(|at| self.sets.get(at));
        let what = format!(
            "virtual function `{}` has one body in {} and another in {}",
            conflict.function,
            first?.place(),
            other?.place()
        );
        Some(Error::new(ErrorKind::Build, what).remedy(
            "give one of the classes another name or namespace, or build both programs from one source with the same \
             options; a context knows the functions of a bundle even after it is dropped, so a new version of a bundle \
             needs a new context",
        ))
    }
}
