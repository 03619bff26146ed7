//! Devices and sub-devices.

use std::ffi::c_void;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use oclave_faults::FaultSet;
use oclave_image::Side;

use super::capabilities::{self, Capabilities, MemoryKind};
use super::faults;
use super::mask::{self, Mask};
use super::platform::Platform;
use super::query::Ask;
use crate::MakeError as _;
use crate::ext::command_buffer::Recorder;
use crate::ext::{self, Tables};
use crate::native::DeviceHandle;
use crate::sync::{Mutex, MutexGuard};
use crate::{Api, Error, ErrorKind, Result, hook, info, sys};

/// The type of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The host's processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An accelerator (FPGA, DSP, …).
    Accelerator,
    /// Anything else.
    Other,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cpu => "CPU",
            Self::Gpu => "GPU",
            Self::Accelerator => "accelerator",
            Self::Other => "other",
        })
    }
}

/// A device of a platform, or a part of one.
///
/// Cloning is cheap. Two values are equal when they are the same device *with the same [`Mask`]*
/// and the same [`Side`]. A masked device behaves as another device, in caches too.
///
/// ```no_run
/// # fn main() -> oclave::Result<()> {
/// use oclave::Device;
///
/// for device in Device::all()? {
///     println!("{} ({}), {}", device.name(), device.kind(), device.capabilities().opencl);
/// }
/// let device = Device::select()?; // the one that OCLAVE_DEVICE names, or the best
/// println!("{} has fp64: {}", device.name(), device.capabilities().aspects.contains(oclave::device::Aspects::FP64));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    root: RootRef,
    choices: Choices,
    capabilities: OnceLock<Capabilities>,
    faults: OnceLock<FaultSet>,
}

/// How the library uses a device: what tells [`Device`] values of one handle apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Choices {
    mask: Mask,
    side: Side,
    /// In place of those that are known of the driver.
    faults: Option<FaultSet>,
    /// Before all other kinds.
    memory: Option<MemoryKind>,
}

impl Choices {
    /// The masks of the environment and of this thread.
    fn of_environment() -> Result<Self> {
        let mask = Mask::from_environment()? | mask::scoped();
        Ok(Self { mask, memory: MemoryKind::from_environment()?, ..Self::default() })
    }
}

/// A handle with the cached answers to queries.
pub(crate) struct Root {
    platform: Platform,
    id: sys::cl_device_id,
    /// A sub-device keeps its parent, and is released when it goes.
    parent: Option<Device>,
    queried: OnceLock<Capabilities>,
}

// SAFETY: a device handle may be used from any thread; a sub-device's is released once, by Drop.
unsafe impl Send for Root {}
// SAFETY: the OpenCL API is thread-safe apart from clSetKernelArg and its like.
unsafe impl Sync for Root {}

enum RootRef {
    /// A platform's own device: lives as long as the process.
    Static(&'static Root),
    /// A sub-device.
    Shared(Arc<Root>),
}

impl RootRef {
    fn clone(&self) -> Self {
        match self {
            Self::Static(root) => Self::Static(root),
            Self::Shared(root) => Self::Shared(Arc::clone(root)),
        }
    }
}

impl std::ops::Deref for RootRef {
    type Target = Root;

    fn deref(&self) -> &Root {
        match self {
            Self::Static(root) => root,
            Self::Shared(root) => root,
        }
    }
}

impl Root {
    pub(crate) fn of_platform(platform: Platform, id: sys::cl_device_id) -> Self {
        Self { platform, id, parent: None, queried: OnceLock::new() }
    }
}

/// Sub-devices are made and released by one thread at a time: Intel's CPU runtime (2026.2) crashes
/// otherwise, once in a hundred runs of a test program in which two threads do so once each.
fn partition_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.parent.is_some() {
            let _turn = partition_turn();
            // SAFETY: a sub-device, created with one reference, which this owns.
            if let Err(error) = unsafe { self.platform.api().clReleaseDevice(self.id) } {
                log::error!("releasing a sub-device: {error:#}");
            }
        }
    }
}

