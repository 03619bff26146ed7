//! The clock that devices measure commands by.

use crate::{Device, api};

/// The time on the clock of a device, in nanoseconds; `None` where the driver does not say.
pub fn device_now(device: &Device) -> Option<u64> {
    let (mut device_ns, mut host_ns) = (0, 0);
    let api = api().ok()?;
    // SAFETY: the device is alive, both results live through the call.
    unsafe { api.clGetDeviceAndHostTimer(device.id(), &mut device_ns, &mut host_ns) }.ok()?;
    Some(device_ns)
}
