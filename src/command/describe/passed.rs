//! Arguments for parameters of kernels.

use std::sync::Arc;

use bytemuck::NoUninit;

use super::argument::{Argument, Local, Pointer, RawArgument, Value};
use super::parameter::{Given, Parameter};
use super::place::Place;
use crate::memory::{AccessKind, Accessor, UsmKind, UsmSlice, Writes};

/// An argument for a by-value parameter of type `T`: a `T`, a [`RawArgument`], or in graphs
/// a [`DynamicParameter`](crate::graph::DynamicParameter) of one, or [several](crate::graph::DynamicParameters).
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter of type `{T}` cannot be given `{Self}`",
    label = "the kernel takes `{T}` here"
)]
pub trait KernelValue<T> {
    #[doc(hidden)]
    fn given(self) -> Given;
}

/// An argument for a `local T *` parameter: [`Local<T>`](Local), or in graphs a
/// [`DynamicParameter`](crate::graph::DynamicParameter) of one, or several.
#[diagnostic::on_unimplemented(
    message = "local memory of `{T}` cannot be given as `{Self}`",
    label = "the kernel takes `Local<{T}>` here"
)]
pub trait KernelLocal<T> {
    #[doc(hidden)]
    fn given(self) -> Given;
}

impl<T: NoUninit> KernelValue<T> for T {
    fn given(self) -> Given {
        Given::fixed(Argument::Value(Value::new(&self)))
    }
}

impl<T: 'static> KernelLocal<T> for Local<T> {
    fn given(self) -> Given {
        Given::fixed(self.argument())
    }
}

impl<T> KernelValue<T> for RawArgument {
    fn given(self) -> Given {
        Given::fixed(self.argument())
    }
}

impl sealed::Sealed for RawArgument {}
impl<T> KernelPointer<T> for RawArgument {
    fn pointer(self) -> Pointer {
        self.argument().into_pointer()
    }
}
impl<T> KernelPointerMut<T> for RawArgument {}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Memory that can be passed for a `const T *` parameter.
///
/// `None` of an `Option` is a null pointer.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter of type `const {T} *` cannot be given `{Self}`",
    label = "the kernel takes memory of `{T}` here",
    note = "it takes `&UsmSlice<{T}>`, `&buffer.read()`, or an `Option` of them; host data is copied to memory first"
)]
pub trait KernelPointer<T>: sealed::Sealed {
    #[doc(hidden)]
    fn pointer(self) -> Pointer;

    /// The parameter that the argument follows.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "of a sealed trait")]
    fn parameters(&self) -> Vec<Arc<Parameter>> {
        Vec::new()
    }
}

/// Memory that can be passed for a `T *` parameter.
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter of type `{T} *` cannot be given `{Self}`",
    label = "the kernel writes memory of `{T}` here",
    note = "it takes `&UsmSlice<{T}>`, `&buffer.write()`, `&buffer.read_write()`, or an `Option` of them"
)]
pub trait KernelPointerMut<T>: KernelPointer<T> {}

impl<T, K: UsmKind> sealed::Sealed for UsmSlice<T, K> {}
impl<T, K: UsmKind> KernelPointer<T> for UsmSlice<T, K> {
    fn pointer(self) -> Pointer {
        KernelPointer::pointer(&self)
    }
}
impl<T, K: UsmKind> KernelPointerMut<T> for UsmSlice<T, K> {}

impl<T, K: UsmKind> sealed::Sealed for &UsmSlice<T, K> {}
impl<T, K: UsmKind> KernelPointer<T> for &UsmSlice<T, K> {
    fn pointer(self) -> Pointer {
        Pointer::new(Place::Usm(self.region().clone()))
    }
}
impl<T, K: UsmKind> KernelPointerMut<T> for &UsmSlice<T, K> {}

impl<T, A> sealed::Sealed for Accessor<T, A> {}
impl<T, A: AccessKind> KernelPointer<T> for Accessor<T, A> {
    fn pointer(self) -> Pointer {
        KernelPointer::<T>::pointer(&self)
    }
}
impl<T, A: Writes> KernelPointerMut<T> for Accessor<T, A> {}

impl<T, A> sealed::Sealed for &Accessor<T, A> {}
impl<T, A: AccessKind> KernelPointer<T> for &Accessor<T, A> {
    fn pointer(self) -> Pointer {
        Pointer::new(Place::Accessor(Arc::clone(self.use_by_kernel())))
    }
}
impl<T, A: Writes> KernelPointerMut<T> for &Accessor<T, A> {}

/// `char *` takes text, which Rust has in `u8`, and `uchar *` takes `i8`.
macro_rules! bytes_of_either_sign {
    ($($element:ty => $given:ty),*) => {$(
        impl<K: UsmKind> KernelPointer<$element> for UsmSlice<$given, K> {
            fn pointer(self) -> Pointer {
                KernelPointer::<$given>::pointer(self)
            }
        }
        impl<K: UsmKind> KernelPointerMut<$element> for UsmSlice<$given, K> {}
        impl<K: UsmKind> KernelPointer<$element> for &UsmSlice<$given, K> {
            fn pointer(self) -> Pointer {
                KernelPointer::<$given>::pointer(self)
            }
        }
        impl<K: UsmKind> KernelPointerMut<$element> for &UsmSlice<$given, K> {}
        impl<A: AccessKind> KernelPointer<$element> for Accessor<$given, A> {
            fn pointer(self) -> Pointer {
                KernelPointer::<$given>::pointer(self)
            }
        }
        impl<A: Writes> KernelPointerMut<$element> for Accessor<$given, A> {}
        impl<A: AccessKind> KernelPointer<$element> for &Accessor<$given, A> {
            fn pointer(self) -> Pointer {
                KernelPointer::<$given>::pointer(self)
            }
        }
        impl<A: Writes> KernelPointerMut<$element> for &Accessor<$given, A> {}
    )*};
}

bytes_of_either_sign!(i8 => u8, u8 => i8);

impl<P: sealed::Sealed> sealed::Sealed for Option<P> {}
impl<T, P: KernelPointer<T>> KernelPointer<T> for Option<P> {
    fn pointer(self) -> Pointer {
        self.map_or_else(|| Pointer::new(Place::Null), KernelPointer::pointer)
    }

    #[allow(private_interfaces, reason = "of a sealed trait")]
    fn parameters(&self) -> Vec<Arc<Parameter>> {
        self.as_ref().map(KernelPointer::parameters).unwrap_or_default()
    }
}
impl<T, P: KernelPointerMut<T>> KernelPointerMut<T> for Option<P> {}
