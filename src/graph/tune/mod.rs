//! Which steps a partition runs: found out while it runs.
//!
//! ```text
//! survey.rs      what the interpreter can do with commands: numbers for plans
//! background.rs  interpreter programs that are built meanwhile
//! race.rs        the first replays run by several plans in turn
//! flow.rs        loops and conditions that one launch runs
//! tuned.rs       a partition with what may bring it better steps
//! ```

mod background;
pub(super) mod flow;
mod race;
pub(super) mod survey;
pub(super) mod tuned;
