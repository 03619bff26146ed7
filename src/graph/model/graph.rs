//! Graphs that are being built.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::builder::{NodeBuilder, NodeSource};
use super::describe::title;
use super::dynamics::Dynamics;
use super::hazards::Hazards;
use super::node::{Node, NodeData};
use super::structure::{EdgeRefusal, NodeId, Structure};
use super::tracks::Tracks;
use crate::Handles;
use crate::{Context, Device, Error, Queue, Result};

/// Commands and what they depend on, described once, to be run many times.
///
/// Nodes are added one by one ([`Graph::add`]) or recorded from queues
/// ([`Graph::begin_recording`]); both may be mixed. No OpenCL call is made for a node. The graph
/// stays usable after it was finalized; executables do not see what is added later.
///
/// A handle: clones are of the same graph, and equal. When the last one is dropped, queues stop
/// recording to it. A graph keeps alive what its commands use, such as memory and kernels. It may
/// be used by many threads at once.
///
/// ```no_run
/// # mod kernels { oclave::include_kernels!("tests"); }
/// # use kernels::saxpy::saxpy;
/// # fn main() -> oclave::Result<()> {
/// use oclave::{Command, Context, Device, Graph};
///
/// let context = Context::new(&Device::select()?)?;
/// let (x, y) = (context.alloc_device::<f32>(1024)?, context.alloc_device::<f32>(1024)?);
/// let graph = Graph::new(&context, context.device())?;
/// let a = graph.add(Command::fill(&x, 2.0))?;
/// let b = graph.add(Command::fill(&y, 1.0))?;
/// graph.after(&[&a, &b]).add(Command::parallel_for(1024, saxpy(10.0, &x, &y)))?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a graph does nothing until it is finalized and run"]
pub struct Graph(Arc<GraphInner>);

/// What all handles of a graph, its nodes, and the events of recorded commands share.
pub(crate) struct GraphInner {
    id: u64,
    context: Context,
    device: Device,
    options: Options,
    /// Handles of the graph itself. Nodes and events do not count.
    users: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct Options {
    check_cycles: bool,
    device_globals: bool,
}

/// What changes while a graph is built.
pub(crate) struct State {
    pub(crate) structure: Structure<NodeData>,
    pub(in crate::graph) hazards: Hazards,
    pub(in crate::graph) tracks: Tracks,
    pub(in crate::graph) dynamics: Dynamics,
}

impl Graph {
    /// An empty graph whose commands run on this device of the context.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the device is not of the context.
    pub fn new(context: &Context, device: &Device) -> Result<Self> {
        Self::builder(context, device).build()
    }

    /// An empty graph for the context and device of a queue. The queue's other properties do not
    /// matter.
    pub fn from_queue(queue: &Queue) -> Self {
        GraphBuilder::new(queue.context(), queue.device()).make()
    }

    /// An empty graph with other properties.
    pub fn builder(context: &Context, device: &Device) -> GraphBuilder {
        GraphBuilder::new(context, device)
    }

    pub(in crate::graph) fn of(inner: Arc<GraphInner>) -> Self {
        inner.users.fetch_add(1, Ordering::Relaxed);
        Self(inner)
    }

    pub(crate) fn inner(&self) -> &Arc<GraphInner> {
        &self.0
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The device that the commands run on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// A number that no other graph of the process has, or had.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.0.state().structure.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many edges there are. Two nodes have at most one.
    pub fn edge_count(&self) -> usize {
        self.0.state().structure.edges()
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> Vec<Node> {
        let state = self.0.state();
        self.0.nodes_of(state.structure.ids())
    }

    /// The nodes that depend on nothing, in the order in which they were added.
    pub fn roots(&self) -> Vec<Node> {
        let state = self.0.state();
        self.0.nodes_of(state.structure.roots())
    }

    /// Adds a command. It depends on the nodes of the events that it names
    /// ([`Command::after`](crate::Command::after)), and on those that use the same parts of its
    /// buffers.
    ///
    /// A [`DynamicCommandGroup`](crate::DynamicCommandGroup) is added like a command.
    ///
    /// Also while a queue records to the graph; the commands that are recorded do not wait for the
    /// node then, unless they share buffers. Host code that describes the command runs now and once
    /// only; what shall run each time is a host task.
    ///
    /// # Errors
    ///
    /// - [`Invalid`](crate::ErrorKind::Invalid) for barriers. Use an empty node after others.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for events of other graphs and memory of other
    ///   contexts.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for buffers that write back to the host on drop.
    /// - [`Invalid`](crate::ErrorKind::Invalid) for device globals without
    ///   [`allow_device_globals`](GraphBuilder::allow_device_globals).
    /// - What a queue refuses the command for.
    pub fn add(&self, command: impl NodeSource) -> Result<Node> {
        NodeBuilder::new(self).add(command)
    }

    /// For a node that depends on others: `graph.after(&a).add(command)`, `graph.after(&[&a,
    /// &b]).add(command)`.
    pub fn after<'a>(&self, nodes: impl Handles<'a, Node>) -> NodeBuilder<'_> {
        NodeBuilder::new(self).after(nodes)
    }

