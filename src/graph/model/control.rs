//! Loops and conditions: nodes that run graphs, as often as a number or a value of the device says.

use std::fmt;
use std::sync::Arc;

use super::graph::Graph;
use super::state::GraphInner;
use crate::MakeError as _;
use crate::command::{
    Command, CommandKind, ControlBody, ControlFlow, ControlKind, ControlScalar, ControlValue, CopyFrom,
    Count, GraphCommand,
};
use crate::memory::buffer::Requirement;
use crate::memory::{Region, Reserved};
use crate::{Context, Device, Error, Queue, Result};

pub(in crate::graph) mod sealed {
    pub trait Sealed {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "of a sealed trait")]
        fn body(self) -> std::sync::Arc<dyn super::ControlBody>;
    }
}

/// The body of a loop or a condition: a [`Graph`], or an [`ExecutableGraph`](crate::graph::ExecutableGraph). `()` runs nothing.
///
/// The nodes and edges of a graph are those that it has when it becomes a body, and none may be
/// added later. Values, ranges and commands are those of the time when the graph around it is
/// finalized. An executable graph is copied as it is then, as a sub-graph is.
pub trait Body: sealed::Sealed {}
impl<B: sealed::Sealed> Body for B {}

/// A graph that is a body, with as many nodes and edges as it had when it became one.
pub(in crate::graph) struct GraphBody {
    pub(in crate::graph) graph: Arc<GraphInner>,
    nodes: usize,
    edges: usize,
    is_recording: bool,
}

/// Runs nothing.
#[derive(Debug)]
struct NoBody;

#[allow(private_interfaces, reason = "of a sealed trait")]
impl sealed::Sealed for &Graph {
    fn body(self) -> Arc<dyn ControlBody> {
        let graph = Arc::clone(self.inner());
        let state = graph.state();
        let (nodes, edges) = (state.dag.len(), state.dag.edges());
        let is_recording = state.tracks.any_recording();
        drop(state);
        Arc::new(GraphBody { graph, nodes, edges, is_recording })
    }
}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl sealed::Sealed for () {
    fn body(self) -> Arc<dyn ControlBody> {
        Arc::new(NoBody)
    }
}

impl GraphBody {
    pub(in crate::graph) fn check_unchanged(&self) -> Result<()> {
        let state = self.graph.state();
        if (state.dag.len(), state.dag.edges()) == (self.nodes, self.edges) {
            return Ok(());
        }
        drop(state);
        Err(self.graph.at(Error::invalid(
            "nodes or edges were added to the graph after it had become the body of a loop or a condition",
        )
        .remedy("finish the body before you give it to `repeat`, `while_`, `if_` or `switch`")))
    }
}

impl ControlBody for GraphBody {
    fn id(&self) -> u64 {
        self.graph.id()
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        let mut state = self.graph.state();
        state.follow_all();
        let commands = state.dag.ids().filter_map(|node| state.dag.payload(node));
        let commands: Vec<Arc<CommandKind>> = commands.map(|data| Arc::clone(&data.command)).collect();
        let of_groups = state.dynamics.requirements_of_groups();
        drop(state);
        commands.iter().flat_map(|command| command.requirements()).chain(of_groups).collect()
    }

    fn memory(&self) -> Vec<(Reserved, Region)> {
        let mut state = self.graph.state();
        state.follow_all();
        let commands = state.dag.ids().filter_map(|node| state.dag.payload(node));
        let commands: Vec<Arc<CommandKind>> = commands.map(|data| Arc::clone(&data.command)).collect();
        drop(state);
        commands.iter().flat_map(|command| command.all_graph_memory()).collect()
    }

    fn contains(&self, graph: u64) -> bool {
        if self.graph.id() == graph {
            return true;
        }
        let state = self.graph.state();
        let flows: Vec<ControlFlow> = state
            .dag
            .ids()
            .filter_map(|node| match &*state.dag.payload(node)?.command {
                CommandKind::Control(flow) => Some(ControlFlow::clone(flow)),
                _ => None,
            })
            .collect();
        drop(state);
        flows.iter().flat_map(|flow| &flow.bodies).any(|body| body.contains(graph))
    }

    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        if self.is_recording {
            return Err(self
                .graph
                .at(Error::invalid("a queue records to the graph that was given to a loop or a condition")
                    .remedy("end the recording first")));
        }
        if context == self.graph.context() && device == self.graph.device() {
            return Ok(());
        }
        Err(self
            .graph
            .at(Error::invalid("the body is of another context or device than the graph around it")
                .remedy("make both graphs for the same context and device")))
    }
}

