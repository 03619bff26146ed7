//! Test: our declarations against those of `opencl-sys`, which another author derived from the
//! Khronos headers.

use super::ext::command_buffer::{CommandBuffer, Record};
use super::ext::device_address::DeviceAddress;
use super::ext::mutable_dispatch::MutableDispatch;
use super::ext::suggested_size::SuggestedSize;
use super::ext::unified_svm::UnifiedSvm;
use super::ext::usm::Usm;
use crate::Api;
use crate::sys::cl_function_types::*;
use crate::sys::*;

/// The parameters and the result of a C function pointer, without its ABI string. The library's
/// pointers are `extern "system"`, and those of `opencl-sys` are `extern "C"`. These are the same on
/// 64-bit targets.
trait Signature {
    type Shape;
}

macro_rules! signature {
    ($($arg:ident)*) => {
        impl<R, $($arg),*> Signature for unsafe extern "C" fn($($arg),*) -> R {
            type Shape = fn($($arg),*) -> R;
        }
        impl<R, $($arg),*> Signature for unsafe extern "system" fn($($arg),*) -> R {
            type Shape = fn($($arg),*) -> R;
        }
    };
}
signature!(A1);
signature!(A1 A2);
signature!(A1 A2 A3);
signature!(A1 A2 A3 A4);
signature!(A1 A2 A3 A4 A5);
signature!(A1 A2 A3 A4 A5 A6);
signature!(A1 A2 A3 A4 A5 A6 A7);
signature!(A1 A2 A3 A4 A5 A6 A7 A8);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15);
signature!(A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16);

/// Compiles only when both have the same shape.
fn same<T, Ours: Signature, Theirs: Signature<Shape = Ours::Shape>>(
    _: fn(&T) -> Option<Ours>,
    _: fn(Theirs) -> Option<Theirs>,
) {
}

/// As [`same`], where theirs may be absent.
fn same_optional<T, Ours: Signature, Theirs: Signature<Shape = Ours::Shape>>(
    _: fn(&T) -> Option<Ours>,
    _: fn(Option<Theirs>) -> Option<Theirs>,
) {
}

macro_rules! same {
    (optional $table:ident: $($name:ident $theirs:ident)*) => {{
        $(same_optional(|table: &$table| table.$name, |theirs: $theirs| theirs);)*
        [$(stringify!($name)),*].len()
    }};
    ($table:ident: $($name:ident $theirs:ident)*) => {{
        $(same(|table: &$table| table.$name, |theirs| -> $theirs { Some(theirs) });)*
        [$(stringify!($name)),*].len()
    }};
}

