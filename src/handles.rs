//! One handle or several, where a function takes either.

use crate::{Event, Node, Queue};

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
pub(crate) fn with_slice<T: Copy, R>(mut items: impl Iterator<Item = T>, run: impl FnOnce(&[T]) -> R) -> R {
    let Some(a) = items.next() else { return run(&[]) };
    let Some(b) = items.next() else { return run(&[a]) };
    let Some(c) = items.next() else { return run(&[a, b]) };
    run(&[a, b, c].into_iter().chain(items).collect::<Vec<_>>())
}
