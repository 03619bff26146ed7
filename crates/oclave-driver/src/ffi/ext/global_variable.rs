//! `cl_intel_global_variable_access` and `clGetDeviceGlobalVariablePointerINTEL`: program-scope
//! variables by name.
//!
//! Intel's CPU runtime has these functions without advertising an extension, so here the resolved
//! address is the evidence; other drivers answer null. Variables are looked up by their linkage name, a
//! NUL-terminated string.

use std::ffi::{c_char, c_void};

use crate::sys::*;
use crate::{hook, table};

/// The extension's name in DPC++'s design documents.
pub(crate) const NAME: &str = "cl_intel_global_variable_access";

function_table! {
    /// Access to program-scope variables; sizes and offsets in bytes. An unknown name gives −50, a
    /// range outside −30.
    GlobalVariable from table::Origin::Extension(NAME);

    clEnqueueReadGlobalVariableINTEL(queue: cl_command_queue, program: cl_program, name: *const c_char, blocking: cl_bool, size_bytes: usize, offset_bytes: usize, to: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueWriteGlobalVariableINTEL(queue: cl_command_queue, program: cl_program, name: *const c_char, blocking: cl_bool, size_bytes: usize, offset_bytes: usize, from: *const c_void, wait: [cl_event], event: new_event) -> status;
    clGetDeviceGlobalVariablePointerINTEL(device: cl_device_id, program: cl_program, name: *const c_char, size_bytes_ret: *mut usize, pointer_ret: *mut *mut c_void) -> status;
}

impl GlobalVariable {
    /// Whether variables can be read and written by name.
    pub(crate) fn can_copy(&self) -> bool {
        self.clEnqueueReadGlobalVariableINTEL.is_some() && self.clEnqueueWriteGlobalVariableINTEL.is_some()
    }

    /// Whether the address of a variable can be asked for.
    pub(crate) fn can_give_pointer(&self) -> bool {
        self.clGetDeviceGlobalVariablePointerINTEL.is_some()
    }
}
