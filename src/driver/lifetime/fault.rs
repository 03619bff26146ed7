//! What kernels say of themselves: two words in memory that the host reads after waits, without a call.
//!
//! A virtual call that reaches no function leaves its code and the number of its kernel there.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::driver::Device;
use crate::driver::context::Context;
use crate::error::{Error, Result};

/// Makes the error from the code of the call and the number of the kernel.
pub(crate) type Explain = Box<dyn Fn(u64, u64) -> Error + Send + Sync>;

/// The words of the devices of a context.
#[derive(Default)]
pub(in crate::driver) struct Faults {
    /// Whether there are any. The fast path of waits.
    watching: AtomicBool,
    cells: Mutex<Vec<(Device, Cell)>>,
    explain: OnceLock<Explain>,
}

/// Host or shared USM of two words: the code, and the number of the kernel or 0.
#[derive(Clone, Copy)]
struct Cell(NonNull<u64>);

// SAFETY: the words are only read and written as atomics by the host; they live as long as the context.
unsafe impl Send for Cell {}

const WORDS: usize = 2;

impl Cell {
    fn word(self, index: usize) -> &'static AtomicU64 {
        // SAFETY: the memory has `WORDS` aligned words, is never accessed otherwise by the host, and is freed by the
        // context's `Drop` only; no caller keeps the reference.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(index.min(WORDS - 1))) }
    }
}

impl Faults {
    fn cells(&self) -> std::sync::MutexGuard<'_, Vec<(Device, Cell)>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// Whether the words of a device can lie where the host reads them.
    pub(crate) fn can_watch(&self, device: &Device) -> bool {
        self.usm().is_ok() && device.capabilities().usm.as_ref().is_some_and(|usm| usm.host || usm.shared)
    }

    /// Where kernels of a device leave their words; from now on waits look there.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn watch(&self, device: &Device) -> Result<u64> {
        let mut cells = self.faults().cells();
        if let Some((_, cell)) = cells.iter().find(|(of, _)| of == device) {
            return Ok(cell.0.addr().get() as u64);
        }
        let usm = self.usm()?;
        let size_bytes = WORDS * size_of::<u64>();
        let on_host = device.capabilities().usm.as_ref().is_some_and(|usm| usm.host);
        // SAFETY: context and device are alive; no properties are given.
        let start = unsafe {
            if on_host {
                usm.clHostMemAllocINTEL(self.raw(), std::ptr::null(), size_bytes, 0)
            } else {
                usm.clSharedMemAllocINTEL(self.raw(), device.id(), std::ptr::null(), size_bytes, 0)
            }
        }?;
        let start = NonNull::new(start.cast::<u64>())
            .ok_or_else(|| Error::invalid("the driver gave no memory for the words of faults"))?;
        let cell = Cell(start);
        (0..WORDS).for_each(|index| cell.word(index).store(0, Ordering::Relaxed));
        cells.push((device.clone(), cell));
        self.faults().watching.store(true, Ordering::Release);
        Ok(start.addr().get() as u64)
    }

    /// Who makes errors of what kernels left; the first one counts.
    pub(crate) fn explain_faults(&self, explain: Explain) {
        let _ = self.faults().explain.set(explain);
    }

    /// The error that a kernel of the device left, once.
    #[inline]
    pub(in crate::driver) fn check_faults(&self, device: &Device) -> Result<()> {
        if self.faults().watching.load(Ordering::Acquire) { self.take_fault(device) } else { Ok(()) }
    }

    fn take_fault(&self, device: &Device) -> Result<()> {
        let cell = self.faults().cells().iter().find(|(of, _)| of == device).map(|(_, cell)| *cell);
        let Some(cell) = cell.filter(|cell| cell.word(1).load(Ordering::Acquire) != 0) else { return Ok(()) };
        match (cell.word(1).swap(0, Ordering::AcqRel), self.faults().explain.get()) {
            (0, _) | (_, None) => Ok(()),
            (kernel, Some(explain)) => Err(explain(cell.word(0).load(Ordering::Acquire), kernel)),
        }
    }

    /// Frees the words; for the context's `Drop`, while the slots still know the commands of queues that are gone: kernels
    /// hold the address of the words, and the driver does not know that they do.
    pub(in crate::driver) fn stop_watching(&self) {
        let Ok(usm) = self.usm() else { return };
        let cells = std::mem::take(&mut *self.faults().cells());
        if cells.is_empty() {
            return;
        }
        if let Err(error) = self.slots().finish(u64::MAX) {
            log::error!("the words of faults are given up, as kernels may still write them: {error}");
            return;
        }
        for (_, cell) in cells {
            // SAFETY: the memory is the context's own. All queues are gone, and their last commands have ended.
            if let Err(error) = unsafe { usm.clMemBlockingFreeINTEL(self.raw(), cell.0.as_ptr().cast()) } {
                log::error!("the words of faults were not freed: {error:#}");
            }
        }
    }
}
