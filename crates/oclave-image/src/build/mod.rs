//! Passes that run when a program is built: markers, device globals, images, signatures.

pub(crate) mod class_globals;
pub(crate) mod device_globals;
pub(crate) mod if_device;
pub(crate) mod markers;
pub(crate) mod passthrough;
pub(crate) mod pointer_constants;
pub(crate) mod private_variables;
pub(crate) mod signatures;
pub(crate) mod spec_constants;
pub(crate) mod split;
pub(crate) mod weak_exchanges;
