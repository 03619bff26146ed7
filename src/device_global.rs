//! Device globals: variables that live on a device between kernels and that the host can read and write.
//!
//! After `sycl_ext_oneapi_device_global`. A variable without `device_image_scope` has one instance per context and
//! device, shared by every image and program; it is made and initialised when first accessed, by whatever side.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use oclave_image::DeviceGlobalInfo;

use self::host_access::{HostRead, HostWrite};
use crate::driver::event::Event as DriverEvent;
use crate::driver::queue::Queue as DriverQueue;
use crate::driver::usm::Allocation;
use crate::queue::After;
use crate::{Error, ErrorKind, ImageTable, Queue, Result};

/// What the host may do with a device global: the property `host_access` as types.
pub mod host_access {
    mod sealed {
        pub trait Sealed {}
    }

    /// A value of the property.
    pub trait Access: sealed::Sealed + 'static {}
    /// Access that lets the host read.
    pub trait HostRead: Access {}
    /// Access that lets the host write.
    pub trait HostWrite: Access {}

    /// The host only reads.
    #[derive(Debug)]
    pub enum Read {}
    /// The host only writes.
    #[derive(Debug)]
    pub enum Write {}
    /// The host reads and writes; the default.
    #[derive(Debug)]
    pub enum ReadWrite {}
    /// The host does neither.
    #[derive(Debug)]
    pub enum None {}

    impl sealed::Sealed for Read {}
    impl sealed::Sealed for Write {}
    impl sealed::Sealed for ReadWrite {}
    impl sealed::Sealed for None {}
    impl Access for Read {}
    impl Access for Write {}
    impl Access for ReadWrite {}
    impl Access for None {}
    impl HostRead for Read {}
    impl HostRead for ReadWrite {}
    impl HostWrite for Write {}
    impl HostWrite for ReadWrite {}
}

/// A device global of a source, declared by the generated code.
///
/// `T` is the variable's type; `A` what the host may do, checked at compile time:
///
/// ```no_run
/// # use oclave::{DeviceGlobal, ImageTable, Queue, Result, host_access};
/// # static IMAGES: ImageTable = ImageTable::new("example", &[]);
/// static TOTAL: DeviceGlobal<i32, host_access::Read> = DeviceGlobal::new(&IMAGES, "total");
///
/// fn total(queue: &Queue) -> Result<i32> {
///     queue.copy_from_global(&TOTAL)
/// }
/// ```
///
/// Writing it, or a value of another type, does not compile:
///
/// ```compile_fail,E0277
/// # use oclave::{DeviceGlobal, ImageTable, Queue, Result, host_access};
/// # static IMAGES: ImageTable = ImageTable::new("example", &[]);
/// # static TOTAL: DeviceGlobal<i32, host_access::Read> = DeviceGlobal::new(&IMAGES, "total");
/// fn reset(queue: &Queue) -> Result<()> {
///     queue.copy_to_global(&TOTAL, &0)
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use oclave::{DeviceGlobal, ImageTable, Queue, Result};
/// # static IMAGES: ImageTable = ImageTable::new("example", &[]);
/// # static GAIN: DeviceGlobal<f32> = DeviceGlobal::new(&IMAGES, "gain");
/// fn set(queue: &Queue) -> Result<()> {
///     queue.copy_to_global(&GAIN, &1)
/// }
/// ```
pub struct DeviceGlobal<T, A = host_access::ReadWrite> {
    images: &'static ImageTable,
    id: &'static str,
    ty: PhantomData<fn() -> (T, A)>,
}

impl<T: Pod, A: host_access::Access> DeviceGlobal<T, A> {
    /// The variable with unique id `id`, of one of the images of a table.
    pub const fn new(images: &'static ImageTable, id: &'static str) -> Self {
        Self { images, id, ty: PhantomData }
    }

    /// The unique id; equal ids are one variable.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// A table whose images use the variable.
    pub const fn images(&self) -> &'static ImageTable {
        self.images
    }
}

impl<T: Pod, A: host_access::Access> DeviceGlobal<T, A> {
    /// How the images of the table declare the variable, and the name of the image that does.
    fn declaration(&self) -> Result<(&'static str, &'static DeviceGlobalInfo)> {
        let images = self.images.images()?;
        let declared = images.iter().find_map(|image| {
            let declaration = image.device_globals().iter().find(|global| global.id == self.id)?;
            Some((image.name(), declaration))
        });
        let (image, declaration) = declared
            .ok_or_else(|| Error::invalid(format!("no image of `{}` declares it", self.images.name())))?;
        if usize::try_from(declaration.size_bytes) != Ok(size_of::<T>()) {
            return Err(Error::invalid(format!(
                "image `{image}` declares {} bytes, the host's type `{}` has {}",
                declaration.size_bytes,
                std::any::type_name::<T>(),
                size_of::<T>()
            )));
        }
        Ok((image, declaration))
    }
}

impl<T, A> fmt::Debug for DeviceGlobal<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceGlobal")
            .field("id", &self.id)
            .field("type", &std::any::type_name::<T>())
            .finish()
    }
}

mod sealed {
    pub trait Sealed {}
}

/// An array type: what element copies of device globals work on.
pub trait Array: Pod + sealed::Sealed {
    /// The type of one element.
    type Element: Pod;
}

impl<E: Pod, const N: usize> sealed::Sealed for [E; N] {}
impl<E: Pod, const N: usize> Array for [E; N] {
    type Element = E;
}