impl Device {
    /// All devices of all platforms, in the order in which `OCLAVE_DEVICE=0`, `1`, … counts them.
    ///
    /// A platform that fails to list its devices is passed over (and logged) as long as there are
    /// others.
    ///
    /// # Errors
    /// [`ErrorKind::Platform`] when there is no loader, no driver or no device;
    /// [`ErrorKind::Invalid`] when `OCLAVE_MASK` has an unknown name.
    pub fn all() -> Result<Vec<Self>> {
        let choices = Choices::of_environment()?;
        let mut devices = Vec::new();
        let mut failure = None;
        for platform in Platform::all()? {
            match platform.roots() {
                Ok(roots) => {
                    devices.extend(roots.iter().map(|root| Self::with(RootRef::Static(root), choices)));
                }
                Err(error) => {
                    log::warn!("{error:#}");
                    failure.get_or_insert(error);
                }
            }
        }
        if !devices.is_empty() {
            return Ok(devices);
        }
        let names: Vec<_> = Platform::all()?.iter().map(Platform::name).collect();
        let error =
            Error::new(ErrorKind::Platform, format!("no device on the platforms {}", names.join(", ")))
                .remedy(crate::loader::INSTALL_HINT);
        Err(match failure {
            Some(failure) => error.with_source(failure),
            None => error,
        })
    }

    /// The device of a handle: one of its platform's, or a part of one, the reference to which is
    /// released with the result. Masked as those of [`Device::all`] are.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a device of no platform of the loader's; as [`Device::all`].
    pub fn from_native(handle: DeviceHandle) -> Result<Self> {
        let choices = Choices::of_environment()?;
        for platform in Platform::all()? {
            let Ok(roots) = platform.roots() else { continue };
            if let Some(root) = roots.iter().find(|root| root.id == handle.raw()) {
                return Ok(Self::with(RootRef::Static(root), choices));
            }
        }
        let api = crate::api()?;
        let parent: sys::cl_device_id = info::value(|size, value, ret| {
            // SAFETY: the handle is alive; `value` has room for `size` bytes.
            unsafe { api.clGetDeviceInfo(handle.raw(), sys::CL_DEVICE_PARENT_DEVICE, size, value, ret) }
        })?;
        if parent.is_null() {
            return Err(Error::invalid("a device of no platform that the OpenCL loader lists"));
        }
        // SAFETY: a sub-device keeps its parent alive.
        let parent = Self::from_native(unsafe { DeviceHandle::retain(parent) }?)?;
        let platform = parent.platform();
        let root = Root { platform, id: handle.into_raw(), parent: Some(parent), queried: OnceLock::new() };
        Ok(Self::with(RootRef::Shared(Arc::new(root)), choices))
    }

    /// OpenCL's handle, good as long as the device or a clone lives.
    pub fn native(&self) -> sys::cl_device_id {
        self.id()
    }

    fn with(root: RootRef, choices: Choices) -> Self {
        let faults = choices.faults.map(OnceLock::from).unwrap_or_default();
        Self(Arc::new(Inner { root, choices, capabilities: OnceLock::new(), faults }))
    }

    /// The same device, used in another way.
    fn used(&self, choices: Choices) -> Self {
        Self::with(self.0.root.clone(), choices)
    }

    /// The same device with more capabilities hidden, for tests of fallbacks.
    #[must_use]
    pub fn masked(&self, mask: Mask) -> Self {
        self.used(Choices { mask: self.0.choices.mask | mask, ..self.0.choices })
    }

    /// The same device, where other faults of its driver are worked around. `words` change the set of
    /// [`driver_faults`](Self::driver_faults). They are those of the variable `OCLAVE_FAULTS`: `-Q45,+Q16`, `none`, `all`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for words that name no fault.
    pub fn with_faults(&self, words: &str) -> Result<Self> {
        let faults = self.driver_faults().adjust(words).map_err(|error| {
            Error::invalid(error.to_string()).at(format!("faults of device `{}`", self.name()))
        })?;
        Ok(self.used(Choices { faults: Some(faults), ..self.0.choices }))
    }

    /// The same device, where memory that kernels address by pointers is of this kind. Without a choice, it is the first kind
    /// that the device has, and never [`MemoryKind::UnifiedSvm`]. The variable `OCLAVE_MEMORY` chooses for all devices that
    /// have the kind: `usm`, `svm`, `buffer_address`, `unified_svm`.
    ///
    /// ```no_run
    /// # fn main() -> oclave::Result<()> {
    /// use oclave::device::MemoryKind;
    /// use oclave::{Context, Device};
    ///
    /// let device = Device::select()?.with_memory(MemoryKind::UnifiedSvm)?;
    /// let memory = Context::new(&device)?.alloc_shared::<f32>(1000)?;
    /// # drop(memory);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`] when the device lacks the kind.
    pub fn with_memory(&self, kind: MemoryKind) -> Result<Self> {
        if self.capabilities().memory_of(kind).is_none() {
            return Err(kind.lacking(self));
        }
        Ok(self.used(Choices { memory: Some(kind), ..self.0.choices }))
    }

