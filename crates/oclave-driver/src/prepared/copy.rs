//! Copies and fills of USM.

use oclave_faults::Fault;
use std::ffi::c_void;
use std::sync::Arc;

use crate::MakeError as _;
use crate::event::Event;
use crate::host::{HostSink, HostSource};
use crate::pointers::Pointers;
use crate::queue::Queue;
use crate::sys::{CL_FALSE, CL_TRUE, cl_command_queue, cl_event};
use crate::usm::Span;
use crate::{Error, Result};

/// Checks that a copy fits.
pub fn same_size(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    Err(Error::invalid(format!("a copy from {from} bytes to {to} bytes"))
        .remedy("copy between slices of one length"))
}

/// Checks a copy within a context.
pub(crate) fn check(from: &Span<'_>, to: &Span<'_>) -> Result<()> {
    same_size(from.size_bytes(), to.size_bytes())?;
    if from.overlaps(to) { Err(overlapping()) } else { Ok(()) }
}

#[cold]
pub(crate) fn overlapping() -> Error {
    Error::invalid("a copy between overlapping parts of one allocation")
        .remedy("copy through another allocation")
}

/// Checks the pattern of a fill: 1, 2, 4, … 128 bytes that divide the span and to which the span is
/// aligned.
pub(crate) fn check_pattern(to: &Span<'_>, size: usize) -> Result<()> {
    if size.is_power_of_two()
        && size <= 128
        && to.size_bytes().is_multiple_of(size)
        && to.address().addr().is_multiple_of(size)
    {
        return Ok(());
    }
    Err(Error::invalid(format!("a fill of {} bytes with a pattern of {size}", to.size_bytes())))
}

impl Queue {
    /// Copies from the host, and waits.
    pub fn write(self: &Arc<Self>, from: &[u8], to: Span<'_>, after: &[&Event]) -> Result<()> {
        same_size(from.len(), to.size_bytes())?;
        let (start, no_event) = (from.as_ptr().cast::<c_void>(), std::ptr::null_mut());
        // SAFETY: as `copy_blocking` says.
        self.copy_blocking(to, after, |pointers, queue, wait| unsafe {
            pointers.write(queue, CL_TRUE, to.address(), start, to.size_bytes(), wait, no_event)
        })
    }

    /// Copies to the host, and waits.
    pub fn read(self: &Arc<Self>, from: Span<'_>, to: &mut [u8], after: &[&Event]) -> Result<()> {
        same_size(from.size_bytes(), to.len())?;
        let (start, no_event) = (to.as_mut_ptr().cast::<c_void>(), std::ptr::null_mut());
        // SAFETY: as `copy_blocking` says.
        self.copy_blocking(from, after, |pointers, queue, wait| unsafe {
            pointers.read(queue, CL_TRUE, start, from.address(), from.size_bytes(), wait, no_event)
        })
    }

    /// `copy` gets a queue and events that are alive, while `span` is in use. The host's end has
    /// the same size, and the caller borrows it until this returns. By then the command has ended,
    /// or was not enqueued (`Queue::end_blocking`).
    fn copy_blocking(
        self: &Arc<Self>,
        span: Span<'_>,
        after: &[&Event],
        copy: impl FnOnce(&Pointers, cl_command_queue, &[cl_event]) -> Result<()>,
    ) -> Result<()> {
        let pointers = self.context().pointers()?;
        self.using([span].into_iter(), || {
            if span.size_bytes() == 0 {
                return after.iter().try_for_each(|event| event.wait());
            }
            self.submit_blocking(after, |_, queue, wait| copy(pointers, queue, wait))
        })
    }

