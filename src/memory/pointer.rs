//! What can be passed for a pointer parameter of a kernel.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use oclave_image::Access;

use super::{UsmKind, UsmSlice};
use crate::driver::usm::Allocation;

mod sealed {
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

/// A pointer argument: an allocation, or null, and where in it.
#[derive(Clone)]
pub struct Pointer {
    memory: Option<Arc<Allocation>>,
    offset_bytes: usize,
    ty: TypeId,
    access: Access,
}

impl Pointer {
    pub(crate) fn new(memory: Option<Arc<Allocation>>, offset_bytes: usize) -> Self {
        Self { memory, offset_bytes, ty: TypeId::of::<()>(), access: Access::ReadWrite }
    }

    pub(crate) fn typed<T: 'static>(mut self, access: Access) -> Self {
        self.ty = TypeId::of::<T>();
        self.access = access;
        self
    }

    /// `None` for null.
    pub(crate) fn memory(&self) -> Option<&Arc<Allocation>> {
        self.memory.as_ref()
    }

    pub(crate) fn offset_bytes(&self) -> usize {
        self.offset_bytes
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

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.memory {
            Some(memory) => write!(f, "{memory:?} + {}", self.offset_bytes),
            None => f.write_str("null"),
        }
    }
}

impl<T, K: UsmKind> sealed::Sealed for UsmSlice<T, K> {}
impl<T, K: UsmKind> KernelPointer<T> for UsmSlice<T, K> {
    fn pointer(self) -> Pointer {
        Self::pointer(&self)
    }
}
impl<T, K: UsmKind> KernelPointerMut<T> for UsmSlice<T, K> {}

impl<T, K: UsmKind> sealed::Sealed for &UsmSlice<T, K> {}
impl<T, K: UsmKind> KernelPointer<T> for &UsmSlice<T, K> {
    fn pointer(self) -> Pointer {
        UsmSlice::pointer(self)
    }
}
impl<T, K: UsmKind> KernelPointerMut<T> for &UsmSlice<T, K> {}

impl<P: sealed::Sealed> sealed::Sealed for Option<P> {}
impl<T, P: KernelPointer<T>> KernelPointer<T> for Option<P> {
    fn pointer(self) -> Pointer {
        self.map_or_else(|| Pointer::new(None, 0), KernelPointer::pointer)
    }
}
impl<T, P: KernelPointerMut<T>> KernelPointerMut<T> for Option<P> {}
