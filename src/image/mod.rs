//! Device images on the host.
//!
//! Generated code declares tables of images, which are decoded when first used. This module chooses
//! an image for a device and links sets of virtual functions to it.

mod known;
mod linked;
mod registry;
mod table;

pub(crate) use known::{Known, generation};
pub(crate) use linked::link;
pub(crate) use registry::{LoadedImage, candidates};
pub use table::{ImageTable, Kernel};
