//! Signatures of kernels: declarations, and the parts of them that a device does not allow.

use oclave_image::{Access, KernelSignature, Parameter, ParameterKind};

use crate::MakeError as _;
use crate::driver::Device;
use crate::images::ImageLimits;
use crate::{Error, ErrorKind, Result};

/// Refuses a kernel with more images or samplers than it can have on a device: drivers fail in ways of
/// their own.
///
/// # Errors
/// [`ErrorKind::KernelNotSupported`] with the number and the device's limit.
pub(super) fn check_counts(kernel: &KernelSignature, device: &Device) -> Result<()> {
    match device.capabilities().images.as_ref().and_then(|limits| too_many(kernel, limits)) {
        None => Ok(()),
        Some(what) => Err(Error::new(ErrorKind::KernelNotSupported, what)
            .at(format!("device `{}`", device.name()))
            .remedy("give the kernel fewer of them, or several launches with some each")),
    }
}

/// Of which arguments a kernel has more than a device allows.
fn too_many(kernel: &KernelSignature, limits: &ImageLimits) -> Option<String> {
    let count = |is_wanted: &dyn Fn(&ParameterKind) -> bool| {
        kernel.parameters.iter().filter(|parameter| is_wanted(&parameter.kind)).count()
    };
    let images = |wanted: Access| {
        count(&move |kind| matches!(kind, ParameterKind::Image { access, .. } if *access == wanted))
    };
    let counts = [
        (images(Access::Read), limits.read_arguments, "images to read"),
        (images(Access::Write), limits.write_arguments, "images to write"),
        (images(Access::ReadWrite), limits.read_write_arguments, "images to read and write"),
        (count(&|kind| *kind == ParameterKind::Sampler), limits.samplers, "samplers"),
    ];
    // A limit of 0 says that there are no such images; the check of the image's format says more.
    let (count, limit, what) = counts
        .into_iter()
        .filter(|(_, limit, _)| *limit > 0)
        .find(|(count, limit, _)| u32::try_from(*count).map_or(true, |count| count > *limit))?;
    Some(format!("the kernel has {count} {what}, the device allows {limit}"))
}

/// A kernel as its source declares it: `scale(float factor, float *x)`.
pub(crate) fn declaration(kernel: &KernelSignature) -> String {
    let parameters: Vec<String> = kernel.parameters.iter().map(describe).collect();
    format!("{}({})", kernel.name, parameters.join(", "))
}

fn describe(parameter: &Parameter) -> String {
    let name = &parameter.name;
    match &parameter.kind {
        ParameterKind::Value(ty) => format!("{ty} {name}"),
        ParameterKind::Pointer { pointee, access: Access::Read, .. } => format!("const {pointee} *{name}"),
        ParameterKind::Pointer { pointee, .. } => format!("{pointee} *{name}"),
        ParameterKind::Local { pointee } => format!("local {pointee} *{name}"),
        ParameterKind::Image { type_name, .. } => format!("{type_name} {name}"),
        ParameterKind::Sampler => format!("sampler_t {name}"),
    }
}
