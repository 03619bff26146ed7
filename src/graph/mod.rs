//! Command graphs: commands described once and run many times (sections 6 and 7 of
//! `sycl_ext_oneapi_graph`).
//!
//! ```text
//! model/       graphs that are being built: nodes, edges, recording; snapshots of them
//! plan/        snapshot → flat graph, partitions, and plans: which nodes of a partition run together
//! exec/        plan → prepared steps, and how they are put on queues
//! tune/        which plan a partition runs by
//! executable/  executable graphs: one value that changes, behind one lock; finalizing, submission
//! update/      parameters, command groups and ranges that change (section 7.5.2 of sycl_ext_oneapi_graph)
//! inspect/     drawings, timelines, what runs where
//! ```
//! Each uses only those above it in this list; `update` and `inspect` do not know each other.

mod exec;
mod executable;
mod inspect;
mod model;
mod plan;
mod tune;
mod update;

pub use exec::options::ReplayStrategy;
pub(crate) use exec::options::interpreter_of_environment;
pub use executable::bound::{BoundGraph, GraphSource, OutsideSource};
pub use executable::finalizer::Finalizer;
pub use executable::handle::ExecutableGraph;
pub use executable::loops::{LoopSpan, LoopTimes};
pub use inspect::dot::Detail;
pub(crate) use inspect::measured::measured;
pub use inspect::memory::{GraphAllocation, GraphMemory};
pub use inspect::partitions::PartitionInfo;
pub use inspect::segments::{NotInterpreted, SegmentInfo};
pub use inspect::support::GraphSupport;
pub use inspect::timeline::{NodeTimes, Timeline};
pub use model::builder::{NodeBuilder, NodeSource};
pub use model::control::Body;
pub use model::describe::NodeType;
pub(crate) use model::describe::title;
pub use model::external::ExternalEvent;
pub use model::graph::{Graph, GraphBuilder};
pub use model::memory::Arena;
pub use model::node::Node;
pub use model::record::{QueueState, RecordingGuard};
pub use model::state::Waits;
pub use update::group::DynamicCommandGroup;
pub use update::parameter::{DynamicParameter, DynamicParameters, DynamicValue};
