//! Which queues may still use a piece of memory: one bit for each slot, one slot for each queue of
//! a context.
//!
//! Up to 64 queues have a slot of their own; more share. If a queue is dropped while its commands
//! run, a marker's event stays in its slot. So the memory of these commands is still not freed too
//! early.

use std::sync::Arc;

use crate::MakeError as _;
use crate::event::RawEvent;
use crate::queue::QueueCore;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, ErrorKind, Result};

/// Bits of a mask.
const SLOTS: usize = u64::BITS as usize;

/// What a slot knows of one queue.
enum Entry {
    Open(Arc<QueueCore>),
    /// The queue is gone; the event is complete when its commands are.
    Closed(RawEvent),
    /// The queue is gone, and the driver does not say whether its commands have ended.
    Lost,
}

/// The queues of a context, by slot.
#[derive(Default)]
pub(crate) struct QueueBits(Mutex<Vec<Vec<Entry>>>);

/// How a queue left.
pub(crate) enum Left {
    Idle,
    Running(RawEvent),
    Unknown,
}

impl QueueBits {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<Entry>>> {
        self.0.lock()
    }

    /// Enters a queue, in the slot with the fewest.
    pub(crate) fn open(&self, core: impl FnOnce(u32) -> Arc<QueueCore>) -> Arc<QueueCore> {
        let mut slots = self.lock();
        for entries in slots.iter_mut() {
            entries.retain(|entry| !matches!(entry, Entry::Closed(event) if event.has_ended()));
        }
        if slots.len() < SLOTS && slots.iter().all(|entries| !entries.is_empty()) {
            slots.push(Vec::new());
        }
        let fewest = slots.iter().enumerate().min_by_key(|(_, entries)| entries.len());
        let slot = fewest.map_or(0, |(slot, _)| slot);
        let core = core(slot as u32);
        match slots.get_mut(slot) {
            Some(entries) => entries.push(Entry::Open(Arc::clone(&core))),
            None => debug_assert!(false, "a slot is added if there is none"),
        }
        core
    }

    /// Takes a queue out. `leave` finds out whether commands still run. It is called under the
    /// lock, so that allocations that are dropped meanwhile know about these commands.
    pub(crate) fn close(&self, core: &Arc<QueueCore>, leave: impl FnOnce() -> Left) {
        let mut slots = self.lock();
        let Some(entries) = slots.get_mut(core.slot() as usize) else {
            debug_assert!(false, "slot {} is not there", core.slot());
            return;
        };
        entries.retain(|entry| match entry {
            Entry::Open(open) => !Arc::ptr_eq(open, core),
            Entry::Closed(event) => !event.has_ended(),
            Entry::Lost => true,
        });
        match leave() {
            Left::Idle => {}
            Left::Running(event) => entries.push(Entry::Closed(event)),
            Left::Unknown => entries.push(Entry::Lost),
        }
    }

    /// Events that are complete when all commands now on the queues of `mask` are; none if none
    /// runs.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub(crate) fn markers(&self, mask: u64) -> Result<Vec<RawEvent>> {
        let slots = self.lock();
        let mut events = Vec::new();
        for entry in
            slots.iter().enumerate().filter(|(slot, _)| mask >> slot & 1 == 1).flat_map(|(_, slot)| slot)
        {
            match entry {
                Entry::Open(core) if core.is_idle() => {}
                Entry::Open(core) => events.push(core.marker(&[])?),
                Entry::Closed(event) if event.has_ended() => {}
                Entry::Closed(event) => events.push(event.try_clone()?),
                Entry::Lost => return Err(lost()),
            }
        }
        Ok(events)
    }

    /// Waits for all commands now on the queues of `mask`.
    pub(crate) fn finish(&self, mask: u64) -> Result<()> {
        // Not under the lock: the commands may take long.
        let mut open = Vec::new();
        let mut closed = Vec::new();
        for (slot, entries) in self.lock().iter().enumerate() {
            for entry in entries.iter().filter(|_| mask >> slot & 1 == 1) {
                match entry {
                    Entry::Open(core) => open.push(Arc::clone(core)),
                    Entry::Closed(event) => closed.push(event.try_clone()?),
                    Entry::Lost => return Err(lost()),
                }
            }
        }
        open.iter().filter(|core| !core.is_idle()).try_for_each(|core| core.finish())?;
        // How such a command ended is not this caller's concern, only that it did.
        closed.iter().filter(|event| !event.has_ended()).try_for_each(RawEvent::wait_for_end)
    }

    /// Releases what is left.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Runtime, "a queue was lost while commands ran on it")
}
