//! How device globals reach the kernels of a device.

use oclave_faults::Fault;
use oclave_image::Aspects;

use crate::Device;

/// How kernels come to know where device globals lie. The results are the same in each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceGlobalAccess {
    /// From program-scope variables, which functions of the platform write by name, and whose
    /// addresses it tells.
    Functions,
    /// From program-scope variables, which a kernel that is added to the program writes.
    Kernel,
    /// Kernels get the addresses in a hidden argument: the device has no program-scope variables,
    /// or none to rely on.
    Argument,
}

impl Device {
    /// How device globals reach the kernels of this device.
    pub fn device_global_access(&self) -> DeviceGlobalAccess {
        let capabilities = self.capabilities();
        let has_variables = capabilities.aspects.contains(Aspects::PROGRAM_SCOPE_VARIABLES);
        // The PTX of images is made for the hidden argument.
        if !has_variables || capabilities.ptx.is_some() || self.driver_faults().has(Fault::Q4) {
            // Q4
            DeviceGlobalAccess::Argument
        } else if capabilities.global_variable_access && capabilities.global_variable_pointer {
            DeviceGlobalAccess::Functions
        } else {
            DeviceGlobalAccess::Kernel
        }
    }
}
