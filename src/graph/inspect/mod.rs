//! Inspection of graphs by users.

pub(super) mod dot;
mod executable;
pub(super) mod measured;
pub(super) mod memory;
pub(super) mod partitions;
pub(super) mod segments;
pub(super) mod support;
pub(super) mod timeline;
