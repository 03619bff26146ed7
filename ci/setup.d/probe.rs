//! Proves that an OpenCL driver is there and works. It compiles and runs a kernel on each device,
//! then prints a line for it (platform, device, driver, SPIR-V versions). Exits with 1 when there
//! is no device or one that does not work. Plain Rust without crates, so that `rustc` alone builds
//! it; it runs inside the PoCL roots too.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> Handle;
    fn dlsym(library: Handle, name: *const c_char) -> Handle;
    fn dlerror() -> *const c_char;
}

/// The entry point `$name` of the loader as a function of the given type.
macro_rules! entry {
    ($library:expr, $name:literal, fn($($arg:ty),*) -> $result:ty) => {{
        let symbol = unsafe { dlsym($library, concat!($name, "\0").as_ptr().cast()) };
        if symbol.is_null() {
            return Err(concat!("the loader has no ", $name).to_owned());
        }
        unsafe { std::mem::transmute::<Handle, unsafe extern "C" fn($($arg),*) -> $result>(symbol) }
    }};
}

const PLATFORM_NAME: c_uint = 0x0902;
const DEVICE_NAME: c_uint = 0x102B;
const DRIVER_VERSION: c_uint = 0x102D;
const DEVICE_IL_VERSION: c_uint = 0x105B;
const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
const DEVICE_NOT_FOUND: c_int = -1;
const SOURCE: &str = "kernel void answer(global int *x) { x[get_global_id(0)] = 42; }\0";

fn main() {
    match probe() {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(1);
        }
    }
}

fn probe() -> Result<Vec<String>, String> {
    let name = std::env::var("OCLAVE_OPENCL_LIBRARY").unwrap_or_else(|_| "libOpenCL.so.1".to_owned());
    let c_name = CString::new(name).map_err(|e| e.to_string())?;
    let library = unsafe { dlopen(c_name.as_ptr(), 2) };
    if library.is_null() {
        let why = unsafe { std::ffi::CStr::from_ptr(dlerror()) };
        return Err(format!("no OpenCL loader: {}", why.to_string_lossy()));
    }
    let platform_ids = entry!(library, "clGetPlatformIDs", fn(c_uint, *mut Handle, *mut c_uint) -> c_int);
    let device_ids = entry!(library, "clGetDeviceIDs", fn(Handle, u64, c_uint, *mut Handle, *mut c_uint) -> c_int);
    let platform_info =
        entry!(library, "clGetPlatformInfo", fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int);
    let device_info = entry!(library, "clGetDeviceInfo", fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int);
    type Info = unsafe extern "C" fn(Handle, c_uint, usize, *mut c_void, *mut usize) -> c_int;
    let text = |query: Info, object: Handle, what: c_uint| {
        let mut bytes = vec![0u8; 4096];
        let mut length = 0;
        let code = unsafe { query(object, what, bytes.len(), bytes.as_mut_ptr().cast(), &mut length) };
        bytes.truncate(if code == 0 { length } else { 0 });
        String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()
    };

    let mut lines = Vec::new();
    let mut platforms = [null_mut(); 16];
    let mut platform_count = 0;
    let code = unsafe { platform_ids(16, platforms.as_mut_ptr(), &mut platform_count) };
    if code != 0 || platform_count == 0 {
        return Err(format!("no OpenCL platform (code {code})"));
    }
    for &platform in platforms.iter().take(platform_count as usize) {
        let mut devices = [null_mut(); 16];
        let mut device_count = 0;
        let code =
            unsafe { device_ids(platform, DEVICE_TYPE_ALL, 16, devices.as_mut_ptr(), &mut device_count) };
        let platform_name = text(platform_info, platform, PLATFORM_NAME);
        // Mesa's older package also has Clover, a platform without devices.
        if code == DEVICE_NOT_FOUND {
            continue;
        }
        if code != 0 {
            return Err(format!("platform {platform_name} cannot list its devices (code {code})"));
        }
        for &device in devices.iter().take(device_count as usize) {
            let name = text(device_info, device, DEVICE_NAME);
            run_kernel(library, device).map_err(|why| format!("{platform_name}, {name}: {why}"))?;
            let il = text(device_info, device, DEVICE_IL_VERSION);
            let il = if il.is_empty() { "no SPIR-V" } else { &il };
            lines.push(format!("{platform_name}, {name}, driver {}, {il}", text(device_info, device, DRIVER_VERSION)));
        }
    }
    if lines.is_empty() { Err("no platform has a device".to_owned()) } else { Ok(lines) }
}

