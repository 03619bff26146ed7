//! Memory and constants of a program: device globals and specialization constants.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

use crate::{Data, Element, Global};

/// A variable that all work-items of all kernels share, and the host. Declared by
/// [`device_global!`](crate::device_global).
#[repr(transparent)]
pub struct DeviceGlobal<T: Element> {
    value: UnsafeCell<T>,
}

// SAFETY: numbers are accessed by volatile accesses, atomic ones as such; there are no references to numbers.
unsafe impl<T: Element> Sync for DeviceGlobal<T> {}

impl<T: Element> DeviceGlobal<T> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value) }
    }

    /// For the macro: what another language defines, on the host.
    #[doc(hidden)]
    pub const fn zeroed() -> Self {
        // SAFETY: any bytes are a value.
        Self { value: UnsafeCell::new(unsafe { MaybeUninit::zeroed().assume_init() }) }
    }
}

impl<T: Data> DeviceGlobal<T> {
    /// The value. Others may change it meanwhile, as for [`Global`].
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: any bytes are a value, and nobody has references to it.
        unsafe { self.value.get().read_volatile() }
    }

    /// Changes the value. This is no atomic access.
    #[inline(always)]
    pub fn set(&self, value: T) {
        // SAFETY: as for `get`.
        unsafe { self.value.get().write_volatile(value) }
    }
}

impl<T: Data, const N: usize> DeviceGlobal<[T; N]> {
    /// The elements, to be read and written one by one.
    #[inline(always)]
    pub const fn elements(&self) -> Global<'_, T> {
        Global { first: self.value.get().cast(), len: N, of: PhantomData }
    }
}

/// An atomic number, or an array of them.
pub trait Atomics: Element {}

macro_rules! atomics {
    ($($ty:ty),*) => {$(
        impl Atomics for $ty {}
        impl<const N: usize> Atomics for [$ty; N] {}
    )*};
}

atomics!(AtomicI32, AtomicU32, AtomicI64, AtomicU64);

impl<T: Atomics> Deref for DeviceGlobal<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: atomic numbers are changed through shared references only.
        unsafe { &*self.value.get() }
    }
}

impl<T: Element> fmt::Debug for DeviceGlobal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceGlobal").finish_non_exhaustive()
    }
}

/// A number that the host may set before a kernel is built for a device. Declared by
/// [`spec_constant!`](crate::spec_constant).
#[derive(Clone, Copy)]
pub struct SpecConstant<T, const ID: u32> {
    default: T,
}

impl<T, const ID: u32> SpecConstant<T, ID> {
    /// For the macro.
    #[doc(hidden)]
    pub const fn new(default: T) -> Self {
        Self { default }
    }
}

impl<T: fmt::Debug, const ID: u32> fmt::Debug for SpecConstant<T, ID> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecConstant").field("id", &ID).field("default", &self.default).finish()
    }
}

macro_rules! spec_constants {
    ($($ty:ty = $passed:ty: $function:ident $symbol:literal),*) => {$(
        impl<const ID: u32> SpecConstant<$ty, ID> {
            /// The value that the host set, or the default. `run_on_host` has the default.
            #[inline(always)]
            pub fn get(self) -> $ty {
                #[cfg(oclave_device)]
                {
                    unsafe extern "C" {
                        #[link_name = $symbol]
                        safe fn $function(id: u32, default: $passed) -> $passed;
                    }
                    $function(ID, self.default as $passed) as $ty
                }
                #[cfg(not(oclave_device))]
                {
                    self.default
                }
            }
        }
    )*};
}

spec_constants!(
    i8 = u8: spec_i8 "__oclave_spec_constant_i8", u8 = u8: spec_u8 "__oclave_spec_constant_u8",
    i16 = u16: spec_i16 "__oclave_spec_constant_i16", u16 = u16: spec_u16 "__oclave_spec_constant_u16",
    i32 = u32: spec_i32 "__oclave_spec_constant_i32", u32 = u32: spec_u32 "__oclave_spec_constant_u32",
    i64 = u64: spec_i64 "__oclave_spec_constant_i64", u64 = u64: spec_u64 "__oclave_spec_constant_u64",
    f32 = f32: spec_f32 "__oclave_spec_constant_f32", f64 = f64: spec_f64 "__oclave_spec_constant_f64"
);
