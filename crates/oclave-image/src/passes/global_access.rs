//! A kernel that gives the host access to a program's device globals, for devices without
//! `clEnqueueWriteGlobalVariableINTEL`.

use crate::spirv::Module;
use crate::{DeviceGlobalInfo, ImageError, Result};

/// Name of the kernel that [`add_global_access_kernel`] adds.
pub const GLOBAL_ACCESS_KERNEL: &str = "__oclave_access_device_globals";

/// Adds the kernel `void __oclave_access_device_globals(global ulong *table)`, for a launch of one work-item.
///
/// `table[i]` belongs to `globals[i]`, which is what [`DeviceImage::device_globals`](crate::DeviceImage::device_globals)
/// gives. Where the variable is shared by all images the kernel *reads* its USM address there and stores it into the
/// program's pointer variable; where it has `device_image_scope` the kernel *writes* the variable's own address there,
/// so that the host can copy to and from it. Entries are 64 bits wide on any device.
///
/// # Errors
/// [`ImageError::Unsupported`] where the module has no variable of a global's unique id.
pub fn add_global_access_kernel(module: &Module, globals: &[DeviceGlobalInfo]) -> Result<Module> {
    let _ = (module, globals);
    Err(ImageError::Unsupported("the access kernel of device globals is not written yet".to_owned()))
}
