//! What kernels print: a ring of records for each device, which the host empties after waits.
//!
//! The layout is [`PrintBuffer`]'s. A record's first word is written last, so that a word that is
//! not 0 means a whole record, also while kernels run.

use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use oclave_image::passes::printf::PrintBuffer;

use crate::Device;
use crate::MakeError as _;
use crate::context::Context;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Result};

/// What a device printed since the last look.
#[derive(Debug)]
pub struct PrintBatch {
    /// Records, one behind the other, in the order in which kernels began them.
    pub records: Vec<u32>,
    /// How many more found no place.
    pub lost: u32,
}

/// Takes the output of kernels.
pub(crate) type TakePrints = Box<dyn Fn(&PrintBatch) + Send + Sync>;

/// The rings of the devices of a context.
#[derive(Default)]
pub(crate) struct Prints {
    /// Whether there are any. The fast path of waits.
    watching: AtomicBool,
    rings: Mutex<Vec<(Device, Ring)>>,
    take: OnceLock<TakePrints>,
    /// What was found and not handed over yet.
    found: Mutex<VecDeque<PrintBatch>>,
    /// Whether a thread hands over. Only one does, to keep the order.
    handing_over: AtomicBool,
}

struct Ring {
    start: NonNull<u32>,
    /// The host only reaches it by copies.
    mapped: bool,
    tail: u32,
    lost: u32,
}

// SAFETY: the words are only read and written as atomics, or by copies; they live as long as the
// context.
unsafe impl Send for Ring {}

const WORD: usize = size_of::<u32>();
/// The rings, in messages.
const WHAT: &str = "what kernels print";

impl Ring {
    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: the memory is not mapped and has `WORDS` aligned words. The host accesses it in
        // no other way, and only the context's `Drop` frees it.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(index.min(PrintBuffer::WORDS - 1))) }
    }

    fn read(&self, context: &Context, range: Range<usize>) -> Result<Vec<u32>> {
        if !self.mapped {
            return Ok(range.map(|index| self.word(index).load(Ordering::Acquire)).collect());
        }
        let mut words = vec![0_u32; range.len()];
        let at = self.start.as_ptr().wrapping_add(range.start);
        // SAFETY: ranges are within the memory.
        unsafe { context.read_now(at.cast_const().cast(), bytemuck::cast_slice_mut(&mut words)) }?;
        Ok(words)
    }

    fn write(&self, context: &Context, at: usize, words: &[u32]) -> Result<()> {
        if !self.mapped {
            for (index, word) in (at..).zip(words) {
                self.word(index).store(*word, Ordering::Release);
            }
            return Ok(());
        }
        let to = self.start.as_ptr().wrapping_add(at);
        // SAFETY: the words are within the memory, and no kernel writes there until `TAIL` says so.
        unsafe { context.write_now(to.cast(), bytemuck::cast_slice(words)) }
    }

    /// Takes the records that are there.
    fn take(&mut self, context: &Context) -> Result<PrintBatch> {
        let counts = self.read(context, 0..PrintBuffer::RING)?;
        let count = |at: usize| counts.get(at).copied().unwrap_or(0);
        let lost = count(PrintBuffer::LOST).wrapping_sub(self.lost);
        self.lost = self.lost.wrapping_add(lost);
        let mut batch = PrintBatch { records: Vec::new(), lost };
        let used = count(PrintBuffer::HEAD).wrapping_sub(self.tail) as usize;
        if used == 0 {
            return Ok(batch);
        }
        let first = self.tail as usize % PrintBuffer::RING_WORDS;
        let end = first.saturating_add(used);
        let range = match end <= PrintBuffer::RING_WORDS {
            true => first..end,
            false => 0..PrintBuffer::RING_WORDS + PrintBuffer::LONGEST,
        };
        let offset = range.start;
        let ring = self.read(context, range.start + PrintBuffer::RING..range.end + PrintBuffer::RING)?;
        let mut taken: Vec<Range<usize>> = Vec::new();
        let mut done = 0;
        while done < used {
            let at = first.wrapping_add(done) % PrintBuffer::RING_WORDS;
            let header = at.checked_sub(offset).and_then(|at| ring.get(at)).copied().unwrap_or(0);
            if header == 0 {
                break;
            }
            let (_, words) = PrintBuffer::parts(header);
            let fits = (PrintBuffer::RECORD_HEADER..=used - done).contains(&words);
            let Some(record) = ring.get(at - offset..at - offset + words).filter(|_| fits) else {
                self.start_again(context, count(PrintBuffer::HEAD))?;
                return Err(Error::invalid("the buffer of printf has no records: a kernel wrote over it"));
            };
            batch.records.extend_from_slice(record);
            match taken.last_mut() {
                Some(last) if last.end == at => last.end += words,
                _ => taken.push(at..at + words),
            }
            done += words;
        }
        for range in taken {
            self.write(context, PrintBuffer::RING + range.start, &vec![0; range.len()])?;
        }
        self.give_back(context, self.tail.wrapping_add(done as u32))?;
        Ok(batch)
    }

    fn give_back(&mut self, context: &Context, tail: u32) -> Result<()> {
        self.tail = tail;
        self.write(context, PrintBuffer::TAIL, &[tail])
    }

    /// Empties the ring.
    fn start_again(&mut self, context: &Context, head: u32) -> Result<()> {
        let zeros = vec![0; PrintBuffer::RING_WORDS + PrintBuffer::LONGEST];
        self.write(context, PrintBuffer::RING, &zeros)?;
        self.give_back(context, head)
    }
}

