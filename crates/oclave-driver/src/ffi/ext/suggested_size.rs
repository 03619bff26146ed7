//! `cl_khr_suggested_local_work_size` (core in OpenCL 3.1): which work-groups a driver would choose.

use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_khr_suggested_local_work_size";

function_table! {
    /// All arguments of the kernel are set.
    SuggestedSize from table::Origin::Extension(NAME);

    clGetKernelSuggestedLocalWorkSizeKHR(queue: cl_command_queue, kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize, suggested: *mut usize) -> status;
}
