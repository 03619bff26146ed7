//! Index spaces of a launch: how many work-items, in which groups, from where.

use std::fmt;

use crate::MakeError as _;
use crate::{Error, ErrorKind, Result};

/// How many work-items a launch has in each of one to three dimensions.
///
/// The first dimension is `get_global_id(0)`: `[x, y]`. Arrays have the other order
/// ([`Shape`](crate::memory::Shape)). A range may be empty: such a launch runs nothing, and still takes its
/// place in the order of the queue.
///
/// ```
/// use oclave::kernel::Range;
///
/// assert_eq!(Range::from([640, 480]).to_string(), "640 × 480");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    sizes: [usize; 3],
    dimensions: Dimensions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Dimensions {
    One = 1,
    Two,
    Three,
}

impl Range {
    /// The first `dimensions` of these sizes.
    pub(crate) const fn of([x, y, z]: [usize; 3], dimensions: usize) -> Self {
        match dimensions {
            1 => Self { sizes: [x, 1, 1], dimensions: Dimensions::One },
            2 => Self { sizes: [x, y, 1], dimensions: Dimensions::Two },
            _ => Self { sizes: [x, y, z], dimensions: Dimensions::Three },
        }
    }

    /// 1, 2 or 3.
    #[inline]
    pub const fn dimensions(&self) -> usize {
        self.dimensions as usize
    }

    /// Work-items per dimension; 1 for the dimensions that the range does not have.
    #[inline]
    pub const fn sizes(&self) -> [usize; 3] {
        self.sizes
    }

    /// Whether there is no work-item.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.sizes[0] == 0 || self.sizes[1] == 0 || self.sizes[2] == 0
    }
}

/// `512 × 600`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sizes = self.sizes.iter().take(self.dimensions());
        sizes.next().map_or(Ok(()), |first| write!(f, "{first}"))?;
        sizes.try_for_each(|size| write!(f, " × {size}"))
    }
}

impl From<usize> for Range {
    fn from(x: usize) -> Self {
        Self::of([x, 1, 1], 1)
    }
}

impl From<[usize; 1]> for Range {
    fn from([x]: [usize; 1]) -> Self {
        Self::of([x, 1, 1], 1)
    }
}

impl From<[usize; 2]> for Range {
    fn from([x, y]: [usize; 2]) -> Self {
        Self::of([x, y, 1], 2)
    }
}

impl From<[usize; 3]> for Range {
    fn from([x, y, z]: [usize; 3]) -> Self {
        Self::of([x, y, z], 3)
    }
}

/// A range with, optionally, a work-group size and an offset of the global ids.
///
/// ```
/// use oclave::kernel::NdRange;
///
/// let range = NdRange::new([1024, 768], [16, 16]).with_offset([0, 8]);
/// assert_eq!(range.local().map(|l| l.sizes()), Some([16, 16, 1]));
/// assert_eq!(range.to_string(), "1024 × 768 work-items, groups of 16 × 16, ids from 0 × 8 on");
/// ```
///
/// Without a work-group size, the kernel's required size is used, or else the driver chooses.
///
/// A launch returns [`NdRange`](crate::ErrorKind::NdRange) if the device cannot run the range. The
/// work-group is too large, differs from the required size, or has other dimensions than the range.
/// Or it does not divide the range on a device that needs this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NdRange {
    global: Range,
    local: Option<Range>,
    offset: Option<Range>,
}

impl NdRange {
    /// `global` work-items in groups of `local`.
    pub fn new(global: impl Into<Range>, local: impl Into<Range>) -> Self {
        Self { global: global.into(), local: Some(local.into()), offset: None }
    }

    /// The same with global ids that start at `offset` instead of 0.
    #[must_use]
    pub fn with_offset(mut self, offset: impl Into<Range>) -> Self {
        self.offset = Some(offset.into());
        self
    }

    /// The same with other work-items.
    pub(crate) const fn with_global(mut self, global: Range) -> Self {
        self.global = global;
        self
    }

    /// The check that needs no kernel: dimensions, and groups that have work-items.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match (self.local, self.offset) {
            (None, None) => Ok(()),
            _ => self.check_parts(),
        }
    }

    fn check_parts(&self) -> Result<()> {
        let dimensions = self.global.dimensions();
        for (what, sizes) in [("work-group", self.local), ("offset", self.offset)] {
            if let Some(sizes) = sizes.filter(|sizes| sizes.dimensions() != dimensions) {
                let message =
                    format!("the range has {dimensions} dimensions, its {what} has {}", sizes.dimensions());
                return Err(Error::new(ErrorKind::NdRange, message));
            }
        }
        match self.local {
            Some(local) if local.is_empty() => {
                let message = format!("work-groups of {:?} have no work-item", local.sizes());
                Err(Error::new(ErrorKind::NdRange, message))
            }
            _ => Ok(()),
        }
    }

    /// All work-items.
    #[inline]
    pub const fn global(&self) -> Range {
        self.global
    }

    /// Work-items of a group; `None`: the driver chooses.
    #[inline]
    pub const fn local(&self) -> Option<Range> {
        self.local
    }

    /// Where global ids start; `None`: at 0.
    #[inline]
    pub const fn offset(&self) -> Option<Range> {
        self.offset
    }
}

/// `512 × 600 work-items, groups of 16 × 16, ids from 0 × 8 on`.
impl fmt::Display for NdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} work-items", self.global)?;
        self.local.map_or(Ok(()), |local| write!(f, ", groups of {local}"))?;
        self.offset.map_or(Ok(()), |offset| write!(f, ", ids from {offset} on"))
    }
}

impl<R: Into<Range>> From<R> for NdRange {
    fn from(global: R) -> Self {
        Self { global: global.into(), local: None, offset: None }
    }
}

/// An index space for a launch: a number of work-items (`1000`), `[x, y]`, `[x, y, z]`, a
/// [`Range`] or an [`NdRange`].
#[diagnostic::on_unimplemented(
    message = "a kernel cannot be launched over `{Self}`",
    label = "expected a number of work-items",
    note = "it takes a `usize`, `[usize; 2]` or `[usize; 3]` (`get_global_id(0)` comes first), a `Range` or an `NdRange`",
    note = "other integers are converted with `usize::try_from`"
)]
pub trait LaunchRange: sealed::Sealed {
    #[doc(hidden)]
    fn nd_range(self) -> NdRange;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! launch_ranges {
    ($($ty:ty),*) => {$(
        impl sealed::Sealed for $ty {}
        impl LaunchRange for $ty {
            #[inline]
            fn nd_range(self) -> NdRange {
                self.into()
            }
        }
    )*};
}

launch_ranges!(usize, [usize; 1], [usize; 2], [usize; 3], Range, NdRange);
