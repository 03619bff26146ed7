//! The capabilities of a device, as plain data.

use std::collections::BTreeMap;

use oclave_image::Aspects;

use super::device::DeviceKind;
use super::images::ImageLimits;
use super::mask::Mask;
pub(crate) use super::query::query;
use super::unified_svm::{SvmTypes, UnifiedSvmSupport};
use super::version::Version;
use crate::MakeError as _;
use crate::ext::spirv_queries::SpirvQueries;
use crate::{Device, Error, Result};

/// The capabilities of a device: found by asking the driver, never by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The device's name.
    pub name: String,
    /// The vendor's name.
    pub vendor: String,
    /// The driver's version, as the driver writes it. Part of the key of cached programs.
    pub driver_version: String,
    /// `OpenCL 3.0 …`, with what the vendor adds.
    pub version_text: String,
    /// The OpenCL version.
    pub opencl: Version,
    /// What it is.
    pub kind: DeviceKind,
    /// Whether the device is there and its compiler works.
    pub available: bool,
    /// Number of compute units.
    pub compute_units: u32,
    /// Width of a device pointer in bits.
    pub address_bits: u32,
    /// Little-endian; the library refuses others.
    pub little_endian: bool,
    /// Extensions and their versions; 0.0.0 where the driver does not say.
    pub extensions: BTreeMap<String, Version>,
    /// Optional features of OpenCL C that the device has (`__opencl_c_…`).
    pub opencl_c_features: Vec<String>,
    /// The versions of SPIR-V that the driver says it takes, ascending.
    pub spirv_versions: Vec<Version>,
    /// The compute capability, where the driver takes PTX instead of SPIR-V: NVIDIA's does.
    pub ptx: Option<Version>,
    /// Its answer about SPIR-V capabilities and extensions, when it can be asked
    /// (`cl_khr_spirv_queries`).
    pub spirv_queries: Option<SpirvQueries>,
    /// Optional features, as images name them.
    pub aspects: Aspects,
    /// Unified shared memory.
    pub usm: Option<UsmSupport>,
    /// Shared virtual memory.
    pub svm: SvmSupport,
    /// The types of memory of `cl_khr_unified_svm` 0.9. Only used where they are [chosen](Device::with_memory).
    pub unified_svm: Option<UnifiedSvmSupport>,
    /// The memory that [`Device::with_memory`] and the environment chose. Not every device has it.
    pub(crate) preferred_memory: Option<MemoryKind>,
    /// Command buffers of version 0.9.4 or later.
    pub command_buffer: Option<CommandBufferSupport>,
    /// Updates of recorded kernels.
    pub mutable_dispatch: Option<MutableDispatchSupport>,
    /// Program-scope variables can be read and written by name.
    pub global_variable_access: bool,
    /// Program-scope variables can be asked for their address.
    pub global_variable_pointer: bool,
    /// Largest program-scope variable in bytes; 0 without support.
    pub max_global_variable_bytes: usize,
    /// `cl_ext_buffer_device_address`.
    pub buffer_device_address: Option<Version>,
    /// The driver tells which work-groups it would choose (`cl_khr_suggested_local_work_size`, core in
    /// OpenCL 3.1).
    pub suggested_group_sizes: bool,
    /// The number that tells the device from all others, also for other interfaces (`cl_khr_device_uuid`, core in
    /// OpenCL 3.1).
    pub uuid: Option<[u8; 16]>,
    /// Work-groups of one launch can wait for each other (`cl_intel_concurrent_dispatch`).
    pub concurrent_dispatch: bool,
    /// Queues may run commands out of order.
    pub out_of_order_queues: bool,
    /// Queues can measure commands.
    pub profiling: bool,
    /// Can be split into equal parts.
    pub partition_equally: bool,
    /// Can be split by counts.
    pub partition_by_counts: bool,
    /// Images, with their bounds.
    pub images: Option<ImageLimits>,
    /// The device's bounds.
    pub limits: Limits,
    /// Queries that failed for other reasons than that the device does not know them. Their values
    /// are the defaults.
    pub problems: Vec<String>,
}

