//! Extension functions: one table per extension, filled per platform through
//! `clGetExtensionFunctionAddressForPlatform`.
//!
//! Extension functions are not exported by the loader, and each platform has its own. A resolved
//! address proves little: some drivers resolve functions of extensions that they do not have. So a
//! table is used only if the device advertises the extension (`capabilities` decides).
//! `global_variable` is the only exception, and explains why.

pub(crate) mod command_buffer;
pub(crate) mod device_address;
#[cfg(test)]
mod exercise;
pub(crate) mod global_variable;
pub(crate) mod mutable_dispatch;
pub(crate) mod spirv_queries;
pub(crate) mod suggested_size;
pub(crate) mod unified_svm;
pub(crate) mod usm;

use std::ffi::c_void;

use crate::{Api, sys};

/// All tables of one platform.
pub(crate) struct Tables {
    pub(crate) usm: usm::Usm,
    pub(crate) command_buffer: command_buffer::CommandBuffer,
    pub(crate) record: command_buffer::Record,
    pub(crate) record_old: command_buffer::RecordOld,
    pub(crate) mutable_dispatch: mutable_dispatch::MutableDispatch,
    #[allow(dead_code, reason = "updates are by the array form only; `exercise` tests it")]
    pub(crate) mutable_dispatch_old: mutable_dispatch::MutableDispatchOld,
    pub(crate) global_variable: global_variable::GlobalVariable,
    pub(crate) device_address: device_address::DeviceAddress,
    pub(crate) suggested_size: suggested_size::SuggestedSize,
    pub(crate) unified_svm: unified_svm::UnifiedSvm,
}

impl Tables {
    pub(crate) fn load(api: &Api, platform: sys::cl_platform_id) -> Self {
        let resolve = |name: &std::ffi::CStr| -> *const c_void {
            // SAFETY: `platform` is one that the loader listed, and platforms are never released;
            // the name ends in NUL.
            let address = unsafe { api.clGetExtensionFunctionAddressForPlatform(platform, name.as_ptr()) };
            let address = address.unwrap_or(std::ptr::null_mut());
            match api.clGetKernelSuggestedLocalWorkSize {
                // OpenCL 3.1 has it in its core, under another name.
                Some(core) if address.is_null() && name == c"clGetKernelSuggestedLocalWorkSizeKHR" => {
                    core as *const c_void
                }
                _ => address,
            }
        };
        // SAFETY: the platform answers with its functions of these names; drivers are not unloaded,
        // as the loader never is.
        unsafe { Self::of(resolve) }
    }

    /// Tables of functions that are never called: all of them, or none.
    #[cfg(test)]
    pub(crate) fn of_functions(all: bool) -> Self {
        let address = if all { std::ptr::dangling() } else { std::ptr::null() };
        // SAFETY: nobody calls them.
        unsafe { Self::of(|_| address) }
    }

    /// # Safety
    /// The addresses are those of the functions with these names, and stay so. Functions may be
    /// absent.
    unsafe fn of(resolve: impl Fn(&std::ffi::CStr) -> *const c_void + Copy) -> Self {
        // SAFETY: the caller's promise. Where versions of an extension differ in a signature, there is
        // a table for each, and `capabilities` picks by version.
        unsafe {
            Self {
                usm: usm::Usm::load(resolve),
                command_buffer: command_buffer::CommandBuffer::load(resolve),
                record: command_buffer::Record::load(resolve),
                record_old: command_buffer::RecordOld::load(resolve),
                mutable_dispatch: mutable_dispatch::MutableDispatch::load(resolve),
                mutable_dispatch_old: mutable_dispatch::MutableDispatchOld::load(resolve),
                global_variable: global_variable::GlobalVariable::load(resolve),
                device_address: device_address::DeviceAddress::load(resolve),
                suggested_size: suggested_size::SuggestedSize::load(resolve),
                unified_svm: unified_svm::UnifiedSvm::load(resolve),
            }
        }
    }
}
