//! Device globals of kernel bundles, found by name: what rustc checks for generated code is checked
//! at run time.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;
use oclave_image::{DeviceGlobalInfo, HostAccess};

use super::slice::{AnyGlobal, GlobalElement, GlobalSlice, named};
use crate::MakeError as _;
use crate::image::LoadedImage;
use crate::memory::Region;
use crate::program::KernelBundle;
use crate::{Error, Queue, Result, UsmSlice};

/// A device global of a [`KernelBundle`]; from [`KernelBundle::device_global`].
///
/// Copies take its [value](BundleGlobal::value), an [element](BundleGlobal::element) or
/// [several](BundleGlobal::slice). What its property `host_access` does not allow is
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) there.
///
/// ```no_run
/// # fn f(queue: &oclave::Queue, bundle: &oclave::kernel::KernelBundle) -> oclave::Result<()> {
/// let gain = bundle.device_global("gain")?.value::<f32>()?;
/// queue.write(&gain, &2.0)?;
/// assert_eq!(queue.read(&gain)?, 2.0);
/// let table = bundle.device_global("table")?;
/// queue.write(&table.slice(..2)?, &[1.0_f32, 2.0])?;
/// assert_eq!(queue.read(&table.element::<f32>(1)?)?, 2.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BundleGlobal {
    bundle: KernelBundle,
    image: usize,
    index: usize,
    info: Arc<DeviceGlobalInfo>,
}

impl BundleGlobal {
    pub(crate) fn new(bundle: &KernelBundle, image: usize, index: usize, info: &DeviceGlobalInfo) -> Self {
        Self { bundle: bundle.clone(), image, index, info: Arc::new(info.clone()) }
    }

    /// The unique id. Variables of equal ids are one variable, unless they have
    /// `device_image_scope`.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// The size of the variable.
    pub fn size_bytes(&self) -> usize {
        usize::try_from(self.info.size_bytes).unwrap_or(usize::MAX)
    }

    /// Whether each program has an instance of its own.
    pub fn has_device_image_scope(&self) -> bool {
        self.info.device_image_scope
    }

    /// The host's rights.
    pub fn host_access(&self) -> HostAccess {
        self.info.host_access
    }

    /// As [`DeviceGlobal::device_address`](crate::kernel::DeviceGlobal::device_address).
    ///
    /// # Errors
    /// As [`Queue::write`].
    pub fn device_address(&self, queue: &Queue) -> Result<u64> {
        self.region(queue).map(|memory| memory.address()).map_err(|error| named(self.id(), error))
    }

    /// The elements of a range, as copies and fills take them. The variable is taken as an array of
    /// `E`; all of its bytes are a whole number of them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a type of which the variable is no
    /// whole number, and beyond its end.
    pub fn slice<E: Pod>(&self, range: impl RangeBounds<usize>) -> Result<GlobalSlice<E>> {
        self.check_array::<E>()?;
        GlobalSlice::new(AnyGlobal::Bundle(self.clone()), self.size_bytes(), range)
    }

    /// One element, by value. Otherwise as [`BundleGlobal::slice`].
    ///
    /// # Errors
    /// As [`BundleGlobal::slice`].
    pub fn element<E: Pod>(&self, index: usize) -> Result<GlobalElement<E>> {
        self.check_array::<E>()?;
        GlobalElement::new(AnyGlobal::Bundle(self.clone()), self.size_bytes(), index)
    }

    /// The variable as one value, as generated code has it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a type of another size.
    pub fn value<T: Pod>(&self) -> Result<GlobalElement<T>> {
        if size_of::<T>() != self.size_bytes() {
            let error = Error::invalid(format!(
                "it has {} bytes, `{}` has {}",
                self.size_bytes(),
                std::any::type_name::<T>(),
                size_of::<T>()
            ));
            return Err(named(self.id(), error.remedy("name the type that the kernels declare")));
        }
        self.element(0)
    }

    /// Whether it is an array of `E`.
    fn check_array<E>(&self) -> Result<()> {
        let element = size_of::<E>();
        if element == 0 || !self.size_bytes().is_multiple_of(element) {
            return Err(named(
                self.id(),
                Error::invalid(format!(
                    "its {} bytes are no whole number of `{}`, which has {element}",
                    self.size_bytes(),
                    std::any::type_name::<E>()
                )),
            ));
        }
        Ok(())
    }

    /// Its memory on a queue's device, to be used like any other: in copies, fills, as an argument
    /// of kernels. It keeps a variable with `device_image_scope` alive, with its program.
    ///
    /// # Errors
    /// As [`Queue::write`]; as [`BundleGlobal::slice`].
    pub fn memory<E: Pod>(&self, queue: &Queue) -> Result<UsmSlice<E>> {
        let slice = self.slice::<E>(..)?;
        slice.check(false).and_then(|()| slice.check(true))?;
        slice.memory(queue).map(UsmSlice::of_region)
    }

    fn declaration(&self) -> Result<(&Arc<LoadedImage>, &DeviceGlobalInfo)> {
        let image = self.bundle.images().get(self.image);
        image
            .and_then(|image| Some((image, image.device_globals().get(self.index)?)))
            .ok_or_else(|| Error::invalid("its bundle has lost it"))
    }

    pub(super) fn region(&self, queue: &Queue) -> Result<Region> {
        let (image, global) = self.declaration()?;
        if queue.context() != self.bundle.context() {
            return Err(Error::invalid("its bundle belongs to another context")
                .remedy("load the bundle in the context of the queue"));
        }
        queue.context().programs().global(queue.device(), Some(self.bundle.programs()), image, global)
    }

    /// Whether the host may write it, or read it.
    pub(super) fn check(&self, write: bool) -> Result<()> {
        let (access, allowed) = match self.info.host_access {
            HostAccess::Read => ("read", !write),
            HostAccess::Write => ("write", write),
            HostAccess::ReadWrite => ("read_write", true),
            HostAccess::None => ("none", false),
        };
        if allowed {
            return Ok(());
        }
        let what = if write { "write" } else { "read" };
        Err(Error::invalid(format!("the host may not {what} it: it is declared `host_access_{access}`"))
            .remedy("declare it `host_access_read_write`"))
    }
}

impl fmt::Debug for BundleGlobal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.info, f)
    }
}
