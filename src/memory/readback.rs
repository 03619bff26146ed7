//! Asynchronous copies own their host side: data on its way to the device, and data on its way back.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use crate::Result;
use crate::driver::copy::{self, HostBuffer};
use crate::queue::Event;

/// Host data that an asynchronous copy takes over: a `Vec<T>` or an `Arc<[T]>`.
pub struct AsyncSource<T>(pub(crate) HostBuffer<T>);

impl<T> From<Vec<T>> for AsyncSource<T> {
    fn from(data: Vec<T>) -> Self {
        Self(HostBuffer::Owned(data))
    }
}

impl<T> From<Arc<[T]>> for AsyncSource<T> {
    fn from(data: Arc<[T]>) -> Self {
        Self(HostBuffer::Shared(data))
    }
}

impl<T: fmt::Debug> fmt::Debug for AsyncSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_slice().fmt(f)
    }
}

/// Data on its way from the device. Dropping it lets the copy end by itself.
#[must_use = "the data is in the result of `wait`"]
pub struct Readback<T: Pod> {
    inner: copy::Readback<T>,
    event: Event,
}

impl<T: Pod> Readback<T> {
    pub(crate) fn new(inner: copy::Readback<T>) -> Self {
        let event = Event::new(inner.event().clone());
        Self { inner, event }
    }

    /// The event of the copy.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Waits for the copy and gives the data.
    ///
    /// # Errors
    /// As [`Event::wait`].
    pub fn wait(self) -> Result<Vec<T>> {
        self.inner.wait()
    }
}

impl<T: Pod> fmt::Debug for Readback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readback").field("event", &self.event).finish_non_exhaustive()
    }
}
