//! Linking: modules, dispatchers of virtual calls, and what a program needs for them.

pub(crate) mod ahead_of_time;
pub(crate) mod dispatch;
pub(crate) mod linkage;
pub mod linker;
pub mod virtual_functions;
