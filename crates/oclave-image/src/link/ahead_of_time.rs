//! Ahead of time: what the runtime would choose and link for a device, chosen and linked now.

use std::collections::BTreeSet;

use crate::link::dispatch::{VirtualProgram, needs_dispatchers};
use crate::{DeviceImage, DeviceProfile, ImageError, Result, VirtualFunctions};

/// The images of a program as they serve a device, nothing left to link.
///
/// Images that the device cannot run are left out, or replaced by their form without fp64
/// ([`DeviceImage::without_fp64`]). Those with virtual calls include their sets, so
/// no set images remain. A set needs the aspects of all its functions. If the device lacks one, the
/// whole set is dropped, and so are the kernels that call it (design of the virtual functions
/// extension, "AOT flow").
///
/// `report_faults` is as for [`VirtualProgram`].
///
/// # Errors
/// [`ImageError::Link`] where a kernel calls a set that no image provides, and as
/// [`VirtualProgram::link`].
pub fn ahead_of_time(
    images: &[DeviceImage],
    device: &DeviceProfile,
    report_faults: bool,
) -> Result<Vec<DeviceImage>> {
    // Programs that were compiled once for both sides have images for each.
    let mut of_side = Vec::new();
    for image in images {
        if image.needs()?.serves(device.side) {
            of_side.push(image);
        }
    }
    let images = of_side;
    let all: Vec<VirtualFunctions> =
        images.iter().copied().map(DeviceImage::virtual_functions).collect::<Result<_>>()?;
    let known: Vec<&VirtualFunctions> = all.iter().collect();
    let mut chosen = Vec::new();
    for (kernels, virtual_functions) in images.iter().zip(&all) {
        if virtual_functions.provides.is_some() {
            continue;
        }
        if !device.runs(kernels)? {
            if let Some(form) = kernels.without_fp64()?
                && device.runs(&form)?
            {
                chosen.push(form);
            }
            continue;
        }
        if !needs_dispatchers(kernels)? {
            let mut plain = (*kernels).clone();
            plain.set_virtual_functions(&VirtualFunctions::default());
            chosen.push(plain);
            continue;
        }
        let called = called_sets(virtual_functions, &all);
        let mut sets = Vec::new();
        let mut lacks = false;
        for set in called {
            let provides = |of: &VirtualFunctions| !of.dummy && of.provides.as_deref() == Some(set);
            let providers: Vec<&DeviceImage> =
                images.iter().zip(&all).filter(|(_, of)| provides(of)).map(|(image, _)| *image).collect();
            if providers.is_empty() {
                return Err(ImageError::Link(format!(
                    "no image provides virtual functions of set `{set}`, which image `{}` calls",
                    kernels.name
                )));
            }
            for provider in providers {
                lacks |= device.misfit(provider.needs()?).is_some();
                sets.push(provider);
            }
        }
        if !lacks {
            let program = VirtualProgram { kernels, sets: &sets, own_sets: 0, known: &known, report_faults };
            chosen.push(program.link()?);
        }
    }
    Ok(chosen)
}

/// The sets that kernels call, and those that functions of these sets call.
fn called_sets<'a>(kernels: &'a VirtualFunctions, all: &'a [VirtualFunctions]) -> BTreeSet<&'a str> {
    let mut called = BTreeSet::new();
    let mut open: Vec<&str> = kernels.calls.iter().map(String::as_str).collect();
    while let Some(set) = open.pop() {
        if called.insert(set) {
            let providers = all.iter().filter(|of| of.provides.as_deref() == Some(set));
            open.extend(providers.flat_map(|of| of.calls.iter().map(String::as_str)));
        }
    }
    called
}
