//! `cl_ext_buffer_device_address`: buffers whose address kernels may store and follow.

use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_ext_buffer_device_address";

function_table! {
    /// Pointer arguments by their address on the device.
    DeviceAddress from table::Origin::Extension(NAME);

    clSetKernelArgDevicePointerEXT(kernel: cl_kernel, index: cl_uint, value: cl_mem_device_address_ext) -> status;
}
