//! The only layer that talks to OpenCL, and the only one with `unsafe`.
//!
//! ```text
//! loader   finds and opens libOpenCL, once per process
//! table    the macro that turns declarations into tables of function pointers with checked, recorded methods
//! api      the core functions; ext/ one table per extension and platform
//! hook     where every call passes; does nothing unless the feature `record` is on
//! record   (feature `record`) counts, live objects, fault injection
//! ```
//!
//! Handles are raw pointers here. Whoever stores one owns one reference and releases it; nothing in this layer panics.
#![allow(unsafe_code)]

#[macro_use]
pub(crate) mod table;

mod adopt;
pub(crate) mod api;
mod capabilities;
pub(crate) mod command_buffer;
pub(crate) mod context;
pub(crate) mod copy;
mod device;
pub(crate) mod event;
pub(crate) mod ext;
mod fault;
mod global_access;
pub(crate) mod hook;
pub(crate) mod host;
pub(crate) mod info;
pub(crate) mod kernel;
pub(crate) mod launch;
pub(crate) mod loader;
pub mod mask;
pub(crate) mod mem;
pub(crate) mod mutable;
pub mod native;
mod patience;
mod platform;
pub(crate) mod program;
mod query;
pub(crate) mod queue;
pub(crate) mod quirk;
#[cfg(feature = "record")]
pub mod record;
mod retired;
pub(crate) mod rows;
pub(crate) mod run;
mod select;
pub(crate) mod sequence;
mod shared;
#[cfg(test)]
mod signatures;
mod slots;
pub(crate) mod spare;
pub(crate) mod step;
pub(crate) mod task_memory;
pub(crate) mod usm;
mod variable;
mod version;
mod wait_list;

pub(crate) use adopt::UserEvent;
pub(crate) use api::Api;
pub use capabilities::{
    Capabilities, CommandBufferSupport, Limits, MutableDispatchSupport, SvmSupport, UsmSupport,
};
pub use device::{Device, DeviceKind};
pub use ext::spirv_queries::SpirvQueries;
pub use global_access::DeviceGlobalAccess;
pub(crate) use loader::api;
pub use platform::{Platform, loader_name};
pub use version::Version;

/// OpenCL's types and constants, extensions included. Only declarations: nothing of that crate links or calls OpenCL.
pub(crate) mod sys {
    pub(crate) use opencl_sys::*;
}
