//! What can be passed for parameters of kernels that are no pointers.

use std::any::TypeId;

use bytemuck::NoUninit;

use super::parameter::Given;
use super::pointer::{self, KernelPointer, KernelPointerMut, Pointer};
use super::{Argument, Local, Place, Value};
use crate::memory::{Region, UsmKind, UsmSlice};
use crate::{Error, ErrorKind};

/// What can be passed for a by-value parameter of type `T`: a `T`, a [`RawArgument`], or in graphs
/// a [`DynamicParameter`](crate::DynamicParameter) of one, or [several](crate::DynamicParameters).
#[diagnostic::on_unimplemented(
    message = "a kernel's parameter of type `{T}` cannot be given `{Self}`",
    label = "the kernel takes `{T}` here"
)]
pub trait KernelValue<T> {
    #[doc(hidden)]
    fn given(self) -> Given;
}

/// What can be passed for a `local T *` parameter: [`Local<T>`](Local), or in graphs a
/// [`DynamicParameter`](crate::DynamicParameter) of one, or several.
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

/// An argument without a type check (`sycl_ext_oneapi_raw_kernel_arg`).
///
/// It is memory for any pointer, bytes for a by-value parameter, as many as the kernel's type
/// has, or a size of local memory. A launch, or adding the call to a graph, returns
/// [`KernelArgument`](ErrorKind::KernelArgument) if it does not fit.
#[derive(Clone, Debug)]
pub struct RawArgument(Raw);

#[derive(Clone, Debug)]
enum Raw {
    Bytes(Value),
    Memory(Place),
    Local { size_bytes: usize },
}

impl RawArgument {
    /// The bytes of a value.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self(Raw::Bytes(Value::of_bytes(TypeId::of::<Self>(), bytes)))
    }

    /// A pointer to the start of memory.
    pub fn memory<T, K: UsmKind>(memory: &UsmSlice<T, K>) -> Self {
        Self::region(memory.region())
    }

    /// A pointer to the first byte.
    pub(super) fn region(region: &Region) -> Self {
        Self(Raw::Memory(Place::Usm(region.clone())))
    }

    /// The null pointer.
    pub const fn null() -> Self {
        Self(Raw::Memory(Place::Null))
    }

    /// Local memory of a size in bytes, for a `local` pointer of any type.
    pub const fn local(size_bytes: usize) -> Self {
        Self(Raw::Local { size_bytes })
    }

    pub(crate) fn argument(&self) -> Argument {
        match &self.0 {
            Raw::Bytes(value) => Argument::Value(value.clone()),
            Raw::Memory(place) => Argument::Pointer(Pointer::new(place.clone())),
            Raw::Local { size_bytes } => {
                Argument::Local { size_bytes: *size_bytes, ty: TypeId::of::<Self>() }
            }
        }
    }
}

impl<T> KernelValue<T> for RawArgument {
    fn given(self) -> Given {
        Given::fixed(self.argument())
    }
}

impl pointer::sealed::Sealed for RawArgument {}
impl<T> KernelPointer<T> for RawArgument {
    fn pointer(self) -> Pointer {
        self.argument().into_pointer()
    }
}
impl<T> KernelPointerMut<T> for RawArgument {}

impl Argument {
    /// It for a pointer parameter.
    pub(crate) fn into_pointer(self) -> Pointer {
        match self {
            Self::Pointer(pointer) => pointer,
            Self::Value(_) | Self::Local { .. } | Self::Image(_) | Self::Sampler(_) => {
                Pointer::new(Place::Refused(
                    Error::new(
                        ErrorKind::KernelArgument,
                        "the kernel takes a pointer to memory, something else was given",
                    )
                    .remedy("give it `RawArgument::memory`, so that the memory is known to be used"),
                ))
            }
        }
    }
}
