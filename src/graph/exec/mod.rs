//! Executable graphs: plans that became prepared commands.
//!
//! ```text
//! finalizer.rs   options; executable.rs the handle of users
//! prepare.rs     nodes of a partition → prepared steps; list.rs, draft.rs their tasks
//! partition.rs   one partition for the device
//! strategy/      the ways to put its steps on queues
//! submit.rs      a partition as a command: how graphs with host tasks are submitted
//! trial.rs       what the first replays are used for: costs.rs, contest.rs
//! background.rs  interpreter programs that are built meanwhile
//! ```

pub(super) mod background;
pub(super) mod contest;
pub(super) mod costs;
pub(super) mod draft;
pub(super) mod executable;
pub(super) mod finalizer;
pub(super) mod list;
pub(super) mod partition;
pub(super) mod prepare;
pub(super) mod strategy;
pub(super) mod submit;
pub(super) mod trial;
