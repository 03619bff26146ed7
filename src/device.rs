//! Devices: platforms, what a device has and how much of it.
//!
//! [`Device`] itself is at the root of the crate.

#[doc(inline)]
pub use crate::driver::Device;
pub use crate::driver::{
    Capabilities, CommandBufferSupport, DeviceGlobalAccess, DeviceKind, Limits, MemoryKind, MemorySupport,
    MutableDispatchSupport, Platform, SpirvQueries, SvmCapabilities, SvmSupport, UnifiedSvmSupport,
    UsmSupport, Version, loader_name, mask,
};
pub use oclave_image::Aspects;
