//! Memory that kernels write and the host reads after waits, without a command: for
//! [faults](super::fault) and for [what kernels print](super::prints).

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::Device;
use crate::MakeError as _;
use crate::context::Context;
use crate::usm::Kind;
use crate::{Error, Result};

impl Context {
    /// Host memory for kernels of a device, or shared memory where there is none. The context keeps
    /// it until its `Drop`. `what` names it in errors.
    pub(super) fn allocate_watched(
        &self,
        device: &Device,
        size_bytes: usize,
        what: &str,
    ) -> Result<NonNull<c_void>> {
        let pointers = self.pointers()?;
        let (kind, id) = match pointers.support().host {
            true => (Kind::Host, std::ptr::null_mut()),
            false => (Kind::Shared, device.id()),
        };
        // SAFETY: context and device are alive.
        let start = unsafe { pointers.allocate(self.raw(), id, kind, size_bytes, 0) }?;
        start.ok_or_else(|| Error::invalid(format!("the driver gave no memory for {what}")))
    }

    /// Whether the host only reaches such memory by copies.
    pub(super) fn watches_by_copies(&self) -> Result<bool> {
        Ok(self.pointers()?.support().mapped)
    }

    /// Frees such memory; a failure is logged.
    ///
    /// # Safety
    /// It came from [`Context::allocate_watched`], and the commands that write it have ended.
    pub(super) unsafe fn free_watched(&self, start: NonNull<c_void>, what: &str) {
        // SAFETY: the caller's promise.
        let freed = self.pointers().and_then(|pointers| unsafe { pointers.free_blocking(self.raw(), start) });
        if let Err(error) = freed {
            log::error!("the memory for {what} was not freed: {error:#}");
        }
    }
}
