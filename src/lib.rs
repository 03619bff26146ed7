//! Device globals, virtual functions, if_device and updatable command graphs for plain OpenCL devices.
#![deny(unsafe_code)]

mod context;
mod device_global;
mod driver;
mod error;
mod image;
mod include_kernels;
mod memory;
mod program;
mod queue;
pub mod vector;

pub use oclave_image::Aspects;

#[doc(hidden)]
pub use bytemuck;
#[doc(hidden)]
pub use half;

pub use context::Context;
pub use device_global::{Array, DeviceGlobal, host_access};
#[cfg(feature = "record")]
pub use driver::record;
pub use driver::{
    Capabilities, CommandBufferSupport, Device, DeviceKind, Limits, MutableDispatchSupport, Platform,
    SpirvQueries, SvmSupport, UsmSupport, Version, loader_name, mask,
};
pub use error::{Error, ErrorKind, Result};
pub use image::{ImageTable, Kernel};
pub use memory::{
    AsyncSource, HostAddressable, KernelPointer, KernelPointerMut, ReadGuard, Readback, UsmKind, UsmSlice,
    WriteGuard, kind as usm,
};
pub use program::{BundleKernel, KernelBundle, ProgramCache, SpecConstant, SpecType};
pub use queue::{
    Advice, After, Event, EventStatus, KernelCall, Local, NdRange, Profiling, Queue, QueueBuilder, Range,
};
