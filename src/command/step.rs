//! Commands as steps of a sequence: prepared once, put on queues again and again.

use super::{Argument, CommandKind, Place, fill, launch};
use crate::driver::sequence::Step;
use crate::{Queue, Result};

impl CommandKind {
    /// Checks the command, and finds what it needs, for the context and device of a queue, as [`Self::prepare`] does; with a
    /// kernel object of its own, the arguments of which stay set.
    ///
    /// # Errors
    /// As when the command is put on a queue. Host tasks and graphs are no steps.
    pub(crate) fn step(&self, queue: &Queue) -> Result<Step> {
        match self {
            Self::Kernel { range, call } if call.arguments().iter().all(is_plain) => {
                let (kernel, size) = launch::find(queue.context(), queue.device(), range, call)?;
                let step = match &size {
                    Some(size) => kernel.another().and_then(|object| {
                        Step::kernel(
                            object,
                            call.arguments().iter().map(|a| launch::argument(a, false)),
                            size,
                        )
                    }),
                    None => Ok(Step::join()),
                };
                step.map_err(|error| launch::named(error, call.kernel_name()))
            }
            kind => kind.clone().prepare(queue)?.into_step(),
        }
    }
}

/// Whether the place of an argument needs not be looked up.
pub(super) fn is_plain(argument: &Argument) -> bool {
    match argument {
        Argument::Value(_) | Argument::Local { .. } => true,
        Argument::Pointer(pointer) => matches!(pointer.place(), Place::Null | Place::Usm(_)),
    }
}

impl super::prepare::Prepared {
    fn into_step(self) -> Result<Step> {
        match self {
            Self::Kernel(kernel) => match &kernel.size {
                Some(size) => {
                    let arguments = kernel.arguments.iter().map(|argument| launch::argument(argument, false));
                    Step::kernel(kernel.kernel.another()?, arguments, size)
                        .map_err(|error| launch::named(error, &kernel.kernel.signature().name))
                }
                None => Ok(Step::join()),
            },
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
