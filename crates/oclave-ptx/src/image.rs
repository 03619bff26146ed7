//! Images that bring along what NVIDIA's devices need: the functions of the library, and PTX.
//!
//! Both are property sets of the image, so that its module and everything else stay as they are.

use oclave_image::passes::lower_globals_to_hidden_argument;
use oclave_image::{Aspects, DeviceImage, DeviceProfile, PropertyValue};
use oclave_spirv::Module;

use crate::{Library, PtxError, PtxTarget, Result, link, needs_library, part_from_installed, translate};

/// Set of the functions of the library that an image needs: `libclc` → a SPIR-V module.
pub const LIBRARY_SET: &str = "oclave/built-in functions";
/// Set of an image's PTX: `sm_90` → text.
pub const PTX_SET: &str = "oclave/ptx";
const LIBRARY: &str = "libclc";

/// What NVIDIA's devices from compute capability 7.0 on can do, as kernels in PTX see them.
pub fn nvidia_profile() -> DeviceProfile {
    DeviceProfile {
        name: "nvidia".to_owned(),
        aspects: Aspects::FP64
            | Aspects::FP16
            | Aspects::ATOMIC64
            | Aspects::SUB_GROUPS
            | Aspects::GENERIC_POINTER
            | Aspects::PROGRAM_SCOPE_VARIABLES
            | Aspects::WORK_GROUP_COLLECTIVES
            | Aspects::ATOMIC_FLOAT
            | Aspects::IMAGE
            | Aspects::IMAGE_3D_WRITE,
        max_work_group_size: 1024,
        max_work_item_sizes: [1024, 1024, 64],
        sub_group_sizes: vec![32],
        ..DeviceProfile::default()
    }
}

/// Puts what the image needs of the installed library into it, unless it is there already. Returns
/// whether the image has functions of the library then.
///
/// # Errors
/// As [`Library::installed`] and [`Library::part_for`].
pub fn add_library(image: &mut DeviceImage) -> Result<bool> {
    if library_of(image)?.is_some() {
        return Ok(true);
    }
    let module = Module::from_words(image.spirv.clone())?;
    let Some(part) = part_from_installed(&module)? else { return Ok(false) };
    image.properties.insert(LIBRARY_SET, LIBRARY, PropertyValue::Bytes(part.to_bytes()));
    Ok(true)
}

/// The functions of the library that an image brings along.
///
/// # Errors
/// [`PtxError::Module`] where they are no SPIR-V.
pub fn library_of(image: &DeviceImage) -> Result<Option<Module>> {
    match image.properties.value(LIBRARY_SET, LIBRARY) {
        Some(PropertyValue::Bytes(bytes)) => Ok(Some(Module::from_bytes(bytes)?)),
        Some(PropertyValue::U32(_)) => Err(PtxError::Refused(format!(
            "property `{LIBRARY}` of the set `{LIBRARY_SET}` is a number; build the image again"
        ))),
        None => Ok(None),
    }
}

/// The PTX of an image's kernels. Device globals become a hidden argument, since NVIDIA's driver
/// gives no access to them.
///
/// Functions of the library are those of the image, else those of the installed library.
///
/// # Errors
/// As [`translate`], [`Library::installed`] and [`Library::part_for`].
pub fn translate_image(image: &DeviceImage, target: &PtxTarget) -> Result<String> {
    let module = Module::from_words(image.spirv.clone())?;
    let globals = image.device_globals()?;
    let module = match globals.as_slice() {
        [] => module,
        globals => lower_globals_to_hidden_argument(&module, globals)?.module,
    };
    translate_for(image, &module, target)
}

/// The PTX of a module that was made of an image's, by passes or by linking: it is translated as it
/// is.
///
/// Functions of the library are those of the image where it has all that the module calls, else
/// those of the installed library.
///
/// # Errors
/// As [`translate`], [`Library::installed`] and [`Library::part_for`].
pub fn translate_for(image: &DeviceImage, module: &Module, target: &PtxTarget) -> Result<String> {
    if !needs_library(module)? {
        return translate(module, target);
    }
    let brought = match library_of(image)? {
        Some(part) => Library::new(&part)?.part_for(module).ok().flatten(),
        None => None,
    };
    let part = match brought {
        Some(part) => Some(part),
        None => part_from_installed(module)?,
    };
    match part {
        Some(part) => translate(&link(module, &part)?, target),
        None => translate(module, target),
    }
}

/// Puts the PTX for a compute capability into the image, and what it needs of the library.
///
/// # Errors
/// As [`translate_image`].
pub fn add_ptx(image: &mut DeviceImage, target: &PtxTarget) -> Result<()> {
    add_library(image)?;
    let text = translate_image(image, target)?;
    image.properties.insert(PTX_SET, &target.to_string(), PropertyValue::Bytes(text.into_bytes()));
    Ok(())
}

/// The PTX that an image holds for a device: that of the highest compute capability that the device
/// has.
pub fn ptx_of<'i>(image: &'i DeviceImage, device: &PtxTarget) -> Option<(PtxTarget, &'i str)> {
    let held = image.properties.set(PTX_SET).filter_map(|(name, value)| {
        let target: PtxTarget = name.parse().ok()?;
        match value {
            PropertyValue::Bytes(text) => Some((target, std::str::from_utf8(text).ok()?)),
            PropertyValue::U32(_) => None,
        }
    });
    held.filter(|(target, _)| device.at_least(target.major, target.minor))
        .max_by_key(|(target, _)| (target.major, target.minor))
}
