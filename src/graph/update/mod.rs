//! Changes of a graph after its nodes were added (`sycl_ext_oneapi_graph`, section 7.5.2).
//!
//! ```text
//! parameter.rs   DynamicParameter: values that arguments of any number of nodes follow
//! group.rs       DynamicCommandGroup: commands, of which one is active, for any number of nodes
//! node.rs        Node::update_range, update_nd_range, update_command
//! commit.rs      ExecutableGraph::update: from nodes to what was prepared
//! compare.rs     whether two graphs differ in more than parameters and ranges
//! ```
//! A change is seen in the graph at once, and in what was finalized from it when the executable is
//! told.

mod commit;
mod compare;
pub(super) mod group;
mod node;
pub(super) mod parameter;
