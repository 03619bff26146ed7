//! Device globals: variables that live on a device between kernels and that the host can read and
//! write.
//!
//! After `sycl_ext_oneapi_device_global`. A variable without `device_image_scope` has one instance
//! per context and device. All images and programs share it. The first access, by the host or by a
//! kernel, creates and initialises it. A variable with `device_image_scope` lives in its program.

mod by_name;
mod slice;

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use oclave_image::{DeviceGlobalInfo, Side};

pub use self::by_name::BundleGlobal;
pub(crate) use self::slice::GlobalPlace;
use self::slice::{AnyGlobal, named};
pub use self::slice::{GlobalElement, GlobalSlice};
use crate::MakeError as _;
use crate::command::{Contents, CopyFrom, CopyTo, Place, Placed};
use crate::image::{ImageTable, LoadedImage};
use crate::memory::Region;
use crate::{Error, ErrorKind, Queue, Result, UsmSlice};

/// The host's rights to a device global: the property `host_access` as types.
pub mod host_access {
    mod sealed {
        pub trait Sealed {}
    }

    /// A value of the property.
    pub trait Access: sealed::Sealed + 'static {}
    /// Access that lets the host read.
    #[diagnostic::on_unimplemented(
        message = "the host may not read a device global with access `{Self}`",
        note = "declare it `host_access_read` or `host_access_read_write`"
    )]
    pub trait HostRead: Access {}
    /// Access that lets the host write.
    #[diagnostic::on_unimplemented(
        message = "the host may not write a device global with access `{Self}`",
        note = "declare it `host_access_write` or `host_access_read_write`"
    )]
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
/// The copies of [`Queue`] take it as one value, or [elements](DeviceGlobal::slice) of it. A
/// variable that no kernel and no copy has used yet is made and initialised first.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # use kernels::globals::{COUNTER, HISTOGRAM};
/// # fn f(queue: &oclave::Queue, usm: &oclave::UsmSlice<u32>) -> oclave::Result<()> {
/// queue.write(&COUNTER, &5)?;
/// assert_eq!(queue.read(&COUNTER)?, 5);
/// queue.copy(&HISTOGRAM.slice(2..5)?, usm)?;
/// # Ok(())
/// # }
/// ```
///
/// `T` is the variable's type; `A` what the host may do, checked at compile time:
///
/// ```compile_fail,E0277
/// # use oclave::kernel::{DeviceGlobal, host_access};
/// # use oclave::Queue;
/// fn read(queue: &Queue, gain: &DeviceGlobal<f32, host_access::Write>) -> oclave::Result<f32> {
///     queue.read(gain)
/// }
/// ```
pub struct DeviceGlobal<T, A = host_access::ReadWrite> {
    images: &'static ImageTable,
    id: &'static str,
    declaration: OnceLock<Declaration>,
    ty: PhantomData<fn() -> (T, A)>,
}

/// Where an image declares a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declaration {
    image: &'static Arc<LoadedImage>,
    global: &'static DeviceGlobalInfo,
    /// Where it is declared to devices in the role of the host, which may have images of their own.
    on_host: Option<(&'static Arc<LoadedImage>, &'static DeviceGlobalInfo)>,
}

impl Declaration {
    fn region(&self, queue: &Queue) -> Result<Region> {
        let (image, global) = match (queue.device().side(), self.on_host) {
            (Side::Host, Some(declared)) => declared,
            _ => (self.image, self.global),
        };
        queue.context().programs().global(queue.device(), None, image, global)
    }
}

impl<T: Pod, A: host_access::Access> DeviceGlobal<T, A> {
    /// The variable with unique id `id`, of one of the images of a table.
    pub const fn new(images: &'static ImageTable, id: &'static str) -> Self {
        Self { images, id, declaration: OnceLock::new(), ty: PhantomData }
    }

