//! The buffer as its users hold it.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::accessor::{AccessKind, Accessor, access};
use super::area::Area;
use super::host_accessor::{HostReader, HostWriter};
use super::native::NativeTarget;
use super::object::Object;
use super::requirement::{AccessMode, Requirement};
use super::write_back::{Final, WriteBack};
use crate::MakeError as _;
use crate::memory::shape::Shape;
use crate::memory::{AsyncSource, HostTarget};
use crate::{Error, Result};

/// An array with one to three dimensions that orders the commands that use it (SYCL 2020, section
/// 4.7.2).
///
/// A buffer belongs to no context or device. It has memory in each context that uses it, and the
/// library copies the contents where they are needed. Commands take [accessors](Accessor), which
/// determine the order. A read waits for writes of the same elements, and a write waits for reads
/// and writes of them. This holds across queues and threads.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # fn main() -> oclave::Result<()> {
/// # use oclave::{Buffer, Context, Device, Queue};
/// let context = Context::new(&Device::select()?)?;
/// let queue = Queue::builder(&context).out_of_order().build()?;
/// let x = Buffer::from_vec(vec![1.0_f32; 1024])?;
/// let y = Buffer::<f32>::new(1024)?;
/// for _ in 0..10 {
///     queue.parallel_for(1024, kernels::saxpy::saxpy(2.0, x.read(), y.read_write()))?; // one after the other
/// }
/// assert_eq!(y.host_read()?[7], 20.0); // waits for the last of them
/// # Ok(())
/// # }
/// ```
///
/// # Layout
/// Elements lie row by row, the last dimension side by side: element `[i, j, k]` of the [`Shape`]
/// `[planes, rows, columns]` is at index `(i * rows + j) * columns + k`. A kernel runs over all of
/// it with `buffer.shape().work_items()`, so that neighbouring work-items (`get_global_id(0)`) use
/// neighbouring elements.
///
/// # Lifetime
/// Clones, sub-buffers, accessors and commands share a buffer. Dropping the last clone returns at
/// once. The memory is freed when no command uses it any more. If the contents go [back to the
/// host](Buffer::set_final_data), the drop waits for that.
///
/// A buffer without elements is allowed, and so are commands on it.
pub struct Buffer<T: Pod> {
    handle: Arc<Final<T>>,
    area: Area,
    range: Shape,
    is_sub_buffer: bool,
}

impl<T: Pod> Buffer<T> {
    /// A buffer of zeroes.
    ///
    /// # Errors
    /// [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when its size cannot be addressed.
    /// Memory is not needed before it is used.
    pub fn new(shape: impl Into<Shape>) -> Result<Self> {
        Object::new::<T>(shape.into()).map(Self::of)
    }

    /// A buffer with contents: a `Vec<T>`, an `Arc<[T]>`, or a copy of a slice or array, of as many
    /// elements, in the order of memory. They are kept until a device needs them.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for another number of elements; else as
    /// [`Buffer::new`].
    pub fn with_data(shape: impl Into<Shape>, data: impl Into<AsyncSource<T>>) -> Result<Self> {
        let object = Object::new::<T>(shape.into())?;
        let source = data.into().into_bytes();
        if source.bytes().len() != object.size_bytes() {
            return Err(Error::invalid(format!(
                "{} bytes of host data for {object}, which has {}",
                source.bytes().len(),
                object.size_bytes()
            )));
        }
        Ok(Self::of(object.with_contents(source)))
    }

