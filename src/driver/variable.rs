//! Program-scope variables of a built program: written by name where the platform has the functions, else by a kernel.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use super::kernel::Kernel;
use super::program::Program;
use super::queue::Queue;
use super::sys::CL_TRUE;
use super::usm::Span;
use crate::error::{Error, Result};

fn c_name(name: &str) -> Result<CString> {
    CString::new(name)
        .map_err(|_| Error::invalid(format!("the name `{}` has a NUL in it", name.escape_default())))
}

impl Program {
    /// Copies `bytes` to the start of the variable with linkage name `name`, and waits.
    pub(crate) fn write_variable(&self, queue: &Arc<Queue>, name: &str, bytes: &[u8]) -> Result<()> {
        let table = self.device().global_variable_access()?;
        let c_name = c_name(name)?;
        queue
            .submit_blocking(&[], |_, raw, wait| {
                // SAFETY: queue, program and events are alive; the driver checks name and bounds; `bytes` lives until the
                // command has ended.
                unsafe {
                    table.clEnqueueWriteGlobalVariableINTEL(
                        raw,
                        self.raw(),
                        c_name.as_ptr(),
                        CL_TRUE,
                        bytes.len(),
                        0,
                        bytes.as_ptr().cast::<c_void>(),
                        wait,
                        std::ptr::null_mut(),
                    )
                }
            })
            .map_err(|error| error.at(format!("program variable `{name}`")))
    }
}

impl Kernel {
    /// Gives a pointer argument a place in USM, for this and all launches to come. The caller keeps the memory.
    pub(crate) fn set_memory(&mut self, index: u32, memory: &Span<'_>) -> Result<()> {
        self.set_pointer(index, Some(*memory))
    }

    /// Runs one work-item with the arguments that are set, and waits.
    pub(crate) fn run_once(&mut self, queue: &Arc<Queue>) -> Result<()> {
        let one = 1usize;
        let event = queue.submit(&[], true, |api, raw, wait, event| {
            // SAFETY: queue, kernel and events are alive, sizes have one element. An argument that is not set is an error.
            unsafe {
                api.clEnqueueNDRangeKernel(
                    raw,
                    self.raw(),
                    1,
                    std::ptr::null(),
                    &one,
                    std::ptr::null(),
                    wait,
                    event,
                )
            }
        })?;
        event.wait()
    }
}
