//! `cl_khr_unified_svm` 0.9: shared virtual memory of many types, which a device describes by their capabilities.

use std::ffi::c_void;

use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_khr_unified_svm";

function_table! {
    /// Allocation of a type, and questions about pointers. All else is that of SVM in OpenCL 2.0. Properties are null or a list that
    /// ends in 0.
    UnifiedSvm from table::Origin::Extension(NAME);

    clSVMAllocWithPropertiesKHR(context: cl_context, properties: *const cl_svm_alloc_properties_khr, svm_type: cl_uint, size_bytes: usize) -> new Svm(*mut c_void);
    // May wait or not: the extension leaves it open. Nothing that uses the memory may run.
    clSVMFreeWithPropertiesKHR(context: cl_context, properties: *const cl_svm_free_properties_khr, flags: cl_svm_free_flags_khr, pointer: *mut c_void) -> free Svm;
    // A device of null means the one that the memory is associated with, or all.
    clGetSVMPointerInfoKHR(context: cl_context, device: cl_device_id, pointer: *const c_void, name: cl_svm_pointer_info_khr, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    // Not used: types are chosen by what devices say of them, so that the choice can be told without a context.
    clGetSVMSuggestedTypeIndexKHR(context: cl_context, required: cl_svm_capabilities_khr, desired: cl_svm_capabilities_khr, properties: *const cl_svm_alloc_properties_khr, size_bytes: usize, svm_type: *mut cl_uint) -> status;
}
