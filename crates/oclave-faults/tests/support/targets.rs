//! The drivers that modules are adapted for, for tests, benchmarks and examples.

use oclave_faults::{Driver, Family, FaultSet, Version};
use oclave_image::{Aspects, DeviceTarget};

const DRIVERS: [(&str, Family, Version); 4] = [
    ("intel", Family::IntelCpu, Version(2026, 22)),
    ("pocl6", Family::Pocl, Version(6, 0)),
    ("pocl7", Family::Pocl, Version(7, 1)),
    ("rusticl", Family::Rusticl, Version(26, 1)),
];

/// The name of each driver, and its device on a CPU with all faults.
pub(crate) fn targets() -> impl Iterator<Item = (&'static str, DeviceTarget)> {
    DRIVERS.into_iter().map(|(name, family, version)| {
        let target = DeviceTarget {
            faults: FaultSet::of(&Driver { family, version, is_cpu: true }),
            aspects: Aspects::all(),
            spirv_version: oclave_spirv::Version::V1_4,
            vector_argument_bytes: 64,
            ..DeviceTarget::default()
        };
        (name, target)
    })
}
