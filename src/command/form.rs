//! Commands as a list of tasks could run them.

use std::borrow::Cow;
use std::sync::Arc;

use oclave_image::passes::interpreter::ByteBox;

use super::prepare::Prepared;
use super::rect_command::RectCommand;
use super::{Argument, CommandKind, fill, launch, step};
use crate::driver::launch::WorkSize;
use crate::memory::{Block, Region};
use crate::program::ReadyKernel;
use crate::{KernelCall, Queue, Result};

/// What a command does, checked for the context and device of a queue.
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
                    Some(size) => Form::Kernel(KernelForm { kernel: kernel.into_owned(), size, call }),
                    None => Form::Nothing,
                }
            }
            Self::Copy { .. } | Self::Fill { .. } | Self::Memset { .. } => {
                match self.clone().look_up(queue)? {
                    Prepared::Copy { from, .. } if from.size_bytes() == 0 => Form::Nothing,
                    Prepared::Copy { from, to } => {
                        Form::Copy { size: ByteBox::contiguous(to.size_bytes() as u64), from, to }
                    }
                    Prepared::Fill { to, .. } if to.size_bytes() == 0 => Form::Nothing,
                    Prepared::Fill { to, pattern } if fill::is_simple(&to.span()?, pattern.bytes()) => {
                        let size = ByteBox::contiguous(to.size_bytes() as u64);
                        Form::Fill { to, size, pattern: pattern.bytes().into() }
                    }
                    Prepared::Rect(RectCommand::Copy { from, to }) => match box_of_copy(&from, &to) {
                        Some(size) => Form::Copy { from: from.region, to: to.region, size },
                        None => Form::Other("a copy between boxes with rows of other lengths"),
                    },
                    Prepared::Rect(RectCommand::Fill { to, pattern }) => {
                        let size = box_of(&to);
                        let length = pattern.bytes().len() as u64;
                        let pitches = size.to_pitch.iter();
                        match fill::is_simple(&to.region.span()?, pattern.bytes())
                            && pitches.chain(&size.extent[..1]).all(|bytes| bytes.is_multiple_of(length))
                        {
                            true => Form::Fill { to: to.region, size, pattern: pattern.bytes().into() },
                            false => {
                                Form::Other("a fill of a box with a pattern that its rows are not aligned to")
                            }
                        }
                    }
                    Prepared::Image(_) => Form::Other("a copy or a fill of an image"),
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

/// What a block is to a fill.
pub(super) fn box_of(to: &Block) -> ByteBox {
    let shape = to.rows.shape();
    let pitches = to.rows.pitches(shape).unwrap_or_default();
    ByteBox {
        extent: shape.map(|size| size as u64),
        to_pitch: pitches.map(|size| size as u64),
        from_pitch: [0; 2],
    }
}

/// What blocks are to a copy; `None` where rows of one are not rows of the other, nor all of its
/// bytes side by side.
pub(super) fn box_of_copy(from: &Block, to: &Block) -> Option<ByteBox> {
    let narrow = std::cmp::min_by_key(from.rows, to.rows, |rows| rows.shape()[0]);
    let shape = narrow.shape();
    let wide = |sizes: [usize; 2]| sizes.map(|size| size as u64);
    Some(ByteBox {
        extent: shape.map(|size| size as u64),
        to_pitch: wide(to.rows.pitches(shape)?),
        from_pitch: wide(from.rows.pitches(shape)?),
    })
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
