//! How a snapshot is run. Pure: no object of the driver is made here, and none is needed to test
//! it.
//!
//! ```text
//! flatten.rs      sub-graphs put in their places, and edges left out that follow from others
//! commands.rs     the commands of a flat graph, with the values that were committed last
//! memory.rs       where the memory of a graph lies
//! partition.rs    what is given to the device at once, and what runs on the host
//! eligibility.rs  what the interpreter can run, or the reason why not, and what it is estimated to cost
//! planner.rs      nodes of a partition → plans (unit.rs): the one to begin with, and others to compare it with
//! segments.rs     → nodes for one launch each; sharing.rs among groups
//! ```

pub(super) mod commands;
pub(super) mod eligibility;
pub(super) mod flatten;
pub(super) mod memory;
pub(super) mod partition;
pub(super) mod planner;
pub(super) mod segments;
pub(super) mod sharing;
pub(super) mod unit;
