//! Device images on the host: the tables that generated code declares, decoded when first used, and the choice of an image for a device.

mod registry;
mod table;

pub(crate) use registry::{DeviceProfile, LoadedImage, candidates, missing_aspects};
pub use table::{ImageTable, Kernel};