    /// For a node that depends on all nodes that nothing depends on yet.
    pub fn after_all_leaves(&self) -> NodeBuilder<'_> {
        NodeBuilder::new(self).after_all_leaves()
    }

    /// Lets `to` depend on `from`. An edge that is there already stays as it is.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for one node twice, for nodes of other graphs, and
    /// while a queue records to the graph. Also when the edge would close a cycle, which the
    /// message names, unless [`no_cycle_check`](GraphBuilder::no_cycle_check) was chosen. Nothing
    /// has changed then.
    pub fn make_edge(&self, from: &Node, to: &Node) -> Result<()> {
        let (start, end) = (self.0.own(from)?, self.0.own(to)?);
        let mut state = self.0.state();
        if state.tracks.any_recording() {
            return Err(self
                .0
                .at(Error::invalid("no edges can be made while a queue records to the graph"))
                .remedy(
                    "end the recording first, or let the recorded commands depend on each other's events",
                ));
        }
        let refused = match state.structure.make_edge(start, end) {
            Ok(_) => return Ok(()),
            Err(refused) => refused,
        };
        let message = match refused {
            EdgeRefusal::SameNode => format!("an edge from node {} to itself", from.index()),
            EdgeRefusal::Cycle(path) => format!(
                "an edge from node {} to node {} closes a cycle: {}",
                from.index(),
                to.index(),
                state.cycle(&path)
            ),
        };
        Err(self.0.at(Error::invalid(message)))
    }
}

impl GraphInner {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether commands may copy device globals.
    pub(crate) fn takes_device_globals(&self) -> bool {
        self.options.device_globals
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn nodes_of(self: &Arc<Self>, ids: impl IntoIterator<Item = NodeId>) -> Vec<Node> {
        ids.into_iter().map(|id| Node::new(Arc::clone(self), id)).collect()
    }

    /// The id of a node of this graph.
    pub(crate) fn own(&self, node: &Node) -> Result<NodeId> {
        if std::ptr::eq(Arc::as_ptr(node.graph()), self) {
            return Ok(node.id());
        }
        Err(self.at(Error::invalid(format!("node {} belongs to graph {}", node.index(), node.graph().id))))
    }

    /// The error with the graph as its place.
    pub(crate) fn at(&self, error: Error) -> Error {
        error.at(format!("graph {}", self.id))
    }
}

impl State {
    /// Nodes of a cycle, as messages show them: with what they do while there are few.
    pub(in crate::graph) fn cycle(&self, path: &[NodeId]) -> String {
        const SHOWN: usize = 12;
        let name = |id: &NodeId| match self.structure.payload(*id) {
            Some(data) => format!("{} ({})", id.index(), title(&data.command)),
            None => id.index().to_string(),
        };
        let mut text: Vec<String> = path.iter().take(SHOWN).map(name).collect();
        if path.len() > SHOWN {
            text.push(format!("… {} more", path.len() - SHOWN));
        }
        text.extend(path.first().map(|first| first.index().to_string()));
        text.join(" → ")
    }
}

impl Clone for Graph {
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.0))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Section 7.8.
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.end_all_recording();
        }
    }
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Graph {}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Debug for GraphInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} of {} nodes)", self.id, self.state().structure.len())
    }
}

/// Properties of a graph to be made (`sycl_ext_oneapi_graph`, section 7.5.3); from
/// [`Graph::builder`].
#[must_use = "a graph is made by `build`"]
#[derive(Debug, Clone)]
pub struct GraphBuilder {
    context: Context,
    device: Device,
    options: Options,
}

impl GraphBuilder {
    fn new(context: &Context, device: &Device) -> Self {
        let options = Options { check_cycles: true, device_globals: false };
        Self { context: context.clone(), device: device.clone(), options }
    }

    /// Edges are not checked for cycles. A graph with one cannot be finalized.
    pub fn no_cycle_check(mut self) -> Self {
        self.options.check_cycles = false;
        self
    }

    /// Accepted for programs that come from SYCL, and not needed: a graph keeps its buffers alive.
    pub fn assume_buffer_outlives_graph(self) -> Self {
        self
    }

    /// Copies from and to device globals may be nodes, beyond section 7.12.4 of
    /// `sycl_ext_oneapi_graph`. They copy what is there when the graph runs.
    pub fn allow_device_globals(mut self) -> Self {
        self.options.device_globals = true;
        self
    }

    /// Makes the graph.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the device is not of the context.
    pub fn build(self) -> Result<Graph> {
        if !self.context.devices().contains(&self.device) {
            let message = format!("device `{}` is not in the context", self.device.name());
            return Err(Error::invalid(message).at("new graph"));
        }
        Ok(self.make())
    }

    fn make(self) -> Graph {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let state = State {
            structure: Structure::new(self.options.check_cycles),
            hazards: Hazards::default(),
            tracks: Tracks::default(),
            dynamics: Dynamics::default(),
        };
        Graph::of(Arc::new(GraphInner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: self.context,
            device: self.device,
            options: self.options,
            users: AtomicUsize::new(0),
            state: Mutex::new(state),
        }))
    }
}