/// Compiles and runs one kernel, and reads its result. A driver that misses its linker or its
/// library of built-in functions lists its device all the same.
fn run_kernel(library: Handle, device: Handle) -> Result<(), String> {
    type Code<'a> = &'a mut c_int;
    let create_context = entry!(library, "clCreateContext",
        fn(*const isize, c_uint, *const Handle, *const c_void, *mut c_void, Code<'_>) -> Handle);
    let create_queue =
        entry!(library, "clCreateCommandQueueWithProperties", fn(Handle, Handle, *const u64, Code<'_>) -> Handle);
    let create_program = entry!(library, "clCreateProgramWithSource",
        fn(Handle, c_uint, *const *const c_char, *const usize, Code<'_>) -> Handle);
    let build = entry!(library, "clBuildProgram",
        fn(Handle, c_uint, *const Handle, *const c_char, *const c_void, *mut c_void) -> c_int);
    let create_kernel = entry!(library, "clCreateKernel", fn(Handle, *const c_char, Code<'_>) -> Handle);
    let create_buffer = entry!(library, "clCreateBuffer", fn(Handle, u64, usize, *mut c_void, Code<'_>) -> Handle);
    let set_arg = entry!(library, "clSetKernelArg", fn(Handle, c_uint, usize, *const c_void) -> c_int);
    let enqueue = entry!(library, "clEnqueueNDRangeKernel",
        fn(Handle, Handle, c_uint, *const usize, *const usize, *const usize, c_uint, *const Handle, *mut Handle) -> c_int);
    let read = entry!(library, "clEnqueueReadBuffer",
        fn(Handle, Handle, c_uint, usize, usize, *mut c_void, c_uint, *const Handle, *mut Handle) -> c_int);

    let mut code = 0;
    let check = |what: &str, code: c_int| if code == 0 { Ok(()) } else { Err(format!("{what} failed (code {code})")) };
    let mut result = [0 as c_int; 8];
    let size = size_of_val(&result);
    unsafe {
        let context = create_context(null(), 1, &device, null(), null_mut(), &mut code);
        check("clCreateContext", code)?;
        let queue = create_queue(context, device, null(), &mut code);
        check("clCreateCommandQueueWithProperties", code)?;
        let source = SOURCE.as_ptr().cast();
        let program = create_program(context, 1, &source, null(), &mut code);
        check("clCreateProgramWithSource", code)?;
        check("clBuildProgram", build(program, 1, &device, null(), null(), null_mut()))?;
        let kernel = create_kernel(program, c"answer".as_ptr(), &mut code);
        check("clCreateKernel", code)?;
        let buffer = create_buffer(context, 1, size, null_mut(), &mut code);
        check("clCreateBuffer", code)?;
        check("clSetKernelArg", set_arg(kernel, 0, size_of::<Handle>(), (&raw const buffer).cast()))?;
        let range = result.len();
        let launched = enqueue(queue, kernel, 1, null(), &range, null(), 0, null(), null_mut());
        check("clEnqueueNDRangeKernel", launched)?;
        let target = result.as_mut_ptr().cast();
        check("clEnqueueReadBuffer", read(queue, buffer, 1, 0, size, target, 0, null(), null_mut()))?;
    }
    if result == [42; 8] { Ok(()) } else { Err(format!("a kernel gave {result:?}")) }
}
