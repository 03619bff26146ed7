//! What is known of a device that modules are adapted to.

use oclave_faults::FaultSet;
use oclave_faults::passes::Target;
use std::collections::BTreeSet;

use crate::Aspects;
use oclave_spirv::Version;

/// What a device takes, as the runtime found by asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTarget {
    /// The faults of its driver that are worked around.
    pub faults: FaultSet,
    /// The highest version of SPIR-V that the device takes (`CL_DEVICE_IL_VERSION`).
    pub spirv_version: Version,
    /// Optional features that the device has.
    pub aspects: Aspects,
    /// SPIR-V capabilities that the device takes (`CL_DEVICE_SPIRV_CAPABILITIES_KHR`); `None` where
    /// it does not tell: then capabilities are judged by `aspects`, and those of vendors'
    /// extensions are refused.
    pub capabilities: Option<BTreeSet<u32>>,
    /// SPIR-V extensions that the device takes (`CL_DEVICE_SPIRV_EXTENSIONS_KHR`); `None` where it
    /// does not tell.
    pub extensions: Option<BTreeSet<String>>,
    /// Extended instruction sets (`CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR`); `None` where it
    /// does not tell.
    pub instruction_sets: Option<BTreeSet<String>>,
    /// Whether the device takes decorations of sums and products that do not wrap, also where its version of SPIR-V has them
    /// by an extension only. Without them, compilers do not see that neighbouring work-items access neighbouring elements.
    pub takes_wraps: bool,
    /// Width of the device's addresses in bits (`CL_DEVICE_ADDRESS_BITS`).
    pub address_bits: u32,
    /// Whether the device runs the work-items of a group one after the other, each up to the next
    /// barrier. In interpreter modules, one work-item then does alone what they need not share, in
    /// loops that the device's compiler vectorises.
    pub serial_work_items: bool,
    /// Whether interpreter modules are for groups of many work-items that run side by side, as on a
    /// GPU.
    pub wide_groups: bool,
    /// Whether to decorate conditions that are the same for all work-items of a sub-group
    /// (`Uniform`). NVIDIA's assembler makes shorter code of them.
    pub says_uniform: bool,
    /// Bytes of the widest vector that built-in functions take by value, with Q59.
    pub vector_argument_bytes: u32,
    /// How many passes against faults run, in their order; `None` for all. To find the pass that makes a difference.
    pub passes: Option<usize>,
}

impl Default for DeviceTarget {
    /// A 64-bit device with SPIR-V 1.2 and no optional feature, of which no more is known.
    fn default() -> Self {
        Self {
            faults: FaultSet::NONE,
            spirv_version: Version::V1_2,
            aspects: Aspects::empty(),
            capabilities: None,
            extensions: None,
            instruction_sets: None,
            address_bits: 64,
            serial_work_items: false,
            wide_groups: false,
            says_uniform: false,
            vector_argument_bytes: u32::MAX,
            passes: None,
            takes_wraps: false,
        }
    }
}

impl DeviceTarget {
    /// What passes against faults need to know of it.
    pub fn for_passes(&self) -> Target {
        let Self { faults, address_bits, vector_argument_bytes, passes: limit, .. } = *self;
        Target { faults, address_bits, vector_argument_bytes, limit }
    }
}
