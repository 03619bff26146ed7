//! Types that memory of devices may hold.

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

use crate::description::TypeDescription;

/// An element of memory that host and devices share: [`Data`], or an atomic number.
///
/// # Safety
/// Any bytes are a value, and the description is that of the type.
pub unsafe trait Element: 'static {
    #[doc(hidden)]
    const DESCRIPTION: &'static TypeDescription;
    /// It changes through shared references.
    #[doc(hidden)]
    const IS_ATOMIC: bool;
}

/// A value that host and devices have alike: a number, a vector, an array, or a struct with `#[derive(Data)]`
/// and `#[repr(C)]`.
///
/// # Safety
/// As [`Element`], without bytes of padding.
#[diagnostic::on_unimplemented(
    message = "memory of kernels does not hold values of `{Self}`",
    note = "any bytes must be a value: use numbers, vectors, arrays and structs with `#[repr(C)]` and `#[derive(Data)]`, and `u8` for `bool`"
)]
pub unsafe trait Data: Element + Copy + Send + Sync {}

macro_rules! scalars {
    ($($ty:ty = $number:literal),*) => {$(
        // SAFETY: any bytes are a number.
        unsafe impl Element for $ty {
            const DESCRIPTION: &'static TypeDescription = &TypeDescription::scalar::<$ty>($number);
            const IS_ATOMIC: bool = false;
        }
        // SAFETY: numbers have no padding.
        unsafe impl Data for $ty {}
    )*};
}

scalars!(i8 = 0, u8 = 1, i16 = 2, u16 = 3, i32 = 4, u32 = 5, i64 = 6, u64 = 7, f32 = 8, f64 = 9);

// SAFETY: an array has the bytes of its elements.
unsafe impl<T: Data, const N: usize> Element for [T; N] {
    const DESCRIPTION: &'static TypeDescription = &TypeDescription::array::<[T; N]>(T::DESCRIPTION, N);
    const IS_ATOMIC: bool = false;
}
// SAFETY: as above; elements have no padding.
unsafe impl<T: Data, const N: usize> Data for [T; N] {}

macro_rules! atomics {
    ($($ty:ty = $number:literal),*) => {$(
        // SAFETY: any bytes are a number.
        unsafe impl Element for $ty {
            const DESCRIPTION: &'static TypeDescription = &TypeDescription::scalar::<$ty>($number);
            const IS_ATOMIC: bool = true;
        }
    )*};
}

/// Arrays of atomics, for device globals.
macro_rules! atomic_arrays {
    ($($ty:ty),*) => {$(
        // SAFETY: an array has the bytes of its elements.
        unsafe impl<const N: usize> Element for [$ty; N] {
            const DESCRIPTION: &'static TypeDescription =
                &TypeDescription::array::<[$ty; N]>(<$ty as Element>::DESCRIPTION, N);
            const IS_ATOMIC: bool = true;
        }
    )*};
}

atomic_arrays!(AtomicI32, AtomicU32, AtomicI64, AtomicU64);

atomics!(AtomicI32 = 4, AtomicU32 = 5, AtomicI64 = 6, AtomicU64 = 7);
