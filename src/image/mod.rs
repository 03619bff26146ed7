//! Device images on the host: the tables that generated code declares, decoded when first used, and the choice of an image for a device.

mod table;

pub use table::{ImageTable, Kernel};