    /// The same device in the role of the host. If a program was compiled with `single_pass`, it
    /// runs the images with the bodies of `if_host`. Other programs run as before.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a device that is not the host's processor.
    pub fn as_host(&self) -> Result<Self> {
        if self.kind() != DeviceKind::Cpu {
            return Err(Error::invalid(format!("it is no CPU but {}", self.kind()))
                .at(format!("device `{}` as host", self.name()))
                .remedy("choose a device of kind CPU as the host"));
        }
        Ok(self.used(Choices { side: Side::Host, ..self.0.choices }))
    }

    /// Which bodies of `if_device` and `if_host` run on it: those for devices, unless it came from
    /// [`Device::as_host`].
    pub fn side(&self) -> Side {
        self.0.choices.side
    }

    /// The capabilities that are hidden of this device.
    pub fn mask(&self) -> Mask {
        self.0.choices.mask
    }

    /// The driver that the device belongs to.
    pub fn platform(&self) -> Platform {
        self.0.root.platform
    }

    /// The capabilities of the device. Asked once per device and process, then without the masked
    /// capabilities.
    #[inline]
    pub fn capabilities(&self) -> &Capabilities {
        self.0.capabilities.get_or_init(|| {
            let root = &self.0.root;
            let queried =
                root.queried.get_or_init(|| capabilities::query(&self.asker(), root.platform.tables()));
            let mut capabilities = queried.masked(self.0.choices.mask);
            capabilities.preferred_memory = self.0.choices.memory;
            capabilities
        })
    }

    /// The faults of the device's driver that are worked around, as `OCLAVE_FAULTS` changes them.
    #[inline]
    pub fn driver_faults(&self) -> FaultSet {
        *self.0.faults.get_or_init(|| faults::faults(self))
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.capabilities().name
    }

    /// What it is.
    pub fn kind(&self) -> DeviceKind {
        self.capabilities().kind
    }

    /// The device that this one is a part of.
    pub fn parent(&self) -> Option<&Self> {
        self.0.root.parent.as_ref()
    }

    /// Splits the device into as many parts of `compute_units` each as fit.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`] when the device cannot be split so; a driver error when
    /// there are too few compute units (`CL_DEVICE_PARTITION_FAILED`).
    pub fn partition_equally(&self, compute_units: u32) -> Result<Vec<Self>> {
        if !self.capabilities().partition_equally {
            return Err(
                self.lacks("partitioning into equal parts", "a device that can be partitioned (a CPU)")
            );
        }
        self.partition(&[sys::CL_DEVICE_PARTITION_EQUALLY, to_property(compute_units), 0])
    }

    /// Splits the device into one part per entry of `compute_units`, each with that many.
    ///
    /// # Errors
    /// As for [`Device::partition_equally`].
    pub fn partition_by_counts(&self, compute_units: &[u32]) -> Result<Vec<Self>> {
        if !self.capabilities().partition_by_counts {
            return Err(self.lacks("partitioning by counts", "a device that can be partitioned (a CPU)"));
        }
        if compute_units.is_empty() || compute_units.contains(&0) {
            return Err(Error::invalid("a part needs at least one compute unit, and there must be a part"));
        }
        let mut properties = vec![sys::CL_DEVICE_PARTITION_BY_COUNTS];
        properties.extend(compute_units.iter().map(|count| to_property(*count)));
        properties.extend([sys::CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0]);
        self.partition(&properties)
    }

    fn partition(&self, properties: &[sys::cl_device_partition_property]) -> Result<Vec<Self>> {
        let api = self.api();
        let place = |error: Error| error.at(format!("partitioning device `{}`", self.name()));
        let _turn = partition_turn();
        // SAFETY: the device is alive, the list ends in 0; there is room for `room` entries;
        // `count` lives through the call.
        let ids = info::handles("parts of a device", |room, ids, count| unsafe {
            api.clCreateSubDevices(self.id(), properties.as_ptr(), room, ids, count)
        })
        .map_err(place)?;
        Ok(ids
            .into_iter()
            .map(|id| {
                hook::created(hook::ObjectKind::Device, id);
                let root = Root {
                    platform: self.platform(),
                    id,
                    parent: Some(self.clone()),
                    queried: OnceLock::new(),
                };
                Self::with(RootRef::Shared(Arc::new(root)), self.0.choices)
            })
            .collect())
    }

