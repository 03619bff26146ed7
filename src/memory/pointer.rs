//! What can be passed for a pointer parameter of a kernel.

use std::any::TypeId;

use oclave_image::Access;

use super::{UsmKind, UsmSlice};
use crate::Error;
use crate::command::Place;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Memory that can be passed for a `const T *` parameter.
///
/// `None` of an `Option` is a null pointer.
pub trait KernelPointer<T>: sealed::Sealed {
    #[doc(hidden)]
    fn pointer(self) -> Pointer;
}

/// Memory that can be passed for a `T *` parameter.
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

    pub(crate) fn typed<T: 'static>(mut self, access: Access) -> Self {
        if access == Access::Read
            && let Place::Accessor(requirement) = &self.place
            && !requirement.reads()
        {
            self.place = Place::Refused(
                Error::invalid(format!("the kernel reads what the accessor only writes: {requirement:?}"))
                    .remedy("give it an accessor made by `read` or `read_write`"),
            );
        }
        self.ty = TypeId::of::<T>();
        self.access = access;
        self
    }

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

    /// What the call says that the kernel does with it.
    pub(crate) fn access(&self) -> Access {
        self.access
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

impl<P: sealed::Sealed> sealed::Sealed for Option<P> {}
impl<T, P: KernelPointer<T>> KernelPointer<T> for Option<P> {
    fn pointer(self) -> Pointer {
        self.map_or_else(|| Pointer::new(Place::Null), KernelPointer::pointer)
    }
}
impl<T, P: KernelPointerMut<T>> KernelPointerMut<T> for Option<P> {}
