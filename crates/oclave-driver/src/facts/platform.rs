//! Platforms: one per OpenCL driver, found once per process.

use std::ffi::c_void;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use super::device::Root;
use crate::MakeError as _;
use crate::ext::Tables;
use crate::loader::{self, INSTALL_HINT};
use crate::sync::{Mutex, MutexGuard};
use crate::{Api, Error, ErrorKind, Result, info, sys};

/// No platforms; `CL_PLATFORM_NOT_FOUND_KHR` of the ICD loader.
const PLATFORM_NOT_FOUND: i32 = -1001;

/// An OpenCL driver.
///
/// Platforms live as long as the process, so this is a cheap copy.
#[derive(Clone, Copy)]
pub struct Platform(&'static Inner);

struct Inner {
    api: &'static Api,
    id: sys::cl_platform_id,
    name: String,
    vendor: String,
    version: String,
    tables: OnceLock<Tables>,
    /// The devices, once their enumeration succeeded.
    devices: OnceLock<Vec<&'static Root>>,
}

// SAFETY: a platform handle is never released and may be used from any thread.
unsafe impl Send for Inner {}
// SAFETY: the OpenCL API is thread-safe apart from clSetKernelArg and its like.
unsafe impl Sync for Inner {}

impl Platform {
    /// All platforms, in the loader's order.
    ///
    /// # Errors
    /// [`ErrorKind::Platform`] when there is no OpenCL loader or no driver; it says what to
    /// install.
    pub fn all() -> Result<Vec<Self>> {
        static FOUND: OnceLock<Vec<&'static Inner>> = OnceLock::new();
        // A failure is not kept: the next caller may try again.
        let platforms = match FOUND.get() {
            Some(platforms) => platforms,
            None => {
                let _one_at_a_time = discovery();
                match FOUND.get() {
                    Some(platforms) => platforms,
                    None => {
                        let found = enumerate()?;
                        FOUND.get_or_init(|| {
                            found.into_iter().map(|inner| &*Box::leak(Box::new(inner))).collect()
                        })
                    }
                }
            }
        };
        Ok(platforms.iter().map(|inner| Self(inner)).collect())
    }

    /// `Intel(R) OpenCL`, `Portable Computing Language`, ….
    pub fn name(&self) -> &'static str {
        &self.0.name
    }

    /// The vendor's name.
    pub fn vendor(&self) -> &'static str {
        &self.0.vendor
    }

    /// The version text, `OpenCL 3.0 …`.
    pub fn version(&self) -> &'static str {
        &self.0.version
    }

    /// OpenCL's handle, good as long as the process lives.
    pub fn native(&self) -> sys::cl_platform_id {
        self.0.id
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.0.api
    }

    pub(crate) fn id(&self) -> sys::cl_platform_id {
        self.0.id
    }

    /// The extension functions of the platform. Whether a *device* has an extension is for its
    /// capabilities to say.
    pub(crate) fn tables(&self) -> &'static Tables {
        self.0.tables.get_or_init(|| Tables::load(self.0.api, self.0.id))
    }

    /// The platform's devices, in the driver's order; empty when it has none.
    pub(crate) fn roots(self) -> Result<&'static [&'static Root]> {
        if let Some(devices) = self.0.devices.get() {
            return Ok(devices);
        }
        let _one_at_a_time = discovery();
        if let Some(devices) = self.0.devices.get() {
            return Ok(devices);
        }
        let found = match device_ids(self.0.api, self.0.id) {
            Ok(ids) => ids,
            Err(error) if error.code() == Some(sys::CL_DEVICE_NOT_FOUND) => Vec::new(),
            Err(error) => return Err(error.at(format!("platform `{}`", self.0.name))),
        };
        Ok(self.0.devices.get_or_init(|| {
            found.into_iter().map(|id| &*Box::leak(Box::new(Root::of_platform(self, id)))).collect()
        }))
    }
}

impl PartialEq for Platform {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Platform {}

impl Hash for Platform {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platform").field("name", &self.0.name).field("version", &self.0.version).finish()
    }
}

/// The name of the OpenCL library that the process uses (`libOpenCL.so.1` or a path).
///
/// # Errors
/// [`ErrorKind::Platform`] when there is none; it says what to install.
pub fn loader_name() -> Result<&'static str> {
    loader::library_name()
}

/// Held while platforms or devices are asked for the first time, because of Q74.
fn discovery() -> MutexGuard<'static, ()> {
    static DISCOVERY: Mutex<()> = Mutex::new(());
    DISCOVERY.lock()
}

fn enumerate() -> Result<Vec<Inner>> {
    let api = loader::api()?;
    let ids = match platform_ids(api) {
        Ok(ids) => ids,
        Err(error) if error.code() == Some(PLATFORM_NOT_FOUND) => Vec::new(),
        Err(error) => return Err(error.with_message("the OpenCL loader could not list its platforms")),
    };
    if ids.is_empty() {
        return Err(no_platform());
    }
    Ok(ids
        .into_iter()
        .map(|id| {
            let text = |name| {
                // SAFETY: `id` is a platform that the loader listed.
                info::string(|size, value: *mut c_void, ret| unsafe {
                    api.clGetPlatformInfo(id, name, size, value, ret)
                })
                .unwrap_or_else(|error| {
                    log::warn!("a platform does not answer query {name:#x}: {error:#}");
                    "?".to_owned()
                })
            };
            Inner {
                api,
                id,
                name: text(sys::CL_PLATFORM_NAME),
                vendor: text(sys::CL_PLATFORM_VENDOR),
                version: text(sys::CL_PLATFORM_VERSION),
                tables: OnceLock::new(),
                devices: OnceLock::new(),
            }
        })
        .collect())
}

fn no_platform() -> Error {
    let places = match std::env::var_os("OCL_ICD_VENDORS") {
        Some(path) => format!("OCL_ICD_VENDORS is `{}`", path.to_string_lossy()),
        None => {
            "OCL_ICD_VENDORS is not set, so the loader read its usual folder (on Linux /etc/OpenCL/vendors)"
                .to_owned()
        }
    };
    Error::new(
        ErrorKind::Platform,
        format!("the OpenCL loader `{}` found no driver; {places}", loader::library_name().unwrap_or("?")),
    )
    .remedy(format!("{INSTALL_HINT}; a driver is announced by an `.icd` file, and OCL_ICD_VENDORS names the folder of these"))
}

fn platform_ids(api: &Api) -> Result<Vec<sys::cl_platform_id>> {
    // SAFETY: there is room for `room` entries; `count` lives through the call.
    info::handles("platforms", |room, ids, count| unsafe { api.clGetPlatformIDs(room, ids, count) })
}

fn device_ids(api: &Api, platform: sys::cl_platform_id) -> Result<Vec<sys::cl_device_id>> {
    let kind = sys::CL_DEVICE_TYPE_ALL;
    // SAFETY: `platform` is one that the loader listed; there is room for `room` entries; `count`
    // lives through the call.
    info::handles("devices", |room, ids, count| unsafe {
        api.clGetDeviceIDs(platform, kind, room, ids, count)
    })
}
