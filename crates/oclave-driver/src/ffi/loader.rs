//! Finds and opens the OpenCL loader (`libOpenCL`) at run time, so that nothing of OpenCL is needed
//! to build or to start.
//!
//! The library stays loaded for the rest of the process. Drivers run threads and `atexit` handlers
//! of their own, and function pointers are kept in tables with no owner.

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::MakeError as _;
use crate::{Api, Error, ErrorKind, Result};

/// Environment variable with the path or name of the OpenCL library to load instead of the
/// system's.
pub(crate) const LIBRARY_VARIABLE: &str = "OCLAVE_OPENCL_LIBRARY";

/// The packages to install when there is no loader or no platform.
pub(crate) const INSTALL_HINT: &str = "install an OpenCL loader and a driver that takes SPIR-V: on Debian 13, Ubuntu 24.04 \
     and later `ocl-icd-libopencl1` with `pocl-opencl-icd`, for Intel CPUs also `pip install intel-opencl-rt`, for Intel GPUs \
     `intel-opencl-icd`";

#[cfg(windows)]
const NAMES: &[&str] = &["OpenCL.dll"];
#[cfg(target_vendor = "apple")]
const NAMES: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL", "libOpenCL.dylib"];
#[cfg(not(any(windows, target_vendor = "apple")))]
const NAMES: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

struct Loaded {
    api: Api,
    name: String,
    /// Never dropped: the static that holds it lives as long as the process.
    _library: Library,
}

/// The core functions. Loads the library on first use.
///
/// # Errors
/// [`ErrorKind::Platform`] when there is no library; it says what to install.
pub(crate) fn api() -> Result<&'static Api> {
    loaded().map(|loaded| &loaded.api)
}

/// The name under which the library was found.
pub(crate) fn library_name() -> Result<&'static str> {
    loaded().map(|loaded| loaded.name.as_str())
}

#[inline]
fn loaded() -> Result<&'static Loaded> {
    static LOADED: OnceLock<Result<Loaded, String>> = OnceLock::new();
    match LOADED.get_or_init(open_any) {
        Ok(loaded) => Ok(loaded),
        Err(reason) => Err(Error::new(ErrorKind::Platform, format!("no OpenCL loader: {reason}"))
            .remedy(format!("{INSTALL_HINT}; or set {LIBRARY_VARIABLE} to the library's path"))),
    }
}

fn open_any() -> Result<Loaded, String> {
    // An override that does not work must not be passed over in silence.
    if let Some(path) = std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()) {
        let path = path.to_string_lossy().into_owned();
        return open(&path).map_err(|error| format!("{LIBRARY_VARIABLE} is `{path}`: {error}"));
    }
    let mut reasons = Vec::new();
    for name in NAMES {
        match open(name) {
            Ok(loaded) => return Ok(loaded),
            Err(error) => reasons.push(error),
        }
    }
    Err(reasons.join("; "))
}

fn open(name: &str) -> Result<Loaded, String> {
    // SAFETY: loading runs the library's initialisers; an OpenCL loader's have no preconditions.
    let library = unsafe { Library::new(name) }.map_err(|error| {
        // The source has the dynamic linker's message.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    })?;
    let resolve = |symbol: &CStr| -> *const c_void {
        // SAFETY: the symbol is only read as an address here; the table gives it its type.
        match unsafe { library.get::<unsafe extern "C" fn()>(symbol.to_bytes_with_nul()) } {
            Ok(function) => *function as *const c_void,
            Err(_) => std::ptr::null(),
        }
    };
    // SAFETY: `resolve` gives the library's own symbols, and the library is never unloaded.
    let api = unsafe { Api::load(resolve) };
    if api.clGetPlatformIDs.is_none() {
        return Err(format!("`{name}` is not an OpenCL library: it has no clGetPlatformIDs"));
    }
    log::debug!("OpenCL loader `{name}`; functions that it lacks: {:?}", api.absent());
    Ok(Loaded { api, name: name.to_owned(), _library: library })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_table_is_filled_and_calls_arrive() {
        let Ok(api) = api() else {
            eprintln!("skipped: no OpenCL loader");
            return;
        };
        assert!(!api.absent().contains(&"clCreateKernel"), "{:?}", api.absent());
        let mut found = 0;
        // SAFETY: no entries are asked for, and `found` lives through the call.
        match unsafe { api.clGetPlatformIDs(0, std::ptr::null_mut(), &mut found) } {
            Ok(()) => assert!(found > 0),
            Err(error) => assert_eq!(error.call(), Some("clGetPlatformIDs")),
        }
    }

    /// `cargo test --release -p oclave --no-default-features -- --ignored overhead --nocapture`
    #[test]
    #[ignore = "a measurement"]
    fn overhead_of_a_call_through_the_table() {
        let Ok(api) = api() else {
            eprintln!("skipped: no OpenCL loader");
            return;
        };
        let direct = api.clGetPlatformIDs.unwrap();
        let mut found = 0;
        // SAFETY: no entries are asked for, and `found` lives through the call.
        if unsafe { api.clGetPlatformIDs(0, std::ptr::null_mut(), &mut found) }.is_err() {
            eprintln!("skipped: no platform; an error costs more than a call");
            return;
        }
        const CALLS: u32 = 2_000_000;
        let time = |call: &mut dyn FnMut()| {
            let best = (0..5).map(|_| {
                let start = std::time::Instant::now();
                (0..CALLS).for_each(|_| call());
                start.elapsed()
            });
            best.min().unwrap().as_secs_f64() * 1e9 / f64::from(CALLS)
        };
        let raw = time(&mut || {
            // SAFETY: no entries are asked for, and `found` lives through the call.
            let _ = std::hint::black_box(unsafe { direct(0, std::ptr::null_mut(), &mut found) });
        });
        let table = time(&mut || {
            // SAFETY: as above.
            let _ =
                std::hint::black_box(unsafe { api.clGetPlatformIDs(0, std::ptr::null_mut(), &mut found) });
        });
        println!("a direct call takes {raw:.2} ns, one through the table {table:.2} ns");
        assert!(table < raw + 100.0);
    }
}
