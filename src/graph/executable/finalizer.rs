//! From a modifiable graph to an executable one.
//!
//! ```text
//! Frozen --plan::flatten--> Flat: sub-graphs put in --plan::partition--> host tasks, and what lies between them for the device
//!        --tune, plan::planner--> a PartitionPlan for each device partition --exec::prepare--> a Sequence --exec::strategy--> how it is put on queues
//! ```

use super::awaited::of_another_graph;
use super::flows;
use super::handle::ExecutableGraph;
use crate::MakeError as _;
use crate::graph::exec::options::{Options, ReplayStrategy};
use crate::graph::model::graph::Graph;
use crate::graph::model::node::Node;
use crate::graph::plan::memory::Memory;
use crate::handles::Handles;
use crate::{Error, Result, trace};

/// Properties of an executable graph to be made (sections 7.5.3 and 7.5.4); from
/// [`Graph::finalizer`].
#[must_use = "an executable graph is made by `finalize`"]
#[derive(Debug)]
pub struct Finalizer<'a> {
    graph: &'a Graph,
    options: Options,
    /// The nodes whose events can be had.
    ends: Vec<Node>,
}

impl Finalizer<'_> {
    /// The executable can be updated.
    pub fn updatable(mut self) -> Self {
        self.options.updatable = true;
        self
    }

    /// Submissions to queues with profiling are measured:
    /// [`Event::profiling`](crate::Event::profiling) from the first node's start to the last node's
    /// end, [`ExecutableGraph::timeline`] node by node. It makes them slower.
    pub fn profiling(mut self) -> Self {
        self.options.profiling = true;
        self
    }

    /// Fills [memory of the graph](Graph::alloc) with a byte in front of its first use, in each replay.
    /// It is for tests: code that reads memory which nobody wrote finds this byte in the place of
    /// what an earlier replay left there.
    ///
    /// A byte of `0xff` makes floating-point numbers that are no number. Bodies of loops do the same
    /// in each iteration. Sub-graphs do what they were finalized with.
    pub fn poison(mut self, byte: u8) -> Self {
        self.options.poison = Some(byte);
        self
    }

    /// How the graph is put on queues, instead of the way that the library knows to be the fastest
    /// on the device.
    pub fn strategy(mut self, strategy: ReplayStrategy) -> Self {
        self.options.strategy = strategy;
        self
    }

    /// Waits in [`finalize`](Self::finalize) for the program of the
    /// [interpreter](ReplayStrategy::Interpreter).
    ///
    /// Building it takes seconds if the cache of programs does not have it. Without this function,
    /// a thread of the library builds it. Submissions launch nodes one by one until it is ready,
    /// with the same results. If the build fails, nodes stay launched, and
    /// [`ExecutableGraph::not_interpreted`] says why. With [`Auto`](ReplayStrategy::Auto), the build
    /// begins with the second submission, or with a second graph of the same kernels. Executables
    /// share it, and their drop does not wait for it. The exit of the process does.
    ///
    /// In contexts with
    /// [`graph_interpreter(Some(true))`](crate::context::ContextBuilder::graph_interpreter), `finalize`
    /// always waits.
    pub fn wait_for_interpreter(mut self) -> Self {
        self.options.wait_for_interpreter = true;
        self
    }

    /// Nodes whose events [`ExecutableGraph::event_of`] gives: `&node`, `&[&a, &b]`.
    ///
    /// The graph is cut behind each of them. So a submission is several commands for the driver, between
    /// two markers, as with a host task. Nodes that do not depend on a named
    /// one may run after it nevertheless. Without this function, nothing is cut.
    pub fn events_of<'n>(mut self, nodes: impl Handles<'n, Node>) -> Self {
        self.ends.extend(nodes.handles().cloned());
        self
    }

    /// Makes the executable graph.
    ///
    /// # Errors
    /// As [`Graph::finalize`]; also [`Invalid`](crate::ErrorKind::Invalid) for a node of another graph
    /// in [`events_of`](Self::events_of), and [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) for
    /// command buffers on a device that has none.
    pub fn finalize(self) -> Result<ExecutableGraph> {
        trace::finalize(self.graph.inner().id(), || {
            let inner = self.graph.inner();
            if let Some(node) = self.ends.iter().find(|node| node.graph() != inner) {
                return Err(inner.at(of_another_graph(node)));
            }
            let ends: Vec<u32> = self.ends.iter().map(|node| node.id().number()).collect();
            let frozen = inner.freeze()?;
            let graph = frozen.graph;
            let finalize = || {
                let executable = ExecutableGraph::new(frozen, self.options, Memory::default(), &ends)?;
                if self.options.wait_for_interpreter {
                    flows::plan(&executable)?;
                }
                Ok(executable)
            };
            finalize().map_err(|error: Error| error.at(format!("graph {graph}")))
        })
    }
}

impl Graph {
    /// An executable graph of what is in the graph now (`sycl_ext_oneapi_graph`, section 7.5.5,
    /// `finalize`). Later changes of the graph do not reach it; the graph can be changed and
    /// finalized again.
    ///
    /// Kernels were built when their nodes were added. Everything is checked here that can be, and
    /// prepared: submissions only put commands on a queue.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a cycle, and what a queue would refuse a command
    /// for, with the node.
    pub fn finalize(&self) -> Result<ExecutableGraph> {
        self.finalizer().finalize()
    }

    /// To make an executable graph with other properties.
    pub fn finalizer(&self) -> Finalizer<'_> {
        let wait_for_interpreter = self.context().graph_interpreter() == Some(true);
        let options = Options { wait_for_interpreter, ..Options::default() };
        Finalizer { graph: self, options, ends: Vec::new() }
    }
}
