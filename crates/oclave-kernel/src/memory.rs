//! Memory that work-items write.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::Data;

/// The work-item's own element of memory: that of its number in the range.
///
/// The host refuses a launch over more work-items than the memory has elements, and one that passes
/// the memory for another parameter, too. So work-items check nothing.
pub struct Out<'a, T: Data> {
    pub(crate) element: *mut T,
    pub(crate) of: PhantomData<&'a mut T>,
}

impl<T: Data> Deref for Out<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the element is in bounds, which was checked at the launch, and of no other work-item.
        unsafe { &*self.element }
    }
}

impl<T: Data> DerefMut for Out<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`.
        unsafe { &mut *self.element }
    }
}

impl<T: Data + fmt::Debug> fmt::Debug for Out<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Out").field(&**self).finish()
    }
}

macro_rules! shared {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<'a, T: Data> {
            pub(crate) first: *mut T,
            pub(crate) len: usize,
            pub(crate) of: PhantomData<&'a T>,
        }

        impl<T: Data> Clone for $name<'_, T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T: Data> Copy for $name<'_, T> {}

        impl<T: Data> $name<'_, T> {
            /// How many elements.
            #[inline(always)]
            pub const fn len(&self) -> usize {
                self.len
            }

            /// Whether there are none.
            #[inline(always)]
            pub const fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// An element.
            ///
            /// # Panics
            /// If there is none at `index`.
            #[inline(always)]
            #[track_caller]
            pub fn get(&self, index: usize) -> T {
                let element = self.element(index);
                // SAFETY: in bounds. Each access is one: other work-items may write meanwhile, and any bytes are a `T`.
                unsafe { element.read_volatile() }
            }

            /// Changes an element.
            ///
            /// # Panics
            /// If there is none at `index`.
            #[inline(always)]
            #[track_caller]
            pub fn set(&self, index: usize, value: T) {
                let element = self.element(index);
                // SAFETY: as for `get`; nobody has references to elements.
                unsafe { element.write_volatile(value) }
            }

            /// Changes an element and returns what was there. This is no atomic access.
            ///
            /// # Panics
            /// If there is none at `index`.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, index: usize, value: T) -> T {
                let before = self.get(index);
                self.set(index, value);
                before
            }

            #[inline(always)]
            #[track_caller]
            fn element(&self, index: usize) -> *mut T {
                if index >= self.len {
                    out_of_bounds(index, self.len);
                }
                // SAFETY: in bounds.
                unsafe { self.first.add(index) }
            }
        }

        impl<T: Data> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("len", &self.len).finish_non_exhaustive()
            }
        }
    };
}

shared! {
    /// Memory that all work-items read and write. There are no references to its elements.
    Global
}

shared! {
    /// Memory of a work-group. It begins with any values.
    Local
}

/// As a slice says it.
#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(index: usize, len: usize) -> ! {
    panic!("index out of bounds: the len is {len} but the index is {index}")
}
