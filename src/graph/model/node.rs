//! Nodes: handles of the commands in a graph.

use std::fmt;
use std::sync::Arc;

use super::describe::NodeType;
use super::state::GraphInner;
use crate::MakeError as _;
use crate::command::node_place;
use crate::dag::NodeId;
use crate::event::Recorded;
use crate::{Error, Event, Result};

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
#[derive(Clone, PartialEq, Eq, Hash)]
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

    /// The name that its command was given, with the labels around it: see
    /// [`Graph::label`](crate::Graph::label). An [update of the command](Self::update_command) keeps
    /// it.
    pub fn name(&self) -> Option<String> {
        self.graph.state().dag.payload(self.id)?.name.as_ref().map(|name| name.to_string())
    }

    /// The node in errors.
    pub(in crate::graph) fn place(&self) -> String {
        let state = self.graph.state();
        node_place(self.index(), state.dag.payload(self.id).and_then(|data| data.name.as_ref()))
    }

    /// The type of the node.
    pub fn node_type(&self) -> NodeType {
        self.graph.state().dag.payload(self.id).map_or(NodeType::Empty, |data| NodeType::of(&data.command))
    }

    /// The nodes that this one directly depends on, in the order in which the edges were made.
    pub fn predecessors(&self) -> Vec<Self> {
        let state = self.graph.state();
        self.graph.nodes_of(state.dag.predecessors(self.id).iter().copied())
    }

    /// The nodes that directly depend on this one, in the order in which the edges were made.
    pub fn successors(&self) -> Vec<Self> {
        let state = self.graph.state();
        self.graph.nodes_of(state.dag.successors(self.id).iter().copied())
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

impl GraphInner {
    pub(crate) fn nodes_of(self: &Arc<Self>, ids: impl IntoIterator<Item = NodeId>) -> Vec<Node> {
        ids.into_iter().map(|id| Node::new(Arc::clone(self), id)).collect()
    }

    /// The id of a node of this graph.
    pub(crate) fn own(&self, node: &Node) -> Result<NodeId> {
        if **node.graph() == *self {
            return Ok(node.id());
        }
        Err(self.at(Error::invalid(format!("node {} belongs to graph {}", node.index(), node.graph().id()))))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} of graph {}, {})", self.index(), self.graph.id(), self.node_type())
    }
}