    /// Refuses a device that takes neither SPIR-V nor PTX, before anything is made on it.
    ///
    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`].
    pub fn require_kernels(&self) -> Result<()> {
        if self.capabilities().takes_kernels() {
            return Ok(());
        }
        let capabilities = self.capabilities();
        let remedy = if self.mask().contains(Mask::SPIRV) {
            "take `spirv` out of the mask"
        } else if self.platform().name().contains("Portable Computing Language") {
            "use PoCL 5 or later built with SPIR-V support (Debian 13, Ubuntu 24.04 and later have it), or Intel's CPU runtime (`pip install intel-opencl-rt`)"
        } else {
            "use a device with OpenCL 2.1 or later whose driver takes SPIR-V, such as Intel's CPU runtime (`pip install intel-opencl-rt`) or PoCL 5 or later"
        };
        Err(Error::new(
            ErrorKind::FeatureNotSupported,
            format!(
                "the device takes no SPIR-V (driver {}, {})",
                capabilities.driver_version, capabilities.version_text
            ),
        )
        .at(format!("device `{}`", self.name()))
        .remedy(remedy))
    }

    /// # Errors
    /// [`ErrorKind::FeatureNotSupported`] when the library uses no command buffers of the device.
    #[doc(hidden)]
    pub fn require_command_buffers(&self) -> Result<()> {
        self.command_buffer().map(drop)
    }

    /// The functions of command buffers, and those that record, in the interface of the device's
    /// version.
    pub(crate) fn command_buffer(&self) -> Result<(&'static ext::command_buffer::CommandBuffer, Recorder)> {
        match &self.capabilities().command_buffer {
            Some(support) => Ok((
                &self.tables().command_buffer,
                if support.records_with_properties() {
                    Recorder::New(&self.tables().record)
                } else {
                    Recorder::Old(&self.tables().record_old)
                },
            )),
            None => Err(self.lacks("cl_khr_command_buffer 0.9.4 or later", "a device with it")),
        }
    }

    /// The functions that read and write program-scope variables by name.
    pub(crate) fn global_variable_access(&self) -> Result<&'static ext::global_variable::GlobalVariable> {
        if self.capabilities().global_variable_access {
            Ok(&self.tables().global_variable)
        } else {
            Err(self.lacks(ext::global_variable::NAME, "a device with it"))
        }
    }

    /// The error of a device without a feature, with what to use instead.
    #[doc(hidden)]
    pub fn lacks(&self, what: &str, remedy: &str) -> Error {
        Error::new(ErrorKind::FeatureNotSupported, format!("the device lacks {what}"))
            .at(format!("device `{}`", self.name()))
            .remedy(format!("use {remedy}"))
    }

    pub(crate) fn tables(&self) -> &'static Tables {
        self.0.root.platform.tables()
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.0.root.platform.api()
    }

    /// The handle; valid as long as this value (or a clone) lives.
    #[inline]
    pub(crate) fn id(&self) -> sys::cl_device_id {
        self.0.root.id
    }

    fn asker(&self) -> impl Ask + use<> {
        let (api, id) = (self.api(), self.id());
        // SAFETY: the device is alive while its capabilities are asked for; `info` passes matching
        // sizes and pointers.
        move |name, size, value: *mut c_void, ret| unsafe { api.clGetDeviceInfo(id, name, size, value, ret) }
    }
}

fn to_property(count: u32) -> sys::cl_device_partition_property {
    sys::cl_device_partition_property::try_from(count).unwrap_or(sys::cl_device_partition_property::MAX)
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        // Mostly it is the same handle: launches ask often.
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.root.id == other.0.root.id && self.0.choices == other.0.choices
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.root.id.hash(state);
        self.0.choices.hash(state);
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choices { mask, side, faults, memory } = &self.0.choices;
        let mut out = f.debug_struct("Device");
        out.field("name", &self.name()).field("platform", &self.platform().name());
        if !mask.is_empty() {
            out.field("mask", mask);
        }
        if let Some(faults) = faults {
            out.field("faults", faults);
        }
        if let Some(memory) = memory {
            out.field("memory", memory);
        }
        if *side == Side::Host {
            out.field("side", side);
        }
        out.finish()
    }
}
