//! Program-scope variables of a built program: found and written by name where the platform has the
//! functions, else by a kernel.

use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use super::kernel::Kernel;
use super::program::Program;
use super::queue::Queue;
use crate::MakeError as _;
use crate::sys::{CL_FALSE, CL_TRUE, cl_bool, cl_event};
use crate::usm::{Allocation, Span};
use crate::{Error, ErrorKind, Result};

/// A pointer variable of a program and what it shall hold.
struct Pointer {
    name: CString,
    /// As the device has it, in the first bytes.
    value: [u8; 8],
}

fn c_name(name: &str) -> Result<CString> {
    CString::new(name)
        .map_err(|_| Error::invalid(format!("the name `{}` has a NUL in it", name.escape_default())))
}

impl Program {
    /// Sets pointer variables, given by linkage name, each to an address of `pointer_bytes` bytes
    /// at most 8, and waits.
    pub fn write_pointers<'a>(
        self: &Arc<Self>,
        queue: &Arc<Queue>,
        pointers: impl Iterator<Item = (&'a str, u64)>,
        pointer_bytes: usize,
    ) -> Result<()> {
        let table = self.device().global_variable_access()?;
        // The low half comes first: the library refuses big-endian devices and does not run on such
        // hosts.
        let pointers: Vec<Pointer> = pointers
            .map(|(name, address)| Ok(Pointer { name: c_name(name)?, value: address.to_le_bytes() }))
            .collect::<Result<_>>()?;
        let pointer_bytes = pointer_bytes.min(size_of::<u64>());
        // The queue is in order: when the last has ended, all have.
        let (last, others) = match pointers.split_last() {
            Some(split) => split,
            None => return Ok(()),
        };
        let write = |pointer: &Pointer, blocking: cl_bool, raw, wait: &[cl_event], event| {
            // SAFETY: queue, program and events are alive, and the driver checks name and bounds.
            // The value lives until the command has ended: below, this function waits or gives the
            // values up.
            unsafe {
                table.clEnqueueWriteGlobalVariableINTEL(
                    raw,
                    self.raw(),
                    pointer.name.as_ptr(),
                    blocking,
                    pointer_bytes,
                    0,
                    pointer.value.as_ptr().cast::<c_void>(),
                    wait,
                    event,
                )
            }
            .map_err(|error| error.at(format!("program variable `{}`", pointer.name.to_string_lossy())))
        };
        let written = others
            .iter()
            .try_for_each(|pointer| {
                let submit = |_: &_, raw, wait: &[_], event| write(pointer, CL_FALSE, raw, wait, event);
                queue.submit(&[], false, submit).map(drop)
            })
            .and_then(|()| {
                let submit = |_: &_, raw, wait: &[_]| write(last, CL_TRUE, raw, wait, std::ptr::null_mut());
                queue.submit_blocking(&[], submit)
            });
        if written.is_err() && queue.finish().is_err() {
            // Nobody knows whether the writes have ended.
            log::error!(
                "values of program variables are given up: the driver does not say whether they were written"
            );
            std::mem::forget((pointers, Arc::clone(self)));
        }
        written
    }

    /// The variable with linkage name `name`, as memory.
    pub fn variable(self: &Arc<Self>, name: &str, size_bytes: usize) -> Result<Arc<Allocation>> {
        let table = self.device().global_variable_access()?;
        let c_name = c_name(name)?;
        let (mut size, mut address) = (0usize, std::ptr::null_mut());
        // SAFETY: device and program are alive, the name ends in NUL, both results live through the
        // call.
        unsafe {
            table.clGetDeviceGlobalVariablePointerINTEL(
                self.device().id(),
                self.raw(),
                c_name.as_ptr(),
                &mut size,
                &mut address,
            )
        }?;
        if size < size_bytes {
            return Err(Error::new(
                ErrorKind::Image,
                format!("the driver knows {size} bytes of it, the image says {size_bytes}"),
            )
            .remedy("rebuild the image"));
        }
        self.variable_at(address.addr() as u64, size_bytes)
    }

    /// A variable whose address a kernel of the program gave, as memory.
    pub fn variable_at(self: &Arc<Self>, address: u64, size_bytes: usize) -> Result<Arc<Allocation>> {
        let start = usize::try_from(address).ok().map(std::ptr::without_provenance_mut::<c_void>);
        match start.and_then(NonNull::new) {
            Some(start) => Ok(Allocation::of_program(self, start, size_bytes)),
            None => Err(Error::new(ErrorKind::Runtime, format!("the driver gives the address {address:#x}"))),
        }
    }
}

impl Kernel {
    /// Gives a pointer argument a place in USM, for this and all launches to come. The caller keeps
    /// the memory.
    pub fn set_memory(&mut self, index: u32, memory: &Span<'_>) -> Result<()> {
        self.set_pointer(index, Some(*memory))
    }

    /// Runs one work-item with the arguments that are set, and waits.
    pub fn run_once(&mut self, queue: &Arc<Queue>) -> Result<()> {
        let one = 1usize;
        let (no_offset, no_group) = (std::ptr::null(), std::ptr::null());
        let event = queue.submit(&[], true, |api, raw, wait, event| {
            // SAFETY: queue, kernel and events are alive, sizes have one element. An argument that
            // is not set is an error.
            self.with_memory(|kernel| unsafe {
                api.clEnqueueNDRangeKernel(raw, kernel.raw(), 1, no_offset, &one, no_group, wait, event)
            })
        })?;
        event.wait()
    }
}
