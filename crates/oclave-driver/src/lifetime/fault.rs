//! What kernels say of themselves: a few words in memory that the host reads after waits, without a
//! call.
//!
//! A virtual call that reaches no function leaves its code and the number of its kernel there. A kernel in Rust that
//! panics leaves the values of its message, too.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::context::Context;
use crate::sync::Mutex;
use crate::{Device, Error, MemorySupport, Result};

/// Makes the error from what a kernel left.
pub(crate) type Explain = Box<dyn Fn(&FaultNote) -> Error + Send + Sync>;

/// What a kernel left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultNote {
    /// Of the call, or of the panic.
    pub code: u64,
    /// The number of the kernel; never 0.
    pub kernel: u64,
    /// Of the code, the kernel and the values, where there are any.
    pub checksum: u64,
    /// Those of the message of a panic. Values that it lacks are old.
    pub values: [u64; FaultNote::WORDS - 3],
}

impl FaultNote {
    /// The words in memory: code, kernel, checksum and values.
    pub const WORDS: usize = 7;
}

/// The words of the devices of a context.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether there are any. The fast path of waits.
    watching: AtomicBool,
    cells: Mutex<Vec<(Device, Cell)>>,
    explain: OnceLock<Explain>,
}

/// Host or shared memory with the words of a [`FaultNote`]. The number of the kernel is 0 where there is none.
#[derive(Clone, Copy)]
struct Cell {
    start: NonNull<u64>,
    /// The host only reaches them by copies.
    mapped: bool,
}

// SAFETY: the words are only read and written as atomics, or by copies; they live as long as the
// context.
unsafe impl Send for Cell {}

const WORDS: usize = FaultNote::WORDS;
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

    /// What a kernel left, if there is anything; it is gone then.
    fn take(self, context: &Context) -> Result<Option<FaultNote>> {
        let mut words = [0_u64; WORDS];
        if self.mapped {
            // SAFETY: the memory has as many bytes.
            unsafe { context.read_now(self.start.as_ptr().cast(), bytemuck::cast_slice_mut(&mut words)) }?;
            if words[1] != 0 {
                self.clear(context)?;
            }
        } else if self.word(1).load(Ordering::Acquire) != 0 {
            for (index, word) in words.iter_mut().enumerate() {
                *word = self.word(index).load(Ordering::Acquire);
            }
            // Another thread may have taken it.
            words[1] = self.word(1).swap(0, Ordering::AcqRel);
        }
        let [code, kernel, checksum, values @ ..] = words;
        Ok((kernel != 0).then_some(FaultNote { code, kernel, checksum, values }))
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
            (Some(note), Some(explain)) => Err(explain(&note)),
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
