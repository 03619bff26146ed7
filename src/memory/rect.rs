//! USM as an array of two or three dimensions, and boxes of it.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use super::slice::{UsmKind, UsmSlice, usm};
use super::{Block, Region};
use crate::MakeError as _;
use crate::driver::rows::StridedRegion;
use crate::memory::shape::Shape;
use crate::{Error, Result};

/// A box of an array of one to three dimensions in USM: what copies, fills, reads and writes of
/// rectangles are given. Made by [`UsmSlice::rect`].
///
/// Elements of the last dimension are contiguous. A copy visits the elements in this order. Boxes
/// with the same number of elements can therefore be copied to each other, to contiguous memory,
/// and to parts of buffers.
///
/// ```no_run
/// # use oclave::{Command, Context, Queue, Result};
/// # fn f(context: &Context, queue: &Queue) -> Result<()> {
/// let image = context.alloc_device::<u32>(480 * 640)?;
/// let tile = image.rect([480, 640])?.part([100, 200], [32, 32])?;
/// queue.fill(&tile, 0xff)?;
/// let pixels = queue.read(&tile)?; // 32 rows of 32
/// // Rows that are 704 elements from each other, 640 of which are used (`ext_oneapi_memcpy2d`):
/// let padded = context.alloc_device::<u32>(480 * 704)?;
/// queue.copy(&image, &padded.rect([480, 704])?.part([0, 0], [480, 640])?)?;
/// # Ok(())
/// # }
/// ```
pub struct UsmRect<T, K = usm::DeviceOnly> {
    /// From the first element on.
    region: Region,
    /// Of the array.
    shape: [usize; 3],
    range: Shape,
    ty: PhantomData<fn() -> (T, K)>,
}

impl<T: Pod, K: UsmKind> UsmSlice<T, K> {
    /// The elements as an array of so many in each dimension, slowest first: `[rows, columns]`,
    /// `[planes, rows, columns]`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when these are not as many as the slice has.
    pub fn rect(&self, shape: impl Into<Shape>) -> Result<UsmRect<T, K>> {
        let range = shape.into();
        let shape = range.triple(1);
        let len = shape.iter().try_fold(1_usize, |len, size| len.checked_mul(*size));
        if len != Some(self.len()) {
            return Err(Error::invalid(format!(
                "a slice of {} elements as an array of {:?}",
                self.len(),
                range
            ))
            .remedy("take a part of the slice first"));
        }
        Ok(UsmRect { region: self.region().clone(), shape, range, ty: PhantomData })
    }
}

impl<T: Pod, K: UsmKind> UsmRect<T, K> {
    /// The elements from `offset` on, as many in each dimension as `extent` says.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when they are not within the box, or when the
    /// dimensions differ.
    pub fn part(&self, offset: impl Into<Shape>, extent: impl Into<Shape>) -> Result<Self> {
        let (offset, extent) = (offset.into(), extent.into());
        let (at, own) = (offset.triple(0), self.range.triple(1));
        let ends = at.iter().zip(extent.triple(1)).map(|(at, extent)| at.checked_add(extent));
        let is_within = ends.zip(own).all(|(end, size)| end.is_some_and(|end| end <= size));
        let dimensions = self.range.dimensions();
        if !is_within || offset.dimensions() != dimensions || extent.dimensions() != dimensions {
            return Err(Error::invalid(format!(
                "{:?} elements from {:?} on are not within {:?}",
                extent, offset, self.range
            )));
        }
        let [_, rows, columns] = self.shape;
        let first = if extent.is_empty() { 0 } else { (at[0] * rows + at[1]) * columns + at[2] };
        let start = first * size_of::<T>();
        let region = self.region.part(start, self.region.size_bytes() - start)?;
        Ok(Self { region, shape: self.shape, range: extent, ty: PhantomData })
    }
}

impl<T, K> UsmRect<T, K> {
    /// How many elements in each dimension.
    pub fn shape(&self) -> Shape {
        self.range
    }

    pub(crate) fn block(&self) -> Result<Block> {
        let rows = StridedRegion::of_box(self.shape, self.range.triple(1), size_of::<T>());
        Ok(Block { region: self.region.part(0, rows.end())?, rows })
    }
}

impl<T, K> Clone for UsmRect<T, K> {
    fn clone(&self) -> Self {
        Self { region: self.region.clone(), ..*self }
    }
}

impl<T, K> fmt::Debug for UsmRect<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UsmRect<{}>({:?} of {:?})", std::any::type_name::<T>(), self.range, self.region)
    }
}
