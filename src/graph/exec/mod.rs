//! Nodes as prepared steps, and how these are put on queues. What is prepared is decided by
//! `plan` and `tune`.
//!
//! ```text
//! options.rs     what users choose
//! prepare.rs     a plan → prepared steps; tasks.rs, draft.rs the tasks of task lists
//! partition.rs   one partition for the device: its steps, and their runs one after the other
//! strategy/      the ways to put steps on queues
//! ```

pub(super) mod draft;
pub(super) mod options;
pub(super) mod partition;
pub(super) mod prepare;
pub(super) mod strategy;
pub(super) mod tasks;
