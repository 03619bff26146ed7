//! Facts about a module, which no analysis changes.

pub mod control_flow;
pub mod halves;
pub mod references;
pub mod uniformity;
pub mod work_items;
