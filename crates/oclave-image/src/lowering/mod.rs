//! Lowers a module to what a device takes.

pub(crate) mod device_target;
pub(crate) mod generic_pointers;
pub(crate) mod global_access;
pub(crate) mod global_decorations;
pub(crate) mod hidden_argument;
pub(crate) mod legalize;
