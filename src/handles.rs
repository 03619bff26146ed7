//! One handle or several, where a function takes either.

use crate::graph::Node;
use crate::{Event, Queue};

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for Node {}
impl sealed::Sealed for Queue {}
impl sealed::Sealed for Event {}

/// One [`Event`], [`Node`] or [`Queue`], or several: `&a`, `&[&a, &b]`, `&[a, b]`, `&vec`.
pub trait Handles<'a, T: sealed::Sealed + 'a> {
    #[doc(hidden)]
    fn handles(self) -> impl Iterator<Item = &'a T>;
}

impl<'a, T: sealed::Sealed> Handles<'a, T> for &'a T {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        std::iter::once(self)
    }
}

impl<'a, T: sealed::Sealed> Handles<'a, T> for &'a [T] {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter()
    }
}

impl<'a, T: sealed::Sealed> Handles<'a, T> for &'a Vec<T> {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter()
    }
}

impl<'a, T: sealed::Sealed, const N: usize> Handles<'a, T> for &'a [T; N] {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter()
    }
}

impl<'a, T: sealed::Sealed> Handles<'a, T> for &'a [&'a T] {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter().copied()
    }
}

impl<'a, T: sealed::Sealed> Handles<'a, T> for &'a Vec<&'a T> {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter().copied()
    }
}

impl<'a, T: sealed::Sealed, const N: usize> Handles<'a, T> for &'a [&'a T; N] {
    fn handles(self) -> impl Iterator<Item = &'a T> {
        self.iter().copied()
    }
}

/// Calls with items as a slice; on the stack while they are few.
#[inline(always)]
pub(crate) fn with_slice<T: Copy, R>(items: impl Iterator<Item = T>, run: impl FnOnce(&[T]) -> R) -> R {
    let mut items = items.fuse();
    // `run` is called in one place, so that it is inlined there.
    let (one, two, many);
    let slice = match (items.next(), items.next(), items.next()) {
        (Some(a), Some(b), Some(c)) => {
            many = [a, b, c].into_iter().chain(items).collect::<Vec<_>>();
            many.as_slice()
        }
        (Some(a), Some(b), None) => {
            two = [a, b];
            &two
        }
        (Some(a), ..) => {
            one = [a];
            &one
        }
        (None, ..) => &[],
    };
    run(slice)
}
