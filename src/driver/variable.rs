//! Program-scope variables of a built program: written by name where the platform has the functions, else by a kernel.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use super::kernel::Kernel;
use super::program::Program;
use super::queue::Queue;
use super::sys::{CL_FALSE, CL_TRUE, cl_bool};
use super::usm::Span;
use crate::error::{Error, Result};

const fn blocking_flag(blocking: bool) -> cl_bool {
    if blocking { CL_TRUE } else { CL_FALSE }
}

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
            .submit_blocking(&[], |_, raw, blocking, wait, event| {
                // SAFETY: queue, program and events are alive; the driver checks name and bounds; `bytes` lives until the
                // command has ended.
                unsafe {
                    table.clEnqueueWriteGlobalVariableINTEL(
                        raw,
                        self.raw(),
                        c_name.as_ptr(),
                        blocking_flag(blocking),
                        bytes.len(),
                        0,
                        bytes.as_ptr().cast::<c_void>(),
                        wait,
                        event,
                    )
                }
            })
            .map_err(|error| error.at(format!("program variable `{name}`")))
    }
}

impl Kernel {
    /// Gives a pointer argument a place in USM, for this and all launches to come. The caller keeps the memory.
    pub(crate) fn set_memory(&mut self, index: u32, memory: &Span<'_>) -> Result<()> {
        self.set_pointer(index, memory.address())
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
