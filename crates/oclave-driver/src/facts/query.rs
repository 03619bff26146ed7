//! Asks a device for its capabilities.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use oclave_image::Aspects;

use super::capabilities::{
    Capabilities, CommandBufferSupport, Limits, MutableDispatchSupport, SvmSupport, UsmSupport,
};
use super::device::DeviceKind;
use super::images::ImageLimits;
use super::unified_svm::{SvmCapabilities, UnifiedSvmSupport};
use super::version::Version;
use crate::ext::{
    Tables, command_buffer, device_address, mutable_dispatch, spirv_queries, suggested_size, unified_svm, usm,
};
use crate::info::{self, Plain};
use crate::sys::{self, cl_bool, cl_device_info, cl_name_version, cl_uint, cl_ulong};
use crate::{Error, Result};

/// `CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT` of `cl_ext_float_atomics`; not among
/// `opencl-sys`'s constants.
const SINGLE_FP_ATOMIC_CAPABILITIES: cl_device_info = 0x4231;
/// Add and min/max on global memory.
const GLOBAL_FP_ATOMICS: u64 = (1 << 1) | (1 << 2);
/// `CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR` of versions before 0.9.5.
const CAPABILITY_OUT_OF_ORDER: u64 = 1 << 3;
/// SPIR-V capability `FunctionPointersINTEL`.
const SPIRV_FUNCTION_POINTERS: u32 = 5603;
/// The oldest `cl_khr_command_buffer` that is used: a driver with an older one does not capture arguments when it
/// records (Q76).
const OLDEST_COMMAND_BUFFER: Version = Version::new(0, 9, 4);

/// Has several extensions in its core.
const OPENCL_3_1: Version = Version::new(3, 1, 0);

/// `clGetDeviceInfo` on one device: query, size of the value, value, size that it has.
pub(crate) trait Ask: Fn(cl_device_info, usize, *mut c_void, *mut usize) -> Result<()> {}
impl<F: Fn(cl_device_info, usize, *mut c_void, *mut usize) -> Result<()>> Ask for F {}

/// The questions, with the failures kept.
struct Asker<F> {
    ask: F,
    problems: RefCell<Vec<String>>,
}

impl<F: Ask> Asker<F> {
    /// The answer, or the default. That a device does not know a query is no problem: that is how
    /// it says no.
    fn value_or_default<T: Default>(&self, name: cl_device_info, answer: Result<T>) -> T {
        answer.unwrap_or_else(|error: Error| {
            if error.code() != Some(sys::CL_INVALID_VALUE) {
                self.problems.borrow_mut().push(format!("query {name:#06x}: {error}"));
            }
            T::default()
        })
    }

    fn value<T: Plain + Default>(&self, name: cl_device_info) -> T {
        self.value_or_default(name, info::value(|size, value, ret| (self.ask)(name, size, value, ret)))
    }

    /// A bit field of 8 bytes, or of 4 from drivers with Q73.
    fn bits(&self, name: cl_device_info) -> u64 {
        let bytes: Vec<u8> = self.list(name);
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(bytes) {
            *to = from;
        }
        u64::from_le_bytes(word)
    }

    fn flag(&self, name: cl_device_info) -> bool {
        self.value::<cl_bool>(name) != 0
    }

    fn list<T: Plain>(&self, name: cl_device_info) -> Vec<T> {
        self.value_or_default(name, info::list(|size, value, ret| (self.ask)(name, size, value, ret)))
    }

    fn text(&self, name: cl_device_info) -> String {
        self.value_or_default(name, info::string(|size, value, ret| (self.ask)(name, size, value, ret)))
    }

    fn names_with_versions(&self, name: cl_device_info) -> Vec<(String, Version)> {
        let entries: Vec<cl_name_version> = self.list(name);
        entries.iter().map(|entry| (text_of(&entry.name), Version::from_cl(entry.version))).collect()
    }
}

