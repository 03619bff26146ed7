//! Nodes: handles of the commands in a graph.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::dynamics::GroupId;
use super::graph::GraphInner;
use super::structure::NodeId;
use super::tracks::TrackId;
use crate::command::CommandKind;
use crate::event::Recorded;
use crate::{Error, Event, Result};

/// What a node does (`sycl_ext_oneapi_graph`, section 7.4, `node_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeType {
    /// Nothing; it joins other nodes.
    Empty,
    /// Another graph.
    Subgraph,
    /// A kernel.
    Kernel,
    /// A copy, also from and to host memory.
    Memcpy,
    /// Sets bytes.
    Memset,
    /// Sets elements.
    Memfill,
    /// Moves memory ahead of its use.
    Prefetch,
    /// Tells how memory will be used.
    MemAdvise,
    /// A barrier that was recorded.
    Barrier,
    /// Code on the host.
    HostTask,
    /// Raw commands of OpenCL.
    NativeCommand,
}

impl NodeType {
    /// The name that SYCL gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Subgraph => "subgraph",
            Self::Kernel => "kernel",
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Memfill => "memfill",
            Self::Prefetch => "prefetch",
            Self::MemAdvise => "memadvise",
            Self::Barrier => "ext_oneapi_barrier",
            Self::HostTask => "host_task",
            Self::NativeCommand => "native_command",
        }
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A command in a [`Graph`](crate::Graph).
///
/// A handle: clones are of the same node, and equal. It keeps what the graph holds alive, but does
/// not keep queues recording to it.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// use oclave::{Command, Context, Device, Graph};
///
/// let context = Context::new(&Device::select()?)?;
/// let x = context.alloc_device::<f32>(1024)?;
/// let graph = Graph::new(&context, context.device())?;
/// let fill = graph.add(Command::fill(&x, 2.0))?;
/// let next = graph.after(&fill).add(Command::empty())?;
/// assert_eq!(next.predecessors(), [fill]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Node {
    graph: Arc<GraphInner>,
    id: NodeId,
}

impl Node {
    pub(crate) fn new(graph: Arc<GraphInner>, id: NodeId) -> Self {
        Self { graph, id }
    }

    pub(crate) fn graph(&self) -> &Arc<GraphInner> {
        &self.graph
    }

    pub(crate) fn id(&self) -> NodeId {
        self.id
    }

    /// The number of the node in its graph: they count from 0 in the order in which they were
    /// added.
    pub fn index(&self) -> usize {
        self.id.index()
    }

    /// What the node does.
    pub fn node_type(&self) -> NodeType {
        self.graph
            .state()
            .structure
            .payload(self.id)
            .map_or(NodeType::Empty, |data| NodeType::of(&data.command))
    }

    /// The nodes that this one directly depends on, in the order in which the edges were made.
    pub fn predecessors(&self) -> Vec<Self> {
        let state = self.graph.state();
        self.graph.nodes_of(state.structure.predecessors(self.id).iter().copied())
    }

    /// The nodes that directly depend on this one, in the order in which the edges were made.
    pub fn successors(&self) -> Vec<Self> {
        let state = self.graph.state();
        self.graph.nodes_of(state.structure.successors(self.id).iter().copied())
    }

    /// The node that was made for a command when it was recorded.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the event's command was not recorded.
    pub fn from_event(event: &Event) -> Result<Self> {
        let of_graph = |recorded: &Recorded| {
            let graph = recorded.owner()?.any().downcast::<GraphInner>().ok()?;
            Some(Self::new(graph, NodeId::new(recorded.node())))
        };
        event.recorded().and_then(of_graph).ok_or_else(|| {
            Error::invalid("the event belongs to no graph node").remedy(
                "only commands put on a queue that records to a graph have a node, while the graph lives",
            )
        })
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.graph, &other.graph)
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.graph.id(), self.id).hash(state);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} of graph {}, {})", self.index(), self.graph.id(), self.node_type())
    }
}

/// What a graph keeps of a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeData {
    /// Shared with frozen graphs: an update puts another one in its place, or changes a copy.
    pub(crate) command: Arc<CommandKind>,
    /// The queue that it was recorded from.
    pub(crate) track: Option<TrackId>,
    /// The dynamic command group that its command comes from.
    pub(crate) group: Option<GroupId>,
}
