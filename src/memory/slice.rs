//! Unified shared memory (USM): typed slices of memory that host and device address with the same
//! pointer.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;

use super::{Region, bounds};
use crate::MakeError as _;
use crate::driver::native::UsmHandle;
use crate::driver::usm::{Allocation, Kind, Reserved};
use crate::{Context, Device, Error, ErrorKind, Result};

/// The kinds of USM, as types.
pub mod usm {
    /// Lives on the device; the host reaches it by copies.
    #[derive(Debug)]
    pub enum DeviceOnly {}
    /// Lives on the host; devices reach it over the bus.
    #[derive(Debug)]
    pub enum Host {}
    /// Moves between host and device as they access it.
    #[derive(Debug)]
    pub enum Shared {}
}

#[allow(private_interfaces, reason = "nobody outside can name a sealed trait, nor its constant")]
mod sealed {
    pub trait Sealed {
        const KIND: super::Kind;
    }
    impl Sealed for super::usm::DeviceOnly {
        const KIND: super::Kind = super::Kind::Device;
    }
    impl Sealed for super::usm::Host {
        const KIND: super::Kind = super::Kind::Host;
    }
    impl Sealed for super::usm::Shared {
        const KIND: super::Kind = super::Kind::Shared;
    }
}

/// A kind of USM: [`usm::DeviceOnly`], [`usm::Host`] or [`usm::Shared`].
pub trait UsmKind: sealed::Sealed + 'static {}
impl UsmKind for usm::DeviceOnly {}
impl UsmKind for usm::Host {}
impl UsmKind for usm::Shared {}

/// A kind of USM that the host can address: [`usm::Host`] or [`usm::Shared`].
pub trait HostAddressable: UsmKind {}
impl HostAddressable for usm::Host {}
impl HostAddressable for usm::Shared {}

/// `len` elements of `T` in USM.
///
/// Clones and sub-slices share the memory. It is freed when the last of them is gone and no command
/// uses it any more. So it may be dropped right after a launch. (An address that a kernel stored
/// somewhere does not count.)
///
/// Element types are [`Pod`]: any bytes are a value, because kernels may write any.
///
/// ```no_run
/// # fn f(context: &oclave::Context, queue: &oclave::Queue) -> oclave::Result<()> {
/// let device = context.alloc_device::<f32>(1000)?;
/// queue.fill(&device.slice(..500)?, 1.0)?; // the first half
/// queue.write(&device.slice(500..)?, &[2.0; 500])?;
///
/// let shared = context.alloc_shared::<f32>(1000)?;
/// queue.copy(&device, &shared)?.wait()?;
/// assert_eq!(shared.read()?[499..501], [1.0, 2.0]); // the host reads the memory itself
/// shared.write()?[0] = 7.0;
/// # Ok(())
/// # }
/// ```
pub struct UsmSlice<T, K = usm::DeviceOnly> {
    region: Region,
    len: usize,
    ty: PhantomData<fn() -> (T, K)>,
}

impl<T: Pod, K: UsmKind> UsmSlice<T, K> {
    pub(crate) fn new(context: &Context, device: Option<&Device>, len: usize) -> Result<Self> {
        let size_bytes = bytes_of::<T>(len)?;
        let allocation = Allocation::new(context.driver(), device, K::KIND, size_bytes, align_of::<T>())?;
        Ok(Self { region: Region::whole(allocation), len, ty: PhantomData })
    }

    /// All elements that a region has room for.
    pub(crate) fn of_region(region: Region) -> Self {
        let len = region.size_bytes().checked_div(size_of::<T>()).unwrap_or(0);
        Self { region, len, ty: PhantomData }
    }

    /// Memory that was allocated elsewhere, of which `len` elements are used, from the start on.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is of another kind or context, smaller, or not aligned for
    /// `T`.
    pub fn from_native(context: &Context, memory: UsmHandle, len: usize) -> Result<Self> {
        let region = Region::whole(Allocation::of_native(context.driver(), K::KIND, memory)?);
        let size_bytes = len.saturating_mul(size_of::<T>());
        if !region.address().is_multiple_of(align_of::<T>() as u64) {
            return Err(Error::invalid(format!("memory that is not aligned to {} bytes", align_of::<T>())));
        }
        Ok(Self { region: region.part(0, size_bytes)?, len, ty: PhantomData })
    }

    /// The elements of a range.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the range is not within the slice.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let Some(indices) = bounds(&range, self.len) else {
            return Err(Error::invalid(format!(
                "range {:?}..{:?} is not within a slice of {} elements",
                range.start_bound(),
                range.end_bound(),
                self.len
            )));
        };
        // Within the length, sizes cannot overflow.
        let region = self.region.part(indices.start * size_of::<T>(), indices.len() * size_of::<T>())?;
        Ok(Self { region, len: indices.len(), ty: PhantomData })
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the bytes are no whole number of `U`, or not aligned for it.
    pub fn cast<U: Pod>(&self) -> Result<UsmSlice<U, K>> {
        let size_bytes = self.size_bytes();
        let len = size_bytes.checked_div(size_of::<U>()).unwrap_or(0);
        if len * size_of::<U>() != size_bytes || !self.region.address().is_multiple_of(align_of::<U>() as u64)
        {
            return Err(Error::invalid(format!(
                "{size_bytes} bytes at offset {} are not elements of {} bytes aligned to {}",
                self.region.offset_bytes(),
                size_of::<U>(),
                align_of::<U>()
            )));
        }
        Ok(UsmSlice { region: self.region.clone(), len, ty: PhantomData })
    }
}

impl<T: Pod> UsmSlice<T, usm::DeviceOnly> {
    /// Device memory that a graph has while it runs.
    pub(crate) fn reserve(
        context: &Context,
        device: &Device,
        stands_for: Reserved,
        len: usize,
    ) -> Result<Self> {
        let size_bytes = bytes_of::<T>(len)?;
        let allocation =
            Allocation::reserve(context.driver(), device, stands_for, size_bytes, align_of::<T>())?;
        Ok(Self { region: Region::whole(allocation), len, ty: PhantomData })
    }
}

fn bytes_of<T>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>()).ok_or_else(|| {
        Error::new(
            ErrorKind::MemoryAllocation,
            format!("{len} elements of {} bytes are more than can be addressed", size_of::<T>()),
        )
    })
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

    /// The size in bytes.
    pub fn size_bytes(&self) -> usize {
        // Checked when the memory was allocated.
        self.len * size_of::<T>()
    }

    /// The address of the first element, good as long as the memory lives. That of [memory of a
    /// graph](crate::Graph::alloc) is nobody's.
    pub fn native(&self) -> *mut c_void {
        self.region.tail().address()
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        self.region.allocation()
    }

    pub(crate) fn offset_bytes(&self) -> usize {
        self.region.offset_bytes()
    }
}

impl<T, K> Clone for UsmSlice<T, K> {
    fn clone(&self) -> Self {
        Self { region: self.region.clone(), len: self.len, ty: PhantomData }
    }
}

impl<T, K> fmt::Debug for UsmSlice<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "UsmSlice<{}>({} from byte {} of {:?})",
            std::any::type_name::<T>(),
            self.len,
            self.region.offset_bytes(),
            self.region.allocation()
        )
    }
}
