//! The features of a device that graphs use.

use crate::Device;
use crate::graph::exec::options::{ReplayStrategy, interpreter_of_environment};

/// How graphs are run on a device (`sycl_ext_oneapi_graph`, section 7.3, aspects `ext_oneapi_graph`
/// and `ext_oneapi_limited_graph`), by contexts for which
/// [`graph_interpreter`](crate::context::ContextBuilder::graph_interpreter) says what the environment says.
/// All devices run all graphs, with the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphSupport {
    /// The way that is taken unless another is asked for. Unless the interpreter is switched on,
    /// this strategy runs all nodes that its task lists do not run. The library decides for each
    /// graph which nodes are in lists.
    pub strategy: ReplayStrategy,
    /// Whether [`ReplayStrategy::CommandBuffer`] can be asked for.
    pub command_buffers: bool,
    /// Whether runs of small nodes can be replayed by [`ReplayStrategy::Interpreter`]: kernels can
    /// address memory by pointers, and it is not switched off. Which nodes of a graph are, and why
    /// others are not, tell [`ExecutableGraph::segments`](crate::graph::ExecutableGraph::segments) and
    /// [`ExecutableGraph::not_interpreted`](crate::graph::ExecutableGraph::not_interpreted).
    pub interpreter: bool,
    /// Whether the driver changes recorded commands in place. Elsewhere an update prepares or
    /// records them again.
    pub updates_in_place: bool,
}

impl GraphSupport {
    pub(crate) fn of(device: &Device) -> Self {
        let capabilities = device.capabilities();
        let switch = interpreter_of_environment();
        let interpreter = capabilities.memory().is_some() && switch != Some(false);
        Self {
            strategy: match interpreter && switch == Some(true) {
                true => ReplayStrategy::Interpreter,
                false => ReplayStrategy::Auto.on(device),
            },
            interpreter,
            command_buffers: capabilities.command_buffer.is_some(),
            updates_in_place: capabilities
                .mutable_dispatch
                .is_some_and(|mutable| mutable.arguments && mutable.updates_as_array()),
        }
    }
}

impl crate::Graph {
    /// How graphs are run on a device (`sycl_ext_oneapi_graph`, section 7.3).
    pub fn support(device: &Device) -> GraphSupport {
        GraphSupport::of(device)
    }
}
