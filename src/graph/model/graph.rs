//! Graphs that are being built.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::node::Node;
use super::state::{GraphInner, Options, Waits};
use crate::MakeError as _;
use crate::command::{Labelled, labelled};
use crate::dag::EdgeRefusal;
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
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
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
#[derive(PartialEq, Eq, Hash)]
#[must_use = "a graph does nothing until it is finalized and run"]
pub struct Graph(Arc<GraphInner>);

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
        self.0.context()
    }

    /// The device that the commands run on.
    pub fn device(&self) -> &Device {
        self.0.device()
    }

    /// A number that no other graph of the process has, or had.
    pub fn id(&self) -> u64 {
        self.0.id()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.0.state().dag.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many edges there are. Two nodes have at most one.
    pub fn edge_count(&self) -> usize {
        self.0.state().dag.edges()
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> Vec<Node> {
        let state = self.0.state();
        self.0.nodes_of(state.dag.ids())
    }

    /// The nodes that depend on nothing, in the order in which they were added.
    pub fn roots(&self) -> Vec<Node> {
        let state = self.0.state();
        self.0.nodes_of(state.dag.roots())
    }

    /// Runs a closure, during which the nodes that this thread adds to the graph have a label:
    /// those of [`add`](Self::add), and those that are recorded. Labels nest, also with those of
    /// [`Queue::label`]; [`Command::named`](crate::Command::named) names one node.
    ///
    /// Drawings, timelines, traces and errors show the labels in front of the name: `solve/residual`.
    /// The names of nodes in a sub-graph have that of the sub-graph in front. Names cost nothing
    /// when the graph runs.
    ///
    /// ```no_run
    /// # use oclave::graph::Detail;
    /// # use oclave::{Command, Graph, Result, UsmSlice};
    /// # fn f(graph: &Graph, x: &UsmSlice<f32>, y: &UsmSlice<f32>) -> Result<()> {
    /// graph.label("solve", || {
    ///     graph.label("begin", || graph.add(Command::fill(x, 0.0)))?; // solve/begin
    ///     graph.after_all_leaves().add(Command::copy(x, y).named("copy")) // solve/copy
    /// })?;
    /// assert!(graph.to_dot(Detail::Brief).contains("solve/copy: memcpy"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn label<R>(&self, label: impl Into<Arc<str>>, run: impl FnOnce() -> R) -> R {
        labelled(Labelled::Graph(self.id()), label.into(), run)
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
        let refused = match state.dag.make_edge(start, end) {
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

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
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
        let options = Options { check_cycles: true, device_globals: false, waits: Waits::Refused };
        Self { context: context.clone(), device: device.clone(), options }
    }

    /// Edges are not checked for cycles. A graph with one cannot be finalized.
    pub fn no_cycle_check(mut self) -> Self {
        self.options.check_cycles = false;
        self
    }

    /// Copies from and to device globals may be nodes, beyond section 7.12.4 of
    /// `sycl_ext_oneapi_graph`. They copy what is there when the graph runs.
    pub fn allow_device_globals(mut self) -> Self {
        self.options.device_globals = true;
        self
    }

    /// Chooses the meaning of [`Queue::wait`] and [`Event::wait`](crate::Event::wait) while queues record to the graph.
    /// By default, they are errors, as nothing runs that they could wait for.
    ///
    /// As barriers, they return at once. All that is recorded later, on every queue that records to the
    /// graph, runs after what they would have waited for. `event.await` does the same.
    ///
    /// This is right for code that waits to put commands in an order, to reuse memory, or to end a
    /// phase. It is wrong for code whose host part looks at results after the wait, or measures time:
    /// the results are not there yet. Such code fails where it
    /// reads through the library ([`Queue::read`], guards of USM, host accessors), which stays an
    /// error. Reads through raw pointers do not fail.
    ///
    /// ```no_run
    /// # use oclave::graph::Waits;
    /// # use oclave::{Context, Graph, Queue, Result};
    /// # fn library_that_waits(_: &Queue) -> Result<()> { Ok(()) }
    /// # fn f(context: &Context, queue: &Queue) -> Result<()> {
    /// let graph = Graph::builder(context, queue.device()).waits(Waits::AsBarriers).build()?;
    /// let recording = graph.record(queue)?;
    /// library_that_waits(queue)?;
    /// recording.end();
    /// # Ok(())
    /// # }
    /// ```
    pub fn waits(mut self, waits: Waits) -> Self {
        self.options.waits = waits;
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
        Graph::of(Arc::new(GraphInner::new(self.context, self.device, self.options)))
    }
}