impl ControlBody for NoBody {
    fn id(&self) -> u64 {
        u64::MAX
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        Vec::new()
    }

    fn memory(&self) -> Vec<(Reserved, Region)> {
        Vec::new()
    }

    fn contains(&self, _: u64) -> bool {
        false
    }

    fn check(&self, _: &Context, _: &Device) -> Result<()> {
        Ok(())
    }
}

impl fmt::Debug for GraphBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.graph, f)
    }
}

/// An executable graph of one node.
fn alone(command: ControlFlow, queue: &Queue) -> Result<Arc<dyn GraphCommand>> {
    let graph = Graph::builder(queue.context(), queue.device()).allow_device_globals().build()?;
    graph.add(Command::from_parts(CommandKind::Control(Box::new(command)), Vec::new()))?;
    let executable = graph.finalize()?;
    Ok(Arc::clone(executable.inner()) as Arc<dyn GraphCommand>)
}

impl Command {
    /// A loop that runs its body so many times, one after the other.
    ///
    /// The count is a number, or a [`DynamicParameter`](crate::graph::DynamicParameter) of the graph that
    /// the loop is in. It may also be an element of memory of the device, which is read when the loop begins.
    ///
    /// ```no_run
    /// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
    /// # use kernels::saxpy::saxpy;
    /// # fn main() -> oclave::Result<()> {
    /// use oclave::{Command, Context, Device, Graph, Queue};
    ///
    /// let queue = Queue::new(&Context::new(&Device::select()?)?)?;
    /// let x = queue.context().alloc_device::<f32>(1024)?;
    /// let y = queue.context().alloc_device::<f32>(1024)?;
    /// let body = Graph::from_queue(&queue);
    /// body.add(Command::parallel_for(1024, saxpy(2.0, &x, &y)))?;
    /// let graph = Graph::from_queue(&queue);
    /// let filled = graph.add(Command::fill(&y, 0.0))?;
    /// graph.after(&filled).add(Command::repeat(100, &body))?;
    /// queue.submit_graph(&graph.finalize()?)?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A body of another context or device is [`Invalid`](crate::ErrorKind::Invalid). So is the graph that the
    /// command is added to, a graph that contains it, and a graph that a queue records to.
    pub fn repeat(count: impl Count, body: impl Body) -> Self {
        Self::control(ControlKind::Repeat, count.value(), vec![body.body()], alone)
    }

    /// A loop that runs its body while a value is not zero. The value is looked at before each
    /// iteration.
    ///
    /// The value is one element of USM, of a buffer by an accessor, or of a device global. Of memory
    /// that is no buffer, let the loop depend on the nodes that write it before. More than one element
    /// is [`Invalid`](crate::ErrorKind::Invalid).
    ///
    /// A loop runs 2³² iterations at most; [`Command::max_iterations`] sets another limit.
    ///
    /// ```no_run
    /// # use oclave::{Command, Graph, Result, UsmSlice};
    /// # fn f(graph: &Graph, residual: &UsmSlice<f32>, step: &Graph) -> Result<()> {
    /// // The kernels of `step` set it to zero in the end.
    /// graph.add(Command::while_(&residual.slice(0..=0)?, step))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn while_<M: CopyFrom<Element: ControlScalar>>(condition: &M, body: impl Body) -> Self {
        Self::control(ControlKind::While, ControlValue::of(condition), vec![body.body()], alone)
    }

    /// A condition: one body runs if a value is not zero, else the other one. Either may be `()`,
    /// which does nothing. The value is as in [`Command::while_`].
    pub fn if_<M: CopyFrom<Element: ControlScalar>>(
        condition: &M,
        then: impl Body,
        otherwise: impl Body,
    ) -> Self {
        let bodies = vec![then.body(), otherwise.body()];
        Self::control(ControlKind::If, ControlValue::of(condition), bodies, alone)
    }

    /// A choice: a value of 0 runs the first body, 1 the second, and so on. Nothing runs for other
    /// values. There must be a body. The value is as in [`Command::while_`].
    pub fn switch<M: CopyFrom<Element: crate::command::ControlInteger>, B: Body>(
        value: &M,
        bodies: impl IntoIterator<Item = B>,
    ) -> Self {
        let bodies = bodies.into_iter().map(|body| body.body()).collect();
        Self::control(ControlKind::Switch, ControlValue::of(value), bodies, alone)
    }
}
