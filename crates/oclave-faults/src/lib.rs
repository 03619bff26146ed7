//! Known faults of OpenCL drivers, and the devices that have them.
//!
//! Each [`Fault`] has a number, `Q62` for example, and a row in [`FAULTS`]. A row names the drivers and versions, the symptom,
//! the work-around, and the report upstream. [`Driver::of`] recognises a driver by the texts of its platform and device, and
//! [`FaultSet::of`] gives its faults.
//!
//! [`passes`] change SPIR-V so that compilers with these faults do not get it wrong.
//!
//! A version that is newer than the newest one seen is treated as the newest one seen. Most faults outlive a release, and a
//! work-around that is not needed costs time, not results.
//!
//! The environment variable `OCLAVE_FAULTS` adds and removes faults: see [`FaultSet::adjust`].
#![forbid(unsafe_code)]

mod driver;
pub mod passes;
mod runtime;
mod set;
mod table;

pub use driver::{DeviceTexts, Driver, Family, Version};
pub use runtime::REMEDY_OF_Q69;
pub use set::{FaultSet, UnknownFault};
pub use table::{Affected, FAULTS, Fault, On, Row, Seen};

/// Tells one build of this crate's sources from another: the passes of equal fingerprints make equal modules.
pub const SOURCES_FINGERPRINT: &str = env!("OCLAVE_SOURCES");