#[test]
fn declarations_agree_with_opencl_sys() {
    let core = same!(Api:
        clGetPlatformIDs clGetPlatformIDs_t clGetPlatformInfo clGetPlatformInfo_t
        clGetExtensionFunctionAddressForPlatform clGetExtensionFunctionAddressForPlatform_t
        clUnloadPlatformCompiler clUnloadPlatformCompiler_t
        clGetDeviceIDs clGetDeviceIDs_t clGetDeviceInfo clGetDeviceInfo_t clCreateSubDevices clCreateSubDevices_t
        clRetainDevice clRetainDevice_t clReleaseDevice clReleaseDevice_t
        clGetDeviceAndHostTimer clGetDeviceAndHostTimer_t clGetHostTimer clGetHostTimer_t
        clCreateContext clCreateContext_t clRetainContext clRetainContext_t clReleaseContext clReleaseContext_t
        clGetContextInfo clGetContextInfo_t clSetContextDestructorCallback clSetContextDestructorCallback_t
        clCreateCommandQueueWithProperties clCreateCommandQueueWithProperties_t
        clRetainCommandQueue clRetainCommandQueue_t clReleaseCommandQueue clReleaseCommandQueue_t
        clGetCommandQueueInfo clGetCommandQueueInfo_t clFlush clFlush_t clFinish clFinish_t
        clCreateBuffer clCreateBuffer_t clCreateBufferWithProperties clCreateBufferWithProperties_t
        clCreateSubBuffer clCreateSubBuffer_t clCreateImage clCreateImage_t
        clGetSupportedImageFormats clGetSupportedImageFormats_t
        clRetainMemObject clRetainMemObject_t clReleaseMemObject clReleaseMemObject_t
        clGetMemObjectInfo clGetMemObjectInfo_t clGetImageInfo clGetImageInfo_t
        clSetMemObjectDestructorCallback clSetMemObjectDestructorCallback_t
        clCreateSamplerWithProperties clCreateSamplerWithProperties_t
        clRetainSampler clRetainSampler_t clReleaseSampler clReleaseSampler_t
        clSVMAlloc clSVMAlloc_t clSVMFree clSVMFree_t
        clEnqueueSVMMemcpy clEnqueueSVMMemcpy_t clEnqueueSVMMemFill clEnqueueSVMMemFill_t
        clEnqueueSVMMap clEnqueueSVMMap_t clEnqueueSVMUnmap clEnqueueSVMUnmap_t

        clCreateProgramWithIL clCreateProgramWithIL_t
        clRetainProgram clRetainProgram_t
        clReleaseProgram clReleaseProgram_t clBuildProgram clBuildProgram_t
        clLinkProgram clLinkProgram_t clSetProgramSpecializationConstant clSetProgramSpecializationConstant_t
        clGetProgramInfo clGetProgramInfo_t clGetProgramBuildInfo clGetProgramBuildInfo_t
        clCreateKernel clCreateKernel_t clCloneKernel clCloneKernel_t clRetainKernel clRetainKernel_t
        clReleaseKernel clReleaseKernel_t clSetKernelArg clSetKernelArg_t
        clSetKernelArgSVMPointer clSetKernelArgSVMPointer_t clSetKernelExecInfo clSetKernelExecInfo_t
        clGetKernelInfo clGetKernelInfo_t clGetKernelArgInfo clGetKernelArgInfo_t
        clGetKernelWorkGroupInfo clGetKernelWorkGroupInfo_t clGetKernelSubGroupInfo clGetKernelSubGroupInfo_t
        clGetKernelSuggestedLocalWorkSize clGetKernelSuggestedLocalWorkSizeKHR_t
        clCreateUserEvent clCreateUserEvent_t clSetUserEventStatus clSetUserEventStatus_t
        clSetEventCallback clSetEventCallback_t clWaitForEvents clWaitForEvents_t
        clRetainEvent clRetainEvent_t clReleaseEvent clReleaseEvent_t clGetEventInfo clGetEventInfo_t
        clGetEventProfilingInfo clGetEventProfilingInfo_t
        clEnqueueNDRangeKernel clEnqueueNDRangeKernel_t clEnqueueReadBuffer clEnqueueReadBuffer_t
        clEnqueueWriteBuffer clEnqueueWriteBuffer_t clEnqueueReadBufferRect clEnqueueReadBufferRect_t
        clEnqueueWriteBufferRect clEnqueueWriteBufferRect_t clEnqueueCopyBuffer clEnqueueCopyBuffer_t
        clEnqueueCopyBufferRect clEnqueueCopyBufferRect_t clEnqueueFillBuffer clEnqueueFillBuffer_t
        clEnqueueMapBuffer clEnqueueMapBuffer_t clEnqueueUnmapMemObject clEnqueueUnmapMemObject_t
        clEnqueueMigrateMemObjects clEnqueueMigrateMemObjects_t
        clEnqueueMarkerWithWaitList clEnqueueMarkerWithWaitList_t
        clEnqueueBarrierWithWaitList clEnqueueBarrierWithWaitList_t
        clEnqueueReadImage clEnqueueReadImage_t clEnqueueWriteImage clEnqueueWriteImage_t
        clEnqueueFillImage clEnqueueFillImage_t clEnqueueCopyImage clEnqueueCopyImage_t
        clEnqueueCopyImageToBuffer clEnqueueCopyImageToBuffer_t clEnqueueCopyBufferToImage clEnqueueCopyBufferToImage_t
    );
    // Five have a list of pointers, `const T**` in C; theirs is `*mut *const T`, ours, for slices,
    // `*const *const T`: clCreateProgramWithSource, …WithBinary, clCompileProgram,
    // clEnqueueSVMFree, clEnqueueSVMMigrateMem.
    assert_eq!(core + 5, Api::NAMES.len(), "a core function is not compared");

    let usm = same!(Usm:
        clHostMemAllocINTEL clHostMemAllocINTEL_t clDeviceMemAllocINTEL clDeviceMemAllocINTEL_t
        clSharedMemAllocINTEL clSharedMemAllocINTEL_t clMemFreeINTEL clMemFreeINTEL_t
        clMemBlockingFreeINTEL clMemBlockingFreeINTEL_t clGetMemAllocInfoINTEL clGetMemAllocInfoINTEL_t
        clSetKernelArgMemPointerINTEL clSetKernelArgMemPointerINTEL_t
        clEnqueueMemFillINTEL clEnqueueMemFillINTEL_t clEnqueueMemcpyINTEL clEnqueueMemcpyINTEL_t
        clEnqueueMigrateMemINTEL clEnqueueMigrateMemINTEL_t clEnqueueMemAdviseINTEL clEnqueueMemAdviseINTEL_t
    );
    assert_eq!(usm, Usm::NAMES.len());

    let address = same!(DeviceAddress: clSetKernelArgDevicePointerEXT clSetKernelArgDevicePointerEXT_t);
    assert_eq!(address, DeviceAddress::NAMES.len());

    let suggested =
        same!(SuggestedSize: clGetKernelSuggestedLocalWorkSizeKHR clGetKernelSuggestedLocalWorkSizeKHR_t);
    assert_eq!(suggested, SuggestedSize::NAMES.len());

    let unified_svm = same!(optional UnifiedSvm:
        clSVMAllocWithPropertiesKHR clSVMAllocWithPropertiesKHR_t clSVMFreeWithPropertiesKHR clSVMFreeWithPropertiesKHR_t
        clGetSVMPointerInfoKHR clGetSVMPointerInfoKHR_t clGetSVMSuggestedTypeIndexKHR clGetSVMSuggestedTypeIndexKHR_t
    );
    assert_eq!(unified_svm, UnifiedSvm::NAMES.len());

    let command_buffer = same!(CommandBuffer:
        clCreateCommandBufferKHR clCreateCommandBufferKHR_t clFinalizeCommandBufferKHR clFinalizeCommandBufferKHR_t
        clRetainCommandBufferKHR clRetainCommandBufferKHR_t clReleaseCommandBufferKHR clReleaseCommandBufferKHR_t
        clGetCommandBufferInfoKHR clGetCommandBufferInfoKHR_t clCommandNDRangeKernelKHR clCommandNDRangeKernelKHR_t
    );
    // The header's queues are not const in clEnqueueCommandBufferKHR; nothing writes through them.
    assert_eq!(command_buffer + 1, CommandBuffer::NAMES.len());

    let record = same!(Record:
        clCommandBarrierWithWaitListKHR clCommandBarrierWithWaitListKHR_t
        clCommandCopyBufferKHR clCommandCopyBufferKHR_t clCommandCopyBufferRectKHR clCommandCopyBufferRectKHR_t
        clCommandCopyBufferToImageKHR clCommandCopyBufferToImageKHR_t clCommandCopyImageKHR clCommandCopyImageKHR_t
        clCommandCopyImageToBufferKHR clCommandCopyImageToBufferKHR_t clCommandFillBufferKHR clCommandFillBufferKHR_t
        clCommandFillImageKHR clCommandFillImageKHR_t clCommandSVMMemcpyKHR clCommandSVMMemcpyKHR_t
        clCommandSVMMemFillKHR clCommandSVMMemFillKHR_t
    );
    assert_eq!(record, Record::NAMES.len());

    let mutable_dispatch = same!(MutableDispatch:
        clUpdateMutableCommandsKHR clUpdateMutableCommandsKHR_t clGetMutableCommandInfoKHR clGetMutableCommandInfoKHR_t
    );
    assert_eq!(mutable_dispatch, MutableDispatch::NAMES.len());
}
