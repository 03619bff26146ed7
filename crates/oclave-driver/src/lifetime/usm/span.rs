//! Parts of allocations.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Allocation;
use crate::MakeError as _;
use crate::queue::Queue;
use crate::{Error, Result};

impl Allocation {
    /// The bytes from `offset_bytes` on.
    pub fn span(self: &Arc<Self>, offset_bytes: usize, size_bytes: usize) -> Result<Span<'_>> {
        match offset_bytes.checked_add(size_bytes) {
            Some(end) if end <= self.size_bytes => {
                Ok(Span { allocation: self, offset_bytes, size_bytes, held: false })
            }
            _ => Err(Error::invalid(format!(
                "{size_bytes} bytes from {offset_bytes} on are not within memory of {} bytes",
                self.size_bytes
            ))),
        }
    }

    /// The bytes from `offset_bytes` to the end; none from beyond the end.
    #[inline]
    pub fn tail(self: &Arc<Self>, offset_bytes: usize) -> Span<'_> {
        let offset_bytes = offset_bytes.min(self.size_bytes);
        Span { allocation: self, offset_bytes, size_bytes: self.size_bytes - offset_bytes, held: false }
    }
}

/// Bytes of an allocation, within its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    allocation: &'a Arc<Allocation>,
    offset_bytes: usize,
    size_bytes: usize,
    held: bool,
}

impl<'a> Span<'a> {
    /// The same bytes, for a deferred command if `held`: its use has begun already.
    #[inline]
    pub fn held(mut self, held: bool) -> Self {
        self.held = held;
        self
    }

    #[inline]
    pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
        self.allocation
    }

    /// How many bytes.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The first byte's address; null in an allocation without bytes.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        self.allocation.address().wrapping_byte_add(self.offset_bytes)
    }

    /// `size_bytes` of it, from `offset_bytes` on.
    pub fn part(&self, offset_bytes: usize, size_bytes: usize) -> Result<Self> {
        match offset_bytes.checked_add(size_bytes) {
            Some(end) if end <= self.size_bytes => {
                Ok(self.allocation.span(self.offset_bytes + offset_bytes, size_bytes)?.held(self.held))
            }
            _ => Err(Error::invalid("a part that is not within its span")),
        }
    }

    /// Where it begins in the allocation.
    #[inline]
    pub(crate) fn offset_bytes(&self) -> usize {
        self.offset_bytes
    }

    pub(crate) fn shares_allocation(&self, other: &Self) -> bool {
        self.allocation.id() == other.allocation.id()
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.allocation, other.allocation)
            && self.offset_bytes < other.offset_bytes + other.size_bytes
            && other.offset_bytes < self.offset_bytes + self.size_bytes
    }

    /// Notes that commands of `queue` use the memory. Until [`Span::end_use`], no host access
    /// begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the memory is of another context or device, or when the host
    /// accesses it.
    #[inline]
    pub(crate) fn begin_use(&self, queue: &Queue) -> Result<()> {
        let allocation = self.allocation;
        allocation.check(queue.context(), queue.device())?;
        allocation.check_is_there()?;
        if !self.held {
            allocation.begin_use()?;
        }
        // The bit stays: whether the queue is busy is asked when it matters. The load spares a
        // locked write per use.
        if allocation.used_by.load(Ordering::SeqCst) & queue.bit() == 0 {
            allocation.used_by.fetch_or(queue.bit(), Ordering::SeqCst);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn end_use(&self) {
        if !self.held {
            self.allocation.end_use();
        }
    }
}
