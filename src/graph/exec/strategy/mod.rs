//! Ways to run a partition again and again. All have the same results.

mod command_buffer;
mod enqueue;

use std::fmt::Debug;
use std::sync::Arc;

use super::finalizer::Options;
use crate::driver::event::Event;
use crate::driver::mutable::Patches;
use crate::driver::queue::Queue;
use crate::driver::quirk::Quirks;
use crate::driver::run::Mode;
use crate::driver::sequence::Sequence;
use crate::{Context, Device, Result};

/// How the device's part of a graph is put on queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReplayStrategy {
    /// The fastest that is known for the device and the nodes. From 32 small kernels on, these are
    /// interpreted, as with [`Interpreter`](Self::Interpreter); from two on once 4096 of them were
    /// launched. Other nodes are launched. A thread of the library builds the interpreter's program
    /// meanwhile, unless [`wait_for_interpreter`](crate::Finalizer::wait_for_interpreter) has
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
    /// ([`ExecutableGraph::not_interpreted`](crate::ExecutableGraph::not_interpreted) tells why).
    Interpreter,
}

impl ReplayStrategy {
    /// What it comes down to on a device.
    pub(crate) fn on(self, device: &Device) -> Self {
        let has_buffers = device.capabilities().command_buffer.is_some();
        match self {
            Self::Auto | Self::Interpreter if has_buffers && !Quirks::of(device).slow_command_buffers => {
                // Q5
                Self::CommandBuffer
            }
            Self::Auto | Self::Interpreter => Self::Enqueue,
            chosen => chosen,
        }
    }
}

/// One way to run a sequence again and again. Calls come one at a time.
pub(crate) trait Replay: Debug + Send {
    /// Puts the sequence on a queue of its context and device. When it is measured, the event tells
    /// the times: for each step, or from begin to end.
    fn replay(
        &mut self,
        sequence: &Sequence,
        queue: &Arc<Queue>,
        after: &[&Event],
        mode: Mode,
    ) -> Result<Event>;

    /// Steps of the sequence were replaced.
    fn changed(&mut self, steps: &[usize]);

    /// Kernels of the sequence have got other arguments or sizes.
    fn patch(&mut self, sequence: &Sequence, patches: &mut Patches);

    /// Which one it is.
    fn strategy(&self) -> ReplayStrategy;

    /// Handles of the driver's command buffers, made if need be.
    fn native(&mut self, _sequence: &Sequence, _queue: &Arc<Queue>) -> Result<Vec<*mut std::ffi::c_void>> {
        Ok(Vec::new())
    }
}

/// The way for a sequence on a device.
pub(crate) fn choose(context: &Context, device: &Device, options: Options) -> Box<dyn Replay> {
    match options.strategy.on(device) {
        ReplayStrategy::CommandBuffer => {
            Box::new(command_buffer::CommandBuffers::new(context, device, options))
        }
        _ => Box::new(enqueue::Enqueue),
    }
}
