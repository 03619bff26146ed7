//! Adapts images to a device, as the library does.

use std::path::Path;

use oclave_driver::native::DeviceHandle;
use oclave_driver::{Device, Result};
use oclave_faults::Fault;
use oclave_image::{DeviceImage, DeviceTarget, legalize};
use oclave_spirv::Version;

/// The modules of a program's images for a device, which has a reference of its own.
///
/// # Errors
/// The reason that there are none.
pub(crate) fn modules(folder: &Path, device: DeviceHandle) -> Result<Vec<Vec<u32>>, String> {
    let target = target(device).map_err(|error| format!("{error:#}"))?;
    if let Ok(error) = std::fs::read_to_string(folder.join("error")) {
        return Err(format!("does not compile: {error}"));
    }
    let images = (0..).map_while(|number| std::fs::read(folder.join(format!("{number}.oclimg"))).ok());
    let adapted = images.map(|bytes| {
        let image = DeviceImage::from_bytes(&bytes).map_err(|error| error.to_string())?;
        legalize(&image, &target).map_err(|error| error.to_string())
    });
    let adapted: Vec<_> = adapted.collect::<Result<_, String>>()?;
    if adapted.is_empty() { Err("has no image".to_owned()) } else { Ok(adapted) }
}

/// What modules for a CPU are adapted to.
fn target(device: DeviceHandle) -> Result<DeviceTarget> {
    let device = Device::from_native(device)?;
    let capabilities = device.capabilities();
    let faults = device.driver_faults();
    let version = capabilities.max_spirv_version().map_or(Version::V1_2, |version| {
        let narrow = |part: u16| u8::try_from(part).unwrap_or(u8::MAX);
        Version::new(narrow(version.major), narrow(version.minor))
    });
    Ok(DeviceTarget {
        faults,
        spirv_version: version,
        aspects: capabilities.aspects,
        takes_wraps: faults.has(Fault::Q67),
        address_bits: capabilities.address_bits,
        serial_work_items: faults.has(Fault::Q11),
        vector_argument_bytes: oclave_faults::passes::vector_argument_bytes(),
        ..DeviceTarget::default()
    })
}
