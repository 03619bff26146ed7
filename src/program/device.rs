//! What programs need to know of one device of a context, found out once.

use oclave_faults::Fault;
use std::sync::Arc;

use oclave_image::passes::DeviceTarget;
use oclave_image::{Aspects, DeviceProfile};
use oclave_ptx::PtxTarget;
use oclave_spirv::Version;

use super::disk::CacheKeyBuilder;
use super::single_flight::SingleFlight;
use crate::Result;
use crate::driver::context::Context;
use crate::driver::queue::{Properties, Queue};
use crate::driver::{Device, DeviceGlobalAccess, DeviceKind};
use crate::image::LoadedImage;

/// Images with more device globals than this use the hidden argument where they can.
///
/// Compilers are slow with many variables, and each variable costs a write. Intel's compiler builds
/// a kernel in 6 ms, and in 20 ms with a thousand variables beside it.
const MANY_VARIABLES: usize = 100;

/// A device of a context.
#[derive(Debug)]
pub(crate) struct DeviceState {
    device: Device,
    profile: DeviceProfile,
    target: DeviceTarget,
    ptx: Option<PtxTarget>,
    variable_access: DeviceGlobalAccess,
    pointers_are_numbers: bool,
    fingerprint: Vec<u8>,
    queue: SingleFlight<Arc<Queue>>,
}

impl DeviceState {
    pub(crate) fn new(context: &Context, device: &Device) -> Self {
        let capabilities = device.capabilities();
        let pointers_are_numbers = context.pointers_are_numbers();
        let variable_access = device.device_global_access();
        let target = target(device);
        Self {
            device: device.clone(),
            profile: DeviceProfile {
                name: capabilities.name.clone(),
                side: device.side(),
                // Generic pointers are resolved where the device has none, as far as that can be
                // done.
                aspects: capabilities.aspects | Aspects::GENERIC_POINTER,
                max_work_group_size: capabilities.limits.max_work_group_size,
                max_work_item_sizes: capabilities.limits.max_work_item_sizes,
                sub_group_sizes: capabilities.limits.sub_group_sizes.clone(),
            },
            variable_access,
            pointers_are_numbers,
            fingerprint: fingerprint(device, variable_access, &target, pointers_are_numbers),
            target,
            ptx: capabilities
                .ptx
                .and_then(|version| PtxTarget::new(u32::from(version.major), u32::from(version.minor)).ok()),
            queue: SingleFlight::default(),
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn profile(&self) -> &DeviceProfile {
        &self.profile
    }

    /// What modules are adapted to.
    pub(crate) fn target(&self) -> &DeviceTarget {
        &self.target
    }

    /// What PTX is made for, where the device takes it instead of SPIR-V.
    pub(crate) fn ptx(&self) -> Option<&PtxTarget> {
        self.ptx.as_ref()
    }

    /// Whether pointers to global memory are numbers in PTX, as the context sets them so.
    pub(crate) fn pointers_are_numbers(&self) -> bool {
        self.pointers_are_numbers
    }

    /// How the kernels of an image come to know where device globals lie.
    pub(crate) fn variable_access(&self, image: &LoadedImage) -> DeviceGlobalAccess {
        let globals = image.device_globals();
        // What stays a variable anyway, and functions that are called through pointers and must
        // keep their type.
        let bound = globals.iter().any(|global| global.device_image_scope)
            || image.aspects().intersects(Aspects::FUNCTION_POINTERS | Aspects::DEVICE_ENQUEUE);
        if globals.len() > MANY_VARIABLES && !bound {
            DeviceGlobalAccess::Argument
        } else {
            self.variable_access
        }
    }

    /// What distinguishes the binaries of this device from those of others.
    pub(crate) fn fingerprint(&self) -> &[u8] {
        &self.fingerprint
    }

    /// An in-order queue for what the library does on its own account, made when first needed.
    pub(crate) fn queue(&self, context: &Arc<Context>) -> Result<Arc<Queue>> {
        self.queue.get_or_make(|| {
            Queue::new(context, &self.device, Properties { internal: true, ..Properties::default() })
        })
    }

    /// The size of a device pointer.
    pub(crate) fn pointer_bytes(&self) -> usize {
        if self.device.capabilities().address_bits == 32 { 4 } else { 8 }
    }
}

/// All that a binary depends on besides the module: who compiled it and for what, and how and by
/// which passes the module was adapted.
fn fingerprint(
    device: &Device,
    variable_access: DeviceGlobalAccess,
    target: &DeviceTarget,
    pointers_are_numbers: bool,
) -> Vec<u8> {
    let capabilities = device.capabilities();
    let adapted = format!("{variable_access:?} {target:?}");
    [
        env!("CARGO_PKG_VERSION"),
        oclave_spirv::SOURCES_FINGERPRINT,
        oclave_faults::SOURCES_FINGERPRINT,
        oclave_image::SOURCES_FINGERPRINT,
        if capabilities.ptx.is_some() { oclave_ptx::SOURCES_FINGERPRINT } else { "" },
        device.platform().name(),
        device.platform().version(),
        capabilities.name.as_str(),
        capabilities.driver_version.as_str(),
        capabilities.version_text.as_str(),
        adapted.as_str(),
        if pointers_are_numbers { "numbers" } else { "" },
    ]
    .into_iter()
    .fold(CacheKeyBuilder::new(), |key, part| key.part(part.as_bytes()))
    .finish()
    .as_bytes()
    .to_vec()
}

fn target(device: &Device) -> DeviceTarget {
    let capabilities = device.capabilities();
    let narrow = |part: u16| u8::try_from(part).unwrap_or(u8::MAX);
    let mut target = DeviceTarget::default();
    if let Some(version) = capabilities.max_spirv_version() {
        target.spirv_version = Version::new(narrow(version.major), narrow(version.minor));
    }
    if capabilities.ptx.is_some() {
        target.spirv_version = Version::V1_4;
    }
    target.aspects = capabilities.aspects;
    target.address_bits = capabilities.address_bits;
    target.faults = device.driver_faults();
    target.takes_wraps = target.faults.has(Fault::Q67);
    target.serial_work_items = target.faults.has(Fault::Q11);
    let wide_groups = crate::environment::switch("OCLAVE_WIDE_GROUPS");
    target.wide_groups = wide_groups.unwrap_or(device.kind() == DeviceKind::Gpu);
    target.says_uniform = capabilities.ptx.is_some();
    target.vector_argument_bytes = oclave_faults::passes::vector_argument_bytes();
    target.passes =
        crate::environment::number("OCLAVE_BISECT").and_then(|number| usize::try_from(number).ok());
    if let Some(queries) = &capabilities.spirv_queries {
        target.capabilities = Some(queries.capabilities.iter().copied().collect());
        target.takes_wraps |=
            queries.extensions.iter().any(|name| name == oclave_spirv::transform::version::WRAPS);
        target.extensions = Some(queries.extensions.iter().cloned().collect());
        target.instruction_sets = Some(queries.extended_instruction_sets.iter().cloned().collect());
    }
    target
}
