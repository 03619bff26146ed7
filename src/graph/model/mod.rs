//! Graphs that are being built.
//!
//! ```text
//! graph.rs, node.rs   the handles of users; builder.rs adds nodes after others
//! state.rs            what the handles share
//! insert.rs           command → node: checks, edges from events, buffers (hazards.rs) and queues (tracks.rs)
//! record.rs           queues that give their commands to a graph
//! control.rs          loops and conditions, and their bodies
//! memory.rs           memory of graphs
//! dynamics.rs         what a graph knows of parameters and command groups
//! snapshot.rs         a graph as it is at one moment
//! describe.rs         what a node does: its type, and in words
//! ```

pub(super) mod builder;
pub(super) mod control;
pub(super) mod describe;
pub(super) mod dynamics;
pub(super) mod external;
#[allow(clippy::module_inception, reason = "the graph of the graphs")]
pub(super) mod graph;
pub(super) mod hazards;
pub(super) mod insert;
pub(super) mod memory;
pub(super) mod node;
pub(super) mod record;
pub(super) mod snapshot;
pub(super) mod state;
pub(super) mod tracks;
