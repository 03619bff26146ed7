//! Events from outside, as nodes of a graph.

use std::fmt;
use std::sync::Arc;

use super::graph::Graph;
use super::node::Node;
use super::state::{GraphInner, NodeData, State};
use crate::Event;
use crate::command::{CommandKind, Name, Outside};
use crate::dag::NodeId;
use crate::event::Recorded;

/// An event from outside of a [`Graph`], for which each submission may give another one. From
/// [`Graph::external_event`] and [`Graph::external_events`].
///
/// A handle: clones are of the same node.
///
/// ```no_run
/// # use oclave::{Command, Event, Graph, Queue, Result, UsmSlice};
/// # fn f(queue: &Queue, io: &Queue, frame: &UsmSlice<f32>, sum: &UsmSlice<f32>) -> Result<()> {
/// let graph = Graph::from_queue(queue);
/// let arrived = graph.external_event();
/// graph.add(Command::copy(frame, sum).after(arrived.event()))?;
/// let executable = graph.finalize()?;
/// for value in 0..10 {
///     let event = io.fill(frame, value as f32)?;
///     queue.submit_graph(executable.with(&arrived, &event))?; // the copy waits for the fill
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ExternalEvent {
    node: Node,
    event: Event,
    outside: Outside,
}

impl ExternalEvent {
    /// The event that commands of the graph wait for: [`Command::after`](crate::Command::after), and
    /// [`Queue::after`](crate::Queue::after) of queues that record to the graph.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The node, for [`Graph::after`].
    pub fn node(&self) -> &Node {
        &self.node
    }

    pub(in crate::graph) fn outside(&self) -> &Outside {
        &self.outside
    }

    fn of(graph: &Arc<GraphInner>, id: NodeId, outside: Outside) -> Self {
        let event = Event::of_node(Recorded::new(graph.weak_recorder(), id.number()));
        Self { node: Node::new(Arc::clone(graph), id), event, outside }
    }
}

impl Graph {
    /// A node that is complete when an event from outside is, which each submission gives:
    /// [`ExecutableGraph::with`](crate::graph::ExecutableGraph::with). A submission that gives none is an
    /// error, unless nothing in the graph waits for the node.
    ///
    /// Nodes that wait for it are in another partition than those that do not, as with a host task.
    /// An external event that nothing waits for costs nothing.
    pub fn external_event(&self) -> ExternalEvent {
        let inner = self.inner();
        let name = inner.name_of(None, None);
        let (id, outside) = inner.state().add_external(None, name);
        ExternalEvent::of(inner, id, outside)
    }

    /// The nodes for events from outside, in the order in which they were added: those of
    /// [`external_event`](Self::external_event), and one for each event from outside that a command
    /// waits for.
    pub fn external_events(&self) -> Vec<ExternalEvent> {
        let inner = self.inner();
        let state = inner.state();
        let external = |node: &NodeId| match &*state.dag.payload(*node)?.command {
            CommandKind::External(outside) => Some(ExternalEvent::of(inner, *node, outside.clone())),
            _ => None,
        };
        state.externals.iter().filter_map(external).collect()
    }
}

impl State {
    /// The node of an event that no recorded command has. A new one gets a name.
    pub(super) fn external_node(&mut self, event: &Event, name: impl FnOnce() -> Option<Name>) -> NodeId {
        let is_its = |node: &&NodeId| match self.dag.payload(**node).map(|data| &*data.command) {
            Some(CommandKind::External(outside)) => {
                outside.recorded().is_some_and(|other| other.is_same(event))
            }
            _ => false,
        };
        let known = self.externals.iter().find(is_its).copied();
        known.unwrap_or_else(|| self.add_external(Some(event.clone()), name()).0)
    }

    fn add_external(&mut self, recorded: Option<Event>, name: Option<Name>) -> (NodeId, Outside) {
        let outside = Outside::new(recorded);
        let command = Arc::new(CommandKind::External(outside.clone()));
        let id = self.link(NodeData { command, track: None, group: None, name }, &[], &[]);
        self.externals.push(id);
        (id, outside)
    }
}

impl fmt::Debug for ExternalEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExternalEvent").field(&self.node).finish()
    }
}
