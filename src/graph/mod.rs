//! Command graphs: commands described once and run many times (sections 6 and 7 of `sycl_ext_oneapi_graph`).
//!
//! ```text
//! structure/               nodes, edges, an order that is kept while they grow; no OpenCL
//! graph.rs, node.rs        the handles of users; node_builder.rs adds nodes behind others
//! insert.rs                command → node: checks, edges from events, buffers (hazards.rs) and queues (tracks.rs)
//! update/                  parameters, command groups and ranges that change (section 7.5.2)
//! record.rs                queues that give their commands to a graph
//! frozen.rs                a graph as it was when it was finalized
//! finalize/                frozen graph → sub-graphs put in, partitions, prepared steps
//! executable.rs            what is put on queues; device_part.rs one partition of it; support.rs what a device does
//! replay/                  the ways to put a partition's steps on queues
//! interpreter/             runs of small nodes as one step: lists of tasks
//! part.rs                  a partition as a command: how graphs with host tasks are submitted; timeline.rs when nodes ran
//! describe.rs, dot.rs      drawings
//! ```

mod describe;
mod device_part;
mod dot;
mod executable;
mod finalize;
mod frozen;
#[allow(clippy::module_inception, reason = "the graph of the graphs")]
mod graph;
mod handles;
mod hazards;
mod insert;
mod interpreter;
mod node;
mod node_builder;
mod part;
mod record;
mod replay;
mod structure;
mod support;
mod timeline;
mod tracks;
mod update;

pub use dot::Detail;
pub use executable::{ExecutableGraph, PartitionInfo};
pub use finalize::Finalizer;
pub use graph::{Graph, GraphBuilder};
pub use handles::Handles;
pub(crate) use interpreter::switch_of_environment as interpreter_switch;
pub use interpreter::{NotInterpreted, SegmentInfo};
pub use node::{Node, NodeType};
pub use node_builder::NodeBuilder;
pub(crate) use part::GraphPart;
pub use record::{QueueState, RecordingGuard};
pub use replay::ReplayStrategy;
pub use support::GraphSupport;
pub use timeline::{NodeTimes, Timeline};
pub use update::{DynamicCommandGroup, DynamicParameter, DynamicParameters, DynamicValue, NodeSource};
