//! Arguments of kernels, as plain values.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use bytemuck::NoUninit;
use oclave_image::Access;

use super::place::Place;
use crate::MakeError as _;
use crate::driver::launch::Bytes;
use crate::images::{ImagePart, Sampler};
use crate::memory::{Region, UsmKind, UsmSlice};
use crate::{Error, ErrorKind};

/// One argument of a call.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// Bytes copied at launch.
    Value(Value),
    /// USM, or null.
    Pointer(Pointer),
    /// Local memory of so many bytes per work-group; `ty` is the element's type.
    Local {
        size_bytes: usize,
        ty: TypeId,
    },
    /// An image, with what the kernel does with it.
    Image(ImagePart),
    Sampler(Sampler),
}

impl Argument {
    /// The memory that a pointer points to, if it is not null; where that needs not be looked up, or was.
    pub(crate) fn region(&self) -> Option<&Region> {
        match self {
            Self::Pointer(pointer) => match pointer.place() {
                Place::Usm(region) => Some(region),
                _ => None,
            },
            _ => None,
        }
    }

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

    /// Changes it to a value of the same kind: a pointer stays one to the same element, with the
    /// same access.
    pub(super) fn set(&mut self, to: &Self) {
        match (self, to) {
            (Self::Pointer(pointer), Self::Pointer(to)) => pointer.set_place(to.place().clone()),
            (Self::Image(image), Self::Image(to)) => image.follow(to),
            (argument, to) => *argument = to.clone(),
        }
    }
}

/// The bytes of a by-value argument: on the spot when they are few.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// The host type, for the check against the signature.
    pub(crate) ty: TypeId,
    bytes: Bytes,
}

impl Value {
    pub(crate) fn new<T: NoUninit>(value: &T) -> Self {
        Self::of_bytes(TypeId::of::<T>(), bytemuck::bytes_of(value))
    }

    /// Bytes of a value of a type.
    pub(crate) fn of_bytes(ty: TypeId, bytes: &[u8]) -> Self {
        Self { ty, bytes: Bytes::new(bytes) }
    }

    /// Whether only the count of the bytes is known.
    pub(crate) fn is_raw(&self) -> bool {
        self.ty == TypeId::of::<RawArgument>()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

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

    /// How many bytes the memory has; `None` where that is not known, where they do not lie in one
    /// piece, and of null pointers.
    pub(crate) fn size_bytes(&self) -> Option<usize> {
        match &self.place {
            Place::Usm(region) => Some(region.size_bytes()),
            Place::Accessor(requirement) if requirement.stretches().nth(1).is_none() => {
                Some(requirement.size_bytes())
            }
            _ => None,
        }
    }

    /// The kernel's access to it, as the call declares it.
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

/// Local memory for a kernel's `local T *` parameter.
pub struct Local<T> {
    len: usize,
    ty: PhantomData<fn() -> T>,
}

impl<T: 'static> Local<T> {
    /// Room for `len` elements of `T` per work-group.
    ///
    /// More than the device has is an error of kind
    /// [`KernelArgument`](crate::ErrorKind::KernelArgument) at launch. None at all is accepted on every
    /// device, as in OpenCL 3.1; the kernel must not access it.
    pub const fn new(len: usize) -> Self {
        Self { len, ty: PhantomData }
    }

    pub(crate) fn argument(&self) -> Argument {
        // A size beyond usize saturates, which no device has.
        let size_bytes = self.len.saturating_mul(size_of::<T>());
        Argument::Local { size_bytes, ty: TypeId::of::<T>() }
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local<T> {}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local<{}>({})", std::any::type_name::<T>(), self.len)
    }
}

/// An argument without a type check (`sycl_ext_oneapi_raw_kernel_arg`).
///
/// It is memory for any pointer, bytes for a by-value parameter, as many as the kernel's type
/// has, or a size of local memory. A launch, or adding the call to a graph, returns
/// [`KernelArgument`](ErrorKind::KernelArgument) if it does not fit.
#[derive(Clone, Debug)]
pub struct RawArgument(Argument);

impl RawArgument {
    /// The bytes of a value.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self(Argument::Value(Value::of_bytes(TypeId::of::<Self>(), bytes)))
    }

    /// A pointer to the start of memory.
    pub fn memory<T, K: UsmKind>(memory: &UsmSlice<T, K>) -> Self {
        Self::region(memory.region())
    }

    /// A pointer to the first byte.
    pub(in crate::command) fn region(region: &Region) -> Self {
        Self(Argument::Pointer(Pointer::new(Place::Usm(region.clone()))))
    }

    /// The null pointer.
    pub fn null() -> Self {
        Self(Argument::Pointer(Pointer::new(Place::Null)))
    }

    /// Local memory of a size in bytes, for a `local` pointer of any type.
    pub fn local(size_bytes: usize) -> Self {
        Self(Argument::Local { size_bytes, ty: TypeId::of::<Self>() })
    }

    pub(crate) fn argument(&self) -> Argument {
        self.0.clone()
    }
}
