//! Options of executable graphs.

use crate::Device;
use oclave_faults::Fault;

/// Options of an executable graph.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    pub(crate) updatable: bool,
    pub(crate) profiling: bool,
    pub(crate) strategy: ReplayStrategy,
    pub(crate) wait_for_interpreter: bool,
    /// The byte that memory of the graph is filled with before its first use.
    pub(crate) poison: Option<u8>,
}

/// How the device's part of a graph is put on queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReplayStrategy {
    /// The fastest that is known for the device and the nodes. From 32 small kernels on, these are
    /// interpreted, as with [`Interpreter`](Self::Interpreter); from two on once 4096 of them were
    /// launched. Other nodes are launched. A thread of the library builds the interpreter's program
    /// meanwhile, unless [`wait_for_interpreter`](crate::graph::Finalizer::wait_for_interpreter) has
    /// `finalize` wait for it. Where it is uncertain what is faster, the first replays run by
    /// several plans in turn, and the fastest stays.
    #[default]
    Auto,
    /// Command by command, all of them prepared: arguments are set, nothing is looked up, and only
    /// where the order asks for it there are events.
    Enqueue,
    /// Recorded in command buffers of the driver (`cl_khr_command_buffer`). What they cannot hold,
    /// such as copies from and to the host, is enqueued between them. Drivers seen so far do not
    /// tell that a command buffer has begun: [`Event::status`](crate::Event::status) goes from
    /// submitted to complete.
    CommandBuffer,
    /// Small kernels, copies and fills in a row become one launch. A kernel of the library walks a
    /// list of them, at tens of nanoseconds each. Everything else is as with `Auto`. Kernels that
    /// cannot be run like that are launched as ever
    /// ([`ExecutableGraph::not_interpreted`](crate::graph::ExecutableGraph::not_interpreted) tells why).
    Interpreter,
}

impl ReplayStrategy {
    /// The strategy that it means on a device.
    pub(crate) fn on(self, device: &Device) -> Self {
        let has_buffers = device.capabilities().command_buffer.is_some();
        match self {
            Self::Auto | Self::Interpreter if has_buffers && !device.driver_faults().has(Fault::Q5) => {
                // Q5
                Self::CommandBuffer
            }
            Self::Auto | Self::Interpreter => Self::Enqueue,
            chosen => chosen,
        }
    }
}

/// What the environment says of
/// [`ContextBuilder::graph_interpreter`](crate::context::ContextBuilder::graph_interpreter).
pub(crate) fn interpreter_of_environment() -> Option<bool> {
    crate::environment::switch("OCLAVE_GRAPH_INTERPRETER")
}
