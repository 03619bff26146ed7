//! The functions that the loader calls.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use oclave_driver::native::DeviceHandle;
use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::cl_layer::{CL_LAYER_API_VERSION, CL_LAYER_API_VERSION_100, CL_LAYER_NAME, cl_layer_info};
use opencl_sys::*;

use crate::{Mode, adapt, key, log, options, record};

/// The functions below the layer, and the layer's own.
struct Tables {
    below: cl_icd_dispatch,
    own: cl_icd_dispatch,
}

static TABLES: OnceLock<Tables> = OnceLock::new();

/// A program that was made of source. Handles are kept as numbers, which threads may share.
struct Program {
    source: String,
    /// Programs of adapted modules that replace it, once it is built.
    adapted: Vec<usize>,
}

static PROGRAMS: OnceLock<Mutex<HashMap<usize, Program>>> = OnceLock::new();

fn programs() -> MutexGuard<'static, HashMap<usize, Program>> {
    PROGRAMS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function below the layer. Only functions that the loader reaches through the layer's table do so, and that exists then.
macro_rules! below {
    ($name:ident($($argument:expr),* $(,)?), $otherwise:expr) => {
        match TABLES.get().and_then(|tables| tables.below.$name) {
            // SAFETY: the arguments are the caller's, who keeps the rules of this function, or handles of living objects.
            Some(function) => unsafe { function($($argument),*) },
            None => $otherwise,
        }
    };
}

/// The program that takes the place of one for queries: the first adapted one, or itself.
fn queried(program: cl_program) -> cl_program {
    let adapted = programs().get(&program.addr()).and_then(|found| found.adapted.first().copied());
    adapted.map_or(program, std::ptr::with_exposed_provenance_mut)
}

/// Tells the loader what the layer is.
///
/// # Safety
/// Pointers are null, or valid for the sizes that are given.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "the loader finds it by this name")]
pub unsafe extern "C" fn clGetLayerInfo(
    name: cl_layer_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    let version = CL_LAYER_API_VERSION_100.to_ne_bytes();
    let answer: &[u8] = match name {
        CL_LAYER_API_VERSION => &version,
        CL_LAYER_NAME => b"oclave's compiler\0",
        _ => return CL_INVALID_VALUE,
    };
    if !value.is_null() {
        if size < answer.len() {
            return CL_INVALID_VALUE;
        }
        // SAFETY: the caller has room for `size` bytes there.
        unsafe { std::ptr::copy_nonoverlapping(answer.as_ptr(), value.cast(), answer.len()) };
    }
    if !size_ret.is_null() {
        // SAFETY: the caller has room for a size there.
        unsafe { size_ret.write(answer.len()) };
    }
    CL_SUCCESS
}

/// Gives the loader the layer's functions.
///
/// # Safety
/// `target` has `entries` functions; the other pointers are valid.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "the loader finds it by this name")]
pub unsafe extern "C" fn clInitLayer(
    entries: cl_uint,
    target: *const cl_icd_dispatch,
    entries_ret: *mut cl_uint,
    table_ret: *mut *const cl_icd_dispatch,
) -> cl_int {
    if target.is_null() || entries_ret.is_null() || table_ret.is_null() {
        return CL_INVALID_VALUE;
    }
    let tables = TABLES.get_or_init(|| {
        let bytes = (entries as usize * size_of::<usize>()).min(size_of::<cl_icd_dispatch>());
        // SAFETY: all fields are functions that may be absent (null), or numbers. `bytes` are within both tables.
        let below = unsafe {
            let mut below: cl_icd_dispatch = std::mem::zeroed();
            std::ptr::copy_nonoverlapping(target.cast::<u8>(), (&raw mut below).cast(), bytes);
            below
        };
        let own = cl_icd_dispatch {
            clCreateProgramWithSource: Some(create_program_with_source),
            clReleaseProgram: Some(release_program),
            clBuildProgram: Some(build_program),
            clCompileProgram: Some(compile_program),
            clLinkProgram: Some(link_program),
            clGetProgramInfo: Some(get_program_info),
            clGetProgramBuildInfo: Some(get_program_build_info),
            clCreateKernel: Some(create_kernel),
            clCreateKernelsInProgram: Some(create_kernels_in_program),
            ..below
        };
        Tables { below, own }
    });
    // SAFETY: the pointers are not null, and valid by the contract. The table is never freed.
    unsafe {
        entries_ret.write((size_of::<cl_icd_dispatch>() / size_of::<usize>()) as cl_uint);
        table_ret.write(&raw const tables.own);
    }
    CL_SUCCESS
}