fn text_of(name: &[impl Copy + Into<i64>]) -> String {
    let bytes: Vec<u8> =
        name.iter().map(|c| ((*c).into() & 0xff) as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything that the library wants to know of a device. Never fails: what cannot be asked is
/// absent, and unexpected failures are listed in `problems`.
pub(crate) fn query(ask: &impl Ask, tables: &Tables) -> Capabilities {
    let device = Asker { ask, problems: RefCell::default() };
    let version_text = device.text(sys::CL_DEVICE_VERSION);
    let opencl = Version::in_text(&version_text).unwrap_or_default();
    let extensions = extensions(&device);
    let opencl_c_features: Vec<String> = device
        .names_with_versions(sys::CL_DEVICE_OPENCL_C_FEATURES)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let version_of = |name: &str| extensions.get(name).copied();

    let spirv_queries = (version_of(spirv_queries::NAME).is_some() || opencl >= OPENCL_3_1)
        .then(|| spirv_queries::query(device.ask))
        .and_then(|answer| {
            answer
                .map_err(|error| {
                    device.problems.borrow_mut().push(format!("{}: {error}", spirv_queries::NAME))
                })
                .ok()
        });

    let command_buffer = version_of(command_buffer::NAME)
        .filter(|version| *version >= OLDEST_COMMAND_BUFFER)
        .filter(|_| tables.command_buffer.absent().is_empty())
        .map(|version| command_buffer_support(&device, version));
    let mutable_dispatch = version_of(mutable_dispatch::NAME)
        .filter(|_| command_buffer.is_some() && tables.mutable_dispatch.clUpdateMutableCommandsKHR.is_some())
        .map(|version| mutable_dispatch_support(&device, version));

    let mut capabilities = Capabilities {
        name: device.text(sys::CL_DEVICE_NAME),
        vendor: device.text(sys::CL_DEVICE_VENDOR),
        driver_version: device.text(sys::CL_DRIVER_VERSION),
        kind: kind(device.value(sys::CL_DEVICE_TYPE)),
        available: device.flag(sys::CL_DEVICE_AVAILABLE) && device.flag(sys::CL_DEVICE_COMPILER_AVAILABLE),
        compute_units: device.value(sys::CL_DEVICE_MAX_COMPUTE_UNITS),
        address_bits: device.value(sys::CL_DEVICE_ADDRESS_BITS),
        little_endian: device.flag(sys::CL_DEVICE_ENDIAN_LITTLE),
        spirv_versions: spirv_versions(&device, opencl),
        ptx: None,
        aspects: aspects(&device, opencl, &extensions, &opencl_c_features, spirv_queries.as_ref()),
        usm: version_of(usm::NAME)
            .filter(|_| tables.usm.clEnqueueMemcpyINTEL.is_some() && tables.usm.clMemFreeINTEL.is_some())
            .and_then(|version| usm_support(&device, version)),
        svm: svm_support(device.value(sys::CL_DEVICE_SVM_CAPABILITIES)),
        unified_svm: version_of(unified_svm::NAME)
            .filter(|version| *version >= UnifiedSvmSupport::OLDEST && tables.unified_svm.absent().is_empty())
            .map(|version| unified_svm_support(&device, version)),
        preferred_memory: None,
        command_buffer,
        mutable_dispatch,
        global_variable_access: false,
        global_variable_pointer: false,
        max_global_variable_bytes: 0,
        buffer_device_address: version_of(device_address::NAME)
            .filter(|_| tables.device_address.clSetKernelArgDevicePointerEXT.is_some()),
        suggested_group_sizes: (version_of(suggested_size::NAME).is_some() || opencl >= OPENCL_3_1)
            && tables.suggested_size.clGetKernelSuggestedLocalWorkSizeKHR.is_some(),
        uuid: (version_of("cl_khr_device_uuid").is_some() || opencl >= OPENCL_3_1)
            .then(|| device.value(sys::CL_DEVICE_UUID_KHR))
            .filter(|uuid| *uuid != [0; 16]),
        concurrent_dispatch: version_of("cl_intel_concurrent_dispatch").is_some(),
        out_of_order_queues: false,
        profiling: false,
        partition_equally: false,
        partition_by_counts: false,
        images: image_limits(&device),
        limits: limits(&device),
        problems: Vec::new(),
        version_text,
        opencl,
        opencl_c_features,
        spirv_queries,
        extensions,
    };
    if let Some(version) = compute_capability(&device, &capabilities) {
        take_ptx(&mut capabilities, version);
    } else if capabilities.aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES) {
        capabilities.max_global_variable_bytes = device.value(sys::CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE);
        capabilities.global_variable_access = tables.global_variable.can_copy();
        capabilities.global_variable_pointer = tables.global_variable.can_give_pointer();
    }
    // CL_DEVICE_QUEUE_PROPERTIES of OpenCL 1.x has the same number.
    let queues: cl_ulong = device.value(sys::CL_DEVICE_QUEUE_ON_HOST_PROPERTIES);
    capabilities.out_of_order_queues = queues & sys::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
    capabilities.profiling = queues & sys::CL_QUEUE_PROFILING_ENABLE != 0;
    let partitions: Vec<usize> = device.list(sys::CL_DEVICE_PARTITION_PROPERTIES);
    capabilities.partition_equally = partitions.contains(&(sys::CL_DEVICE_PARTITION_EQUALLY as usize));
    capabilities.partition_by_counts = partitions.contains(&(sys::CL_DEVICE_PARTITION_BY_COUNTS as usize));
    capabilities.problems = device.problems.into_inner();
    for problem in &capabilities.problems {
        log::warn!("device `{}`: {problem}", capabilities.name);
    }
    capabilities
}

fn extensions(device: &Asker<impl Ask>) -> BTreeMap<String, Version> {
    let mut extensions: BTreeMap<String, Version> = device
        .text(sys::CL_DEVICE_EXTENSIONS)
        .split_whitespace()
        .map(|name| (name.to_owned(), Version::default()))
        .collect();
    extensions.extend(device.names_with_versions(sys::CL_DEVICE_EXTENSIONS_WITH_VERSION));
    extensions
}

fn spirv_versions(device: &Asker<impl Ask>, opencl: Version) -> Vec<Version> {
    let mut versions: Vec<Version> = device
        .names_with_versions(sys::CL_DEVICE_ILS_WITH_VERSION)
        .into_iter()
        .filter(|(name, _)| name == "SPIR-V")
        .map(|(_, version)| Version::new(version.major, version.minor, 0))
        .collect();
    let text = device.text(sys::CL_DEVICE_IL_VERSION);
    versions.extend(text.split_whitespace().filter_map(|il| Version::in_text(il.strip_prefix("SPIR-V_")?)));
    // Before 2.1, SPIR-V is an extension with a function of its own (clCreateProgramWithILKHR),
    // which is not used.
    versions.retain(|_| opencl >= Version::new(2, 1, 0));
    versions.sort_unstable();
    versions.dedup();
    versions
}

/// The compute capability of a device that takes no SPIR-V, but PTX.
///
/// No query says that a driver takes PTX. Other drivers for the same devices do not, and have another
/// third word in their version: `OpenCL 3.0 CUDA …`.
fn compute_capability(device: &Asker<impl Ask>, capabilities: &Capabilities) -> Option<Version> {
    let is_cuda = capabilities.version_text.split_whitespace().nth(2) == Some("CUDA");
    if !is_cuda || capabilities.takes_spirv() || !capabilities.has_extension("cl_nv_device_attribute_query") {
        return None;
    }
    let part = |name| device.value::<cl_uint>(name);
    let (major, minor) =
        (part(sys::CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV), part(sys::CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
    match oclave_ptx::PtxTarget::new(major, minor) {
        Ok(_) => Some(Version::new(major as u16, minor as u16, 0)),
        Err(why) => {
            log::info!("device `{}`: {why}", capabilities.name);
            None
        }
    }
}

/// What kernels can do as PTX is more than what the driver says of OpenCL C.
fn take_ptx(capabilities: &mut Capabilities, version: Version) {
    let profile = oclave_ptx::nvidia_profile();
    capabilities.ptx = Some(version);
    capabilities.aspects = profile.aspects;
    match &mut capabilities.images {
        // `oclave-ptx` has no images that a kernel both reads and writes, and the driver states none.
        Some(images) => images.read_write_arguments = 0,
        None => capabilities.aspects.remove(Aspects::IMAGE | Aspects::IMAGE_3D_WRITE),
    }
    let limits = &mut capabilities.limits;
    let narrowest = profile.sub_group_sizes.iter().copied().min().unwrap_or(1);
    limits.max_sub_groups = (limits.max_work_group_size / narrowest) as u32;
    limits.sub_group_sizes = profile.sub_group_sizes;
}

fn kind(kind: sys::cl_device_type) -> DeviceKind {
    if kind & sys::CL_DEVICE_TYPE_GPU != 0 {
        DeviceKind::Gpu
    } else if kind & sys::CL_DEVICE_TYPE_CPU != 0 {
        DeviceKind::Cpu
    } else if kind & sys::CL_DEVICE_TYPE_ACCELERATOR != 0 {
        DeviceKind::Accelerator
    } else {
        DeviceKind::Other
    }
}

fn aspects(
    device: &Asker<impl Ask>,
    opencl: Version,
    extensions: &BTreeMap<String, Version>,
    features: &[String],
    spirv: Option<&spirv_queries::SpirvQueries>,
) -> Aspects {
    // What OpenCL 2.x made mandatory and 3.0 optional again.
    let is_2 = opencl.major == 2;
    let has = |name: &str| extensions.contains_key(name);
    let feature = |name: &str| features.iter().any(|feature| feature == name);
    let image = device.flag(sys::CL_DEVICE_IMAGE_SUPPORT);
    let program_scope = device.value::<usize>(sys::CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE) > 0
        && (is_2 || feature("__opencl_c_program_scope_global_variables"));
    let float_atomics = has("cl_ext_float_atomics")
        && device.value::<u64>(SINGLE_FP_ATOMIC_CAPABILITIES) & GLOBAL_FP_ATOMICS == GLOBAL_FP_ATOMICS;
    [
        (Aspects::FP64, device.value::<u64>(sys::CL_DEVICE_DOUBLE_FP_CONFIG) != 0),
        (Aspects::FP16, has("cl_khr_fp16")),
        (Aspects::ATOMIC64, has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics")),
        (Aspects::IMAGE, image),
        (Aspects::IMAGE_3D_WRITE, image && (is_2 || has("cl_khr_3d_image_writes"))),
        (
            Aspects::IMAGE_READ_WRITE,
            image && device.value::<cl_uint>(sys::CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS) > 0,
        ),
        (
            Aspects::SUB_GROUPS,
            device.value::<cl_uint>(sys::CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0
                || has("cl_khr_subgroups")
                || has("cl_intel_subgroups"),
        ),
        (Aspects::GENERIC_POINTER, is_2 || device.flag(sys::CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT)),
        (Aspects::PIPES, is_2 || device.flag(sys::CL_DEVICE_PIPE_SUPPORT)),
        (
            Aspects::DEVICE_ENQUEUE,
            is_2 || device.bits(sys::CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES) & sys::CL_DEVICE_QUEUE_SUPPORTED
                != 0,
        ),
        (Aspects::PROGRAM_SCOPE_VARIABLES, program_scope),
        (
            Aspects::WORK_GROUP_COLLECTIVES,
            is_2 || device.flag(sys::CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT),
        ),
        (Aspects::ATOMIC_FLOAT, float_atomics),
        (
            Aspects::FUNCTION_POINTERS,
            spirv.is_some_and(|spirv| spirv.capabilities.contains(&SPIRV_FUNCTION_POINTERS)),
        ),
    ]
    .into_iter()
    .filter(|(_, there)| *there)
    .fold(Aspects::empty(), |all, (aspect, _)| all | aspect)
}

fn image_limits(device: &Asker<impl Ask>) -> Option<ImageLimits> {
    if !device.flag(sys::CL_DEVICE_IMAGE_SUPPORT) {
        return None;
    }
    let sizes = |names: [cl_device_info; 3]| names.map(|name| device.value::<usize>(name));
    let [width, height, max_layers] = sizes([
        sys::CL_DEVICE_IMAGE2D_MAX_WIDTH,
        sys::CL_DEVICE_IMAGE2D_MAX_HEIGHT,
        sys::CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
    ]);
    Some(ImageLimits {
        max_2d: [width, height],
        max_3d: sizes([
            sys::CL_DEVICE_IMAGE3D_MAX_WIDTH,
            sys::CL_DEVICE_IMAGE3D_MAX_HEIGHT,
            sys::CL_DEVICE_IMAGE3D_MAX_DEPTH,
        ]),
        max_layers,
        max_buffer_pixels: device.value(sys::CL_DEVICE_IMAGE_MAX_BUFFER_SIZE),
        read_arguments: device.value(sys::CL_DEVICE_MAX_READ_IMAGE_ARGS),
        write_arguments: device.value(sys::CL_DEVICE_MAX_WRITE_IMAGE_ARGS),
        read_write_arguments: device.value(sys::CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS),
        samplers: device.value(sys::CL_DEVICE_MAX_SAMPLERS),
    })
}

fn usm_support(device: &Asker<impl Ask>, version: Version) -> Option<UsmSupport> {
    let access = |name| device.value::<u64>(name);
    let can = |name| access(name) & sys::CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL != 0;
    let shared = access(sys::CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL);
    let support = UsmSupport {
        version,
        host: can(sys::CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL),
        device: can(sys::CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL),
        shared: shared & sys::CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL != 0,
        concurrent_shared: shared & sys::CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL != 0,
        system: can(sys::CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL),
    };
    (support.host || support.device || support.shared).then_some(support)
}

fn svm_support(bits: sys::cl_device_svm_capabilities) -> SvmSupport {
    SvmSupport {
        coarse_buffer: bits & sys::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER != 0,
        fine_buffer: bits & sys::CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0,
        fine_system: bits & sys::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM != 0,
        atomics: bits & sys::CL_DEVICE_SVM_ATOMICS != 0,
    }
}

fn unified_svm_support(device: &Asker<impl Ask>, version: Version) -> UnifiedSvmSupport {
    let types: Vec<u64> = device.list(sys::CL_DEVICE_SVM_TYPE_CAPABILITIES_KHR);
    UnifiedSvmSupport { version, types: types.into_iter().map(SvmCapabilities::from_bits_retain).collect() }
}

fn command_buffer_support(device: &Asker<impl Ask>, version: Version) -> CommandBufferSupport {
    let bits: u64 = device.value(sys::CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR);
    // The newer way to say it; devices of 0.9.4 do not know the query and have the bit instead.
    let queues: u64 = device.value(sys::CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR);
    let mut support = CommandBufferSupport {
        version,
        simultaneous_use: bits & sys::CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR != 0,
        ordered_use: false,
        printf: bits & sys::CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR != 0,
        out_of_order: bits & CAPABILITY_OUT_OF_ORDER != 0
            || queues & sys::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
        multiple_queues: bits & sys::CL_COMMAND_BUFFER_CAPABILITY_MULTIPLE_QUEUE_KHR != 0,
        required_queue_properties: device.value(sys::CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR),
    };
    support.ordered_use = support.orders_by_events();
    support
}

fn mutable_dispatch_support(device: &Asker<impl Ask>, version: Version) -> MutableDispatchSupport {
    let bits: u64 = device.value(sys::CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR);
    MutableDispatchSupport {
        version,
        global_offset: bits & sys::CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR != 0,
        global_size: bits & sys::CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR != 0,
        local_size: bits & sys::CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR != 0,
        arguments: bits & sys::CL_MUTABLE_DISPATCH_ARGUMENTS_KHR != 0,
        exec_info: bits & sys::CL_MUTABLE_DISPATCH_EXEC_INFO_KHR != 0,
    }
}

fn limits(device: &Asker<impl Ask>) -> Limits {
    let mut max_work_item_sizes = [1; 3];
    let sizes: Vec<usize> = device.list(sys::CL_DEVICE_MAX_WORK_ITEM_SIZES);
    for (to, from) in max_work_item_sizes.iter_mut().zip(sizes) {
        *to = from;
    }
    Limits {
        max_work_group_size: device.value(sys::CL_DEVICE_MAX_WORK_GROUP_SIZE),
        max_work_item_sizes,
        non_uniform_work_groups: device.flag(sys::CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT),
        max_sub_groups: device.value(sys::CL_DEVICE_MAX_NUM_SUB_GROUPS),
        sub_group_sizes: device.list(sys::CL_DEVICE_SUB_GROUP_SIZES_INTEL),
        local_memory_bytes: device.value(sys::CL_DEVICE_LOCAL_MEM_SIZE),
        global_memory_bytes: device.value(sys::CL_DEVICE_GLOBAL_MEM_SIZE),
        max_allocation_bytes: device.value(sys::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        max_constant_buffer_bytes: device.value(sys::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE),
        max_parameter_bytes: device.value(sys::CL_DEVICE_MAX_PARAMETER_SIZE),
        buffer_alignment_bytes: device.value::<cl_uint>(sys::CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8,
        profiling_resolution_ns: device.value(sys::CL_DEVICE_PROFILING_TIMER_RESOLUTION),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::MakeError as _;

    /// A device that gives these answers, and knows no other query.
    fn device(answers: &HashMap<cl_device_info, Vec<u8>>) -> impl Ask {
        |name, size, value: *mut c_void, ret: *mut usize| {
            let Some(answer) = answers.get(&name) else {
                return Err(Error::cl("clGetDeviceInfo", sys::CL_INVALID_VALUE));
            };
            // SAFETY: the caller gives room for `size` bytes, or null, and for a size, or null.
            unsafe {
                if !ret.is_null() {
                    ret.write(answer.len());
                }
                if !value.is_null() {
                    assert!(size >= answer.len(), "query {name:#x}");
                    value.cast::<u8>().copy_from_nonoverlapping(answer.as_ptr(), answer.len());
                }
            }
            Ok(())
        }
    }

    fn text(text: &str) -> Vec<u8> {
        text.bytes().chain([0]).collect()
    }

    fn answers(version: &str, extensions: &str) -> HashMap<cl_device_info, Vec<u8>> {
        let capabilities = [4_u32, 6, 17].iter().flat_map(|one| one.to_ne_bytes()).collect();
        HashMap::from([
            (sys::CL_DEVICE_VERSION, text(version)),
            (sys::CL_DEVICE_EXTENSIONS, text(extensions)),
            (sys::CL_DEVICE_IL_VERSION, text("SPIR-V_1.0 SPIR-V_1.4")),
            (sys::CL_DEVICE_UUID_KHR, (1..=16).collect()),
            (sys::CL_DEVICE_SPIRV_CAPABILITIES_KHR, capabilities),
            (sys::CL_DEVICE_SPIRV_EXTENSIONS_KHR, Vec::new()),
            (sys::CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR, Vec::new()),
            (sys::CL_DEVICE_MAX_NUM_SUB_GROUPS, 4_u32.to_ne_bytes().to_vec()),
        ])
    }

    /// What OpenCL 3.1 has in its core needs no extension.
    #[test]
    fn a_device_of_opencl_3_1() {
        let tables = Tables::of_functions(true);
        let queried = query(&device(&answers("OpenCL 3.1 test", "")), &tables);
        assert_eq!(queried.opencl, OPENCL_3_1);
        assert_eq!(queried.uuid, Some(std::array::from_fn(|at| at as u8 + 1)));
        assert_eq!(queried.spirv_queries.map(|queries| queries.capabilities), Some(vec![4, 6, 17]));
        assert_eq!(queried.spirv_versions, [Version::new(1, 0, 0), Version::new(1, 4, 0)]);
        assert!(queried.suggested_group_sizes && queried.aspects.contains(Aspects::SUB_GROUPS));
        assert!(queried.problems.is_empty(), "{:?}", queried.problems);
    }

    #[test]
    fn a_device_of_opencl_3_0_says_so_by_extensions() {
        let tables = Tables::of_functions(true);
        let queried = query(&device(&answers("OpenCL 3.0 test", "")), &tables);
        assert_eq!((queried.uuid, queried.spirv_queries, queried.suggested_group_sizes), (None, None, false));
        let extensions = "cl_khr_device_uuid cl_khr_spirv_queries cl_khr_suggested_local_work_size";
        let queried = query(&device(&answers("OpenCL 3.0 test", extensions)), &tables);
        assert!(queried.uuid.is_some() && queried.spirv_queries.is_some() && queried.suggested_group_sizes);
        let without = Tables::of_functions(false);
        assert!(!query(&device(&answers("OpenCL 3.1 test", "")), &without).suggested_group_sizes);
    }

    #[test]
    fn replays_may_follow_each_other_since_0_9_8() {
        let none = HashMap::new();
        let support = |patch| {
            let device = Asker { ask: device(&none), problems: RefCell::default() };
            command_buffer_support(&device, Version::new(0, 9, patch))
        };
        assert!(!support(7).ordered_use && support(8).ordered_use);
        let device = Asker { ask: device(&none), problems: RefCell::default() };
        let final_version = command_buffer_support(&device, Version::new(1, 0, 0));
        assert!(final_version.ordered_use && !final_version.simultaneous_use);
        assert!(final_version.records_with_properties());
    }
}
