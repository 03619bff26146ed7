//! Places: what commands read and write, in the form in which users name it.

use std::fmt;
use std::sync::Arc;

use crate::device_global::GlobalPlace;
use crate::memory::buffer::Requirement;
use crate::memory::{Region, UsmKind, UsmSlice};
use crate::{Error, Queue, Result};

/// Where bytes are. A plain value: a place is looked up ([`Place::resolve`]) when the command is prepared for a queue.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The null pointer, as an argument.
    Null,
    /// Unified shared memory; all places come down to this.
    Usm(Region),
    /// Bytes of a device global, which has its memory where it is first used.
    Global(GlobalPlace),
    /// A part of a buffer.
    Accessor(Arc<Requirement>),
    /// Nothing that can be used; the command fails with this when it is submitted.
    Refused(Error),
}

impl Place {
    /// What the place demands of the order of commands.
    pub(crate) fn requirement(&self) -> Option<Arc<Requirement>> {
        match self {
            Self::Accessor(requirement) => Some(Arc::clone(requirement)),
            _ => None,
        }
    }

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
            Self::Refused(error) => return Err(error.clone()),
        };
        *self = Self::Usm(region);
        Ok(())
    }

    /// The memory of a place for a copy or a fill.
    pub(crate) fn into_region(mut self, queue: &Queue) -> Result<Region> {
        if let Self::Accessor(requirement) = &self {
            requirement.check_contiguous()?;
        }
        self.resolve(queue)?;
        match self {
            Self::Usm(region) => Ok(region),
            _ => Err(Error::invalid("a null pointer is no memory")),
        }
    }
}

#[allow(private_interfaces, reason = "nobody outside can name a sealed trait, nor its function")]
mod sealed {
    pub trait Placed {
        /// The place, to be written (or else read) by a command.
        fn place(&self, write: bool) -> super::Place;
    }
}
pub(crate) use sealed::Placed;

/// Memory of elements `T` that commands read: USM, elements of a device global that the host may read.
pub trait CopyFrom<T>: Placed {}

/// Memory of elements `T` that commands write: USM, elements of a device global that the host may write.
pub trait CopyTo<T>: Placed {}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl<T, K: UsmKind> Placed for UsmSlice<T, K> {
    fn place(&self, _: bool) -> Place {
        Place::Usm(self.region().clone())
    }
}
impl<T, K: UsmKind> CopyFrom<T> for UsmSlice<T, K> {}
impl<T, K: UsmKind> CopyTo<T> for UsmSlice<T, K> {}
