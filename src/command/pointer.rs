//! What can be passed for a pointer parameter of a kernel.

use std::any::TypeId;
use std::sync::Arc;

use oclave_image::Access;

use super::{Parameter, Place};
use crate::Error;
use crate::memory::{AccessKind, Accessor, UsmKind, UsmSlice, Writes};

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

    /// What the argument follows.
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

/// A pointer argument: where it points to, and what the call says of it.
#[derive(Clone, Debug)]
pub struct Pointer {
    place: Place,
    ty: TypeId,
    access: Access,
}

impl Pointer {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, ty: TypeId::of::<()>(), access: Access::ReadWrite }
    }

    #[inline]
    pub(crate) fn typed<T: 'static>(self, access: Access) -> Self {
        Self { place: accessed(self.place, access), ty: TypeId::of::<T>(), access }
    }

    /// Points to another place.
    pub(crate) fn set_place(&mut self, place: Place) {
        self.place = accessed(place, self.access);
    }

    #[inline]
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn place_mut(&mut self) -> &mut Place {
        &mut self.place
    }

    /// The pointee's host type.
    pub(crate) fn ty(&self) -> TypeId {
        self.ty
    }

    /// How many elements of a size the memory has; `None` where that is not known yet, where they do not
    /// lie in one piece, and of null pointers.
    pub(crate) fn elements(&self, element_bytes: usize) -> Option<usize> {
        let bytes = match &self.place {
            Place::Usm(region) => region.size_bytes(),
            Place::Accessor(requirement) if requirement.stretches().nth(1).is_none() => {
                requirement.size_bytes()
            }
            _ => return None,
        };
        bytes.checked_div(element_bytes)
    }

    /// What the call says that the kernel does with it.
    pub(crate) fn access(&self) -> Access {
        self.access
    }
}

/// A place for a kernel that accesses it in this way.
#[inline]
fn accessed(place: Place, access: Access) -> Place {
    match place {
        Place::Accessor(requirement) if access == Access::Read && !requirement.reads() => Place::Refused(
            Error::invalid(format!("the kernel reads what the accessor only writes: {requirement:?}"))
                .remedy("give it an accessor made by `read` or `read_write`"),
        ),
        place => place,
    }
}

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
