//! `cl_khr_spirv_queries` (core in OpenCL 3.1): which SPIR-V capabilities and extensions a device
//! takes.

use std::ffi::{CStr, c_char};

use crate::{Result, info, sys};

/// The extension's name.
pub(crate) const NAME: &str = "cl_khr_spirv_queries";

/// A device's answer about the SPIR-V that it takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpirvQueries {
    /// Numbers of the SPIR-V capabilities, sorted.
    pub capabilities: Vec<u32>,
    /// Names of the SPIR-V extensions, sorted.
    pub extensions: Vec<String>,
    /// Names of the extended instruction sets, sorted.
    pub extended_instruction_sets: Vec<String>,
}

/// Asks the device. `ask` is `clGetDeviceInfo` on it.
pub(crate) fn query(
    ask: impl Fn(sys::cl_device_info, usize, *mut std::ffi::c_void, *mut usize) -> Result<()>,
) -> Result<SpirvQueries> {
    let strings = |name| -> Result<Vec<String>> {
        let pointers: Vec<*mut c_char> = info::list(|size, value, ret| ask(name, size, value, ret))?;
        let mut names: Vec<String> = pointers
            .into_iter()
            .filter(|pointer| !pointer.is_null())
            // SAFETY: by the extension, each pointer is a NUL-terminated string that lives as long
            // as the device. Root devices live for the process, and the caller holds sub-devices.
            .map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    };
    let mut capabilities: Vec<u32> =
        info::list(|size, value, ret| ask(sys::CL_DEVICE_SPIRV_CAPABILITIES_KHR, size, value, ret))?;
    capabilities.sort_unstable();
    Ok(SpirvQueries {
        capabilities,
        extensions: strings(sys::CL_DEVICE_SPIRV_EXTENSIONS_KHR)?,
        extended_instruction_sets: strings(sys::CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR)?,
    })
}
