//! `cl_khr_command_buffer_mutable_dispatch`: changing arguments and sizes of recorded kernels, in
//! both forms.
//!
//! Since 0.9.2 the update takes an array of typed configurations; before, one "base config" with a
//! chain. The structures differ too.

use std::ffi::c_void;

use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_khr_command_buffer_mutable_dispatch";

function_table! {
    /// Version 0.9.2 and later: `count` types and as many pointers to
    /// `cl_mutable_dispatch_config_khr`.
    MutableDispatch from table::Origin::Extension(NAME);

    clUpdateMutableCommandsKHR(buffer: cl_command_buffer_khr, count: cl_uint, types: *const cl_command_buffer_update_type_khr, configs: *mut *const c_void) -> status;
    clGetMutableCommandInfoKHR(command: cl_mutable_command_khr, name: cl_mutable_command_info_khr, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
}

function_table! {
    /// Versions 0.9.0 and 0.9.1.
    MutableDispatchOld from table::Origin::Extension(NAME);

    clUpdateMutableCommandsKHR(buffer: cl_command_buffer_khr, config: *const OldBaseConfig) -> status;
}

/// `cl_structure_type` of [`OldBaseConfig`].
#[allow(dead_code, reason = "updates are by the array form only; `exercise` tests it")]
pub(crate) const OLD_TYPE_BASE_CONFIG: cl_uint = 0;
/// `cl_structure_type` of [`OldDispatchConfig`].
#[allow(dead_code, reason = "updates are by the array form only; `exercise` tests it")]
pub(crate) const OLD_TYPE_DISPATCH_CONFIG: cl_uint = 1;
/// `CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR`; `opencl-sys` 0.6.5 has 0x1287, the Khronos
/// headers have this.
#[allow(dead_code, reason = "no promise about work-groups is recorded")]
pub(crate) const COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS: cl_command_buffer_properties_khr = 0x12B7;

/// `cl_mutable_base_config_khr` of versions before 0.9.2.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldBaseConfig {
    pub(crate) kind: cl_uint,
    pub(crate) next: *const c_void,
    pub(crate) dispatch_count: cl_uint,
    pub(crate) dispatches: *const OldDispatchConfig,
}

/// `cl_mutable_dispatch_config_khr` of versions before 0.9.2.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldDispatchConfig {
    pub(crate) kind: cl_uint,
    pub(crate) next: *const c_void,
    pub(crate) config: cl_mutable_dispatch_config_khr,
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<cl_mutable_dispatch_arg_khr>(), 24);
        assert_eq!(offset_of!(cl_mutable_dispatch_arg_khr, arg_value), 16);
        assert_eq!(size_of::<cl_mutable_dispatch_exec_info_khr>(), 24);
        assert_eq!(size_of::<cl_mutable_dispatch_config_khr>(), 72);
        assert_eq!(offset_of!(cl_mutable_dispatch_config_khr, num_args), 8);
        assert_eq!(offset_of!(cl_mutable_dispatch_config_khr, work_dim), 20);
        assert_eq!(offset_of!(cl_mutable_dispatch_config_khr, arg_list), 24);
        assert_eq!(offset_of!(cl_mutable_dispatch_config_khr, local_work_size), 64);

        // In the old headers: type, next, command, four counts, six pointers.
        assert_eq!(offset_of!(OldDispatchConfig, next), 8);
        assert_eq!(offset_of!(OldDispatchConfig, config), 16);
        assert_eq!(size_of::<OldDispatchConfig>(), 88);
        assert_eq!(offset_of!(OldBaseConfig, dispatch_count), 16);
        assert_eq!(offset_of!(OldBaseConfig, dispatches), 24);
        assert_eq!(size_of::<OldBaseConfig>(), 32);
        assert_eq!(CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR, 0);
    }
}