unsafe extern "C" fn create_program_with_source(
    context: cl_context,
    count: cl_uint,
    strings: *mut *const c_char,
    lengths: *const usize,
    error: *mut cl_int,
) -> cl_program {
    let program = below!(clCreateProgramWithSource(context, count, strings, lengths, error), null_mut());
    if !program.is_null() {
        let mut source = Vec::new();
        for number in 0..count as usize {
            // SAFETY: the driver accepted `count` strings, and as many lengths if there are any. A length of zero means a zero at the end.
            let part = unsafe {
                let string = *strings.add(number);
                match if lengths.is_null() { 0 } else { *lengths.add(number) } {
                    0 => CStr::from_ptr(string).to_bytes(),
                    length => std::slice::from_raw_parts(string.cast(), length),
                }
            };
            source.extend_from_slice(part);
        }
        let source = String::from_utf8_lossy(&source).trim_end_matches('\0').to_owned();
        programs().insert(program.addr(), Program { source, adapted: Vec::new() });
    }
    program
}

unsafe extern "C" fn release_program(program: cl_program) -> cl_int {
    let mut references: cl_uint = 0;
    let size = size_of::<cl_uint>();
    let value = (&raw mut references).cast();
    let asked = below!(
        clGetProgramInfo(program, CL_PROGRAM_REFERENCE_COUNT, size, value, null_mut()),
        CL_INVALID_PROGRAM
    );
    // With kernels, the count may stay above one. Its entry then stays, until a new program has the handle.
    if asked == CL_SUCCESS && references == 1 {
        let gone = programs().remove(&program.addr());
        for adapted in gone.into_iter().flat_map(|program| program.adapted) {
            below!(clReleaseProgram(std::ptr::with_exposed_provenance_mut(adapted)), CL_INVALID_PROGRAM);
        }
    }
    below!(clReleaseProgram(program), CL_INVALID_PROGRAM)
}

/// The function of a caller that is told when a program is built.
type Notify = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;

/// Tells the caller, if it wants to know.
///
/// # Safety
/// `notify` takes a program and `data`.
unsafe fn tell(notify: Notify, program: cl_program, data: *mut c_void) {
    if let Some(notify) = notify {
        // SAFETY: by the contract.
        unsafe { notify(program, data) };
    }
}

unsafe extern "C" fn build_program(
    program: cl_program,
    count: cl_uint,
    devices: *const cl_device_id,
    options: *const c_char,
    notify: Notify,
    data: *mut c_void,
) -> cl_int {
    // SAFETY: null, or a string that ends with a zero.
    if unsafe { replace(program, options) } {
        // SAFETY: the caller passed both for this.
        unsafe { tell(notify, program, data) };
        return CL_SUCCESS;
    }
    below!(clBuildProgram(program, count, devices, options, notify, data), CL_INVALID_PROGRAM)
}

/// Compiles a program without headers as [`build_program`] builds one. The program that it is linked to alone is then that of the adapted module.
unsafe extern "C" fn compile_program(
    program: cl_program,
    count: cl_uint,
    devices: *const cl_device_id,
    options: *const c_char,
    headers: cl_uint,
    header_programs: *const cl_program,
    header_names: *mut *const c_char,
    notify: Notify,
    data: *mut c_void,
) -> cl_int {
    // SAFETY: null, or a string that ends with a zero.
    if headers == 0 && unsafe { replace(program, options) } {
        // SAFETY: the caller passed both for this.
        unsafe { tell(notify, program, data) };
        return CL_SUCCESS;
    }
    below!(
        clCompileProgram(
            program,
            count,
            devices,
            options,
            headers,
            header_programs,
            header_names,
            notify,
            data
        ),
        CL_INVALID_PROGRAM
    )
}

unsafe extern "C" fn link_program(
    context: cl_context,
    count: cl_uint,
    devices: *const cl_device_id,
    options: *const c_char,
    inputs: cl_uint,
    input_programs: *const cl_program,
    notify: Notify,
    data: *mut c_void,
    error: *mut cl_int,
) -> cl_program {
    if inputs == 1 && !input_programs.is_null() {
        // SAFETY: the caller passes one program.
        let input = unsafe { *input_programs };
        let linked = queried(input);
        if linked != input && below!(clRetainProgram(linked), CL_INVALID_PROGRAM) == CL_SUCCESS {
            if !error.is_null() {
                // SAFETY: the caller has room for an error there.
                unsafe { error.write(CL_SUCCESS) };
            }
            // SAFETY: the caller passed both for this.
            unsafe { tell(notify, linked, data) };
            return linked;
        }
    }
    below!(
        clLinkProgram(context, count, devices, options, inputs, input_programs, notify, data, error),
        null_mut()
    )
}

