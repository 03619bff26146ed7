//! Commands as a list of tasks could run them.

use std::borrow::Cow;
use std::sync::Arc;

use super::prepare::Prepared;
use super::{Argument, CommandKind, fill, launch, step};
use crate::driver::launch::WorkSize;
use crate::memory::Region;
use crate::program::ReadyKernel;
use crate::{KernelCall, Queue, Result};

/// What a command does, checked for the context and device of a queue.
pub(crate) enum Form<'a> {
    /// Nothing on any device.
    Nothing,
    Kernel(KernelForm<'a>),
    /// Bytes of one size, which do not overlap.
    Copy {
        from: Region,
        to: Region,
    },
    /// The pattern divides the region, and its size is a power of two that the region is aligned to.
    Fill {
        to: Region,
        pattern: Box<[u8]>,
    },
    /// What no list does, with the reason.
    Other(&'static str),
}

/// A kernel with arguments that fit it.
pub(crate) struct KernelForm<'a> {
    pub(crate) kernel: Arc<ReadyKernel>,
    pub(crate) size: WorkSize,
    pub(crate) call: &'a KernelCall,
}

impl CommandKind {
    /// Checks the command as [`Self::step`] does.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn form(&self, queue: &Queue) -> Result<Form<'_>> {
        Ok(match self {
            Self::Kernel { range, call } => {
                let (kernel, size) = launch::find(queue.context(), queue.device(), range, call)?;
                match size {
                    Some(size) => Form::Kernel(KernelForm { kernel, size, call }),
                    None => Form::Nothing,
                }
            }
            Self::Copy { .. } | Self::Fill { .. } | Self::Memset { .. } => {
                match self.clone().prepare(queue)? {
                    Prepared::Copy { from, .. } if from.size_bytes() == 0 => Form::Nothing,
                    Prepared::Copy { from, to } => Form::Copy { from, to },
                    Prepared::Fill { to, .. } if to.size_bytes() == 0 => Form::Nothing,
                    Prepared::Fill { to, pattern } if fill::is_simple(&to.span()?, pattern.bytes()) => {
                        Form::Fill { to, pattern: pattern.bytes().into() }
                    }
                    Prepared::Rows(_) => Form::Other("a box of memory"),
                    _ => Form::Other("a fill with a pattern that OpenCL does not know"),
                }
            }
            Self::Advise { .. } | Self::Marker | Self::Barrier | Self::Empty => Form::Nothing,
            Self::Write { .. } | Self::Read { .. } => Form::Other("a copy from or to memory of the host"),
            Self::Prefetch { .. } => Form::Other("a prefetch"),
            Self::HostTask(_) => Form::Other("a host task"),
            Self::Native(_) => Form::Other("raw commands"),
            Self::Graph(_) => Form::Other("a graph"),
        })
    }
}

impl<'a> KernelForm<'a> {
    /// The arguments, all places in them resolved.
    pub(crate) fn arguments(&self, queue: &Queue) -> Result<Cow<'a, [Argument]>> {
        if self.call.arguments().iter().all(step::is_plain) {
            return Ok(Cow::Borrowed(self.call.arguments()));
        }
        let mut arguments = self.call.arguments().to_vec();
        launch::resolve(&mut arguments, queue)
            .map_err(|error| launch::named(error, self.call.kernel_name()))?;
        Ok(Cow::Owned(arguments))
    }
}