    /// Copies from host memory, which stays until the copy has ended.
    pub fn write_later(self: &Arc<Self>, from: &HostSource, to: Span<'_>, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        if to.size_bytes() == 0 {
            return self.using([to].into_iter(), || self.marker(after));
        }
        let pointers = self.context().pointers()?;
        from.read(self, |source| {
            self.using([to].into_iter(), || {
                // SAFETY: queue and events are alive, both ends have `size_bytes` bytes; the host's
                // live until the event is complete (`HostSource::read`).
                self.submit(after, true, |_, queue, wait, event| unsafe {
                    pointers.write(queue, CL_FALSE, to.address(), source, to.size_bytes(), wait, event)
                })
            })
        })
    }

    /// Copies to host memory, which stays, and out of the host's reach, until the copy has ended.
    pub fn read_later(self: &Arc<Self>, from: Span<'_>, to: &HostSink, after: &[&Event]) -> Result<Event> {
        same_size(from.size_bytes(), to.size_bytes())?;
        if from.size_bytes() == 0 {
            return self.using([from].into_iter(), || self.marker(after));
        }
        let pointers = self.context().pointers()?;
        to.write(self, |target| {
            self.using([from].into_iter(), || {
                // SAFETY: queue and events are alive, both ends have `size_bytes` bytes; the host's
                // live, and nobody looks at them, until the event is complete (`HostSink::write`).
                self.submit(after, true, |_, queue, wait, event| unsafe {
                    pointers.read(queue, CL_FALSE, target, from.address(), from.size_bytes(), wait, event)
                })
            })
        })
    }

    /// Copies within the context.
    pub fn copy(self: &Arc<Self>, from: Span<'_>, to: Span<'_>, after: &[&Event]) -> Result<Event> {
        check(&from, &to)?;
        let pointers = self.context().pointers()?;
        self.using([from, to].into_iter(), || {
            if to.size_bytes() == 0 {
                return self.marker(after);
            }
            // SAFETY: queue and events are alive, both ends have `size_bytes` bytes, do not overlap
            // and are in use.
            self.submit(after, false, |_, queue, wait, event| unsafe {
                pointers.copy(queue, to.address(), from.address(), to.size_bytes(), wait, event)
            })
        })
    }

    /// Fills with a pattern of 1, 2, 4, … 128 bytes that divides the span and to which the span is
    /// aligned.
    pub fn fill(self: &Arc<Self>, to: Span<'_>, pattern: &[u8], after: &[&Event]) -> Result<Event> {
        let size = pattern.len();
        check_pattern(&to, size)?;
        let pointers = self.context().pointers()?;
        self.using([to].into_iter(), || {
            if to.size_bytes() == 0 {
                return self.marker(after);
            }
            // SAFETY: queue and events are alive, the span is in use; the driver copies the pattern
            // in the call.
            self.submit(after, false, |_, queue, wait, event| unsafe {
                pointers.fill(queue, to.address(), pattern, to.size_bytes(), wait, event)
            })
        })
    }

    /// Moves memory to the device ahead of its use, where the driver can; else a marker.
    pub fn prefetch(self: &Arc<Self>, span: Span<'_>, after: &[&Event]) -> Result<Event> {
        let pointers = self.context().pointers()?;
        let can_prefetch = pointers.can_prefetch() && !self.context().driver_faults().has(Fault::Q88);
        self.using([span].into_iter(), || {
            if span.size_bytes() == 0 || !can_prefetch {
                return self.marker(after);
            }
            // SAFETY: queue and events are alive, the span is in use.
            let submitted = self.submit(after, false, |_, queue, wait, event| unsafe {
                pointers.prefetch(queue, span.address(), span.size_bytes(), wait, event)
            });
            // Intel's CPU runtime answers CL_INVALID_VALUE to every such call. Nothing is lost
            // without a hint.
            submitted.or_else(|error| {
                log::debug!("memory is not prefetched: {error:#}");
                self.marker(after)
            })
        })
    }

    /// Keeps the place of an advice in the order, and makes the same checks. It does not call
    /// `clEnqueueMemAdviseINTEL`, because the extension defines no value of advice.
    pub fn advise(self: &Arc<Self>, span: Span<'_>, after: &[&Event]) -> Result<Event> {
        self.using([span].into_iter(), || self.marker(after))
    }
}
