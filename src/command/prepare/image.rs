//! Prepared copies and fills of images.

use std::sync::Arc;

use crate::MakeError as _;
use crate::command::describe::argument::Value;
use crate::driver::copy;
use crate::driver::event::Event;
use crate::driver::host::{HostSink, HostSource};
use crate::driver::images::Pixels;
use crate::driver::queue::Queue;
use crate::driver::rows::StridedRegion;
use crate::driver::usm::{Allocation, Kind};
use crate::images::{ImagePart, colour};
use crate::memory::Block;
use crate::{Error, ErrorKind, Result};

/// A copy or fill, at least one end of which is an image.
#[derive(Debug)]
pub(crate) enum ImageCommand {
    Write {
        from: HostSource,
        to: Pixels,
    },
    Read {
        from: Pixels,
        to: HostSink,
    },
    /// Of one format, in boxes of one shape.
    Copy {
        from: Pixels,
        to: Pixels,
    },
    /// Byte by byte.
    Reinterpret {
        from: Pixels,
        to: Pixels,
    },
    Load {
        from: Block,
        to: Pixels,
    },
    Store {
        from: Pixels,
        to: Block,
    },
    Fill {
        to: Pixels,
        colour: [u32; 4],
    },
}

impl ImageCommand {
    pub(super) fn write(from: HostSource, to: &ImagePart) -> Result<Self> {
        copy::same_size(from.size_bytes(), to.size_bytes())?;
        Ok(Self::Write { from, to: to.pixels() })
    }

    pub(super) fn read(from: &ImagePart, to: HostSink) -> Result<Self> {
        copy::same_size(from.size_bytes(), to.size_bytes())?;
        Ok(Self::Read { from: from.pixels(), to })
    }

    pub(super) fn copy(from: &ImagePart, to: &ImagePart) -> Result<Self> {
        let is_alike = from.image().format() == to.image().format();
        let (from, to) = (from.pixels(), to.pixels());
        from.check_copy(&to)?;
        Ok(match is_alike && from.is_like(&to) {
            true => Self::Copy { from, to },
            false => Self::Reinterpret { from, to },
        })
    }

    pub(super) fn load(from: Block, to: &ImagePart) -> Result<Self> {
        copy::same_size(from.rows.size_bytes(), to.size_bytes())?;
        Ok(Self::Load { from, to: to.pixels() })
    }

    pub(super) fn store(from: &ImagePart, to: Block) -> Result<Self> {
        copy::same_size(from.size_bytes(), to.rows.size_bytes())?;
        Ok(Self::Store { from: from.pixels(), to })
    }

    /// Sets all pixels to one, or to the bytes of a pattern that divides pixels.
    pub(super) fn fill(to: &ImagePart, pattern: &Value) -> Result<Self> {
        let format = to.image().format();
        let times = format.pixel_bytes().checked_div(pattern.bytes().len()).unwrap_or(0);
        let pixel = pattern.bytes().repeat(times);
        if let Some(colour) = colour(format, &pixel) {
            return Ok(Self::Fill { to: to.pixels(), colour });
        }
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(to.size_bytes()).map_err(|error| {
            let what = format!("no host memory for a fill of {} bytes", to.size_bytes());
            Error::new(ErrorKind::MemoryAllocation, what).with_source(error)
        })?;
        bytes.extend(pixel.iter().cycle().take(to.size_bytes()));
        Self::write(HostSource::owned(bytes), to)
    }

    /// As [`PreparedCommand::execute`](super::prepared::PreparedCommand::execute). Of two steps, the first has ended when
    /// the second fails.
    pub(super) fn execute(&self, queue: &Arc<Queue>, after: &[&Event], held: bool) -> Result<Event> {
        match self {
            Self::Write { from, to } => queue.write_image(from, to, after),
            Self::Read { from, to } => queue.read_image(from, to, after),
            Self::Copy { from, to } => queue.copy_image(from, to, after),
            Self::Reinterpret { from, to } => {
                let between = contiguous(queue, to.size_bytes())?;
                let stored = queue.copy_from_image(from, between.tail(0), after)?;
                queue.copy_to_image(between.tail(0), to, &[&stored]).inspect_err(|_| queue.abandon())
            }
            Self::Load { from, to } if from.rows.is_one() => {
                queue.copy_to_image(from.region.held_span(held)?, to, after)
            }
            Self::Load { from, to } => {
                let between = contiguous(queue, to.size_bytes())?;
                let side_by_side = (between.tail(0), StridedRegion::all(to.size_bytes()));
                let gathered = queue.copy_rows(from.span(held)?, side_by_side, after)?;
                queue.copy_to_image(between.tail(0), to, &[&gathered]).inspect_err(|_| queue.abandon())
            }
            Self::Store { from, to } if to.rows.is_one() => {
                queue.copy_from_image(from, to.region.held_span(held)?, after)
            }
            Self::Store { from, to } => {
                let between = contiguous(queue, from.size_bytes())?;
                let side_by_side = (between.tail(0), StridedRegion::all(from.size_bytes()));
                let to = to.span(held)?;
                let stored = queue.copy_from_image(from, between.tail(0), after)?;
                queue.copy_rows(side_by_side, to, &[&stored]).inspect_err(|_| queue.abandon())
            }
            Self::Fill { to, colour } => queue.fill_image(to, colour, after),
        }
    }

    /// The memory that it names, images left out.
    pub(super) fn allocations(&self) -> Vec<&Arc<Allocation>> {
        match self {
            Self::Load { from: memory, .. } | Self::Store { to: memory, .. } => {
                vec![memory.region.allocation()]
            }
            Self::Write { .. }
            | Self::Read { .. }
            | Self::Copy { .. }
            | Self::Reinterpret { .. }
            | Self::Fill { .. } => Vec::new(),
        }
    }
}

/// Memory in one piece, on the way between an image and what is none. It is freed when the commands
/// that use it have ended.
fn contiguous(queue: &Arc<Queue>, size_bytes: usize) -> Result<Arc<Allocation>> {
    Allocation::new(queue.context(), Some(queue.device()), Kind::Device, size_bytes, 1)
}
