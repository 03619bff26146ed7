//! Buffers: memory that follows its users, and whose users are put in order by how they access it.
//!
//! ```text
//! area.rs      the part of a buffer that an access names: boxes of elements
//! hazards.rs   what an access must wait for: used with events by queues, and with nodes by graphs
//! index.rs     which of many areas overlap one
//! ```

mod area;
mod hazards;
mod index;

#[allow(unused_imports, reason = "buffers and graphs are being built")]
pub(crate) use area::{Area, Triple, triple};
#[allow(unused_imports, reason = "buffers and graphs are being built")]
pub(crate) use hazards::{Dependency, Tracker};
