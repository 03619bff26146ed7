//! The core functions of OpenCL, one line each.
//!
//! Methods have the names of the C functions and their parameters in order, with two changes that
//! `table` explains. A count and a list are one slice, and the code comes back as a
//! [`Result`](crate::Result). They are `unsafe` because a handle or pointer that is not alive
//! breaks memory safety; the rules are those of the specification.

use std::ffi::{c_char, c_uchar, c_void};

use crate::sys::*;
use crate::{hook, table};

/// Called when a context meets an error.
pub(crate) type ContextCallback =
    Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
/// Called when a program was built, compiled or linked.
pub(crate) type ProgramCallback = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;
/// Called when an event reaches a status.
pub(crate) type EventCallback = Option<unsafe extern "C" fn(cl_event, cl_int, *mut c_void)>;
/// Called when a context is destroyed.
pub(crate) type ContextDestructor = Option<unsafe extern "C" fn(cl_context, *mut c_void)>;
/// Called when a memory object is destroyed.
pub(crate) type MemoryDestructor = Option<unsafe extern "C" fn(cl_mem, *mut c_void)>;
/// Called to free SVM at the end of the commands before.
pub(crate) type SvmFree =
    Option<unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void)>;

function_table! {
    /// The core table, filled from the loader once per process.
    Api from table::Origin::Loader;

    // Platforms and devices
    clGetPlatformIDs(entries: cl_uint, platforms: *mut cl_platform_id, found: *mut cl_uint) -> status;
    clGetPlatformInfo(platform: cl_platform_id, name: cl_platform_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetExtensionFunctionAddressForPlatform(platform: cl_platform_id, name: *const c_char) -> plain(*mut c_void);
    clUnloadPlatformCompiler(platform: cl_platform_id) -> status;
    clGetDeviceIDs(platform: cl_platform_id, kind: cl_device_type, entries: cl_uint, devices: *mut cl_device_id, found: *mut cl_uint) -> status;
    clGetDeviceInfo(device: cl_device_id, name: cl_device_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clCreateSubDevices(device: cl_device_id, properties: *const cl_device_partition_property, entries: cl_uint, devices: *mut cl_device_id, found: *mut cl_uint) -> status;
    clRetainDevice(device: cl_device_id) -> retain Device;
    clReleaseDevice(device: cl_device_id) -> release Device;
    clGetDeviceAndHostTimer(device: cl_device_id, device_timestamp: *mut cl_ulong, host_timestamp: *mut cl_ulong) -> status;
    clGetHostTimer(device: cl_device_id, host_timestamp: *mut cl_ulong) -> status;

    // Contexts
    clCreateContext(properties: *const cl_context_properties, devices: [cl_device_id], notify: ContextCallback, user_data: *mut c_void) -> new Context(cl_context);
    clRetainContext(context: cl_context) -> retain Context;
    clReleaseContext(context: cl_context) -> release Context;
    clGetContextInfo(context: cl_context, name: cl_context_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clSetContextDestructorCallback(context: cl_context, notify: ContextDestructor, user_data: *mut c_void) -> status;

    // Queues
    clCreateCommandQueueWithProperties(context: cl_context, device: cl_device_id, properties: *const cl_queue_properties) -> new Queue(cl_command_queue);
    clRetainCommandQueue(queue: cl_command_queue) -> retain Queue;
    clReleaseCommandQueue(queue: cl_command_queue) -> release Queue;
    clGetCommandQueueInfo(queue: cl_command_queue, name: cl_command_queue_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clFlush(queue: cl_command_queue) -> status;
    clFinish(queue: cl_command_queue) -> status;

    // Memory objects
    clCreateBuffer(context: cl_context, flags: cl_mem_flags, size_bytes: usize, host: *mut c_void) -> new Memory(cl_mem);
    clCreateBufferWithProperties(context: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, size_bytes: usize, host: *mut c_void) -> new Memory(cl_mem);
    clCreateSubBuffer(buffer: cl_mem, flags: cl_mem_flags, kind: cl_buffer_create_type, info: *const c_void) -> new Memory(cl_mem);
    clCreateImage(context: cl_context, flags: cl_mem_flags, format: *const cl_image_format, desc: *const cl_image_desc, host: *mut c_void) -> new Memory(cl_mem);
    clGetSupportedImageFormats(context: cl_context, flags: cl_mem_flags, kind: cl_mem_object_type, entries: cl_uint, formats: *mut cl_image_format, found: *mut cl_uint) -> status;
    clRetainMemObject(object: cl_mem) -> retain Memory;
    clReleaseMemObject(object: cl_mem) -> release Memory;
    clGetMemObjectInfo(object: cl_mem, name: cl_mem_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetImageInfo(image: cl_mem, name: cl_image_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clSetMemObjectDestructorCallback(object: cl_mem, notify: MemoryDestructor, user_data: *mut c_void) -> status;
    clCreateSamplerWithProperties(context: cl_context, properties: *const cl_sampler_properties) -> new Sampler(cl_sampler);
    clRetainSampler(sampler: cl_sampler) -> retain Sampler;
    clReleaseSampler(sampler: cl_sampler) -> release Sampler;

    // Shared virtual memory
    clSVMAlloc(context: cl_context, flags: cl_svm_mem_flags, size_bytes: usize, alignment: cl_uint) -> alloc Svm(*mut c_void);
    clSVMFree(context: cl_context, pointer: *mut c_void) -> free_void Svm;
    // Memory freed here stays in the balance of live objects: the call is not used by the library.
    clEnqueueSVMFree(queue: cl_command_queue, pointers: [*const c_void], free: SvmFree, user_data: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueSVMMemcpy(queue: cl_command_queue, blocking: cl_bool, to: *mut c_void, from: *const c_void, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueSVMMemFill(queue: cl_command_queue, pointer: *mut c_void, pattern: *const c_void, pattern_bytes: usize, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueSVMMap(queue: cl_command_queue, blocking: cl_bool, flags: cl_map_flags, pointer: *mut c_void, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueSVMUnmap(queue: cl_command_queue, pointer: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueSVMMigrateMem(queue: cl_command_queue, pointers: [*const c_void], sizes_bytes: *const usize, flags: cl_mem_migration_flags, wait: [cl_event], event: new_event) -> status;

    // Programs
    clCreateProgramWithSource(context: cl_context, count: cl_uint, strings: *const *const c_char, lengths: *const usize) -> new Program(cl_program);
    clCreateProgramWithIL(context: cl_context, il: *const c_void, size_bytes: usize) -> new Program(cl_program);
    clCreateProgramWithBinary(context: cl_context, devices: [cl_device_id], lengths: *const usize, binaries: *const *const c_uchar, status: *mut cl_int) -> new Program(cl_program);
    clRetainProgram(program: cl_program) -> retain Program;
    clReleaseProgram(program: cl_program) -> release Program;
    clBuildProgram(program: cl_program, devices: [cl_device_id], options: *const c_char, notify: ProgramCallback, user_data: *mut c_void) -> status;
    clCompileProgram(program: cl_program, devices: [cl_device_id], options: *const c_char, headers: [cl_program], header_names: *const *const c_char, notify: ProgramCallback, user_data: *mut c_void) -> status;
    clLinkProgram(context: cl_context, devices: [cl_device_id], options: *const c_char, programs: [cl_program], notify: ProgramCallback, user_data: *mut c_void) -> linked Program(cl_program);
    clSetProgramSpecializationConstant(program: cl_program, id: cl_uint, size_bytes: usize, value: *const c_void) -> status;
    clGetProgramInfo(program: cl_program, name: cl_program_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetProgramBuildInfo(program: cl_program, device: cl_device_id, name: cl_program_build_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;

    // Kernels
    clCreateKernel(program: cl_program, name: *const c_char) -> new Kernel(cl_kernel);
    clCloneKernel(kernel: cl_kernel) -> new Kernel(cl_kernel);
    clRetainKernel(kernel: cl_kernel) -> retain Kernel;
    clReleaseKernel(kernel: cl_kernel) -> release Kernel;
    clSetKernelArg(kernel: cl_kernel, index: cl_uint, size_bytes: usize, value: *const c_void) -> status;
    clSetKernelArgSVMPointer(kernel: cl_kernel, index: cl_uint, value: *const c_void) -> status;
    clSetKernelExecInfo(kernel: cl_kernel, name: cl_kernel_exec_info, size_bytes: usize, value: *const c_void) -> status;
    clGetKernelInfo(kernel: cl_kernel, name: cl_kernel_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetKernelArgInfo(kernel: cl_kernel, index: cl_uint, name: cl_kernel_arg_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetKernelWorkGroupInfo(kernel: cl_kernel, device: cl_device_id, name: cl_kernel_work_group_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetKernelSubGroupInfo(kernel: cl_kernel, device: cl_device_id, name: cl_kernel_sub_group_info, input_bytes: usize, input: *const c_void, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    // Since OpenCL 3.1; before, an extension has it under another name.
    clGetKernelSuggestedLocalWorkSize(queue: cl_command_queue, kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize, suggested: *mut usize) -> status;

    // Events
    clCreateUserEvent(context: cl_context) -> new Event(cl_event);
    clSetUserEventStatus(event: cl_event, status: cl_int) -> status;
    clSetEventCallback(event: cl_event, status: cl_int, notify: EventCallback, user_data: *mut c_void) -> status;
    clWaitForEvents(events: [cl_event]) -> status;
    clRetainEvent(event: cl_event) -> retain Event;
    clReleaseEvent(event: cl_event) -> release Event;
    clGetEventInfo(event: cl_event, name: cl_event_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;
    clGetEventProfilingInfo(event: cl_event, name: cl_profiling_info, size: usize, value: *mut c_void, size_ret: *mut usize) -> status;

    // Commands. Offsets, origins, regions and work sizes are pointers to one to three elements;
    // null where the C function allows it.
    clEnqueueNDRangeKernel(queue: cl_command_queue, kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize, local: *const usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueReadBuffer(queue: cl_command_queue, buffer: cl_mem, blocking: cl_bool, offset_bytes: usize, size_bytes: usize, to: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueWriteBuffer(queue: cl_command_queue, buffer: cl_mem, blocking: cl_bool, offset_bytes: usize, size_bytes: usize, from: *const c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueReadBufferRect(queue: cl_command_queue, buffer: cl_mem, blocking: cl_bool, buffer_origin: *const usize, host_origin: *const usize, region: *const usize, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, to: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueWriteBufferRect(queue: cl_command_queue, buffer: cl_mem, blocking: cl_bool, buffer_origin: *const usize, host_origin: *const usize, region: *const usize, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, from: *const c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueCopyBuffer(queue: cl_command_queue, from: cl_mem, to: cl_mem, from_offset_bytes: usize, to_offset_bytes: usize, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueCopyBufferRect(queue: cl_command_queue, from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize, region: *const usize, from_row_pitch: usize, from_slice_pitch: usize, to_row_pitch: usize, to_slice_pitch: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueFillBuffer(queue: cl_command_queue, buffer: cl_mem, pattern: *const c_void, pattern_bytes: usize, offset_bytes: usize, size_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueMapBuffer(queue: cl_command_queue, buffer: cl_mem, blocking: cl_bool, flags: cl_map_flags, offset_bytes: usize, size_bytes: usize, wait: [cl_event], event: new_event) -> code(*mut c_void);
    clEnqueueUnmapMemObject(queue: cl_command_queue, object: cl_mem, pointer: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueMigrateMemObjects(queue: cl_command_queue, objects: [cl_mem], flags: cl_mem_migration_flags, wait: [cl_event], event: new_event) -> status;
    clEnqueueMarkerWithWaitList(queue: cl_command_queue, wait: [cl_event], event: new_event) -> status;
    clEnqueueBarrierWithWaitList(queue: cl_command_queue, wait: [cl_event], event: new_event) -> status;
    clEnqueueReadImage(queue: cl_command_queue, image: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize, row_pitch: usize, slice_pitch: usize, to: *mut c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueWriteImage(queue: cl_command_queue, image: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize, row_pitch: usize, slice_pitch: usize, from: *const c_void, wait: [cl_event], event: new_event) -> status;
    clEnqueueFillImage(queue: cl_command_queue, image: cl_mem, color: *const c_void, origin: *const usize, region: *const usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueCopyImage(queue: cl_command_queue, from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize, region: *const usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueCopyImageToBuffer(queue: cl_command_queue, from: cl_mem, to: cl_mem, from_origin: *const usize, region: *const usize, to_offset_bytes: usize, wait: [cl_event], event: new_event) -> status;
    clEnqueueCopyBufferToImage(queue: cl_command_queue, from: cl_mem, to: cl_mem, from_offset_bytes: usize, to_origin: *const usize, region: *const usize, wait: [cl_event], event: new_event) -> status;
}
