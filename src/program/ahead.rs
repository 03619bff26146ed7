//! Device binaries made ahead of time, and kept in the images.

use oclave_image::passes;
use oclave_image::{DeviceImage, ImageError, PropertyValue};

use super::build::Builder;
use super::device::DeviceState;
use super::globals::Globals;
use crate::MakeError as _;
use crate::driver::Device;
use crate::driver::context::Context;
use crate::image::LoadedImage;
use crate::{Error, ErrorKind, Result};

/// The property set of binaries: name of the device's kind, driver and library version → binary.
pub(super) const BINARIES: &str = "oclave/device binaries";

/// Links and compiles the images of one program for a device.
///
/// Virtual functions are linked, and images that the device cannot run are left out. Each returned
/// image contains the driver's binary. A context on such a device, with the same driver and this
/// version of the library, neither links nor compiles. All other contexts build the SPIR-V, which
/// stays in the image, and so do launches with specialization constants. Load the images with
/// [`KernelBundle::from_image`](crate::kernel::KernelBundle::from_image), or put them into an
/// [`ImageTable`](crate::kernel::ImageTable).
///
/// `virtual_call_checks` is as for [`ContextBuilder`](crate::context::ContextBuilder::virtual_call_checks).
///
/// # Errors
/// [`ErrorKind::Image`] for malformed images. [`ErrorKind::Build`] for sets of virtual functions
/// that no image provides, and when the driver refuses a module. [`ErrorKind::KernelNotSupported`]
/// when the device can run none of the images.
pub fn build_ahead_of_time(
    device: &Device,
    images: &[impl AsRef<[u8]>],
    virtual_call_checks: bool,
) -> Result<Vec<Vec<u8>>> {
    device.require_kernels()?;
    let images: Vec<DeviceImage> =
        images.iter().map(|bytes| DeviceImage::from_bytes(bytes.as_ref())).collect::<Result<_, _>>()?;
    let context = Context::new(std::slice::from_ref(device))?;
    let state = DeviceState::new(&context, device);
    let checks = virtual_call_checks && context.can_watch(device);
    let linked = passes::ahead_of_time(&images, state.profile(), checks).map_err(|error| match error {
        error @ ImageError::Link(_) => {
            Error::new(ErrorKind::Build, "the virtual functions do not link").with_source(error)
        }
        error => Error::from(error),
    })?;
    if linked.is_empty() {
        let what = format!("device `{}` can run none of the images", device.name());
        return Err(Error::new(ErrorKind::KernelNotSupported, what));
    }
    let builder = Builder { context: &context, disk: None, globals: &Globals::default(), options: c"" };
    let mut made = Vec::new();
    for mut image in linked {
        let place = |error: Error| error.at(format!("image `{}`", image.name));
        let loaded = LoadedImage::from_bytes(image.clone(), &[]).map_err(place)?;
        let binary = builder.binary(&loaded, &state).map_err(place)?;
        image.properties.insert(BINARIES, &kind(&state), PropertyValue::Bytes(binary));
        made.push(image.to_bytes());
    }
    Ok(made)
}

/// The binary that an image holds for a device.
pub(super) fn binary_of<'i>(image: &'i LoadedImage, device: &DeviceState) -> Option<&'i [u8]> {
    match image.image().properties.value(BINARIES, &kind(device))? {
        PropertyValue::Bytes(binary) => Some(binary),
        PropertyValue::U32(_) => None,
    }
}

/// The name of a device's binaries: all that they depend on, besides the image.
fn kind(device: &DeviceState) -> String {
    device.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
}
