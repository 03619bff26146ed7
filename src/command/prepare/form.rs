//! Commands as a list of tasks could run them.

use std::borrow::Cow;
use std::sync::Arc;

use oclave_image::passes::interpreter::ByteBox;

use super::byte_box::{box_of, box_of_copy};
use super::prepared::PreparedCommand;
use super::{fill, launch, resolve, slices};
use crate::command::describe::argument::{Argument, Value};
use crate::command::describe::call::KernelCall;
use crate::command::describe::command::CommandKind;
use crate::command::describe::compare::is_plain;
use crate::driver::launch::WorkSize;
use crate::memory::{Block, Region};
use crate::program::ReadyKernel;
use crate::{Queue, Result};

/// The work of a command, checked for the context and device of a queue.
pub(crate) enum Form<'a> {
    /// Nothing on any device.
    Nothing,
    Kernel(KernelForm<'a>),
    /// Bytes that do not overlap; both boxes begin with their regions.
    Copy {
        from: Region,
        to: Region,
        size: ByteBox,
    },
    /// The pattern divides the rows, and its size is a power of two that all of them are aligned
    /// to.
    Fill {
        to: Region,
        size: ByteBox,
        pattern: Box<[u8]>,
    },
    /// A command that no list runs, with the reason.
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
                    Some(size) => Form::Kernel(KernelForm { kernel: kernel.into_owned(), size, call }),
                    None => Form::Nothing,
                }
            }
            Self::Copy { .. } | Self::Fill { .. } | Self::Memset { .. } => {
                match self.clone().look_up(queue)? {
                    PreparedCommand::Copy { to, .. } if to.rows.size_bytes() == 0 => Form::Nothing,
                    PreparedCommand::Copy { from, to } => match box_of_copy(&from, &to) {
                        Some(size) => Form::Copy { from: from.region, to: to.region, size },
                        None => Form::Other("a copy between boxes with rows of other lengths"),
                    },
                    PreparedCommand::Fill { to, .. } if to.rows.size_bytes() == 0 => Form::Nothing,
                    PreparedCommand::Fill { to, pattern } => fill_of(to, &pattern)?,
                    PreparedCommand::Image(_) => Form::Other("a copy or a fill of an image"),
                    _ => Form::Other("no copy and no fill"),
                }
            }
            Self::Advise { .. } | Self::External(_) | Self::Marker | Self::Barrier | Self::Empty => {
                Form::Nothing
            }
            Self::Write { .. } | Self::Read { .. } => Form::Other("a copy from or to memory of the host"),
            Self::Prefetch { .. } => Form::Other("a prefetch"),
            Self::HostTask(_) => Form::Other("a host task"),
            Self::Native(_) => Form::Other("raw commands"),
            Self::Graph(_) => Form::Other("a graph"),
            Self::Control(_) => Form::Other("a loop or a condition"),
        })
    }
}

/// A fill as the interpreter does it.
fn fill_of(to: Block, pattern: &Value) -> Result<Form<'static>> {
    let pattern = pattern.bytes();
    let is_simple = fill::is_simple(&to.region.span()?, pattern);
    if to.rows.is_one() {
        let size = ByteBox::contiguous(to.region.size_bytes() as u64);
        return Ok(match is_simple {
            true => Form::Fill { to: to.region, size, pattern: pattern.into() },
            false => Form::Other("a fill with a pattern that OpenCL does not know"),
        });
    }
    let size = box_of(&to);
    let mut steps = size.to_pitch.iter().chain(&size.extent[..1]);
    Ok(match is_simple && steps.all(|bytes| bytes.is_multiple_of(pattern.len() as u64)) {
        true => Form::Fill { to: to.region, size, pattern: pattern.into() },
        false => Form::Other("a fill of a box with a pattern that its rows are not aligned to"),
    })
}

impl<'a> KernelForm<'a> {
    /// The arguments, all places in them resolved.
    pub(crate) fn arguments(&self, queue: &Queue) -> Result<Cow<'a, [Argument]>> {
        if self.call.arguments().iter().all(is_plain) {
            return Ok(Cow::Borrowed(self.call.arguments()));
        }
        let mut arguments = self.call.arguments().to_vec();
        resolve::arguments(&mut arguments, queue)
            .map_err(|error| launch::named(error, self.call.kernel_name()))?;
        slices::check_apart(&self.kernel, &arguments)?;
        Ok(Cow::Owned(arguments))
    }
}