impl Prints {
    fn rings(&self) -> MutexGuard<'_, Vec<(Device, Ring)>> {
        self.rings.lock()
    }

    fn found(&self) -> MutexGuard<'_, VecDeque<PrintBatch>> {
        self.found.lock()
    }

    /// Hands over what was found. Not under a lock: the program may do anything then, also wait.
    fn hand_over(&self) {
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Release);
            }
        }
        let Some(take) = self.take.get() else { return };
        while !self.found().is_empty() {
            if self.handing_over.swap(true, Ordering::AcqRel) {
                return;
            }
            let _done = Done(&self.handing_over);
            loop {
                let Some(batch) = self.found().pop_front() else { break };
                take(&batch);
            }
        }
    }
}

impl Context {
    /// Where kernels of a device write what they print; from now on waits look there.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn prints(&self, device: &Device) -> Result<u64> {
        let mut rings = self.printing().rings();
        if let Some((_, ring)) = rings.iter().find(|(of, _)| of == device) {
            return Ok(ring.start.addr().get() as u64);
        }
        let mapped = self.watches_by_copies()?;
        let start = self.allocate_watched(device, PrintBuffer::WORDS * WORD, WHAT)?;
        let ring = Ring { start: start.cast(), mapped, tail: 0, lost: 0 };
        if let Err(error) = ring.write(self, 0, &vec![0; PrintBuffer::WORDS]) {
            self.free_ring(&ring);
            return Err(error);
        }
        rings.push((device.clone(), ring));
        self.printing().watching.store(true, Ordering::Release);
        Ok(start.addr().get() as u64)
    }

    /// Who takes what kernels print; the first one counts.
    pub fn take_prints(&self, take: TakePrints) {
        let _ = self.printing().take.set(take);
    }

    /// Hands over what kernels of the device printed.
    #[inline]
    pub(crate) fn look_for_prints(&self, device: &Device) {
        if self.printing().watching.load(Ordering::Acquire) {
            self.find_prints(|of| of == device);
            self.printing().hand_over();
        }
    }

    fn find_prints(&self, is_wanted: impl Fn(&Device) -> bool) {
        let mut rings = self.printing().rings();
        for (_, ring) in rings.iter_mut().filter(|(of, _)| is_wanted(of)) {
            match ring.take(self) {
                Ok(batch) if batch.records.is_empty() && batch.lost == 0 => {}
                Ok(batch) => self.printing().found().push_back(batch),
                Err(error) => self.keep_error(error.at("reading what kernels printed")),
            }
        }
    }

    /// Hands over the rest, and frees the rings; for the context's `Drop`, before
    /// [`Context::stop_watching`].
    pub(crate) fn stop_printing(&self) {
        if self.printing().rings().is_empty() {
            return;
        }
        if let Err(error) = self.queue_bits().finish(u64::MAX) {
            log::error!("what kernels printed is given up, as they may still print: {error}");
            self.printing().rings().drain(..).for_each(std::mem::forget);
            return;
        }
        self.find_prints(|_| true);
        self.printing().hand_over();
        self.printing().rings().drain(..).for_each(|(_, ring)| self.free_ring(&ring));
    }

    fn free_ring(&self, ring: &Ring) {
        // SAFETY: the memory is the context's own, and its commands have ended.
        unsafe { self.free_watched(ring.start.cast(), WHAT) };
    }
}
