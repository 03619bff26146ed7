//! Setting the arguments of a kernel and enqueueing it, as one step.

use std::sync::Arc;

use crate::MakeError as _;
use crate::event::Event;
use crate::image::{Image, Sampler};
use crate::kernel::Kernel;
use crate::queue::{Queue, end_uses};
use crate::sys::{cl_command_queue, cl_event};
use crate::usm::{Allocation, Span};
use crate::{Error, Result};

/// An argument as the driver takes it.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// A value as bytes.
    Value(&'a [u8]),
    /// Local memory of so many bytes.
    Local(usize),
    /// USM from the span's start on.
    Memory(Span<'a>),
    /// An image.
    Image(&'a Arc<Image>),
    /// A sampler.
    Sampler(&'a Arc<Sampler>),
    /// A null pointer.
    Null,
}

impl<'a> Arg<'a> {
    #[inline]
    pub(crate) fn memory(self) -> Option<Span<'a>> {
        match self {
            Self::Memory(span) => Some(span),
            _ => None,
        }
    }
}

/// An argument that is kept, for launches to come.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Value(Bytes),
    Local(usize),
    /// An allocation, from a byte on.
    Memory(Arc<Allocation>, usize),
    Image(Arc<Image>),
    Sampler(Arc<Sampler>),
    Null,
}

/// Bytes of a value: on the spot when they are few.
#[derive(Debug, Clone)]
pub enum Bytes {
    /// So many bytes of the array.
    Small([u8; INLINE_BYTES], u8),
    /// More than the array has room for.
    Large(Box<[u8]>),
}

/// Room for a scalar or a vector of four floats.
const INLINE_BYTES: usize = 16;

impl Bytes {
    /// A copy of bytes.
    #[inline]
    pub fn new(bytes: &[u8]) -> Self {
        let mut small = [0; INLINE_BYTES];
        match small.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                Self::Small(small, bytes.len() as u8)
            }
            None => Self::Large(bytes.into()),
        }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Small(bytes, len) => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Self::Large(bytes) => bytes,
        }
    }
}

impl From<Arg<'_>> for Kept {
    #[inline]
    fn from(argument: Arg<'_>) -> Self {
        match argument {
            Arg::Value(bytes) => Self::Value(Bytes::new(bytes)),
            Arg::Local(size_bytes) => Self::Local(size_bytes),
            Arg::Memory(span) => Self::Memory(Arc::clone(span.allocation()), span.offset_bytes()),
            Arg::Image(image) => Self::Image(Arc::clone(image)),
            Arg::Sampler(sampler) => Self::Sampler(Arc::clone(sampler)),
            Arg::Null => Self::Null,
        }
    }
}

impl Kept {
    #[inline]
    pub(crate) fn arg(&self) -> Arg<'_> {
        match self {
            Self::Value(bytes) => Arg::Value(bytes),
            Self::Local(size_bytes) => Arg::Local(*size_bytes),
            Self::Memory(allocation, offset_bytes) => Arg::Memory(allocation.tail(*offset_bytes)),
            Self::Image(image) => Arg::Image(image),
            Self::Sampler(sampler) => Arg::Sampler(sampler),
            Self::Null => Arg::Null,
        }
    }

    /// Whether an argument is the same.
    #[inline]
    pub(crate) fn is(&self, argument: Arg<'_>) -> bool {
        match (self, argument) {
            (Self::Value(bytes), Arg::Value(other)) => **bytes == *other,
            (Self::Local(size_bytes), Arg::Local(other)) => *size_bytes == other,
            (Self::Memory(allocation, offset_bytes), Arg::Memory(span)) => {
                Arc::ptr_eq(allocation, span.allocation()) && *offset_bytes == span.offset_bytes()
            }
            (Self::Image(image), Arg::Image(other)) => Arc::ptr_eq(image, other),
            (Self::Sampler(sampler), Arg::Sampler(other)) => Arc::ptr_eq(sampler, other),
            (Self::Null, Arg::Null) => true,
            _ => false,
        }
    }

    /// The memory, if it is any.
    #[inline]
    pub(crate) fn memory(&self) -> Option<&Arc<Allocation>> {
        match self {
            Self::Memory(allocation, _) => Some(allocation),
            _ => None,
        }
    }
}

/// An index space that was checked: nothing in it is zero, and group sizes are those that device
/// and kernel take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSize {
    /// One to three.
    pub dimensions: u32,
    /// Work-items in each dimension.
    pub global: [usize; 3],
    /// `None`: the driver chooses.
    pub local: Option<[usize; 3]>,
    /// `None`: from 0.
    pub offset: Option<[usize; 3]>,
}

/// The same span for a shorter time.
fn shortened<'a, 'm: 'a>(span: Span<'m>) -> Span<'a> {
    span
}

impl WorkSize {
    /// As the driver takes it.
    #[inline]
    pub(crate) fn offset_pointer(&self) -> *const usize {
        self.offset.as_ref().map_or(std::ptr::null(), |sizes| sizes.as_ptr())
    }

    /// As the driver takes it.
    #[inline]
    pub(crate) fn local_pointer(&self) -> *const usize {
        self.local.as_ref().map_or(std::ptr::null(), |sizes| sizes.as_ptr())
    }
}

