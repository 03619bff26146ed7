//! Test: every extension table does its work on the devices that have it.

use std::ffi::{CStr, c_void};
use std::ptr;

use super::mutable_dispatch;
use crate::ErrorKind;
use crate::mask::Mask;
use crate::{Api, Device, info, sys::*};

/// A context and an in-order queue, released at the end.
struct Fixture {
    device: Device,
    api: &'static Api,
    context: cl_context,
    queue: cl_command_queue,
}

impl Fixture {
    fn new(device: &Device) -> Self {
        let api = device.api();
        let ids = [device.id()];
        // SAFETY: the device is alive; the context and queue are released by Drop.
        unsafe {
            let context = api.clCreateContext(ptr::null(), &ids, None, ptr::null_mut()).unwrap();
            let queue = api.clCreateCommandQueueWithProperties(context, device.id(), ptr::null()).unwrap();
            Self { device: device.clone(), api, context, queue }
        }
    }

    fn program(&self, source: &CStr) -> cl_program {
        let strings = [source.as_ptr()];
        // SAFETY: one NUL-terminated string.
        unsafe {
            let program =
                self.api.clCreateProgramWithSource(self.context, 1, strings.as_ptr(), ptr::null()).unwrap();
            let options = c"-cl-std=CL3.0";
            self.api
                .clBuildProgram(program, &[self.device.id()], options.as_ptr(), None, ptr::null_mut())
                .unwrap();
            program
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // SAFETY: created by `new`, released once.
        unsafe {
            self.api.clReleaseCommandQueue(self.queue).unwrap();
            self.api.clReleaseContext(self.context).unwrap();
        }
    }
}

/// Runs a test on each device that has what it needs; says so when there is none.
fn each(needs: &str, has: impl Fn(&Device) -> bool, test: impl Fn(&Fixture)) {
    let devices = Device::all().unwrap_or_default();
    let mut ran = false;
    for device in devices.iter().filter(|device| has(device)) {
        println!("device: {} ({})", device.name(), device.platform().name());
        test(&Fixture::new(device));
        ran = true;
    }
    if !ran {
        println!("skipped: no device with {needs}");
    }
}

#[test]
fn usm_is_allocated_copied_filled_and_freed() {
    each(
        "USM",
        |device| device.capabilities().usm.is_some(),
        |f| {
            let usm = &f.device.tables().usm;
            let mut out = [0u32; 16];
            // SAFETY: all pointers come from these allocations or from `out`, which live until the
            // blocking copy is done.
            unsafe {
                let device = usm.clDeviceMemAllocINTEL(f.context, f.device.id(), ptr::null(), 64, 0).unwrap();
                let host = usm.clHostMemAllocINTEL(f.context, ptr::null(), 64, 0).unwrap();
                let shared = usm.clSharedMemAllocINTEL(f.context, f.device.id(), ptr::null(), 64, 0).unwrap();
                let kind: u32 = info::value(|size, value, ret| {
                    usm.clGetMemAllocInfoINTEL(f.context, device, CL_MEM_ALLOC_TYPE_INTEL, size, value, ret)
                })
                .unwrap();
                assert_eq!(kind, CL_MEM_TYPE_DEVICE_INTEL);

                let pattern = 0xdead_beefu32;
                let mut event = ptr::null_mut();
                usm.clEnqueueMemFillINTEL(
                    f.queue,
                    device,
                    (&raw const pattern).cast(),
                    4,
                    64,
                    &[],
                    &mut event,
                )
                .unwrap();
                usm.clEnqueueMemcpyINTEL(f.queue, CL_FALSE, host, device, 64, &[event], ptr::null_mut())
                    .unwrap();
                usm.clEnqueueMemcpyINTEL(f.queue, CL_FALSE, shared, host, 64, &[], ptr::null_mut()).unwrap();
                // Hints: a driver may refuse them (Intel's CPU runtime does, with flags 0), but the
                // call must arrive.
                for flags in [0, CL_MIGRATE_MEM_OBJECT_HOST, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED] {
                    let migrated =
                        usm.clEnqueueMigrateMemINTEL(f.queue, shared, 64, flags, &[], ptr::null_mut());
                    println!("migrate with flags {flags}: {migrated:?}");
                    assert!(
                        migrated.is_ok()
                            || migrated.is_err_and(|error| error.code() == Some(CL_INVALID_VALUE))
                    );
                }
                let advised = usm.clEnqueueMemAdviseINTEL(f.queue, shared, 64, 0, &[], ptr::null_mut());
                println!("advise: {advised:?}");
                let to = out.as_mut_ptr().cast();
                usm.clEnqueueMemcpyINTEL(f.queue, CL_TRUE, to, shared, 64, &[], ptr::null_mut()).unwrap();
                f.api.clReleaseEvent(event).unwrap();
                f.api.clFinish(f.queue).unwrap();
                usm.clMemFreeINTEL(f.context, device).unwrap();
                usm.clMemFreeINTEL(f.context, host).unwrap();
                usm.clMemBlockingFreeINTEL(f.context, shared).unwrap();
            }
            assert_eq!(out, [0xdead_beef; 16]);
            assert!(f.device.masked(Mask::USM).capabilities().usm.is_none());
        },
    );
}

/// Copies, fills and barriers in the interface of the device's version: a wrong one gives −30 or
/// wrong data.
#[test]
fn command_buffers_record_and_replay() {
    each(
        "command buffers",
        |device| device.capabilities().command_buffer.is_some(),
        |f| {
            println!("version {}", f.device.capabilities().command_buffer.unwrap().version);
            let (table, recorder) = f.device.command_buffer().unwrap();
            let mut out = [0u32; 16];
            // SAFETY: the buffers live until the blocking read is done; everything is released
            // once.
            unsafe {
                let memory =
                    || f.api.clCreateBuffer(f.context, CL_MEM_READ_WRITE, 64, ptr::null_mut()).unwrap();
                let (first, second, third) = (memory(), memory(), memory());
                let buffer = table.clCreateCommandBufferKHR(&[f.queue], ptr::null()).unwrap();
                let null = ptr::null_mut();
                let mut filled = 0;
                let pattern = 7u32;
                recorder
                    .fill_buffer(buffer, null, first, (&raw const pattern).cast(), 4, 0, 64, &[], &mut filled)
                    .unwrap();
                let mut copied = 0;
                recorder.copy_buffer(buffer, null, first, second, 0, 32, 32, &[filled], &mut copied).unwrap();
                let mut both = 0;
                recorder.barrier(buffer, null, &[filled, copied], &mut both).unwrap();
                let (origin, to, region) = ([0, 0, 0], [32, 0, 0], [32, 1, 1]);
                recorder
                    .copy_buffer_rect(
                        buffer,
                        null,
                        second,
                        third,
                        to.as_ptr(),
                        origin.as_ptr(),
                        region.as_ptr(),
                        0,
                        0,
                        0,
                        0,
                        &[both],
                        ptr::null_mut(),
                    )
                    .unwrap();
                table.clFinalizeCommandBufferKHR(buffer).unwrap();
                let state: u32 = info::value(|size, value, ret| {
                    table.clGetCommandBufferInfoKHR(buffer, CL_COMMAND_BUFFER_STATE_KHR, size, value, ret)
                })
                .unwrap();
                assert_eq!(state, CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR);

                let zero = 0u32;
                for object in [first, second, third] {
                    f.api
                        .clEnqueueFillBuffer(
                            f.queue,
                            object,
                            (&raw const zero).cast(),
                            4,
                            0,
                            64,
                            &[],
                            ptr::null_mut(),
                        )
                        .unwrap();
                }
                table.clEnqueueCommandBufferKHR(&[], buffer, &[], ptr::null_mut()).unwrap();
                let to = out.as_mut_ptr().cast();
                f.api.clEnqueueReadBuffer(f.queue, third, CL_TRUE, 0, 64, to, &[], ptr::null_mut()).unwrap();
                table.clReleaseCommandBufferKHR(buffer).unwrap();
                for object in [first, second, third] {
                    f.api.clReleaseMemObject(object).unwrap();
                }
            }
            assert_eq!(out[..8], [7; 8]);
            assert_eq!(out[8..], [0; 8]);
        },
    );
}

#[test]
fn recorded_kernels_are_updated() {
    each(
        "mutable dispatch",
        |device| device.capabilities().mutable_dispatch.is_some(),
        |f| {
            if !f.device.capabilities().mutable_dispatch.unwrap().updates_as_array() {
                println!("skipped: the update is of the old form");
                return;
            }
            let (table, _) = f.device.command_buffer().unwrap();
            let update = &f.device.tables().mutable_dispatch;
            let program =
                f.program(c"kernel void put(global int *out, int value) { out[get_global_id(0)] = value; }");
            let mut out = [0i32; 2];
            // SAFETY: objects live until the blocking reads are done; arguments have the kernel's
            // types.
            unsafe {
                let kernel = f.api.clCreateKernel(program, c"put".as_ptr()).unwrap();
                let memory = f.api.clCreateBuffer(f.context, CL_MEM_READ_WRITE, 8, ptr::null_mut()).unwrap();
                let value = 3i32;
                f.api.clSetKernelArg(kernel, 0, size_of::<cl_mem>(), (&raw const memory).cast()).unwrap();
                f.api.clSetKernelArg(kernel, 1, 4, (&raw const value).cast()).unwrap();
                let properties = [CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_MUTABLE_KHR, 0];
                let buffer = table.clCreateCommandBufferKHR(&[f.queue], properties.as_ptr()).unwrap();
                let fields = CL_MUTABLE_DISPATCH_ARGUMENTS_KHR | CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR;
                let properties = [CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR, fields, 0];
                let (mut handle, global) = (ptr::null_mut(), [1usize]);
                table
                    .clCommandNDRangeKernelKHR(
                        buffer,
                        ptr::null_mut(),
                        properties.as_ptr(),
                        kernel,
                        1,
                        ptr::null(),
                        global.as_ptr(),
                        ptr::null(),
                        &[],
                        ptr::null_mut(),
                        &mut handle,
                    )
                    .unwrap();
                table.clFinalizeCommandBufferKHR(buffer).unwrap();
                let mut run = || {
                    let zero = 0i32;
                    f.api
                        .clEnqueueFillBuffer(
                            f.queue,
                            memory,
                            (&raw const zero).cast(),
                            4,
                            0,
                            8,
                            &[],
                            ptr::null_mut(),
                        )
                        .unwrap();
                    table.clEnqueueCommandBufferKHR(&[], buffer, &[], ptr::null_mut()).unwrap();
                    let to = out.as_mut_ptr().cast();
                    f.api
                        .clEnqueueReadBuffer(f.queue, memory, CL_TRUE, 0, 8, to, &[], ptr::null_mut())
                        .unwrap();
                    out
                };
                assert_eq!(run(), [3, 0]);

                let (value, global) = (9i32, [2usize]);
                let argument = cl_mutable_dispatch_arg_khr {
                    arg_index: 1,
                    arg_size: 4,
                    arg_value: (&raw const value).cast(),
                };
                let config = cl_mutable_dispatch_config_khr {
                    command: handle,
                    num_args: 1,
                    num_svm_args: 0,
                    num_exec_infos: 0,
                    work_dim: 1,
                    arg_list: &argument,
                    arg_svm_list: ptr::null(),
                    exec_info_list: ptr::null(),
                    global_work_offset: ptr::null(),
                    global_work_size: global.as_ptr(),
                    local_work_size: ptr::null(),
                };
                let types = [CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR];
                let mut configs = [(&raw const config).cast::<c_void>()];
                update.clUpdateMutableCommandsKHR(buffer, 1, types.as_ptr(), configs.as_mut_ptr()).unwrap();
                assert_eq!(run(), [9, 9]);
                assert_ne!(mutable_dispatch::OLD_TYPE_DISPATCH_CONFIG, types[0]);

                table.clReleaseCommandBufferKHR(buffer).unwrap();
                f.api.clReleaseMemObject(memory).unwrap();
                f.api.clReleaseKernel(kernel).unwrap();
                f.api.clReleaseProgram(program).unwrap();
            }
        },
    );
}

#[test]
fn global_variables_are_read_and_written_by_name() {
    each(
        "access to global variables",
        |device| device.capabilities().global_variable_access,
        |f| {
            let table = f.device.global_variable_access().unwrap();
            let program = f.program(
                c"__global int counter[2] = {5, 6}; kernel void next() { counter[1] += counter[0]; }",
            );
            let name = c"counter".as_ptr();
            // SAFETY: the host memory lives through the blocking calls; everything is released
            // once.
            unsafe {
                let read = |offset, out: &mut i32| {
                    let to = ptr::from_mut(out).cast();
                    table.clEnqueueReadGlobalVariableINTEL(
                        f.queue,
                        program,
                        name,
                        CL_TRUE,
                        4,
                        offset,
                        to,
                        &[],
                        ptr::null_mut(),
                    )
                };
                let mut value = 0;
                read(4, &mut value).unwrap();
                assert_eq!(value, 6);
                let new = 30i32;
                table
                    .clEnqueueWriteGlobalVariableINTEL(
                        f.queue,
                        program,
                        name,
                        CL_TRUE,
                        4,
                        0,
                        (&raw const new).cast(),
                        &[],
                        ptr::null_mut(),
                    )
                    .unwrap();
                let kernel = f.api.clCreateKernel(program, c"next".as_ptr()).unwrap();
                let one = [1usize];
                f.api
                    .clEnqueueNDRangeKernel(
                        f.queue,
                        kernel,
                        1,
                        ptr::null(),
                        one.as_ptr(),
                        ptr::null(),
                        &[],
                        ptr::null_mut(),
                    )
                    .unwrap();
                read(4, &mut value).unwrap();
                assert_eq!(value, 36);
                assert_eq!(read(8, &mut value).unwrap_err().code(), Some(CL_INVALID_VALUE));
                if f.device.capabilities().global_variable_pointer {
                    let (mut size, mut pointer) = (0, ptr::null_mut());
                    table
                        .clGetDeviceGlobalVariablePointerINTEL(
                            f.device.id(),
                            program,
                            name,
                            &mut size,
                            &mut pointer,
                        )
                        .unwrap();
                    assert_eq!(size, 8);
                    assert!(!pointer.is_null());
                }
                f.api.clReleaseKernel(kernel).unwrap();
                f.api.clReleaseProgram(program).unwrap();
            }
            let poor = f.device.masked(Mask::GLOBAL_VARIABLE_ACCESS);
            assert_eq!(
                poor.global_variable_access().err().map(|e| e.kind()),
                Some(ErrorKind::FeatureNotSupported)
            );
        },
    );
}
