//! Device globals, virtual functions, if_device and updatable command graphs for plain OpenCL devices.
#![deny(unsafe_code)]

mod error;

pub use error::{Error, ErrorKind, Result};