impl Kernel {
    /// Sets arguments, which are of the kinds and sizes that the kernel has.
    #[inline]
    pub fn set_all<'a>(&mut self, arguments: impl Iterator<Item = Arg<'a>>) -> Result<()> {
        (0..).zip(arguments).try_for_each(|(index, argument)| self.set_argument(index, argument))
    }

    /// Sets an argument, which is of the kind and size that the kernel has there.
    #[inline(always)]
    pub(crate) fn set_argument(&mut self, index: u32, argument: Arg<'_>) -> Result<()> {
        match argument {
            Arg::Value(bytes) => self.set_value(index, bytes),
            Arg::Local(size_bytes) => self.set_local(index, size_bytes),
            Arg::Memory(span) => self.set_pointer(index, Some(span)),
            Arg::Image(image) => self.set_image(index, image),
            Arg::Sampler(sampler) => self.set_sampler(index, sampler),
            Arg::Null => self.set_pointer(index, None),
        }
        .map_err(|error| error.at(format!("argument {index}")))
    }

    /// Enqueues it.
    ///
    /// # Safety
    /// The queue and the events are alive and belong to the kernel's context. All arguments are
    /// set, and their memory is in use (see [`Span::begin_use`]). `event` is null or lives through
    /// the call.
    #[inline(always)]
    pub(crate) unsafe fn enqueue(
        &mut self,
        size: &WorkSize,
        queue: cl_command_queue,
        wait: &[cl_event],
        event: *mut cl_event,
    ) -> Result<()> {
        // SAFETY: the caller's promise; nobody else has the kernel, and each list of sizes has
        // three entries, of at most three dimensions.
        self.with_memory(|kernel| unsafe {
            kernel.program().context().api().clEnqueueNDRangeKernel(
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
    }
}

impl Kernel {
    /// The work-groups that the driver would choose for these arguments on a queue of the kernel's
    /// context, which has the function.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn suggested_group_size<'a>(
        &mut self,
        queue: &Queue,
        arguments: impl Iterator<Item = Arg<'a>>,
        size: &WorkSize,
    ) -> Result<[usize; 3]> {
        self.set_all(arguments)?;
        let mut suggested = [1; 3];
        let table = &queue.device().tables().suggested_size;
        // SAFETY: queue and kernel are alive, all arguments are set, and each list has three entries, of
        // at most three dimensions.
        unsafe {
            table.clGetKernelSuggestedLocalWorkSizeKHR(
                queue.raw(),
                self.raw(),
                size.dimensions,
                size.offset_pointer(),
                size.global.as_ptr(),
                suggested.as_mut_ptr(),
            )
        }?;
        Ok(suggested)
    }
}

impl Queue {
    /// Runs a kernel. The arguments are as many as the kernel has, and of its kinds and sizes.
    #[inline(always)]
    pub fn launch<'a>(
        self: &Arc<Self>,
        kernel: &mut Kernel,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        size: &WorkSize,
        after: &[&Event],
    ) -> Result<Event> {
        let memory = arguments.clone().map(Arg::memory);
        self.launch_in_use(kernel, arguments, memory, size, after)
    }

    /// As [`Queue::launch`], of a kernel that also uses memory that it gets in other ways than as
    /// arguments.
    pub fn launch_using<'a, 'm: 'a>(
        self: &Arc<Self>,
        kernel: &mut Kernel,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        memory: impl Iterator<Item = Span<'m>> + Clone,
        size: &WorkSize,
        after: &[&Event],
    ) -> Result<Event> {
        let all = arguments.clone().map(Arg::memory).chain(memory.map(shortened).map(Some));
        self.launch_in_use(kernel, arguments, all, size, after)
    }

    /// The same, of a kernel that uses this memory and no other.
    #[inline(always)]
    fn launch_in_use<'a, 'm>(
        self: &Arc<Self>,
        kernel: &mut Kernel,
        arguments: impl Iterator<Item = Arg<'a>>,
        memory: impl Iterator<Item = Option<Span<'m>>> + Clone,
        size: &WorkSize,
        after: &[&Event],
    ) -> Result<Event> {
        if !Arc::ptr_eq(kernel.program().context(), self.context()) {
            return Err(Error::invalid("the kernel belongs to another context"));
        }
        // Without the closure that `using` takes, all of it is one function, and some percent
        // faster.
        self.begin_uses(memory.clone())?;
        let outcome = match kernel.set_all(arguments) {
            // SAFETY: queue and events are alive, the arguments were just set, and the memory among
            // them is in use.
            Ok(()) => self.submit(after, false, |_, queue, wait, event| unsafe {
                kernel.enqueue(size, queue, wait, event)
            }),
            Err(error) => Err(error),
        };
        end_uses(memory);
        outcome
    }

    /// Checks what [`Queue::launch`] would refuse of the memory, for a launch that runs nothing;
    /// and keeps its place.
    pub fn launch_nothing<'a>(
        self: &Arc<Self>,
        arguments: impl Iterator<Item = Arg<'a>> + Clone,
        after: &[&Event],
    ) -> Result<Event> {
        self.using(arguments.filter_map(Arg::memory), || self.marker(after))
    }
}