/// Copies between the host and device globals. They wait until the copy is done; on an in-order queue that is after all
/// commands before it.
///
/// A variable that no kernel and no copy has touched yet is made and initialised first.
impl Queue {
    /// Copies a value to a device global.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when images declare the variable differently, or with another size than `T` has.
    pub fn copy_to_global<T: Pod, A: HostWrite>(&self, to: &DeviceGlobal<T, A>, value: &T) -> Result<()> {
        self.after(&[]).copy_to_global(to, value)
    }

    /// The value of a device global.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`].
    pub fn copy_from_global<T: Pod, A: HostRead>(&self, from: &DeviceGlobal<T, A>) -> Result<T> {
        self.after(&[]).copy_from_global(from)
    }

    /// Copies elements to an array, from its element `start_index` on.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`], and [`ErrorKind::Invalid`] beyond the array's end.
    pub fn copy_to_global_at<T: Array, A: HostWrite>(
        &self,
        to: &DeviceGlobal<T, A>,
        start_index: usize,
        elements: &[T::Element],
    ) -> Result<()> {
        self.after(&[]).copy_to_global_at(to, start_index, elements)
    }

    /// Copies elements of an array, from its element `start_index` on, as many as `elements` has room for.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global_at`].
    pub fn copy_from_global_at<T: Array, A: HostRead>(
        &self,
        from: &DeviceGlobal<T, A>,
        start_index: usize,
        elements: &mut [T::Element],
    ) -> Result<()> {
        self.after(&[]).copy_from_global_at(from, start_index, elements)
    }

    /// Copies bytes to a device global, from byte `offset_bytes` of it on.
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`], and [`ErrorKind::Invalid`] beyond the variable's end.
    pub fn memcpy_to_global<T: Pod, A: HostWrite>(
        &self,
        to: &DeviceGlobal<T, A>,
        offset_bytes: usize,
        bytes: &[u8],
    ) -> Result<()> {
        self.after(&[]).memcpy_to_global(to, offset_bytes, bytes)
    }

    /// Copies bytes of a device global, from byte `offset_bytes` of it on, as many as `bytes` has room for.
    ///
    /// # Errors
    /// As [`Queue::memcpy_to_global`].
    pub fn memcpy_from_global<T: Pod, A: HostRead>(
        &self,
        from: &DeviceGlobal<T, A>,
        offset_bytes: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        self.after(&[]).memcpy_from_global(from, offset_bytes, bytes)
    }
}

/// The copies of [`Queue`], after the events.
impl After<'_> {
    /// [`Queue::copy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global<T: Pod, A: HostWrite>(self, to: &DeviceGlobal<T, A>, value: &T) -> Result<()> {
        self.memcpy_to_global(to, 0, bytemuck::bytes_of(value))
    }

    /// [`Queue::copy_from_global`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global<T: Pod, A: HostRead>(self, from: &DeviceGlobal<T, A>) -> Result<T> {
        let mut value = T::zeroed();
        self.memcpy_from_global(from, 0, bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// [`Queue::copy_to_global_at`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_to_global_at<T: Array, A: HostWrite>(
        self,
        to: &DeviceGlobal<T, A>,
        start_index: usize,
        elements: &[T::Element],
    ) -> Result<()> {
        self.memcpy_to_global(to, offset_of::<T>(start_index), bytemuck::cast_slice(elements))
    }

    /// [`Queue::copy_from_global_at`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_global_at<T: Array, A: HostRead>(
        self,
        from: &DeviceGlobal<T, A>,
        start_index: usize,
        elements: &mut [T::Element],
    ) -> Result<()> {
        self.memcpy_from_global(from, offset_of::<T>(start_index), bytemuck::cast_slice_mut(elements))
    }

    /// [`Queue::memcpy_to_global`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_to_global<T: Pod, A: HostWrite>(
        self,
        to: &DeviceGlobal<T, A>,
        offset_bytes: usize,
        bytes: &[u8],
    ) -> Result<()> {
        copy(self, to, |queue, memory, after| {
            queue.write(bytes, memory.span(offset_bytes, bytes.len())?, after)
        })
    }

    /// [`Queue::memcpy_from_global`].
    ///
    /// # Errors
    /// As there.
    pub fn memcpy_from_global<T: Pod, A: HostRead>(
        self,
        from: &DeviceGlobal<T, A>,
        offset_bytes: usize,
        bytes: &mut [u8],
    ) -> Result<()> {
        copy(self, from, |queue, memory, after| {
            queue.read(memory.span(offset_bytes, bytes.len())?, bytes, after)
        })
    }
}

/// Where an element begins; beyond the address space it saturates, which no variable reaches.
fn offset_of<T: Array>(index: usize) -> usize {
    index.saturating_mul(size_of::<T::Element>())
}

fn copy<T: Pod, A: host_access::Access>(
    after: After<'_>,
    global: &DeviceGlobal<T, A>,
    copy: impl FnOnce(&Arc<DriverQueue>, &Allocation, &[&DriverEvent]) -> Result<()>,
) -> Result<()> {
    let attempt = || {
        let (image, declaration) = global.declaration()?;
        if declaration.device_image_scope {
            return Err(Error::new(
                ErrorKind::FeatureNotSupported,
                "copies between the host and variables with device_image_scope are not supported yet",
            ));
        }
        let queue = after.queue();
        let memory = queue.context().programs().global(queue.device(), declaration, image)?;
        after.with(|events| copy(queue.driver(), &memory, events))
    };
    attempt().map_err(|error| error.at(format!("device global `{}`", global.id)))
}
