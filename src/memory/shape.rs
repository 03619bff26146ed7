//! Sizes and positions in arrays.

use std::fmt;

use crate::range::Range;

/// How many elements an array has in each of one to three dimensions, slowest first: `[rows,
/// columns]`, `[planes, rows, columns]`. Also where a part of it begins.
///
/// Elements of the last dimension lie side by side, as in a Rust array `[[T; COLUMNS]; ROWS]`. A
/// [`Range`] of work-items has the other order: its first dimension is `get_global_id(0)`, and
/// neighbouring work-items best use neighbouring elements. So a shape is no range;
/// [`Shape::work_items`] turns one into the other.
///
/// ```
/// use oclave::kernel::Range;
/// use oclave::memory::Shape;
///
/// let image = Shape::from([480, 640]); // 480 rows of 640 pixels
/// assert_eq!(image.work_items(), Range::from([640, 480])); // get_global_id(0) is the column
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape(Range);

impl Shape {
    /// 1, 2 or 3.
    pub const fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    /// The sizes, slowest dimension first; 1 for the dimensions that the shape does not have, which
    /// come last.
    pub const fn sizes(&self) -> [usize; 3] {
        self.0.sizes()
    }

    /// Whether there is no element.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A work-item for each element: `get_global_id(0)` is the index in the last dimension.
    pub const fn work_items(&self) -> Range {
        let [a, b, c] = self.sizes();
        match self.dimensions() {
            1 => self.0,
            2 => Range::of([b, a, 1], 2),
            _ => Range::of([c, b, a], 3),
        }
    }

    /// As three dimensions, of which those that it does not have come first and have the size
    /// `missing`.
    pub(crate) const fn triple(&self, missing: usize) -> [usize; 3] {
        let [a, b, c] = self.sizes();
        match self.dimensions() {
            1 => [missing, missing, a],
            2 => [missing, a, b],
            _ => [a, b, c],
        }
    }
}

/// `[480, 640]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.sizes();
        fmt::Debug::fmt(sizes.get(..self.dimensions()).unwrap_or(&sizes), f)
    }
}

impl From<usize> for Shape {
    fn from(len: usize) -> Self {
        Self(len.into())
    }
}

impl<const N: usize> From<[usize; N]> for Shape
where
    Range: From<[usize; N]>,
{
    fn from(sizes: [usize; N]) -> Self {
        Self(sizes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dimension_is_the_first_of_a_launch() {
        assert_eq!(Shape::from(7).work_items(), Range::from(7));
        assert_eq!(Shape::from([7]).work_items(), Range::from(7));
        assert_eq!(Shape::from([2, 3]).work_items(), Range::from([3, 2]));
        assert_eq!(Shape::from([2, 3, 4]).work_items(), Range::from([4, 3, 2]));
        assert_eq!(Shape::from([2, 3]).triple(1), [1, 2, 3]);
        assert_eq!(Shape::from([2, 3]).to_string(), "[2, 3]");
    }
}
