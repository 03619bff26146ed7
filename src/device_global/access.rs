//! What a variable offers to copies, as traits: whether the host may read or write it, and what it holds.
//!
//! For generated variables, rustc knows whether they hold. For variables found by name they always hold, and each copy
//! checks the access.

use bytemuck::Pod;

use super::host_access::{Access, HostRead, HostWrite};
use super::place::{AnyGlobal, GlobalElements};
use super::{BundleGlobal, DeviceGlobal};
use crate::memory::Region;
use crate::{Error, Queue, Result};

pub(super) mod sealed {
    use super::{AnyGlobal, Queue, Region, Result};

    pub trait Variable {
        fn id(&self) -> &str;

        /// It, to be kept.
        fn variable(&self) -> Result<AnyGlobal>;

        /// Its memory on the queue's device, made and initialised if need be.
        fn memory(&self, queue: &Queue) -> Result<Region>;

        /// Whether the host may read it; `Ok` where rustc has seen to it.
        fn check_read(&self) -> Result<()> {
            Ok(())
        }

        fn check_write(&self) -> Result<()> {
            Ok(())
        }

        /// Whether it can be a `T`; `Ok` where rustc has seen to it.
        fn check_value<T>(&self) -> Result<()> {
            Ok(())
        }

        /// Whether it can be some `E`.
        fn check_elements<E>(&self) -> Result<()> {
            Ok(())
        }
    }
}

/// A device global: a [`DeviceGlobal`] of generated code, or a [`BundleGlobal`] found by name.
pub trait GlobalVariable: sealed::Variable {
    /// `count` elements from `start_index` on, as commands read and write them. Elements of arrays of arrays are rows, or
    /// what rows consist of; a variable that is no array is one element.
    fn elements<E: Pod>(&self, start_index: usize, count: usize) -> GlobalElements<E, Self>
    where
        Self: Elements<E> + Sized,
    {
        GlobalElements::new(self, self.check_elements::<E>(), start_index, count)
    }

    /// `size_bytes` bytes from `offset_bytes` on, as commands read and write them.
    fn bytes(&self, offset_bytes: usize, size_bytes: usize) -> GlobalElements<u8, Self>
    where
        Self: Sized,
    {
        GlobalElements::new(self, Ok(()), offset_bytes, size_bytes)
    }
}

/// A device global that the host may read.
pub trait HostReadable: GlobalVariable {}

/// A device global that the host may write.
pub trait HostWritable: GlobalVariable {}

/// A device global that is a `T`.
#[diagnostic::on_unimplemented(message = "the device global `{Self}` is no `{T}`")]
pub trait Value<T>: GlobalVariable {}

/// A device global that is one `E`, an array of `E`, or an array of arrays of `E`.
#[diagnostic::on_unimplemented(message = "the device global `{Self}` has no elements of `{E}`")]
pub trait Elements<E>: GlobalVariable {}

impl<T: Pod, A: Access> sealed::Variable for DeviceGlobal<T, A> {
    fn id(&self) -> &str {
        self.id
    }

    fn variable(&self) -> Result<AnyGlobal> {
        self.declaration().map(AnyGlobal::Static)
    }

    fn memory(&self, queue: &Queue) -> Result<Region> {
        self.declaration()?.memory(queue)
    }
}

impl<T: Pod, A: Access> GlobalVariable for DeviceGlobal<T, A> {}
impl<T: Pod, A: HostRead> HostReadable for DeviceGlobal<T, A> {}
impl<T: Pod, A: HostWrite> HostWritable for DeviceGlobal<T, A> {}
impl<T: Pod, A: Access> Value<T> for DeviceGlobal<T, A> {}
impl<T: Pod, A: Access> Elements<T> for DeviceGlobal<T, A> {}
impl<E: Pod, A: Access, const N: usize> Elements<E> for DeviceGlobal<[E; N], A> {}
impl<E: Pod, A: Access, const N: usize, const M: usize> Elements<E> for DeviceGlobal<[[E; M]; N], A> {}
impl<E: Pod, A: Access, const N: usize, const M: usize, const L: usize> Elements<E>
    for DeviceGlobal<[[[E; L]; M]; N], A>
{
}

impl GlobalVariable for BundleGlobal {}
impl HostReadable for BundleGlobal {}
impl HostWritable for BundleGlobal {}
impl<T: Pod> Value<T> for BundleGlobal {}
impl<E: Pod> Elements<E> for BundleGlobal {}

/// Names the variable in an error.
pub(super) fn place(id: &str, error: Error) -> Error {
    let place = format!("device global `{id}`");
    // What makes memory and programs may have named it already.
    if error.place().contains(&place) { error } else { error.at(place) }
}

pub(super) fn memory_of(global: &impl GlobalVariable, queue: &Queue) -> Result<Region> {
    global.memory(queue).map_err(|error| place(global.id(), error))
}
