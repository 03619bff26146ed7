//! The layer of [oclave](https://docs.rs/oclave) that talks to OpenCL, and the only one with
//! `unsafe`.
//!
//! This crate is for `oclave` alone: use that. Its interface changes with every release. Its safe
//! functions trust the layers above it, for example to give a kernel only arguments of its
//! signature. What users see of it is exported by `oclave`.
//!
//! ```text
//! ffi       tables of OpenCL's functions, the loader, the hook that every call passes
//! objects   contexts, queues, events, programs, kernels, memory objects; handles from and for outside
//! lifetime  allocations and host memory, and how long they live
//! pointers  memory that kernels address by pointers: USM, SVM, buffers with addresses, unified SVM
//! prepared  steps, sequences, command buffers
//! facts     platforms, devices, capabilities, faults of drivers
//! ```
//!
//! Handles are raw pointers here. A type that stores one owns one reference and releases it;
//! nothing in this layer panics.
#[macro_use]
mod ffi;
mod error;
mod facts;
mod lifetime;
mod objects;
mod pointers;
mod prepared;
pub mod sync;

pub use error::{Error, ErrorKind, MakeError, Result};
pub use facts::capabilities::{
    Capabilities, CommandBufferSupport, Limits, MemoryKind, MemorySupport, MutableDispatchSupport,
    SvmSupport, UsmSupport,
};
pub use facts::device::{Device, DeviceKind};
pub use facts::global_access::DeviceGlobalAccess;
pub use facts::images::{
    Addressing, ChannelOrder, ChannelType, Filter, FormatSupport, ImageFormat, ImageKind, ImageLimits,
};
pub use facts::mask;
pub use facts::platform::{Platform, loader_name};
pub use facts::unified_svm::{SvmCapabilities, UnifiedSvmSupport};
pub use facts::version::Version;
pub(crate) use ffi::api::Api;
pub use ffi::ext::spirv_queries::SpirvQueries;
pub use ffi::hook;
pub(crate) use ffi::loader::api;
#[cfg(feature = "record")]
pub use ffi::record;
pub(crate) use ffi::{ext, info, loader, table};
pub use lifetime::{borrowed_host, exit, fault, free_pool, host, prints, task_memory, usm};
pub(crate) use lifetime::{deferred_free, queue_bits};
pub use objects::native;
pub use objects::user_event::UserEvent;
pub use objects::{context, event, image, kernel, mem, program, queue, wait_list};
pub use prepared::{command_buffer, copy, images, launch, mutable, rows, run, sequence, step};

/// OpenCL's types and constants, extensions included. Only declarations: nothing of that crate
/// links or calls OpenCL.
pub mod sys {
    pub use opencl_sys::*;
}

/// For what generated code expands to.
#[doc(hidden)]
pub use bytemuck;
