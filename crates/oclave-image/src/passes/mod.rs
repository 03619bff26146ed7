//! Passes over SPIR-V modules, one file each: most read a [`Module`](crate::spirv::Module) and write a new one.

mod ahead_of_time;
pub(crate) mod aspects;
pub mod capabilities;
pub mod check;
pub(crate) mod class_globals;
pub mod dce;
pub(crate) mod declared_globals;
pub(crate) mod device_globals;
mod dispatch;
mod global_access;
pub(crate) mod global_decorations;
mod hidden_argument;
mod hints;
pub(crate) mod if_device;
mod initializer;
mod legalize;
pub mod link;
pub(crate) mod linkage;
mod localize;
pub(crate) mod markers;
mod multiply_add;
pub(crate) mod passthrough;
pub(crate) mod references;
pub mod replay;
pub(crate) mod signatures;
pub(crate) mod spec_constants;
pub(crate) mod split;
pub mod strip;
mod value_types;
pub mod version;
pub mod virtual_functions;

pub use ahead_of_time::ahead_of_time;
pub use dispatch::{
    DEFAULT_DEPTH, DispatchPlan, VIRTUAL_FAULT, VIRTUAL_FAULT_BYTES, VirtualProgram, fault_id,
    needs_dispatchers,
};
pub use global_access::{GLOBAL_ACCESS_KERNEL, add_global_access_kernel};
pub use hidden_argument::{HiddenArgument, image_scope_initial_values, lower_globals_to_hidden_argument};
pub use legalize::{DeviceTarget, legalize, legalize_with};
pub use link::{LinkInput, link_modules};
pub use signatures::signatures;
