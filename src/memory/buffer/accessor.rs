//! Accessors: a part of a buffer, with what will be done to it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;

use super::host_accessor::{HostReader, HostWriter};
use super::requirement::{AccessMode, Requirement};
use crate::MakeError as _;
use crate::memory::bounds;
use crate::memory::shape::Shape;
use crate::{Error, Result};

/// Modes of access, as types.
pub mod access {
    /// The elements are read.
    #[derive(Debug)]
    pub enum Read {}
    /// Elements are written; those that are not keep their values, unless the accessor says
    /// [`no_init`](super::Accessor::no_init).
    #[derive(Debug)]
    pub enum Write {}
    /// The elements are read and written.
    #[derive(Debug)]
    pub enum ReadWrite {}
}

#[allow(private_interfaces, reason = "nobody outside can name a sealed trait, nor its constant")]
mod sealed_mode {
    pub trait Sealed {
        const MODE: super::AccessMode;
    }
    impl Sealed for super::access::Read {
        const MODE: super::AccessMode = super::AccessMode::Read;
    }
    impl Sealed for super::access::Write {
        const MODE: super::AccessMode = super::AccessMode::Write;
    }
    impl Sealed for super::access::ReadWrite {
        const MODE: super::AccessMode = super::AccessMode::ReadWrite;
    }
}

/// A mode of access: [`access::Read`], [`access::Write`] or [`access::ReadWrite`].
pub trait AccessKind: sealed_mode::Sealed + 'static {
    /// Elements `T` in a host task: `&[T]`, or `&mut [T]` where they are written.
    type View<'a, T: 'a>;

    /// Elements `T` on the host: [`HostReader`], or [`HostWriter`] where they are written.
    type Host<T: Pod>;

    #[doc(hidden)]
    fn view<T>(data: &mut [T]) -> Self::View<'_, T>;

    #[doc(hidden)]
    fn host<T: Pod>(part: &Arc<Requirement>, range: Shape) -> Result<Self::Host<T>>;
}

impl AccessKind for access::Read {
    type View<'a, T: 'a> = &'a [T];

    type Host<T: Pod> = HostReader<T>;

    fn view<T>(data: &mut [T]) -> &[T] {
        data
    }

    fn host<T: Pod>(part: &Arc<Requirement>, range: Shape) -> Result<HostReader<T>> {
        HostReader::open(part, range)
    }
}

impl AccessKind for access::Write {
    type View<'a, T: 'a> = &'a mut [T];

    type Host<T: Pod> = HostWriter<T>;

    fn view<T>(data: &mut [T]) -> &mut [T] {
        data
    }

    fn host<T: Pod>(part: &Arc<Requirement>, range: Shape) -> Result<HostWriter<T>> {
        HostWriter::open(part, range)
    }
}

impl AccessKind for access::ReadWrite {
    type View<'a, T: 'a> = &'a mut [T];

    type Host<T: Pod> = HostWriter<T>;

    fn view<T>(data: &mut [T]) -> &mut [T] {
        data
    }

    fn host<T: Pod>(part: &Arc<Requirement>, range: Shape) -> Result<HostWriter<T>> {
        HostWriter::open(part, range)
    }
}

/// Access that writes.
pub trait Writes: AccessKind {}
impl Writes for access::Write {}
impl Writes for access::ReadWrite {}

/// Access that reads.
pub trait Reads: AccessKind {}
impl Reads for access::Read {}
impl Reads for access::ReadWrite {}

/// A part of a [`Buffer`](super::Buffer), and what a command does with it; made by
/// [`Buffer::read`](super::Buffer::read), [`write`](super::Buffer::write) and
/// [`read_write`](super::Buffer::read_write) (SYCL 2020, section 4.7.6).
///
/// An accessor is a plain value. Kernels take it instead of a pointer, and copies and fills take it
/// instead of memory. A command with an accessor waits for earlier commands that wrote any of its
/// elements. If it writes, it also waits for those that read any of them.
///
/// A kernel gets the address of the part's first element. Rows of a part are as far from each other
/// as those of the buffer.
///
/// ```no_run
/// # use oclave::{Buffer, Queue, Result};
/// # fn f(queue: &Queue, image: &Buffer<f32>, copy: &Buffer<f32>) -> Result<()> {
/// // Rows 10 to 19 and columns 0 to 63, to the same place of another buffer.
/// let (from, to) = (image.read().part([10, 0], [10, 64])?, copy.write().part([10, 0], [10, 64])?);
/// queue.copy(&from, &to)?;
/// queue.fill(&copy.write().part([0, 0], [10, 64])?, 0.0)?; // independent of the copy
/// assert_eq!(copy.host_read()?[0], 0.0); // waits for both
/// # Ok(())
/// # }
/// ```
#[must_use = "an accessor does nothing until a command is given it"]
pub struct Accessor<T, A = access::ReadWrite> {
    requirement: Arc<Requirement>,
    range: Shape,
    ty: PhantomData<fn() -> (T, A)>,
}

