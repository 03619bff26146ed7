//! What must outlive commands: memory that waits to be freed until the commands that may use it are
//! complete.
//!
//! Nothing here blocks a submission. Entries are looked at when something is submitted, waited for
//! or allocated, a few at a time, and all of them when the context goes.

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::event::{RawEvent, Status};
use crate::ext::command_buffer::CommandBuffer;
use crate::sync::{Mutex, MutexGuard};
use crate::sys::{cl_command_buffer_khr, cl_mem, cl_program, cl_sampler};

/// Entries looked at per sweep: enough to keep up with one retired entry per submission.
const SWEEP: usize = 4;

/// What is kept until the events are complete.
pub(crate) enum DeferredResource {
    /// A USM pointer of the context.
    Usm(NonNull<c_void>),
    /// A reference to a program of the context.
    Program(cl_program),
    /// A reference to a command buffer.
    CommandBuffer(&'static CommandBuffer, cl_command_buffer_khr),
    /// A reference to an image.
    Memory(cl_mem),
    /// A reference to a sampler.
    Sampler(cl_sampler),
    /// A host buffer that a command reads or writes.
    Host(#[allow(dead_code, reason = "held for its Drop")] Box<dyn Any + Send>),
}

// SAFETY: pointer and handles are only handed to the driver's thread-safe functions that free and
// release.
unsafe impl Send for DeferredResource {}

struct Entry {
    events: Vec<RawEvent>,
    keep: DeferredResource,
}

/// The entries of one context.
#[derive(Default)]
pub(crate) struct DeferredFree {
    /// Length of the list, so that the launch path need not lock.
    length: AtomicUsize,
    entries: Mutex<VecDeque<Entry>>,
}

/// What became of an entry's events.
enum Outcome {
    Complete,
    Pending,
    /// The driver does not say; the commands may still run.
    Unknown,
}

impl DeferredFree {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock()
    }

    /// Keeps `keep` until all of `events` are complete.
    pub(crate) fn push(&self, events: Vec<RawEvent>, keep: DeferredResource) {
        let mut entries = self.lock();
        entries.push_back(Entry { events, keep });
        self.length.store(entries.len(), Ordering::Release);
    }

    /// How many entries there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Looks at a few entries and gives those that are complete to `free`. Costs one load when
    /// there are none.
    #[inline]
    pub(crate) fn sweep(&self, free: impl FnMut(DeferredResource)) {
        if self.len() != 0 {
            self.sweep_some(SWEEP, free);
        }
    }

    /// Looks at every entry once.
    pub(crate) fn sweep_all(&self, free: impl FnMut(DeferredResource)) {
        self.sweep_some(self.len(), free);
    }

    fn sweep_some(&self, count: usize, mut free: impl FnMut(DeferredResource)) {
        // Another thread that sweeps does the work for both.
        let Some(mut entries) = self.entries.try_lock() else { return };
        let mut ready = Vec::new();
        for _ in 0..count {
            let Some(mut entry) = entries.pop_front() else { break };
            match outcome(&mut entry.events) {
                Outcome::Complete => ready.push(entry.keep),
                // To the back, so that one slow queue does not hold up the others.
                Outcome::Pending => entries.push_back(entry),
                Outcome::Unknown => leak(entry.keep),
            }
        }
        self.length.store(entries.len(), Ordering::Release);
        drop(entries);
        // Freeing runs the Drop of users' types; not under the lock.
        ready.into_iter().for_each(&mut free);
    }

    /// Waits for every entry. For the end of the context.
    pub(crate) fn drain(&self, mut free: impl FnMut(DeferredResource)) {
        let entries = std::mem::take(&mut *self.lock());
        self.length.store(0, Ordering::Release);
        for entry in entries {
            let complete = entry.events.iter().all(|event| event.wait_for_end().is_ok());
            if complete { free(entry.keep) } else { leak(entry.keep) }
        }
    }
}

/// Releases events that are complete and says whether any is left.
fn outcome(events: &mut Vec<RawEvent>) -> Outcome {
    while let Some(event) = events.last() {
        match event.status() {
            Ok(Status::Complete | Status::Failed(_)) => {
                events.pop();
            }
            Ok(_) => return Outcome::Pending,
            Err(_) => return Outcome::Unknown,
        }
    }
    Outcome::Complete
}

/// Gives memory up rather than free it under a command that may still run.
pub(crate) fn leak(keep: DeferredResource) {
    log::error!("memory is given up: the driver does not say whether commands that use it have ended");
    std::mem::forget(keep);
}