/// Bounds of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Work-items in a work-group.
    pub max_work_group_size: usize,
    /// Work-items in a work-group per dimension.
    pub max_work_item_sizes: [usize; 3],
    /// The driver handles a global size that is no multiple of the local size.
    pub non_uniform_work_groups: bool,
    /// Sub-groups in a work-group; 0 without support.
    pub max_sub_groups: u32,
    /// Sizes that a sub-group can have; empty when the device does not say.
    pub sub_group_sizes: Vec<usize>,
    /// Local memory in bytes.
    pub local_memory_bytes: u64,
    /// Global memory in bytes.
    pub global_memory_bytes: u64,
    /// Largest allocation in bytes.
    pub max_allocation_bytes: u64,
    /// Largest constant buffer in bytes.
    pub max_constant_buffer_bytes: u64,
    /// All arguments of a kernel together, in bytes.
    pub max_parameter_bytes: usize,
    /// Alignment of buffers, in bytes.
    pub buffer_alignment_bytes: u32,
    /// Resolution of profiling timers in nanoseconds.
    pub profiling_resolution_ns: usize,
}

/// The USM of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct UsmSupport {
    /// Version of the extension; 0.0.0 when unknown.
    pub version: Version,
    /// Memory of the host that the device can access.
    pub host: bool,
    /// Memory of the device.
    pub device: bool,
    /// Memory that host and device access.
    pub shared: bool,
    /// Host and device may access shared memory at the same time.
    pub concurrent_shared: bool,
    /// Kernels may use any memory of the host (`malloc`).
    pub system: bool,
}

/// How kernels address memory by pointers. Without a [choice](Device::with_memory), the library takes the first that a device
/// has, of all but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Unified shared memory, `cl_intel_unified_shared_memory`.
    Usm,
    /// Shared virtual memory.
    Svm,
    /// Buffers with an address on the device, `cl_ext_buffer_device_address` 1.0 or later.
    BufferAddress,
    /// Shared virtual memory of the types of `cl_khr_unified_svm` 0.9, an extension that may still change.
    UnifiedSvm,
}

/// Environment variable with the kind of memory to prefer.
const MEMORY_VARIABLE: &str = "OCLAVE_MEMORY";

impl MemoryKind {
    /// Those that need no choice.
    pub(crate) const UNASKED: [Self; 3] = [Self::Usm, Self::Svm, Self::BufferAddress];

    /// The kind that the environment prefers; an error each time it names none.
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        let Some(name) = std::env::var_os(MEMORY_VARIABLE).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        Self::parse(&name.to_string_lossy()).map(Some).map_err(|error| error.at(MEMORY_VARIABLE))
    }

    fn parse(name: &str) -> Result<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "usm" => Ok(Self::Usm),
            "svm" => Ok(Self::Svm),
            "buffer_address" => Ok(Self::BufferAddress),
            "unified_svm" => Ok(Self::UnifiedSvm),
            other => Err(Error::invalid(format!("no kind of memory `{other}`"))
                .remedy("known are: usm, svm, buffer_address, unified_svm")),
        }
    }

    /// The error of a device that lacks it.
    pub(crate) fn lacking(self, device: &Device) -> Error {
        let what = match self {
            Self::Usm => "cl_intel_unified_shared_memory",
            Self::Svm => "shared virtual memory",
            Self::BufferAddress => "cl_ext_buffer_device_address 1.0 or later",
            Self::UnifiedSvm => {
                "cl_khr_unified_svm 0.9 or later with a type of memory that kernels read and write"
            }
        };
        let remedy = match device.capabilities().memory() {
            Some(memory) => {
                format!("a device with it, or `MemoryKind::{:?}`, which this one has", memory.kind)
            }
            None => "a device with it".into(),
        };
        device.lacks(what, &remedy)
    }
}

/// The memory that `Context::alloc_device` and its siblings give on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemorySupport {
    /// The interface of the driver underneath.
    pub kind: MemoryKind,
    /// Memory of the device.
    pub device: bool,
    /// Memory of the host that the device can access.
    pub host: bool,
    /// Memory that host and device access.
    pub shared: bool,
    /// The driver maps host and shared memory for each guard of the host, which may copy it.
    pub mapped: bool,
}

