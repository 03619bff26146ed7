//! Setting the arguments of a kernel and enqueueing it, as one step.

use std::sync::Arc;

use super::event::Event;
use super::kernel::Kernel;
use super::queue::Queue;
use super::usm::Span;
use crate::error::{Error, Result};

/// An argument as the driver takes it.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    Value(&'a [u8]),
    /// Local memory of so many bytes.
    Local(usize),
    /// USM from the span's start on.
    Memory(Span<'a>),
    /// A null pointer.
    Null,
}

impl<'a> Arg<'a> {
    pub(super) fn memory(self) -> Option<Span<'a>> {
        match self {
            Self::Memory(span) => Some(span),
            _ => None,
        }
    }
}

/// An index space that was checked: nothing in it is zero, and group sizes are those that device and kernel take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkSize {
    pub(crate) dimensions: u32,
    pub(crate) global: [usize; 3],
    /// `None`: the driver chooses.
    pub(crate) local: Option<[usize; 3]>,
    /// `None`: from 0.
    pub(crate) offset: Option<[usize; 3]>,
}

/// The same span for a shorter time.
fn shortened<'a, 'm: 'a>(span: Span<'m>) -> Span<'a> {
    span
}

impl WorkSize {
    /// As the driver takes it.
    pub(super) fn offset_pointer(&self) -> *const usize {
        self.offset.as_ref().map_or(std::ptr::null(), |sizes| sizes.as_ptr())
    }

    /// As the driver takes it.
    pub(super) fn local_pointer(&self) -> *const usize {
        self.local.as_ref().map_or(std::ptr::null(), |sizes| sizes.as_ptr())
    }
}

impl Kernel {
    /// Sets an argument, which is of the kind and size that the kernel has there.
    pub(super) fn set_argument(&mut self, index: u32, argument: Arg<'_>) -> Result<()> {
        match argument {
            Arg::Value(bytes) => self.set_value(index, bytes),
            Arg::Local(size_bytes) => self.set_local(index, size_bytes),
            Arg::Memory(span) => self.set_pointer(index, Some(span)),
            Arg::Null => self.set_pointer(index, None),
        }
        .map_err(|error| error.at(format!("argument {index}")))
    }
}

impl Queue {
    /// Runs a kernel. The arguments are as many as the kernel has, and of its kinds and sizes.
    pub(crate) fn launch<'a>(
        self: &Arc<Self>,
        kernel: &mut Kernel,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        size: &WorkSize,
        after: &[&Event],
    ) -> Result<Event> {
        self.launch_using(kernel, arguments, std::iter::empty(), size, after)
    }

    /// As [`Queue::launch`], of a kernel that also uses memory that it gets in other ways than as arguments.
    pub(crate) fn launch_using<'a, 'm: 'a>(
        self: &Arc<Self>,
        kernel: &mut Kernel,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        memory: impl Iterator<Item = Span<'m>> + Clone,
        size: &WorkSize,
        after: &[&Event],
    ) -> Result<Event> {
        if !Arc::ptr_eq(kernel.program().context(), self.context()) {
            return Err(Error::invalid("the kernel belongs to another context"));
        }
        self.using(arguments.clone().filter_map(Arg::memory).chain(memory.map(shortened)), || {
            for (index, argument) in (0_u32..).zip(arguments) {
                kernel.set_argument(index, argument)?;
            }
            // SAFETY: queue, kernel and events are alive, the arguments were just set while `kernel` is borrowed, the
            // memory among them is in use, and each list of sizes has three entries, of at most three dimensions.
            self.submit(after, false, |api, queue, wait, event| unsafe {
                api.clEnqueueNDRangeKernel(
                    queue,
                    kernel.raw(),
                    size.dimensions,
                    size.offset_pointer(),
                    size.global.as_ptr(),
                    size.local_pointer(),
                    wait,
                    event,
                )
            })
        })
    }

    /// Checks what [`Queue::launch`] would refuse of the memory, for a launch that runs nothing; and keeps its place.
    pub(crate) fn launch_nothing<'a>(
        self: &Arc<Self>,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        after: &[&Event],
    ) -> Result<Event> {
        self.using(arguments.filter_map(Arg::memory), || self.marker(after))
    }
}
