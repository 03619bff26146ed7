//! Copies and fills of USM.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use bytemuck::Pod;

use super::event::Event;
use super::queue::Queue;
use super::retired::{Keep, leak};
use super::sys::{CL_FALSE, CL_TRUE};
use super::usm::Span;
use crate::error::{Error, Result};

/// A host buffer that a command reads while it runs, and that nobody else changes or frees meanwhile.
pub(crate) enum HostBuffer<T> {
    Owned(Vec<T>),
    Shared(Arc<[T]>),
}

impl<T> HostBuffer<T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::Owned(buffer) => buffer,
            Self::Shared(buffer) => buffer,
        }
    }
}

/// A host buffer that is only held to be freed.
struct Parked<B>(#[allow(dead_code, reason = "held for its Drop")] B);

// SAFETY: the buffer of plain data is freed and never read, which needs no thread; counts of `Arc` are atomic.
unsafe impl<T: Pod> Send for Parked<HostBuffer<T>> {}

fn park<T: Pod>(buffer: HostBuffer<T>) -> Keep {
    let parked: Box<dyn Any + Send> = Box::new(Parked(buffer));
    Keep::Host(parked)
}

fn same_size(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    Err(Error::invalid(format!("a copy from {from} bytes to {to} bytes"))
        .remedy("copy between slices of one length"))
}

impl Queue {
    /// Copies from the host, and waits.
    pub(crate) fn write(self: &Arc<Self>, from: &[u8], to: Span<'_>, after: &[&Event]) -> Result<()> {
        same_size(from.len(), to.size_bytes())?;
        self.copy_blocking(to.address(), from.as_ptr().cast(), to, after)
    }

    /// Copies to the host, and waits.
    pub(crate) fn read(self: &Arc<Self>, from: Span<'_>, to: &mut [u8], after: &[&Event]) -> Result<()> {
        same_size(from.size_bytes(), to.len())?;
        self.copy_blocking(to.as_mut_ptr().cast(), from.address(), from, after)
    }

    /// One of `to` and `from` is `span`, the other is host memory of the same size, borrowed by the caller.
    fn copy_blocking(
        self: &Arc<Self>,
        to: *mut c_void,
        from: *const c_void,
        span: Span<'_>,
        after: &[&Event],
    ) -> Result<()> {
        let usm = self.context().usm()?;
        self.using([span].into_iter(), || {
            if span.size_bytes() == 0 {
                return after.iter().try_for_each(|event| event.wait());
            }
            // SAFETY: queue and events are alive, both ends have `size_bytes` bytes; the host's stay borrowed until the
            // call returns, which is when the command has ended, or was not enqueued.
            self.submit_blocking(after, |_, queue, wait| unsafe {
                usm.clEnqueueMemcpyINTEL(
                    queue,
                    CL_TRUE,
                    to,
                    from,
                    span.size_bytes(),
                    wait,
                    std::ptr::null_mut(),
                )
            })
        })
    }

    /// Copies from a host buffer, which is kept until the copy has ended.
    pub(crate) fn write_later<T: Pod>(
        self: &Arc<Self>,
        from: HostBuffer<T>,
        to: Span<'_>,
        after: &[&Event],
    ) -> Result<Event> {
        let bytes: &[u8] = bytemuck::cast_slice(from.as_slice());
        same_size(bytes.len(), to.size_bytes())?;
        if bytes.is_empty() {
            return self.using([to].into_iter(), || self.marker(after));
        }
        let usm = self.context().usm()?;
        let source = bytes.as_ptr().cast::<c_void>();
        let event = self.using([to].into_iter(), || {
            // SAFETY: queue and events are alive, both ends have `size_bytes` bytes; the host's live until the event is
            // complete: below, the buffer goes to the retired, or is given up.
            self.submit(after, true, |_, queue, wait, event| unsafe {
                usm.clEnqueueMemcpyINTEL(queue, CL_FALSE, to.address(), source, to.size_bytes(), wait, event)
            })
        })?;
        self.keep_until(&event, from);
        Ok(event)
    }

    /// Copies to a host buffer of `T`, which the [`Readback`] gives when the copy has ended.
    pub(crate) fn read_later<T: Pod>(
        self: &Arc<Self>,
        from: Span<'_>,
        after: &[&Event],
    ) -> Result<Readback<T>> {
        let len = from.size_bytes().checked_div(size_of::<T>()).unwrap_or(0);
        let mut buffer: Vec<T> = crate::memory::zeroed(len)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut buffer);
        same_size(from.size_bytes(), bytes.len())?;
        if bytes.is_empty() {
            let event = self.using([from].into_iter(), || self.marker(after))?;
            return Ok(Readback { event, buffer: Some(buffer) });
        }
        let usm = self.context().usm()?;
        let target = bytes.as_mut_ptr().cast::<c_void>();
        let event = self.using([from].into_iter(), || {
            // SAFETY: queue and events are alive, both ends have `size_bytes` bytes; the host's live until the event is
            // complete, see `Readback`.
            self.submit(after, true, |_, queue, wait, event| unsafe {
                usm.clEnqueueMemcpyINTEL(
                    queue,
                    CL_FALSE,
                    target,
                    from.address(),
                    from.size_bytes(),
                    wait,
                    event,
                )
            })
        })?;
        Ok(Readback { event, buffer: Some(buffer) })
    }

    /// Keeps a host buffer until a command has ended.
    fn keep_until<T: Pod>(&self, event: &Event, buffer: HostBuffer<T>) {
        match event.raw().and_then(|raw| raw.try_clone()) {
            Ok(raw) => self.context().retired().push(vec![raw], park(buffer)),
            Err(error) => {
                self.context().keep_error(error);
                leak(park(buffer));
            }
        }
    }

    /// Copies within the context.
    pub(crate) fn copy(self: &Arc<Self>, from: Span<'_>, to: Span<'_>, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        if from.overlaps(&to) {
            return Err(Error::invalid("a copy between overlapping parts of one allocation")
                .remedy("copy through another allocation"));
        }
        let usm = self.context().usm()?;
        self.using([from, to].into_iter(), || {
            if to.size_bytes() == 0 {
                return self.marker(after);
            }
            // SAFETY: queue and events are alive, both ends have `size_bytes` bytes, do not overlap and are in use.
            self.submit(after, false, |_, queue, wait, event| unsafe {
                usm.clEnqueueMemcpyINTEL(
                    queue,
                    CL_FALSE,
                    to.address(),
                    from.address(),
                    to.size_bytes(),
                    wait,
                    event,
                )
            })
        })
    }

    /// Fills with a pattern of 1, 2, 4, … 128 bytes that divides the span and to which the span is aligned.
    pub(crate) fn fill(self: &Arc<Self>, to: Span<'_>, pattern: &[u8], after: &[&Event]) -> Result<Event> {
        let size = pattern.len();
        if !size.is_power_of_two()
            || size > 128
            || !to.size_bytes().is_multiple_of(size)
            || !to.address().addr().is_multiple_of(size)
        {
            return Err(Error::invalid(format!(
                "a fill of {} bytes with a pattern of {size}",
                to.size_bytes()
            )));
        }
        let usm = self.context().usm()?;
        self.using([to].into_iter(), || {
            if to.size_bytes() == 0 {
                return self.marker(after);
            }
            let start = pattern.as_ptr().cast::<c_void>();
            // SAFETY: queue and events are alive, the span is in use; the driver copies the pattern in the call.
            self.submit(after, false, |_, queue, wait, event| unsafe {
                usm.clEnqueueMemFillINTEL(queue, to.address(), start, size, to.size_bytes(), wait, event)
            })
        })
    }

    /// Moves memory to the device ahead of its use, where the driver can; else a marker.
    pub(crate) fn prefetch(self: &Arc<Self>, span: Span<'_>, after: &[&Event]) -> Result<Event> {
        let usm = self.context().usm()?;
        self.using([span].into_iter(), || {
            if span.size_bytes() == 0 || usm.clEnqueueMigrateMemINTEL.is_none() {
                return self.marker(after);
            }
            // Flags of 0 mean the device of the queue.
            // SAFETY: queue and events are alive, the span is in use.
            let submitted = self.submit(after, false, |_, queue, wait, event| unsafe {
                usm.clEnqueueMigrateMemINTEL(queue, span.address(), span.size_bytes(), 0, wait, event)
            });
            // Intel's CPU runtime answers CL_INVALID_VALUE to every such call. Nothing is lost without a hint.
            submitted.or_else(|error| {
                log::debug!("memory is not prefetched: {error}");
                self.marker(after)
            })
        })
    }

    /// Keeps the place of an advice in the order, and makes the same checks. `clEnqueueMemAdviseINTEL` is not called: its
    /// extension gives no meaning to any value of advice.
    pub(crate) fn advise(self: &Arc<Self>, span: Span<'_>, after: &[&Event]) -> Result<Event> {
        self.using([span].into_iter(), || self.marker(after))
    }
}

/// A copy to the host on its way. The buffer is out of everyone's reach until the copy has ended.
pub(crate) struct Readback<T: Pod> {
    event: Event,
    buffer: Option<Vec<T>>,
}

impl<T: Pod> Readback<T> {
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// Waits for the copy and gives the data.
    pub(crate) fn wait(mut self) -> Result<Vec<T>> {
        self.event.wait()?;
        Ok(self.buffer.take().unwrap_or_default())
    }
}

impl<T: Pod> Drop for Readback<T> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take()
            && !buffer.is_empty()
        {
            self.event.queue().keep_until(&self.event, HostBuffer::Owned(buffer));
        }
    }
}
