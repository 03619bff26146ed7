//! Places of commands, looked up for a queue's context and device.

use crate::MakeError as _;
use crate::command::describe::argument::Argument;
use crate::command::describe::place::Place;
use crate::driver::rows::StridedRegion;
use crate::memory::buffer::Requirement;
use crate::memory::{Block, Region};
use crate::{Context, Device, Error, Queue, Result};

impl Place {
    /// Replaces the place by its memory on a queue's device. USM and null stay as they are.
    #[inline]
    pub(crate) fn resolve(&mut self, queue: &Queue) -> Result<()> {
        match self {
            Self::Null | Self::Usm(_) => Ok(()),
            _ => self.look_up(queue),
        }
    }

    #[cold]
    fn look_up(&mut self, queue: &Queue) -> Result<()> {
        let region = match self {
            Self::Null | Self::Usm(_) => return Ok(()),
            Self::Global(global) => global.region(queue)?,
            Self::Accessor(requirement) => requirement.region(queue)?,
            Self::Block(_) => return Err(Error::invalid("a box of memory is no argument of a kernel")),
            Self::Image(_) => return Err(Error::invalid("an image has no address")),
            Self::Refused(error) => return Err(error.clone()),
        };
        *self = Self::Usm(region);
        Ok(())
    }

    /// The memory of a place for a copy or a fill.
    pub(crate) fn into_block(mut self, queue: &Queue) -> Result<Block> {
        let rows = match self {
            Self::Block(block) => return Ok(*block),
            Self::Accessor(ref requirement) => Some(rows_of(requirement)),
            _ => None,
        };
        self.resolve(queue)?;
        match (self, rows) {
            (Self::Usm(region), None) => Ok(Block::whole(region)),
            (Self::Usm(region), Some(rows)) => Ok(Block { region, rows }),
            _ => Err(Error::invalid("a null pointer is no memory")),
        }
    }

    /// How many bytes a copy of it has.
    pub(crate) fn copied_bytes(self, queue: &Queue) -> Result<usize> {
        match self {
            Self::Image(image) => Ok(image.size_bytes()),
            other => Ok(other.into_block(queue)?.rows.size_bytes()),
        }
    }

    /// As [`Place::into_block`], of what lies side by side.
    pub(crate) fn into_region(self, queue: &Queue) -> Result<Region> {
        let block = self.into_block(queue)?;
        if block.rows.is_one() {
            return Ok(block.region);
        }
        Err(Error::invalid("the memory does not lie side by side"))
    }

    /// Whether it is copied by commands only, never at once.
    ///
    /// # Errors
    /// While the host writes the part of a buffer: who waits for the copy might wait for himself.
    pub(crate) fn needs_command(&self) -> Result<bool> {
        match self {
            Self::Accessor(requirement) => requirement.check_no_host_writer().map(|()| true),
            Self::Block(_) | Self::Image(_) => Ok(true),
            _ => Ok(false),
        }
    }

    /// The memory, where it need not be looked up.
    pub(super) fn block(&self) -> Option<Block> {
        match self {
            Self::Usm(region) => Some(Block::whole(region.clone())),
            Self::Block(block) => Some(Block::clone(block)),
            _ => None,
        }
    }

    pub(in crate::command) fn size_bytes(&self) -> Option<usize> {
        match self {
            Self::Usm(region) => Some(region.size_bytes()),
            Self::Block(block) => Some(block.rows.size_bytes()),
            Self::Accessor(requirement) => Some(requirement.size_bytes()),
            Self::Image(image) => Some(image.size_bytes()),
            Self::Null | Self::Global(_) | Self::Refused(_) => None,
        }
    }

    pub(crate) fn check(&self, context: &Context, device: &Device) -> Result<()> {
        match self {
            Self::Usm(region) => region.allocation().check(context.driver(), device),
            Self::Block(block) => block.region.allocation().check(context.driver(), device),
            Self::Refused(error) => Err(error.clone()),
            Self::Accessor(requirement) => requirement.check(device),
            Self::Image(image) => image.check(context),
            Self::Null | Self::Global(_) => Ok(()),
        }
    }
}

/// The bytes of a part of a buffer, from its first element on.
fn rows_of(requirement: &Requirement) -> StridedRegion {
    let (shape, area) = (requirement.object().shape(), requirement.area());
    let element_bytes = requirement.size_bytes().checked_div(area.len()).unwrap_or(0);
    StridedRegion::of_box(shape, area.extent, element_bytes)
}

/// Looks up the places in arguments.
pub(super) fn arguments(arguments: &mut [Argument], queue: &Queue) -> Result<()> {
    for (index, argument) in arguments.iter_mut().enumerate() {
        if let Argument::Pointer(pointer) = argument {
            pointer.place_mut().resolve(queue).map_err(|error| error.at(format!("argument {index}")))?;
        }
    }
    Ok(())
}
