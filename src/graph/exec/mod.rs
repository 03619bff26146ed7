//! Executable graphs: plans that became prepared commands.
//!
//! ```text
//! options.rs     what users choose; finalizer.rs how they do; executable.rs their handle
//! survey.rs      what the interpreter can do with commands: numbers for planning
//! prepare.rs     a plan → prepared steps; list.rs, draft.rs their tasks
//! partition.rs   one partition for the device
//! refresh.rs     what is due for a submission; versions.rs what deferred submissions must not see
//! strategy/      the ways to put its steps on queues
//! command.rs     an executable as a command
//! submit.rs      how graphs with host tasks are submitted
//! race.rs        the first replays run by several plans in turn
//! background.rs  interpreter programs that are built meanwhile
//! ```

pub(super) mod background;
pub(super) mod command;
pub(super) mod draft;
pub(super) mod executable;
pub(super) mod finalizer;
pub(super) mod list;
pub(super) mod options;
pub(super) mod partition;
pub(super) mod prepare;
pub(super) mod race;
pub(super) mod refresh;
pub(super) mod strategy;
pub(super) mod submit;
pub(super) mod survey;
pub(super) mod versions;
