//! Forms of images for devices without fp64.

use std::collections::BTreeMap;

use super::{Kernels, link_units};
use crate::printf::narrow_arguments;
use crate::{
    Aspects, DeviceGlobalInfo, DeviceImage, KernelSignature, PostLinkOptions, Result, TranslationUnit,
};

/// The forms without fp64 of images, each with the index of its image.
///
/// `images` are those that [`post_link`](crate::post_link) made of a program. `units` are the
/// program's units, compiled with literals as floats. Literals without a suffix are floats on devices
/// without fp64, and `printf` takes floats as they are.
///
/// A form has those kernels of its image that need fp64 in the image and not in `units`. Kernels
/// with virtual calls, and those with variables of image scope, have no such form.
///
/// # Errors
/// As [`post_link`](crate::post_link), for `units`.
pub fn forms_without_fp64(
    images: &[DeviceImage],
    units: &[TranslationUnit],
    options: &PostLinkOptions,
) -> Result<Vec<(usize, DeviceImage)>> {
    let mut narrowed = units.to_vec();
    for unit in &mut narrowed {
        if let Some(module) = narrow_arguments(&unit.module)? {
            unit.module = module;
        }
    }
    let with_fp64 = |kernel: &KernelSignature| kernel.aspects.contains(Aspects::FP64);
    let known = images.iter().flat_map(|image| &image.kernels).filter(|kernel| with_fp64(kernel));
    let known: BTreeMap<&str, &KernelSignature> =
        known.map(|kernel| (kernel.name.as_str(), kernel)).collect();
    let is_wanted = |kernel: &KernelSignature| {
        !with_fp64(kernel) && known.get(kernel.name.as_str()).is_some_and(|other| is_called_as(kernel, other))
    };
    let forms = link_units(&narrowed, options, Kernels::Only(&is_wanted))?;
    let mut found = Vec::new();
    for (index, image) in images.iter().enumerate() {
        for form in &forms {
            let is_common =
                |kernel: &KernelSignature| with_fp64(kernel) && form.kernel(&kernel.name).is_some();
            let serves = form.side()? == image.side()? && image.kernels.iter().any(is_common);
            if serves && agrees(&form.device_globals()?, images)? {
                let name = format!("{}.without_fp64", image.name);
                found.push((index, DeviceImage { name, ..form.clone() }));
                break;
            }
        }
    }
    Ok(found)
}

/// Whether kernels take the same arguments and ranges.
fn is_called_as(kernel: &KernelSignature, other: &KernelSignature) -> bool {
    kernel.parameters == other.parameters
        && kernel.uniform_work_groups == other.uniform_work_groups
        && kernel.required_work_group_size == other.required_work_group_size
        && kernel.required_sub_group_size == other.required_sub_group_size
}

/// Whether the images declare the device globals in the same way, and none of them has image scope.
///
/// A literal in an initial value may round differently.
fn agrees(globals: &[DeviceGlobalInfo], images: &[DeviceImage]) -> Result<bool> {
    let mut known = Vec::new();
    for image in images {
        known.extend(image.device_globals()?);
    }
    Ok(globals.iter().all(|global| !global.device_image_scope && known.contains(global)))
}
