//! Device globals of kernel bundles, found by name: what rustc checks for generated code is checked at run time.

use std::fmt;
use std::sync::Arc;

use oclave_image::{DeviceGlobalInfo, HostAccess};

use super::access::{memory_of, sealed};
use super::check_size;
use super::place::AnyGlobal;
use crate::image::LoadedImage;
use crate::memory::Region;
use crate::{Error, KernelBundle, Queue, Result};

/// A device global of a [`KernelBundle`]; from [`KernelBundle::device_global`].
///
/// The copies of [`Queue`] take it like a [`DeviceGlobal`](crate::DeviceGlobal). What its property `host_access` does not
/// allow, and types of other sizes, are [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) there.
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

    /// The unique id. Variables of equal ids are one variable, unless they have `device_image_scope`.
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

    /// What the host may do.
    pub fn host_access(&self) -> HostAccess {
        self.info.host_access
    }

    /// As [`DeviceGlobal::device_address`](crate::DeviceGlobal::device_address).
    ///
    /// # Errors
    /// As [`Queue::copy_to_global`].
    pub fn device_address(&self, queue: &Queue) -> Result<u64> {
        memory_of(self, queue).map(|memory| memory.address())
    }

    fn declaration(&self) -> Result<(&Arc<LoadedImage>, &DeviceGlobalInfo)> {
        let image = self.bundle.images().get(self.image);
        image
            .and_then(|image| Some((image, image.device_globals().get(self.index)?)))
            .ok_or_else(|| Error::invalid("its bundle has lost it"))
    }

    fn allows(&self, allowed: bool, what: &str) -> Result<()> {
        if allowed {
            return Ok(());
        }
        let access = match self.info.host_access {
            HostAccess::Read => "read",
            HostAccess::Write => "write",
            HostAccess::ReadWrite => "read_write",
            HostAccess::None => "none",
        };
        Err(Error::invalid(format!("the host may not {what} it: it is declared `host_access_{access}`"))
            .remedy("declare it `host_access_read_write`"))
    }
}

impl sealed::Variable for BundleGlobal {
    fn id(&self) -> &str {
        self.id()
    }

    fn variable(&self) -> Result<AnyGlobal> {
        Ok(AnyGlobal::Bundle(self.clone()))
    }

    fn memory(&self, queue: &Queue) -> Result<Region> {
        let (image, global) = self.declaration()?;
        if queue.context() != self.bundle.context() {
            return Err(Error::invalid("its bundle belongs to another context")
                .remedy("load the bundle in the context of the queue"));
        }
        queue.context().programs().global(queue.device(), Some(self.bundle.programs()), image, global)
    }

    fn check_read(&self) -> Result<()> {
        self.allows(matches!(self.info.host_access, HostAccess::Read | HostAccess::ReadWrite), "read")
    }

    fn check_write(&self) -> Result<()> {
        self.allows(matches!(self.info.host_access, HostAccess::Write | HostAccess::ReadWrite), "write")
    }

    fn check_value<T>(&self) -> Result<()> {
        let (image, global) = self.declaration()?;
        check_size::<T>(image.name(), global)
    }

    fn check_elements<E>(&self) -> Result<()> {
        let element = size_of::<E>();
        if element != 0 && self.size_bytes().is_multiple_of(element) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "its {} bytes are no whole number of `{}`, which has {element}",
            self.size_bytes(),
            std::any::type_name::<E>()
        )))
    }
}

impl fmt::Debug for BundleGlobal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.info, f)
    }
}
