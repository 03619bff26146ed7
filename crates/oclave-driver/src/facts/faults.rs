//! The faults of a device, and the values that follow from them.

use std::time::Duration;

use oclave_faults::{DeviceTexts, Driver, Fault, FaultSet, Version};

use crate::{Device, DeviceKind};

fn driver(device: &Device) -> Option<Driver> {
    let platform = device.platform();
    Driver::of(&DeviceTexts {
        platform: platform.name(),
        vendor: platform.vendor(),
        driver_version: &device.capabilities().driver_version,
        device: device.name(),
        is_cpu: device.kind() == DeviceKind::Cpu,
        is_gpu: device.kind() == DeviceKind::Gpu,
    })
}

/// The faults of a device, as `OCLAVE_FAULTS` changes them.
pub(super) fn faults(device: &Device) -> FaultSet {
    let driver = driver(device);
    if let Some(driver) = driver.filter(|driver| driver.is_newer_than_seen()) {
        log::info!(
            "{}: {driver} is newer than {}, and is treated like it",
            device.name(),
            driver.family.newest_seen()
        );
    }
    let known = driver.as_ref().map_or(FaultSet::NONE, FaultSet::of);
    let Ok(words) = std::env::var("OCLAVE_FAULTS") else { return known };
    known.adjust(&words).unwrap_or_else(|error| {
        log::error!("OCLAVE_FAULTS: {error}; the faults of {} are as without it", device.name());
        known
    })
}

/// How long freed USM is kept, to be allocated again, before the driver gets it back (Q3).
pub(crate) fn usm_free_delay(device: &Device) -> Option<Duration> {
    // PoCL 7's thread needs microseconds, or as long as it gets no processor.
    let is_old = driver(device).is_some_and(|driver| driver.version < Version(7, 0));
    device.driver_faults().has(Fault::Q3).then(|| Duration::from_secs(if is_old { 60 } else { 1 }))
}
