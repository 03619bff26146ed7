//! `cl_khr_command_buffer`, in both of its binary interfaces.
//!
//! Version 0.9.5 put a `properties` parameter into the recording functions without changing their
//! names; calling the wrong form gives −30 or worse. [`RecordOld`] is for 0.9.4, [`Record`] for
//! 0.9.5 and later; [`Recorder`] hides the difference. Versions before 0.9.4 are not used (Q76).

use std::ffi::c_void;

use crate::Result;
use crate::sys::*;
use crate::{hook, table};

/// The extension's name.
pub(crate) const NAME: &str = "cl_khr_command_buffer";

function_table! {
    /// The functions that are the same in all versions.
    CommandBuffer from table::Origin::Extension(NAME);

    clCreateCommandBufferKHR(queues: [cl_command_queue], properties: *const cl_command_buffer_properties_khr) -> new CommandBuffer(cl_command_buffer_khr);
    clFinalizeCommandBufferKHR(buffer: cl_command_buffer_khr) -> status;
    clRetainCommandBufferKHR(buffer: cl_command_buffer_khr) -> retain CommandBuffer;
    clReleaseCommandBufferKHR(buffer: cl_command_buffer_khr) -> release CommandBuffer;
    // No queues: those that it was recorded for.
    clEnqueueCommandBufferKHR(queues: [cl_command_queue], buffer: cl_command_buffer_khr, wait: [cl_event], event: new_event) -> status;
    clGetCommandBufferInfoKHR(buffer: cl_command_buffer_khr, name: cl_command_buffer_info_khr, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    // Has its `properties` in all versions.
    clCommandNDRangeKernelKHR(buffer: cl_command_buffer_khr, queue: cl_command_queue, properties: *const cl_command_properties_khr, kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize, local: *const usize, wait: [cl_sync_point_khr], point: *mut cl_sync_point_khr, handle: *mut cl_mutable_command_khr) -> status;
}

/// The recording functions other than NDRange, as methods of both tables and of [`Recorder`]. A
/// queue of null is the one that the buffer was created for; `point` and `handle` may be null.
macro_rules! recording {
    ($($name:ident as $method:ident ($($arg:ident : $t:ty),*);)*) => {
        function_table! {
            /// Version 0.9.5 and later.
            Record from table::Origin::Extension(NAME);
            $($name(buffer: cl_command_buffer_khr, queue: cl_command_queue, properties: *const cl_command_properties_khr, $($arg: $t,)* wait: [cl_sync_point_khr], point: *mut cl_sync_point_khr, handle: *mut cl_mutable_command_khr) -> status;)*
        }

        function_table! {
            /// Version 0.9.4 and earlier.
            RecordOld from table::Origin::Extension(NAME);
            $($name(buffer: cl_command_buffer_khr, queue: cl_command_queue, $($arg: $t,)* wait: [cl_sync_point_khr], point: *mut cl_sync_point_khr, handle: *mut cl_mutable_command_khr) -> status;)*
        }

        #[allow(clippy::too_many_arguments, clippy::missing_safety_doc)]
        #[allow(dead_code, reason = "of the whole extension; buffers here are USM, and images are not there yet")]
        impl Recorder {
            $(pub(crate) unsafe fn $method(&self, buffer: cl_command_buffer_khr, queue: cl_command_queue, $($arg: $t,)* wait: &[cl_sync_point_khr], point: *mut cl_sync_point_khr) -> Result<()> {
                let no_handle = std::ptr::null_mut();
                match self {
                    // SAFETY: the caller keeps the function's rules in the extension's
                    // specification.
                    Self::New(table) => unsafe { table.$name(buffer, queue, std::ptr::null(), $($arg,)* wait, point, no_handle) },
                    // SAFETY: as above.
                    Self::Old(table) => unsafe { table.$name(buffer, queue, $($arg,)* wait, point, no_handle) },
                }
            })*
        }
    };
}

recording! {
    clCommandBarrierWithWaitListKHR as barrier();
    clCommandCopyBufferKHR as copy_buffer(from: cl_mem, to: cl_mem, from_offset_bytes: usize, to_offset_bytes: usize, size_bytes: usize);
    clCommandCopyBufferRectKHR as copy_buffer_rect(from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize, region: *const usize, from_row_pitch: usize, from_slice_pitch: usize, to_row_pitch: usize, to_slice_pitch: usize);
    clCommandCopyBufferToImageKHR as copy_buffer_to_image(from: cl_mem, to: cl_mem, from_offset_bytes: usize, to_origin: *const usize, region: *const usize);
    clCommandCopyImageKHR as copy_image(from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize, region: *const usize);
    clCommandCopyImageToBufferKHR as copy_image_to_buffer(from: cl_mem, to: cl_mem, from_origin: *const usize, region: *const usize, to_offset_bytes: usize);
    clCommandFillBufferKHR as fill_buffer(target: cl_mem, pattern: *const c_void, pattern_bytes: usize, offset_bytes: usize, size_bytes: usize);
    clCommandFillImageKHR as fill_image(image: cl_mem, color: *const c_void, origin: *const usize, region: *const usize);
    clCommandSVMMemcpyKHR as memcpy(to: *mut c_void, from: *const c_void, size_bytes: usize);
    clCommandSVMMemFillKHR as memfill(to: *mut c_void, pattern: *const c_void, pattern_bytes: usize, size_bytes: usize);
}

/// The recording functions of a device, in the interface of its version.
#[derive(Clone, Copy)]
pub(crate) enum Recorder {
    /// Version 0.9.5 and later.
    New(&'static Record),
    /// Version 0.9.4.
    Old(&'static RecordOld),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The module `signatures` compares `Record` and the common functions with another author's
    /// declarations. The old form is not declared anywhere else, so its one difference is spelled
    /// out here.
    #[test]
    fn the_old_interface_has_no_properties() {
        type Old = unsafe extern "system" fn(
            cl_command_buffer_khr,
            cl_command_queue,
            cl_uint,
            *const cl_sync_point_khr,
            *mut cl_sync_point_khr,
            *mut cl_mutable_command_khr,
        ) -> cl_int;
        let _: fn(&RecordOld) -> Option<Old> = |table| table.clCommandBarrierWithWaitListKHR;
        assert_eq!(Record::NAMES, RecordOld::NAMES);
        assert!(!Record::NAMES.contains(&"clCommandNDRangeKernelKHR"));
    }

    #[test]
    fn constants_are_those_of_the_extension() {
        assert_eq!(CL_COMMAND_BUFFER_FLAGS_KHR, 0x1293);
        assert_eq!(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, 0x12A9);
        assert_eq!(CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR, 0x129A);
        assert_eq!(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR, 0x12AA);
        assert_eq!(CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 1);
        assert_eq!(CL_COMMAND_BUFFER_MUTABLE_KHR, 2);
    }
}
