//! Device images on the host: the tables that generated code declares, decoded when first used, the choice of an image for a device, and
//! the sets of virtual functions that are linked to it.

mod known;
mod linked;
mod registry;
mod table;

pub(crate) use known::{Known, generation};
pub(crate) use linked::link;
pub(crate) use registry::{LoadedImage, candidates};
pub use table::{ImageTable, Kernel};