impl<T: Pod, A: AccessKind> Accessor<T, A> {
    /// `requirement` has the mode of `A` and the extent of `range`.
    pub(super) fn new(mut requirement: Requirement, range: Shape) -> Self {
        requirement.access = A::MODE;
        Self { requirement: Arc::new(requirement), range, ty: PhantomData }
    }

    /// The elements from `offset` on, as many in each dimension as `extent` says.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when they are not within this accessor, or when the
    /// dimensions differ.
    pub fn part(&self, offset: impl Into<Shape>, extent: impl Into<Shape>) -> Result<Self> {
        let (offset, extent) = (offset.into(), extent.into());
        let mut requirement = Requirement::clone(&self.requirement);
        requirement.area = requirement
            .area
            .part(offset.triple(0), extent.triple(1))
            .filter(|_| {
                [offset.dimensions(), extent.dimensions()]
                    == [self.range.dimensions(), self.range.dimensions()]
            })
            .ok_or_else(|| {
                Error::invalid(format!(
                    "{} elements from {} on are not within {} elements of {}",
                    extent,
                    offset,
                    self.range,
                    self.requirement.object()
                ))
            })?;
        Ok(Self { requirement: Arc::new(requirement), range: extent, ty: PhantomData })
    }

    /// The elements of a range of indices, or the rows or planes where the buffer has more
    /// dimensions.
    ///
    /// # Errors
    /// As [`Accessor::part`].
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let mut sizes = self.range.sizes();
        // A range that is not within the rows is beyond everything.
        let rows = bounds(&range, sizes[0]).unwrap_or(sizes[0]..usize::MAX);
        let start = rows.start;
        sizes[0] = rows.len();
        match self.range.dimensions() {
            1 => self.part(start, sizes[0]),
            2 => self.part([start, 0], [sizes[0], sizes[1]]),
            _ => self.part([start, 0, 0], sizes),
        }
    }

    /// How many elements in each dimension.
    pub fn shape(&self) -> Shape {
        self.range
    }

    pub(super) fn requirement(&self) -> &Arc<Requirement> {
        &self.requirement
    }
}

impl<T, A> Accessor<T, A> {
    /// The access of a kernel to the part.
    pub(crate) fn use_by_kernel(&self) -> &Arc<Requirement> {
        &self.requirement
    }

    /// The access of a copy or a fill: one that writes replaces every element.
    pub(crate) fn use_by_copy(&self, write: bool) -> Arc<Requirement> {
        if write && !self.requirement.no_init {
            Arc::new(Requirement::clone(&self.requirement).replaced())
        } else {
            Arc::clone(&self.requirement)
        }
    }
}

impl<T: Pod, A: Writes> Accessor<T, A> {
    /// The same accessor without the old contents.
    ///
    /// They are not copied to the device. Elements that the command does not write have any value
    /// afterwards.
    pub fn no_init(self) -> Self {
        let mut requirement = Requirement::clone(&self.requirement);
        requirement.no_init = true;
        Self { requirement: Arc::new(requirement), range: self.range, ty: PhantomData }
    }
}

impl<T: Pod, A: AccessKind> Accessor<T, A> {
    /// The elements on the host, when the commands that use them have run: a [`HostReader`], or a
    /// [`HostWriter`] where they are written.
    ///
    /// A reader does not see what the elements become later. Commands that use elements of a writer
    /// wait until it is dropped or [finished](HostWriter::finish).
    ///
    /// # Errors
    /// When the last command that writes some of them failed, or a later one that uses them did, for
    /// a writer. This is reported once: the next call returns the elements as they are.
    /// [`Invalid`](crate::ErrorKind::Invalid) while a [`HostWriter`] of one of them lives;
    /// [`MemoryAllocation`](crate::ErrorKind::MemoryAllocation) when the host has no room.
    pub fn host(&self) -> Result<A::Host<T>> {
        A::host(&self.requirement, self.range)
    }
}

impl<T, A> Clone for Accessor<T, A> {
    fn clone(&self) -> Self {
        Self { requirement: Arc::clone(&self.requirement), range: self.range, ty: PhantomData }
    }
}

impl<T, A> fmt::Debug for Accessor<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.requirement, f)
    }
}
