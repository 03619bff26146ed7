//! Unified shared memory (USM): typed slices of memory that host and device address with the same pointer.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Pointer;

/// Placeholder until the driver layer lands.
#[derive(Debug)]
pub struct Allocation;

/// The kinds of USM, as types.
pub mod kind {
    /// Lives on the device; the host reaches it by copies.
    #[derive(Debug)]
    pub enum Device {}
    /// Lives on the host; devices reach it over the bus.
    #[derive(Debug)]
    pub enum Host {}
    /// Moves between host and device as they access it.
    #[derive(Debug)]
    pub enum Shared {}
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::kind::Device {}
    impl Sealed for super::kind::Host {}
    impl Sealed for super::kind::Shared {}
}

/// A kind of USM: [`kind::Device`], [`kind::Host`] or [`kind::Shared`].
pub trait UsmKind: sealed::Sealed + 'static {}
impl UsmKind for kind::Device {}
impl UsmKind for kind::Host {}
impl UsmKind for kind::Shared {}

/// `len` elements of `T` in USM. Clones and sub-slices share the memory, which is freed with the last of them, never
/// under a command that uses it.
pub struct UsmSlice<T, K = kind::Device> {
    allocation: Arc<Allocation>,
    offset_bytes: usize,
    len: usize,
    ty: PhantomData<fn() -> (T, K)>,
}

impl<T, K: UsmKind> UsmSlice<T, K> {
    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn pointer(&self) -> Pointer {
        Pointer::new(Some(self.allocation.clone()), self.offset_bytes)
    }
}

impl<T, K> std::fmt::Debug for UsmSlice<T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UsmSlice<{}>({})", std::any::type_name::<T>(), self.len)
    }
}