impl MemorySupport {
    /// The features that both have, of one kind.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            kind: self.kind,
            device: self.device && other.device,
            host: self.host && other.host,
            shared: self.shared && other.shared,
            mapped: self.mapped || other.mapped,
        }
    }
}

/// The shared virtual memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SvmSupport {
    /// Buffers, mapped for host access.
    pub coarse_buffer: bool,
    /// Buffers, accessed without mapping.
    pub fine_buffer: bool,
    /// Any memory of the host.
    pub fine_system: bool,
    /// Atomics across host and device.
    pub atomics: bool,
}

/// How a device replays commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandBufferSupport {
    /// Version of `cl_khr_command_buffer`.
    pub version: Version,
    /// May be enqueued while it is pending, whatever the order.
    pub simultaneous_use: bool,
    /// May be enqueued while it is pending if an event or the queue orders the two (since 0.9.8).
    pub ordered_use: bool,
    /// Recorded kernels may print.
    pub printf: bool,
    /// May be recorded for out-of-order queues.
    pub out_of_order: bool,
    /// May be recorded for several queues.
    pub multiple_queues: bool,
    /// Properties that a queue must have (`CL_QUEUE_…` bits).
    pub required_queue_properties: u64,
}

impl CommandBufferSupport {
    /// A buffer may be enqueued while it is pending if the two are ordered (since 0.9.8).
    pub(crate) fn orders_by_events(&self) -> bool {
        self.version >= Version::new(0, 9, 8)
    }

    /// Recording functions have a `properties` parameter (since 0.9.5).
    pub fn records_with_properties(&self) -> bool {
        self.version >= Version::new(0, 9, 5)
    }
}

/// The parts of a recorded kernel that can be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MutableDispatchSupport {
    /// Version of `cl_khr_command_buffer_mutable_dispatch`.
    pub version: Version,
    /// The global offset.
    pub global_offset: bool,
    /// The global size.
    pub global_size: bool,
    /// The local size.
    pub local_size: bool,
    /// Arguments.
    pub arguments: bool,
    /// `clSetKernelExecInfo` settings.
    pub exec_info: bool,
}

impl MutableDispatchSupport {
    /// Updates are an array of typed configurations (since 0.9.2), not a chain of structures.
    #[doc(hidden)]
    pub fn updates_as_array(&self) -> bool {
        self.version >= Version::new(0, 9, 2)
    }
}

impl Capabilities {
    /// Whether SPIR-V modules can be loaded.
    pub(crate) fn takes_spirv(&self) -> bool {
        !self.spirv_versions.is_empty()
    }

    /// Whether kernels can be loaded: as SPIR-V, or as PTX that is made of it.
    pub fn takes_kernels(&self) -> bool {
        self.takes_spirv() || self.ptx.is_some()
    }

    /// The newest SPIR-V version that the driver says it takes.
    #[doc(hidden)]
    pub fn max_spirv_version(&self) -> Option<Version> {
        self.spirv_versions.last().copied()
    }

