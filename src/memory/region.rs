//! Bytes of an allocation, with a share in it.

use std::sync::Arc;

use crate::MakeError as _;
use crate::driver::usm::{Allocation, Span};
use crate::{Error, Result};

/// Bytes of USM, which live as long as this does. What places of commands come down to.
#[derive(Clone, Debug)]
pub struct Region {
    allocation: Arc<Allocation>,
    offset_bytes: usize,
    size_bytes: usize,
}

impl Region {
    /// All of an allocation.
    pub(crate) fn whole(allocation: Arc<Allocation>) -> Self {
        Self { offset_bytes: 0, size_bytes: allocation.size_bytes(), allocation }
    }

    /// Bytes that the caller knows to be within the allocation; when they are not, [`Region::span`]
    /// says so.
    pub(crate) fn new(allocation: Arc<Allocation>, offset_bytes: usize, size_bytes: usize) -> Self {
        Self { allocation, offset_bytes, size_bytes }
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }

    pub(crate) fn offset_bytes(&self) -> usize {
        self.offset_bytes
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The address on the device.
    pub(crate) fn address(&self) -> u64 {
        self.allocation.address().addr().wrapping_add(self.offset_bytes) as u64
    }

    /// `size_bytes` of it, from `offset_bytes` on.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) beyond its end.
    pub(crate) fn part(&self, offset_bytes: usize, size_bytes: usize) -> Result<Self> {
        match offset_bytes.checked_add(size_bytes) {
            Some(end) if end <= self.size_bytes => {
                Ok(Self::new(Arc::clone(&self.allocation), self.offset_bytes + offset_bytes, size_bytes))
            }
            _ => Err(self.beyond(offset_bytes, size_bytes)),
        }
    }

    /// As the driver takes it.
    pub(crate) fn span(&self) -> Result<Span<'_>> {
        self.allocation.span(self.offset_bytes, self.size_bytes)
    }

    /// As the driver takes it from a command; `held`: a deferred one.
    pub(crate) fn held_span(&self, held: bool) -> Result<Span<'_>> {
        self.span().map(|span| span.held(held))
    }

    /// From its first byte to the end of the allocation: what a pointer argument gives to a kernel.
    pub(crate) fn tail(&self) -> Span<'_> {
        self.allocation.tail(self.offset_bytes)
    }

    fn beyond(&self, offset_bytes: usize, size_bytes: usize) -> Error {
        Error::invalid(format!(
            "{size_bytes} bytes from {offset_bytes} on are not within its {} bytes",
            self.size_bytes
        ))
    }
}