/// Replaces a program of source by its images, if they are there. Returns whether they are. In the other mode, it records the source.
///
/// # Safety
/// `options` is null, or a string that ends with a zero.
unsafe fn replace(program: cl_program, options: *const c_char) -> bool {
    let words = if options.is_null() {
        Vec::new()
    } else {
        // SAFETY: by the contract.
        options::words(&unsafe { CStr::from_ptr(options) }.to_string_lossy())
    };
    let source = programs().get(&program.addr()).map(|program| program.source.clone());
    let Some((source, mode)) = source.zip(Mode::of_environment()) else { return false };
    let key = key(&source, &words);
    match mode {
        Mode::Record(folder) => match record(&folder, &key, &source, &words) {
            Ok(()) => log(&format!("recorded {key}")),
            Err(error) => log(&format!("source {key} {}: {error}", folder.display())),
        },
        Mode::Images(folder) => match adapted(program, &folder.join(&key)) {
            Ok(adapted) => {
                log(&format!("adapted {key}"));
                if let Some(found) = programs().get_mut(&program.addr()) {
                    found.adapted = adapted;
                }
                return true;
            }
            Err(reason) => log(&format!("source {key} {}", reason.replace('\n', " "))),
        },
    }
    false
}

/// Programs of the adapted images in a folder, built for the first device of a program. Queries see the first of them, and kernels come from all.
fn adapted(program: cl_program, folder: &std::path::Path) -> Result<Vec<usize>, String> {
    let mut context: cl_context = null_mut();
    let mut devices: [cl_device_id; 64] = [null_mut(); 64];
    let size = size_of::<usize>();
    let told = below!(
        clGetProgramInfo(program, CL_PROGRAM_CONTEXT, size, (&raw mut context).cast(), null_mut()),
        CL_INVALID_PROGRAM
    );
    let sizes = size_of_val(&devices);
    let listed = below!(
        clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizes, (&raw mut devices).cast(), null_mut()),
        CL_INVALID_PROGRAM
    );
    if told != CL_SUCCESS || listed != CL_SUCCESS {
        return Err(format!("the program does not tell its context and devices: {told}, {listed}"));
    }
    // SAFETY: the device is one of the loader's, and lives as long as the program.
    let device = unsafe { DeviceHandle::retain(devices[0]) }.map_err(|error| format!("{error:#}"))?;
    let mut built = Vec::new();
    for words in adapt::modules(folder, device)? {
        let mut error = CL_SUCCESS;
        let bytes = size_of_val(words.as_slice());
        let made =
            below!(clCreateProgramWithIL(context, words.as_ptr().cast(), bytes, &raw mut error), null_mut());
        if made.is_null() {
            return Err(format!("clCreateProgramWithIL: {error}"));
        }
        let error = below!(
            clBuildProgram(made, 1, &raw const devices[0], null(), None, null_mut()),
            CL_INVALID_PROGRAM
        );
        if error != CL_SUCCESS {
            return Err(format!("clBuildProgram: {error}"));
        }
        built.push(made.expose_provenance());
    }
    Ok(built)
}

unsafe extern "C" fn get_program_info(
    program: cl_program,
    name: cl_program_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    // The source, the context and references are those of the program that was made of source.
    let is_of_code = matches!(
        name,
        CL_PROGRAM_BINARY_SIZES | CL_PROGRAM_BINARIES | CL_PROGRAM_NUM_KERNELS | CL_PROGRAM_KERNEL_NAMES
    );
    let program = if is_of_code { queried(program) } else { program };
    below!(clGetProgramInfo(program, name, size, value, size_ret), CL_INVALID_PROGRAM)
}

unsafe extern "C" fn get_program_build_info(
    program: cl_program,
    device: cl_device_id,
    name: cl_program_build_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    below!(clGetProgramBuildInfo(queried(program), device, name, size, value, size_ret), CL_INVALID_PROGRAM)
}

unsafe extern "C" fn create_kernel(
    program: cl_program,
    name: *const c_char,
    error: *mut cl_int,
) -> cl_kernel {
    let adapted = programs().get(&program.addr()).map(|program| program.adapted.clone()).unwrap_or_default();
    for one in adapted.iter().copied() {
        let kernel =
            below!(clCreateKernel(std::ptr::with_exposed_provenance_mut(one), name, error), null_mut());
        if !kernel.is_null() {
            return kernel;
        }
    }
    if !adapted.is_empty() {
        // The last of them has told the error.
        return null_mut();
    }
    below!(clCreateKernel(program, name, error), null_mut())
}

unsafe extern "C" fn create_kernels_in_program(
    program: cl_program,
    count: cl_uint,
    kernels: *mut cl_kernel,
    count_ret: *mut cl_uint,
) -> cl_int {
    below!(clCreateKernelsInProgram(queried(program), count, kernels, count_ret), CL_INVALID_PROGRAM)
}
