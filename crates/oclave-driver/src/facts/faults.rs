//! The faults of a device, and the values that follow from them.

use std::time::Duration;

use oclave_faults::{DeviceTexts, Driver, Fault, FaultSet};

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

/// How long freed USM is kept, to be allocated again, before the driver gets it back.
pub(crate) fn usm_free_delay(faults: FaultSet) -> Option<Duration> {
    let seconds = [(Fault::Q70, 60), (Fault::Q3, 1)].into_iter().find(|(fault, _)| faults.has(*fault));
    seconds.map(|(_, seconds)| Duration::from_secs(seconds))
}
