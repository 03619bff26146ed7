//! What kernels say of themselves: two words in memory that the host reads after waits, without a
//! call.
//!
//! A virtual call that reaches no function leaves its code and the number of its kernel there.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::context::Context;
use crate::sync::Mutex;
use crate::{Device, Error, MemorySupport, Result};

/// Makes the error from the code of the call and the number of the kernel.
pub(crate) type Explain = Box<dyn Fn(u64, u64) -> Error + Send + Sync>;

/// The words of the devices of a context.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether there are any. The fast path of waits.
    watching: AtomicBool,
    cells: Mutex<Vec<(Device, Cell)>>,
    explain: OnceLock<Explain>,
}

/// Host or shared memory of two words: the code, and the number of the kernel or 0.
#[derive(Clone, Copy)]
struct Cell {
    start: NonNull<u64>,
    /// The host only reaches them by copies.
    mapped: bool,
}

// SAFETY: the words are only read and written as atomics, or by copies; they live as long as the
// context.
unsafe impl Send for Cell {}

const WORDS: usize = 2;
/// The words, in messages.
const WHAT: &str = "the words of faults";

impl Cell {
    fn word(self, index: usize) -> &'static AtomicU64 {
        // SAFETY: the memory is not mapped and has `WORDS` aligned words. The host never accesses
        // it otherwise, only the context's `Drop` frees it, and no caller keeps the reference.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(index.min(WORDS - 1))) }
    }

    /// Sets the words to 0.
    fn clear(self, context: &Context) -> Result<()> {
        if self.mapped {
            // SAFETY: the memory has as many bytes. A kernel that writes them at the same time is
            // one that fails anyway.
            return unsafe { context.write_now(self.start.as_ptr().cast(), &[0; WORDS * size_of::<u64>()]) };
        }
        (0..WORDS).for_each(|index| self.word(index).store(0, Ordering::Relaxed));
        Ok(())
    }

    /// The code and the kernel's number, if there are any; they are gone then.
    fn take(self, context: &Context) -> Result<Option<(u64, u64)>> {
        if !self.mapped {
            if self.word(1).load(Ordering::Acquire) == 0 {
                return Ok(None);
            }
            let kernel = self.word(1).swap(0, Ordering::AcqRel);
            return Ok((kernel != 0).then(|| (self.word(0).load(Ordering::Acquire), kernel)));
        }
        let mut words = [0_u64; WORDS];
        // SAFETY: the memory has as many bytes.
        unsafe { context.read_now(self.start.as_ptr().cast(), bytemuck::cast_slice_mut(&mut words)) }?;
        match words {
            [_, 0] => Ok(None),
            [code, kernel] => self.clear(context).map(|()| Some((code, kernel))),
        }
    }
}

impl Faults {
    fn cells(&self) -> crate::sync::MutexGuard<'_, Vec<(Device, Cell)>> {
        self.cells.lock()
    }
}

impl Context {
    /// Whether the words of a device can lie where the host reads them.
    pub fn can_watch(&self, device: &Device) -> bool {
        let has = |support: &MemorySupport| support.host || support.shared;
        self.pointers().is_ok() && device.capabilities().memory().as_ref().is_some_and(has)
    }

    /// Where kernels of a device leave their words; from now on waits look there.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn watch(&self, device: &Device) -> Result<u64> {
        let mut cells = self.faults().cells();
        if let Some((_, cell)) = cells.iter().find(|(of, _)| of == device) {
            return Ok(cell.start.addr().get() as u64);
        }
        let mapped = self.watches_by_copies()?;
        let start = self.allocate_watched(device, WORDS * size_of::<u64>(), WHAT)?;
        let cell = Cell { start: start.cast(), mapped };
        cell.clear(self).inspect_err(|_| self.give_up(cell))?;
        cells.push((device.clone(), cell));
        self.faults().watching.store(true, Ordering::Release);
        Ok(start.addr().get() as u64)
    }

    /// Who makes errors of what kernels left; the first one counts.
    pub fn explain_faults(&self, explain: Explain) {
        let _ = self.faults().explain.set(explain);
    }

    /// The error that a kernel of the device left, once.
    #[inline]
    pub(crate) fn check_faults(&self, device: &Device) -> Result<()> {
        if self.faults().watching.load(Ordering::Acquire) { self.take_fault(device) } else { Ok(()) }
    }

    fn take_fault(&self, device: &Device) -> Result<()> {
        let cell = self.faults().cells().iter().find(|(of, _)| of == device).map(|(_, cell)| *cell);
        let Some(cell) = cell else { return Ok(()) };
        match (cell.take(self)?, self.faults().explain.get()) {
            (None, _) | (_, None) => Ok(()),
            (Some((code, kernel)), Some(explain)) => Err(explain(code, kernel)),
        }
    }

    fn give_up(&self, cell: Cell) {
        // SAFETY: the memory is the context's own, and its commands have ended.
        unsafe { self.free_watched(cell.start.cast(), WHAT) };
    }

    /// Frees the words. The context's `Drop` calls this while the slots still know the commands of
    /// queues that are gone. Kernels hold the address of the words, and the driver does not know
    /// that they do.
    pub(crate) fn stop_watching(&self) {
        let cells = std::mem::take(&mut *self.faults().cells());
        if cells.is_empty() {
            return;
        }
        if let Err(error) = self.queue_bits().finish(u64::MAX) {
            log::error!("the words of faults are given up, as kernels may still write them: {error}");
            return;
        }
        // All queues are gone, and their last commands have ended.
        cells.into_iter().for_each(|(_, cell)| self.give_up(cell));
    }
}