    /// A buffer of one dimension with contents.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn from_vec(data: Vec<T>) -> Result<Self> {
        Self::with_data(data.len(), data)
    }

    /// A buffer with a copy of host memory, to which its contents go back
    /// ([`Buffer::set_final_data`]).
    ///
    /// # Errors
    /// As [`Buffer::with_data`].
    pub fn with_host_data(shape: impl Into<Shape>, data: &HostTarget<T>) -> Result<Self> {
        let buffer = Self::with_data(shape, data.to_vec()?)?;
        buffer.set_final_data(Some(data))?;
        Ok(buffer)
    }

    fn of(object: Object) -> Self {
        let area = Area::whole(object.shape());
        let range = object.range();
        Self { handle: Arc::new(Final::new(object)), area, range, is_sub_buffer: false }
    }

    /// A buffer of the elements from `offset` on, as many in each dimension as `extent` says, which
    /// lie side by side. It shares them with this buffer: commands are ordered by the elements that
    /// they use, through whichever.
    ///
    /// OpenCL devices want sub-buffers to begin at certain addresses ([`Limits`](crate::device::Limits):
    /// `buffer_alignment_bytes`); that is looked at when one is used by a device.
    /// [Parts](Accessor::part) of accessors may begin anywhere.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the elements are not within the buffer or not
    /// contiguous, when the dimensions differ, and when this is a sub-buffer itself.
    pub fn sub_buffer(&self, offset: impl Into<Shape>, extent: impl Into<Shape>) -> Result<Self> {
        let (offset, extent) = (offset.into(), extent.into());
        let object = self.handle.object();
        if self.is_sub_buffer {
            return Err(Error::invalid(format!("a sub-buffer of a sub-buffer of {object}"))
                .remedy("make it from the buffer itself"));
        }
        let same = [offset.dimensions(), extent.dimensions()] == [self.range.dimensions(); 2];
        let area = self.area.part(offset.triple(0), extent.triple(1)).filter(|_| same);
        let area = area.ok_or_else(|| object.beyond(offset, extent))?;
        if area.runs(object.shape()).nth(1).is_some() {
            return Err(Error::invalid(format!(
                "{} elements from {} on do not lie side by side in {object}",
                extent, offset
            ))
            .remedy("give all dimensions but one their full size, or use a part of an accessor"));
        }
        Ok(Self { handle: Arc::clone(&self.handle), area, range: extent, is_sub_buffer: true })
    }

    /// How many elements in each dimension.
    pub fn shape(&self) -> Shape {
        self.range
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.area.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    pub(super) fn object(&self) -> &Arc<Object> {
        self.handle.object()
    }

    fn access<A: AccessKind>(&self) -> Accessor<T, A> {
        let object = Arc::clone(self.handle.object());
        let first = if self.area.is_empty() { 0 } else { self.area.linear(object.shape()).0 };
        let requirement = Requirement {
            object,
            area: self.area,
            access: AccessMode::ReadWrite,
            no_init: false,
            sub_buffer_bytes: self.is_sub_buffer.then_some(first * size_of::<T>()),
        };
        Accessor::new(requirement, self.range)
    }

    /// All elements, to be read by a command.
    pub fn read(&self) -> Accessor<T, access::Read> {
        self.access()
    }

    /// All elements, to be written by a command. Those that it does not write keep their values.
    pub fn write(&self) -> Accessor<T, access::Write> {
        self.access()
    }

    /// All elements, to be read and written by a command.
    pub fn read_write(&self) -> Accessor<T, access::ReadWrite> {
        self.access()
    }

    /// All elements on the host, for reading: `buffer.read().host()`.
    ///
    /// # Errors
    /// As [`Accessor::host`].
    pub fn host_read(&self) -> Result<HostReader<T>> {
        self.read().host()
    }

    /// All elements on the host, for reading and writing: `buffer.read_write().host()`.
    ///
    /// # Errors
    /// As [`Accessor::host`].
    pub fn host_write(&self) -> Result<HostWriter<T>> {
        self.read_write().host()
    }

    /// Sets where the contents go when the last clone of the buffer is dropped.
    ///
    /// The target is host memory with as many elements, or `None`, which is the default. Nothing is
    /// written if no command has written to the buffer. That drop waits for the commands that write
    /// the buffer. While a [`HostWriter`] is open, the contents go back when the last one closes
    /// instead. The next checked call of a context that used the buffer reports a failure.
    /// [`Buffer::write_back`] reports it at once.
    ///
    /// A graph takes no buffers that do this.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for another number of elements.
    pub fn set_final_data(&self, target: Option<&HostTarget<T>>) -> Result<()> {
        self.handle.set_target(target)
    }

    /// The same with a `cl_mem` that has room for the contents.
    pub(super) fn set_native_target(&self, target: Arc<NativeTarget>) {
        self.handle.set_native_target(target);
    }

    /// Whether the contents go where [`Buffer::set_final_data`] says. They do, unless this says no.
    pub fn set_write_back(&self, write_back: bool) {
        self.handle.set_enabled(write_back);
    }

    /// Waits for the commands that write the buffer, then copies its contents to the target.
    ///
    /// The target is that of [`Buffer::set_final_data`], or the `cl_mem` of
    /// [`Buffer::from_native`].
    ///
    /// # Errors
    /// As [`Accessor::host`].
    pub fn write_back(&self) -> Result<()> {
        self.handle.write_back()
    }

    /// A borrowed slice of as many elements, to which the contents are copied when the result is
    /// dropped or [finished](WriteBack::finish). Nothing is copied if it is leaked.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for another number of elements.
    pub fn write_back_to<'a>(&self, target: &'a mut [T]) -> Result<WriteBack<'a, T>> {
        if target.len() != self.len() {
            return Err(Error::invalid(format!(
                "{} elements for the contents of {}, which has {}",
                target.len(),
                self.handle.object(),
                self.len()
            )));
        }
        Ok(WriteBack::new(self.clone(), target))
    }
}

impl<T: Pod> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let Self { handle, area, range, is_sub_buffer } = self;
        Self { handle: Arc::clone(handle), area: *area, range: *range, is_sub_buffer: *is_sub_buffer }
    }
}

impl<T: Pod> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle) && self.area == other.area
    }
}

impl<T: Pod> Eq for Buffer<T> {}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_sub_buffer {
            false => fmt::Debug::fmt(self.handle.object(), f),
            true => write!(f, "{:?} of {:?}", self.area, self.handle.object()),
        }
    }
}
