//! How a snapshot is run.
//!
//! ```text
//! flatten.rs      sub-graphs put in their places
//! partition.rs    what is given to the device at once, and what runs on the host
//! eligibility.rs  which nodes the interpreter can run, or the reason why not
//! planner.rs      nodes of a partition → a plan; rivals.rs others that may be faster
//! segments.rs     → nodes for one launch each (run.rs); sharing.rs among groups; waiting.rs which nodes are ready
//! ```

pub(super) mod eligibility;
pub(super) mod flatten;
pub(super) mod interpreter;
pub(super) mod partition;
pub(super) mod planner;
pub(super) mod rivals;
pub(super) mod run;
pub(super) mod segments;
pub(super) mod sharing;
pub(super) mod waiting;