    /// Whether the device advertises an extension.
    pub(crate) fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains_key(name)
    }

    /// The memory that the library uses on the device; `None` when kernels cannot address memory by
    /// pointers.
    pub fn memory(&self) -> Option<MemorySupport> {
        self.preferred_memory.into_iter().chain(MemoryKind::UNASKED).find_map(|kind| self.memory_of(kind))
    }

    /// The memory of a kind, if the device has it.
    pub(crate) fn memory_of(&self, kind: MemoryKind) -> Option<MemorySupport> {
        let all = |mapped| MemorySupport { kind, device: true, host: true, shared: true, mapped };
        match kind {
            MemoryKind::Usm => {
                let UsmSupport { device, host, shared, .. } = self.usm?;
                Some(MemorySupport { kind, device, host, shared, mapped: false })
            }
            MemoryKind::Svm => {
                let SvmSupport { coarse_buffer, fine_buffer, .. } = self.svm;
                (coarse_buffer || fine_buffer).then(|| all(!fine_buffer))
            }
            MemoryKind::UnifiedSvm => SvmTypes::choose(&self.unified_svm.as_ref()?.types, false).support(),
            // Before 1.0, the constants are others.
            MemoryKind::BufferAddress => {
                self.buffer_device_address.filter(|version| *version >= Version::new(1, 0, 0))?;
                Some(all(true))
            }
        }
    }

    /// The capabilities without those that a mask hides.
    pub(crate) fn masked(&self, mask: Mask) -> Self {
        let mut out = self.clone();
        out.aspects.remove(mask.aspects());
        let hides = |flag| mask.contains(flag);
        if hides(Mask::SPIRV) {
            out.spirv_versions.clear();
            out.ptx = None;
        }
        if hides(Mask::SPIRV_1_3) {
            out.spirv_versions.retain(|version| *version < Version::new(1, 3, 0));
        }
        if hides(Mask::SPIRV_QUERIES) || hides(Mask::SPIRV) {
            out.spirv_queries = None;
        }
        if let Some(usm) = &mut out.usm {
            usm.device &= !hides(Mask::DEVICE_USM);
            usm.host &= !hides(Mask::HOST_USM);
            usm.shared &= !hides(Mask::SHARED_USM);
            usm.concurrent_shared &= usm.shared;
            if hides(Mask::USM) || !(usm.device || usm.host || usm.shared) {
                out.usm = None;
            }
        }
        if hides(Mask::SVM) {
            out.svm = SvmSupport::default();
        }
        if hides(Mask::SVM_FINE) {
            out.svm = SvmSupport { coarse_buffer: out.svm.coarse_buffer, ..SvmSupport::default() };
        }
        if hides(Mask::UNIFIED_SVM) {
            out.unified_svm = None;
        }
        if hides(Mask::BUFFER_DEVICE_ADDRESS) {
            out.buffer_device_address = None;
        }
        out.suggested_group_sizes &= !hides(Mask::SUGGESTED_GROUP_SIZES);
        if hides(Mask::COMMAND_BUFFER) {
            out.command_buffer = None;
        }
        if let Some(command_buffer) = &mut out.command_buffer {
            if hides(Mask::UNORDERED_USE) {
                command_buffer.ordered_use |= command_buffer.simultaneous_use;
                command_buffer.simultaneous_use = false;
            }
            if hides(Mask::SIMULTANEOUS_USE) {
                (command_buffer.simultaneous_use, command_buffer.ordered_use) = (false, false);
            }
            command_buffer.out_of_order &= !hides(Mask::OUT_OF_ORDER);
        }
        if hides(Mask::MUTABLE_DISPATCH) || hides(Mask::COMMAND_BUFFER) {
            out.mutable_dispatch = None;
        }
        out.global_variable_access &= !hides(Mask::GLOBAL_VARIABLE_ACCESS);
        out.global_variable_pointer &= !hides(Mask::GLOBAL_VARIABLE_POINTER);
        if hides(Mask::PROGRAM_SCOPE_VARIABLES) {
            out.max_global_variable_bytes = 0;
            out.global_variable_access = false;
            out.global_variable_pointer = false;
        }
        if hides(Mask::IMAGE) {
            out.images = None;
        }
        if hides(Mask::SUB_GROUPS) {
            out.limits.max_sub_groups = 0;
            out.limits.sub_group_sizes.clear();
        }
        out.limits.non_uniform_work_groups &= !hides(Mask::NON_UNIFORM_WORK_GROUPS);
        out.out_of_order_queues &= !hides(Mask::OUT_OF_ORDER);
        out.partition_equally &= !hides(Mask::SUB_DEVICES);
        out.partition_by_counts &= !hides(Mask::SUB_DEVICES);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_memory_have_names() {
        assert_eq!(MemoryKind::parse(" Unified_SVM ").unwrap(), MemoryKind::UnifiedSvm);
        let error = MemoryKind::parse("shared").unwrap_err().to_string();
        assert!(error.contains("`shared`") && error.contains("unified_svm"), "{error}");
    }
}
