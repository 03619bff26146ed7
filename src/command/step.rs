//! Commands as steps of a sequence: prepared once, put on queues again and again.

use super::prepare::{Prepared, PreparedKernel};
use super::{Argument, CommandKind, Place, fill, launch};
use crate::driver::launch::WorkSize;
use crate::driver::step::Step;
use crate::program::ReadyKernel;
use crate::{Queue, Result};

impl CommandKind {
    /// Checks the command, and finds what it needs, for the context and device of a queue, as
    /// [`Self::prepare`] does.
    ///
    /// # Errors
    /// As when the command is put on a queue. Host tasks and graphs are no steps.
    pub(crate) fn step(&self, queue: &Queue) -> Result<Step> {
        match self {
            Self::Kernel { range, call } if call.arguments().iter().all(is_plain) => {
                let (kernel, size) = launch::find(queue.context(), queue.device(), range, call)?;
                Ok(launch_of(&kernel, call.arguments(), size))
            }
            kind => kind.clone().prepare(queue)?.into_step(),
        }
    }
}

/// A launch; a join where nothing runs.
fn launch_of(kernel: &ReadyKernel, arguments: &[Argument], size: Option<WorkSize>) -> Step {
    let arguments = arguments.iter().map(|argument| launch::argument(argument, false));
    size.map_or_else(Step::join, |size| Step::kernel(kernel.shared(), arguments, &size))
}

/// Whether an argument can be passed to the driver as it is, and changed in prepared commands.
pub(super) fn is_plain(argument: &Argument) -> bool {
    match argument {
        Argument::Value(_) | Argument::Local { .. } | Argument::Sampler(_) => true,
        // It has a place in the order.
        Argument::Image(_) => false,
        Argument::Pointer(pointer) => matches!(pointer.place(), Place::Null | Place::Usm(_)),
    }
}

impl Prepared {
    fn into_step(self) -> Result<Step> {
        match self {
            Self::Kernel(PreparedKernel { kernel, arguments, size }) => {
                Ok(launch_of(&kernel, &arguments, size))
            }
            Self::Copy { from, to } => Step::copy(from.span()?, to.span()?),
            Self::Fill { to, pattern } if fill::is_simple(&to.span()?, pattern.bytes()) => {
                Step::fill(to.span()?, pattern.bytes())
            }
            // Without effect on any device.
            Self::Advise(_) | Self::Marker | Self::Barrier | Self::Empty => Ok(Step::join()),
            other => {
                let memory = other.allocations().into_iter().cloned().collect();
                Ok(Step::other(memory, Box::new(move |queue, after, held| other.execute(queue, after, held))))
            }
        }
    }
}
