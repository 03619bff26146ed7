//! Facts about a module, which no analysis changes.

pub mod calls;
pub mod control_flow;
pub mod halves;
pub mod initializer;
pub mod references;
pub mod uniformity;
pub mod variable_facts;
pub mod work_items;
