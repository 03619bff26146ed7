//! Program objects: made from SPIR-V or from a binary, built for one device.

use oclave_faults::Fault;
use std::ffi::{CStr, c_uchar, c_void};
use std::sync::Arc;

use super::context::Context;
use crate::MakeError as _;
use crate::deferred_free::DeferredResource;
use crate::sync::Mutex;
use crate::sys::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BUILD_LOG, CL_PROGRAM_KERNEL_NAMES, cl_int,
    cl_program,
};
use crate::{Api, Device, Error, ErrorKind, Result, exit, info};

/// A `cl_program` for one device of a context. Owns one reference.
#[derive(Debug)]
pub struct Program {
    raw: cl_program,
    device: Device,
    context: Arc<Context>,
}

// SAFETY: OpenCL's functions on programs are thread-safe (specification, appendix A.2); the handle
// is only read.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

impl Program {
    /// A program from SPIR-V, not built yet. The words must have passed `oclave_spirv::check`: drivers
    /// crash on others.
    pub fn from_spirv(context: &Arc<Context>, device: &Device, words: &[u32]) -> Result<Self> {
        let il: &[u8] = bytemuck::cast_slice(words);
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = context.driver_faults().has(Fault::Q2).then(|| ONE_AT_A_TIME.lock());
        // SAFETY: the context is alive, and `il` points to as many bytes as said, which the driver
        // copies.
        let raw = unsafe {
            context.api().clCreateProgramWithIL(context.raw(), il.as_ptr().cast::<c_void>(), il.len())
        }?;
        Ok(Self { raw, device: device.clone(), context: Arc::clone(context) })
    }

    /// A program from what [`Program::binary`] gave on the same device and driver; it still wants a
    /// build.
    pub fn from_binary(context: &Arc<Context>, device: &Device, binary: &[u8]) -> Result<Self> {
        let mut status: cl_int = 0;
        let (length, start): (usize, *const c_uchar) = (binary.len(), binary.as_ptr());
        // SAFETY: the context and the device are alive; length, start and status live through the
        // call, one of each for the one device.
        let raw = unsafe {
            context.api().clCreateProgramWithBinary(
                context.raw(),
                &[device.id()],
                &length,
                &start,
                &mut status,
            )
        }?;
        let program = Self { raw, device: device.clone(), context: Arc::clone(context) };
        match status {
            0 => Ok(program),
            code => Err(Error::cl("clCreateProgramWithBinary", code)),
        }
    }

    /// Sets a specialization constant; before the build only.
    pub fn set_spec_constant(&self, id: u32, value: &[u8]) -> Result<()> {
        // SAFETY: the program is alive, `value` points to as many bytes as said.
        unsafe {
            self.api().clSetProgramSpecializationConstant(
                self.raw,
                id,
                value.len(),
                value.as_ptr().cast::<c_void>(),
            )
        }
    }

    /// Compiles and links.
    ///
    /// # Errors
    /// With the driver's build log.
    pub fn build(&self, options: &CStr) -> Result<()> {
        // SAFETY: program and device are alive, the options end in NUL; without a callback the call
        // returns when done.
        unsafe {
            self.api().clBuildProgram(
                self.raw,
                &[self.device.id()],
                options.as_ptr(),
                None,
                std::ptr::null_mut(),
            )
        }
        .map_err(|error| error.with_build_log(self.build_log().unwrap_or_default()))?;
        // The compiler may have been loaded just now.
        exit::register();
        Ok(())
    }

    fn api(&self) -> &'static Api {
        self.context.api()
    }

    fn build_log(&self) -> Result<String> {
        let api = self.api();
        info::string(|size, value, ret| {
            // SAFETY: program and device are alive; `value` has room for `size` bytes.
            unsafe {
                api.clGetProgramBuildInfo(self.raw, self.device.id(), CL_PROGRAM_BUILD_LOG, size, value, ret)
            }
        })
    }

    /// The names of the kernels of a built program, with a semicolon between each two.
    pub fn kernel_names(&self) -> Result<String> {
        let api = self.api();
        info::string(|size, value, ret| {
            // SAFETY: the program is alive; `value` has room for `size` bytes.
            unsafe { api.clGetProgramInfo(self.raw, CL_PROGRAM_KERNEL_NAMES, size, value, ret) }
        })
    }

    /// The device binary of a built program.
    pub fn binary(&self) -> Result<Vec<u8>> {
        let api = self.api();
        // A program has a binary for each device of its context, built for it or not, in the order
        // of its device list.
        let sizes: Vec<usize> = info::list(|size, value, ret| {
            // SAFETY: the program is alive; `value` has room for `size` bytes.
            unsafe { api.clGetProgramInfo(self.raw, CL_PROGRAM_BINARY_SIZES, size, value, ret) }
        })?;
        let mut binaries: Vec<Vec<u8>> = sizes.iter().map(|size| info::room(*size)).collect::<Result<_>>()?;
        // A null pointer makes the driver pass a device over.
        let mut starts: Vec<*mut c_uchar> = binaries
            .iter_mut()
            .map(|binary| if binary.is_empty() { std::ptr::null_mut() } else { binary.as_mut_ptr() })
            .collect();
        // SAFETY: the program is alive; each pointer is null or has room for the size that the
        // driver gave for it.
        unsafe {
            api.clGetProgramInfo(
                self.raw,
                CL_PROGRAM_BINARIES,
                size_of_val(starts.as_slice()),
                starts.as_mut_ptr().cast::<c_void>(),
                std::ptr::null_mut(),
            )
        }?;
        // Only this program's one device was built for.
        binaries.into_iter().find(|binary| !binary.is_empty()).ok_or_else(|| {
            Error::new(ErrorKind::Runtime, "the driver gives no binary for a program that it built")
        })
    }

    /// A reference that commands on the program's variables keep.
    pub(crate) fn keep(&self) -> Result<DeferredResource> {
        // SAFETY: the program is alive.
        unsafe { self.api().clRetainProgram(self.raw) }?;
        Ok(DeferredResource::Program(self.raw))
    }

    pub(crate) fn raw(&self) -> cl_program {
        self.raw
    }

    /// The device that it is built for.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.device
    }

    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the reference is this object's own.
        if let Err(error) = unsafe { self.api().clReleaseProgram(self.raw) } {
            self.context.keep_error(error.at("dropping a program"));
        }
    }
}
