//! Device globals, virtual functions, if_device and updatable command graphs for plain OpenCL devices.
#![deny(unsafe_code)]

mod device_global;
mod error;
mod image;
mod program;

#[doc(hidden)]
pub use bytemuck;

pub use device_global::{DeviceGlobal, host_access};
pub use error::{Error, ErrorKind, Result};
pub use image::{ImageTable, Kernel};
pub use program::{ProgramCache, SpecConstant, SpecType};
