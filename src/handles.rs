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
