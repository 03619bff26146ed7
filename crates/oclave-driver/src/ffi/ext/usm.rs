//! `cl_intel_unified_shared_memory`: pointers that host and device share.

use std::ffi::c_void;

use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_intel_unified_shared_memory";

function_table! {
    /// Allocation, copy and fill of USM. Properties are null or a list that ends in 0; an alignment
    /// of 0 is the default.
    Usm from table::Origin::Extension(NAME);

    clHostMemAllocINTEL(context: cl_context, properties: *const cl_mem_properties_intel, size_bytes: usize, alignment: cl_uint) -> new Usm(*mut c_void);
    clDeviceMemAllocINTEL(context: cl_context, device: cl_device_id, properties: *const cl_mem_properties_intel, size_bytes: usize, alignment: cl_uint) -> new Usm(*mut c_void);
    clSharedMemAllocINTEL(context: cl_context, device: cl_device_id, properties: *const cl_mem_properties_intel, size_bytes: usize, alignment: cl_uint) -> new Usm(*mut c_void);
    // Does not wait for commands that use the memory.
    clMemFreeINTEL(context: cl_context, pointer: *mut c_void) -> free Usm;
    // Waits for all commands that may use the memory.
    clMemBlockingFreeINTEL(context: cl_context, pointer: *mut c_void) -> free Usm;
    clGetMemAllocInfoINTEL(context: cl_context, pointer: *const c_void, name: cl_mem_info_intel, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clSetKernelArgMemPointerINTEL(kernel: cl_kernel, index: cl_uint, value: *const c_void) -> status;
    clEnqueueMemFillINTEL(queue: cl_command_queue, to: *mut c_void, pattern: *const c_void, pattern_bytes: usize, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueMemcpyINTEL(queue: cl_command_queue, blocking: cl_bool, to: *mut c_void, from: *const c_void, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueMigrateMemINTEL(queue: cl_command_queue, pointer: *const c_void, size_bytes: usize, flags: cl_mem_migration_flags, wait: [cl_event], event: new_event) -> status;
    clEnqueueMemAdviseINTEL(queue: cl_command_queue, pointer: *const c_void, size_bytes: usize, advice: cl_mem_advice_intel, wait: [cl_event], event: new_event) -> status;
}