    /// The unique id; equal ids are one variable.
    pub const fn id(&self) -> &'static str {
        self.id
    }

    /// A table whose images use the variable.
    pub const fn images(&self) -> &'static ImageTable {
        self.images
    }

    /// The size of the variable.
    pub const fn size_bytes(&self) -> usize {
        size_of::<T>()
    }

    /// The address of the variable on the queue's device, made and initialised if need be.
    ///
    /// A variable with `device_image_scope` has it as long as its program; others as long as the
    /// context.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn device_address(&self, queue: &Queue) -> Result<u64> {
        self.region(queue).map(|memory| memory.address())
    }

    /// The elements of a range, as copies and fills take them. An array has its elements. An array
    /// of arrays has its rows, or what the rows consist of. Anything else has one value.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the range is not within the variable, or when images declare it
    /// differently; [`ErrorKind::KernelNotSupported`] when no kernel uses it.
    pub fn slice<E: Pod>(&self, range: impl RangeBounds<usize>) -> Result<GlobalSlice<E, A>>
    where
        T: Elements<E>,
    {
        GlobalSlice::new(self.any()?, size_of::<T>(), range)
    }

    /// One element, by value: `queue.write(&TABLE.element(2)?, &5.0)`. Otherwise as
    /// [`DeviceGlobal::slice`].
    ///
    /// # Errors
    /// As [`DeviceGlobal::slice`].
    pub fn element<E: Pod>(&self, index: usize) -> Result<GlobalElement<E, A>>
    where
        T: Elements<E>,
    {
        GlobalElement::new(self.any()?, size_of::<T>(), index)
    }

    /// Bytes, as copies and fills take them.
    ///
    /// # Errors
    /// As [`DeviceGlobal::slice`].
    pub fn bytes(&self, range: impl RangeBounds<usize>) -> Result<GlobalSlice<u8, A>> {
        GlobalSlice::new(self.any()?, size_of::<T>(), range)
    }

    /// Its memory on a queue's device, to be used like any other: in copies, fills, as an argument
    /// of kernels. It keeps a variable with `device_image_scope` alive, with its program.
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn memory<E: Pod>(&self, queue: &Queue) -> Result<UsmSlice<E>>
    where
        T: Elements<E>,
        A: host_access::HostRead + host_access::HostWrite,
    {
        self.region(queue).map(UsmSlice::of_region)
    }

    fn region(&self, queue: &Queue) -> Result<Region> {
        self.declaration().and_then(|declared| declared.region(queue)).map_err(|error| named(self.id, error))
    }

    fn any(&self) -> Result<AnyGlobal> {
        self.declaration().map(AnyGlobal::Static).map_err(|error| named(self.id, error))
    }

    fn declaration(&self) -> Result<Declaration> {
        match self.declaration.get() {
            Some(declaration) => Ok(*declaration),
            None => Ok(*self.declaration.get_or_init({
                let found = self.find()?;
                move || found
            })),
        }
    }

    /// How the images of the table declare the variable.
    #[cold]
    fn find(&self) -> Result<Declaration> {
        let images = self.images.images()?;
        let declared_on = |side| {
            images.iter().copied().filter(|image| image.serves(side)).find_map(|image| {
                Some((image, image.device_globals().iter().find(|global| global.id == self.id)?))
            })
        };
        let on_host = declared_on(Side::Host);
        let declared = declared_on(Side::Device).or(on_host);
        let declared = declared.map(|(image, global)| Declaration { image, global, on_host });
        let declaration = declared.ok_or_else(|| {
            let what = format!("no kernel uses it, so it is in no device image of `{}`", self.images.name());
            Error::new(ErrorKind::KernelNotSupported, what)
                .remedy("use it in a kernel; host and kernels must be of one build")
        })?;
        check_size::<T>(declaration.image.name(), declaration.global)?;
        Ok(declaration)
    }
}

/// Checks that the host's type for a variable has the size that an image says.
fn check_size<T>(image: &str, global: &DeviceGlobalInfo) -> Result<()> {
    if usize::try_from(global.size_bytes) == Ok(size_of::<T>()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "image `{image}` declares {} bytes, the host's type `{}` has {}",
        global.size_bytes,
        std::any::type_name::<T>(),
        size_of::<T>()
    )))
}

/// A type that is an array of `E`, an array of arrays of `E`, or an `E`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no elements of type `{E}`")]
pub trait Elements<E> {}

impl<T: Pod> Elements<T> for T {}
impl<E: Pod, const N: usize> Elements<E> for [E; N] {}
impl<E: Pod, const N: usize, const M: usize> Elements<E> for [[E; M]; N] {}
impl<E: Pod, const N: usize, const M: usize, const L: usize> Elements<E> for [[[E; L]; M]; N] {}

impl<T: Pod, A: host_access::Access> Placed for DeviceGlobal<T, A> {
    fn place(&self, write: bool) -> Place {
        match self.any() {
            Ok(variable) => GlobalPlace::new(variable, size_of::<T>()).into_place(write),
            Err(error) => Place::Refused(error),
        }
    }

    fn name(&self, error: Error) -> Error {
        named(self.id, error)
    }
}
impl<T: Pod, A: host_access::Access> Contents for DeviceGlobal<T, A> {
    type Element = T;
    type Data = T;
    type Owned = T;
}
impl<T: Pod, A: host_access::HostRead> CopyFrom for DeviceGlobal<T, A> {}
impl<T: Pod, A: host_access::HostWrite> CopyTo for DeviceGlobal<T, A> {}

impl<T, A> fmt::Debug for DeviceGlobal<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceGlobal")
            .field("id", &self.id)
            .field("type", &std::any::type_name::<T>())
            .finish()
    }
}
