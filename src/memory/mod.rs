//! Memory that kernels and the host share.

mod block;
pub(crate) mod buffer;
mod guard;
mod host;
mod rect;
mod region;
mod shape;
mod slice;

use std::ops::{Bound, Range as Indices, RangeBounds};

use bytemuck::Pod;

pub(crate) use block::Block;
pub use buffer::{
    AccessKind, Accessor, Buffer, HostReader, HostWriter, Reads, TaskAccess, WriteBack, Writes, access,
};
pub use guard::{ReadGuard, WriteGuard};
pub(crate) use host::FromElements;
pub use host::{AsyncSource, HostTarget, Readback, ReadbackFuture};
pub use rect::UsmRect;
pub(crate) use region::Region;
pub use shape::Shape;
pub use slice::{HostAddressable, UsmKind, UsmSlice, usm};

use crate::MakeError as _;
pub use crate::driver::free_pool::SpareMemory;
pub(crate) use crate::driver::usm::{DEFAULT_ALIGNMENT, Reserved};
use crate::{Error, ErrorKind, Result};

/// A vector of `len` zeroes, or an error when the host has no room for it.
pub(crate) fn zeroed<T: Pod>(len: usize) -> Result<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| {
        Error::new(
            ErrorKind::MemoryAllocation,
            format!("no host memory for {len} elements of {} bytes", size_of::<T>()),
        )
    })
}

/// The indices of a range among `len`; `None`: it is not within them.
pub(crate) fn bounds(range: &impl RangeBounds<usize>, len: usize) -> Option<Indices<usize>> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.checked_add(1)?,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => len,
    };
    (start <= end && end <= len).then_some(start..end)
}
