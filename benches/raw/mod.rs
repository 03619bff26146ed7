//! Raw OpenCL, as a C program would call it: what the library is measured against.
// Each program uses a part of this.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod command_buffer;
pub(crate) mod images;

use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

use libloading::Library;
use opencl_sys::{
    CL_DEVICE_NAME, CL_DEVICE_TYPE_ALL, CL_MEM_READ_WRITE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROPERTIES, cl_bool, cl_command_queue, cl_context, cl_device_id, cl_event, cl_image_desc,
    cl_image_format, cl_int, cl_kernel, cl_mem, cl_platform_id, cl_program, cl_uint, cl_ulong,
};

type Notify = *const c_void;

macro_rules! functions {
    ($($name:ident($($t:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions used here.
        #[allow(non_snake_case)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($t),*) $(-> $ret)?,)*
        }

        impl Functions {
            fn load(mut resolve: impl FnMut(&CStr) -> *const c_void) -> Self {
                Self {
                    $($name: {
                        let name = CString::new(stringify!($name)).unwrap();
                        let address = resolve(&name);
                        assert!(!address.is_null(), "no {name:?}");
                        // SAFETY: the address is that of the C function of this name, with this
                        // signature.
                        unsafe { std::mem::transmute::<*const c_void, unsafe extern "C" fn($($t),*) $(-> $ret)?>(address) }
                    },)*
                }
            }
        }
    };
}

functions! {
    clGetDeviceIDs(cl_platform_id, cl_ulong, cl_uint, *mut cl_device_id, *mut cl_uint) -> cl_int;
    clGetDeviceInfo(cl_device_id, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clCreateContext(*const isize, cl_uint, *const cl_device_id, Notify, *mut c_void, *mut cl_int) -> cl_context;
    clCreateCommandQueueWithProperties(cl_context, cl_device_id, *const cl_ulong, *mut cl_int) -> cl_command_queue;
    clCreateProgramWithIL(cl_context, *const c_void, usize, *mut cl_int) -> cl_program;
    clCreateProgramWithSource(cl_context, cl_uint, *const *const i8, *const usize, *mut cl_int) -> cl_program;
    clCreateProgramWithBinary(cl_context, cl_uint, *const cl_device_id, *const usize, *const *const u8, *mut cl_int, *mut cl_int) -> cl_program;
    clBuildProgram(cl_program, cl_uint, *const cl_device_id, *const i8, Notify, *mut c_void) -> cl_int;
    clCreateKernel(cl_program, *const i8, *mut cl_int) -> cl_kernel;
    clEnqueueNDRangeKernel(cl_command_queue, cl_kernel, cl_uint, *const usize, *const usize, *const usize, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clFinish(cl_command_queue) -> cl_int;
    clFlush(cl_command_queue) -> cl_int;
    clSetKernelArg(cl_kernel, cl_uint, usize, *const c_void) -> cl_int;
    clEnqueueMarkerWithWaitList(cl_command_queue, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clCreateUserEvent(cl_context, *mut cl_int) -> cl_event;
    clSetUserEventStatus(cl_event, cl_int) -> cl_int;
    clSetEventCallback(cl_event, cl_int, unsafe extern "C" fn(cl_event, cl_int, *mut c_void), *mut c_void) -> cl_int;
    clWaitForEvents(cl_uint, *const cl_event) -> cl_int;
    clGetEventInfo(cl_event, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clGetContextInfo(cl_context, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clGetCommandQueueInfo(cl_command_queue, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clCreateBuffer(cl_context, cl_ulong, usize, *mut c_void, *mut cl_int) -> cl_mem;
    clEnqueueWriteBuffer(cl_command_queue, cl_mem, cl_bool, usize, usize, *const c_void, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, usize, usize, *mut c_void, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clCreateImage(cl_context, cl_ulong, *const cl_image_format, *const cl_image_desc, *mut c_void, *mut cl_int) -> cl_mem;
    clEnqueueWriteImage(cl_command_queue, cl_mem, cl_bool, *const usize, *const usize, usize, usize, *const c_void, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clEnqueueReadImage(cl_command_queue, cl_mem, cl_bool, *const usize, *const usize, usize, usize, *mut c_void, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clEnqueueCopyImage(cl_command_queue, cl_mem, cl_mem, *const usize, *const usize, *const usize, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clEnqueueFillImage(cl_command_queue, cl_mem, *const c_void, *const usize, *const usize, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    clGetMemObjectInfo(cl_mem, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clReleaseMemObject(cl_mem) -> cl_int;
    clGetKernelInfo(cl_kernel, cl_uint, usize, *mut c_void, *mut usize) -> cl_int;
    clReleaseKernel(cl_kernel) -> cl_int;
    clReleaseCommandQueue(cl_command_queue) -> cl_int;
    clReleaseContext(cl_context) -> cl_int;
    clMemFreeINTEL(cl_context, *mut c_void) -> cl_int;
    clReleaseEvent(cl_event) -> cl_int;
    clDeviceMemAllocINTEL(cl_context, cl_device_id, *const cl_ulong, usize, cl_uint, *mut cl_int) -> *mut c_void;
    clSetKernelArgMemPointerINTEL(cl_kernel, cl_uint, *const c_void) -> cl_int;
    clSVMAlloc(cl_context, cl_ulong, usize, cl_uint) -> *mut c_void;
    clEnqueueMemcpyINTEL(cl_command_queue, cl_bool, *mut c_void, *const c_void, usize, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
}

/// A context, a queue and a kernel of raw OpenCL on the device of the given name. Nothing is
/// released: the process ends.
pub(crate) struct Raw {
    pub(crate) cl: Functions,
    pub(crate) context: cl_context,
    pub(crate) device: cl_device_id,
    pub(crate) queue: cl_command_queue,
    svm: bool,
    platform: cl_platform_id,
    extension: Extension,
}

type Extension = unsafe extern "C" fn(cl_platform_id, *const i8) -> *const c_void;

// SAFETY: handles and function pointers; OpenCL is thread-safe but for kernels' arguments, which
// are set by one thread here.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

/// Whether the library's memory is SVM on the selected device; the reference then uses it, too.
fn has_svm() -> bool {
    let memory = oclave::Device::select().ok().and_then(|device| device.capabilities().memory());
    memory.is_some_and(|memory| memory.kind == oclave::device::MemoryKind::Svm)
}

/// The function of SVM with the same parameters as one of USM. `clSVMFree` has no result, and no
/// benchmark with SVM frees memory.
fn of_svm(name: &CStr) -> &CStr {
    match name.to_bytes() {
        b"clSetKernelArgMemPointerINTEL" => c"clSetKernelArgSVMPointer",
        b"clEnqueueMemcpyINTEL" => c"clEnqueueSVMMemcpy",
        b"clDeviceMemAllocINTEL" | b"clMemFreeINTEL" => c"clSVMFree",
        _ => name,
    }
}

pub(crate) fn check(code: cl_int) {
    assert_eq!(code, 0, "an OpenCL call failed");
}

impl Raw {
    pub(crate) fn new(device_name: &str, out_of_order: bool) -> Self {
        // SAFETY: loading an OpenCL loader has no preconditions.
        let library: &'static Library =
            Box::leak(Box::new(unsafe { Library::new(oclave::device::loader_name().unwrap()) }.unwrap()));
        let symbol = |name: &CStr| -> *const c_void {
            // SAFETY: only the address is taken.
            unsafe { library.get::<unsafe extern "C" fn()>(name.to_bytes_with_nul()) }
                .map_or(null(), |function| *function as *const c_void)
        };
        type Platforms = unsafe extern "C" fn(cl_uint, *mut cl_platform_id, *mut cl_uint) -> cl_int;
        // SAFETY: the functions have these signatures; the arrays have as many places as said.
        unsafe {
            let extension: Extension =
                std::mem::transmute(symbol(c"clGetExtensionFunctionAddressForPlatform"));
            let platforms: Platforms = std::mem::transmute(symbol(c"clGetPlatformIDs"));
            let mut ids = [null_mut(); 16];
            let mut count = 0;
            check(platforms(16, ids.as_mut_ptr(), &mut count));
            let svm = has_svm();
            for platform in &ids[..count as usize] {
                let cl = Functions::load(|name| {
                    let name = if svm { of_svm(name) } else { name };
                    let core = symbol(name);
                    if core.is_null() { extension(*platform, name.as_ptr()) } else { core }
                });
                let mut devices = [null_mut(); 16];
                let mut count = 0;
                check((cl.clGetDeviceIDs)(
                    *platform,
                    CL_DEVICE_TYPE_ALL,
                    16,
                    devices.as_mut_ptr(),
                    &mut count,
                ));
                for device in &devices[..count as usize] {
                    let mut name = [0_u8; 256];
                    check((cl.clGetDeviceInfo)(
                        *device,
                        CL_DEVICE_NAME,
                        256,
                        name.as_mut_ptr().cast(),
                        null_mut(),
                    ));
                    if CStr::from_bytes_until_nul(&name).unwrap().to_string_lossy().trim() == device_name {
                        return Self::on(cl, (*platform, extension), *device, out_of_order);
                    }
                }
            }
        }
        panic!("no device `{device_name}`");
    }

    unsafe fn on(
        cl: Functions,
        (platform, extension): (cl_platform_id, Extension),
        device: cl_device_id,
        out_of_order: bool,
    ) -> Self {
        let mut code = 0;
        let properties = [u64::from(CL_QUEUE_PROPERTIES), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0];
        let properties = if out_of_order { properties.as_ptr() } else { null() };
        // SAFETY: the device is the loader's, lists end in 0.
        unsafe {
            let context = (cl.clCreateContext)(null(), 1, &device, null(), null_mut(), &mut code);
            check(code);
            let queue = (cl.clCreateCommandQueueWithProperties)(context, device, properties, &mut code);
            check(code);
            Self { cl, context, device, queue, svm: has_svm(), platform, extension }
        }
    }

    pub(crate) fn kernel(&self, spirv: &[u8], name: &CStr) -> cl_kernel {
        self.kernel_of(self.program(spirv), name)
    }

    /// The address of a function of an extension; null where the device has none.
    pub(crate) fn function(&self, name: &CStr) -> *const c_void {
        // SAFETY: the platform is the loader's, the name ends in NUL.
        unsafe { (self.extension)(self.platform, name.as_ptr()) }
    }

    /// A built program.
    pub(crate) fn program(&self, spirv: &[u8]) -> cl_program {
        let mut code = 0;
        // SAFETY: the objects are alive, the module is the project's own.
        unsafe {
            let program =
                (self.cl.clCreateProgramWithIL)(self.context, spirv.as_ptr().cast(), spirv.len(), &mut code);
            check(code);
            check((self.cl.clBuildProgram)(program, 1, &self.device, c"".as_ptr(), null(), null_mut()));
            program
        }
    }

    /// A program of OpenCL C, which the driver compiles.
    pub(crate) fn program_of_source(&self, source: &CStr) -> cl_program {
        let mut code = 0;
        // SAFETY: the objects are alive, the source ends in NUL.
        unsafe {
            let program =
                (self.cl.clCreateProgramWithSource)(self.context, 1, &source.as_ptr(), null(), &mut code);
            check(code);
            check((self.cl.clBuildProgram)(program, 1, &self.device, c"".as_ptr(), null(), null_mut()));
            program
        }
    }

    /// One of the driver's own buffers.
    pub(crate) fn buffer(&self, size_bytes: usize) -> cl_mem {
        let mut code = 0;
        // SAFETY: the context is alive.
        let buffer = unsafe {
            (self.cl.clCreateBuffer)(self.context, CL_MEM_READ_WRITE, size_bytes, null_mut(), &mut code)
        };
        check(code);
        buffer
    }

    /// A kernel of a program; a new object each time.
    pub(crate) fn kernel_of(&self, program: cl_program, name: &CStr) -> cl_kernel {
        let mut code = 0;
        // SAFETY: the program is alive and built.
        let kernel = unsafe { (self.cl.clCreateKernel)(program, name.as_ptr(), &mut code) };
        check(code);
        kernel
    }

    #[allow(dead_code, reason = "for the benchmark of starting up")]
    pub(crate) fn kernel_of_binary(&self, binary: &[u8], name: &CStr) -> cl_kernel {
        let (mut code, mut status) = (0, 0);
        let (length, start) = (binary.len(), binary.as_ptr());
        // SAFETY: the objects are alive, there is one length, binary and status for the one device.
        unsafe {
            let program = (self.cl.clCreateProgramWithBinary)(
                self.context,
                1,
                &self.device,
                &length,
                &start,
                &mut status,
                &mut code,
            );
            check(code);
            check(status);
            check((self.cl.clBuildProgram)(program, 1, &self.device, c"".as_ptr(), null(), null_mut()));
            let kernel = (self.cl.clCreateKernel)(program, name.as_ptr(), &mut code);
            check(code);
            kernel
        }
    }

    pub(crate) fn alloc(&self, size_bytes: usize) -> *mut c_void {
        let mut code = 0;
        if self.svm {
            // SAFETY: the context is alive.
            let pointer = unsafe { (self.cl.clSVMAlloc)(self.context, CL_MEM_READ_WRITE, size_bytes, 0) };
            assert!(!pointer.is_null(), "no SVM");
            return pointer;
        }
        // SAFETY: context and device are alive.
        let pointer = unsafe {
            (self.cl.clDeviceMemAllocINTEL)(self.context, self.device, null(), size_bytes, 0, &mut code)
        };
        check(code);
        pointer
    }

    pub(crate) fn finish(&self) {
        // SAFETY: the queue is alive.
        check(unsafe { (self.cl.clFinish)(self.queue) });
    }
}

/// Launches of a kernel of one work-item.
impl Raw {
    pub(crate) fn launch(&self, kernel: cl_kernel, after: Option<cl_event>, event: bool) {
        let new = self.enqueue(kernel, after, event);
        if event {
            self.release(new);
        }
    }

    pub(crate) fn enqueue(&self, kernel: cl_kernel, after: Option<cl_event>, event: bool) -> cl_event {
        let mut new = null_mut();
        let (count, wait) = after.as_ref().map_or((0, null()), |event| (1, std::ptr::from_ref(event)));
        let event = if event { &raw mut new } else { null_mut() };
        // SAFETY: the objects are alive, the lists are as long as said.
        check(unsafe {
            (self.cl.clEnqueueNDRangeKernel)(self.queue, kernel, 1, null(), &1, null(), count, wait, event)
        });
        new
    }

    /// Waits for a command, which is the queue's last, by its queue: that is as fast as by its
    /// event, or faster. The event stays until then, as the library's does.
    pub(crate) fn finish_and_release(&self, event: cl_event) {
        self.finish();
        self.release(event);
    }

    pub(crate) fn release(&self, event: cl_event) {
        // SAFETY: the reference is the caller's.
        check(unsafe { (self.cl.clReleaseEvent)(event) });
    }

    /// Launches, each after the one before by its event, and waits.
    pub(crate) fn chain_by_events(&self, kernel: cl_kernel, length: usize) {
        let mut last = None;
        for _ in 0..length {
            let next = self.enqueue(kernel, last, true);
            if let Some(last) = last.replace(next) {
                self.release(last);
            }
        }
        self.finish();
        last.into_iter().for_each(|event| self.release(event));
    }

    /// Launches, each with an event, in the order of the queue, and waits.
    pub(crate) fn chain_in_order(&self, kernel: cl_kernel, length: usize, event: bool) {
        for _ in 0..length {
            self.launch(kernel, None, event);
        }
        self.finish();
    }
}
