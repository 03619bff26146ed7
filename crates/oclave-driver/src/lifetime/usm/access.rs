//! Who may touch the bytes of an allocation.
//!
//! Commands begin a use of the allocation before they are enqueued and end it when they are. In
//! between, and while the queue is not idle, commands may read and write. Host access (a
//! [`HostAccess`]) first refuses new uses, then waits for the queues that used the memory. Both
//! sides meet in one atomic word, so none misses the other. Device memory has no host access.
//!
//! Where the driver maps memory for the host, the first of several that have access maps it, and
//! the last unmaps it.
//!
//! A deferred command reserves its memory at submission. If the host is accessing that memory, the
//! submission is rejected. Host access waits for it. Host tasks are the exception: they do not wait
//! for deferred commands, which may wait for them. While a host task has access, commands are not
//! refused but deferred until it ends.
//!
//! A loop is a deferred command that puts further commands on queues. So while host access waits for
//! deferred commands, others may still use the memory. Host access begins after them, too.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytemuck::Pod;

use super::{Allocation, Kind};
use crate::MakeError as _;
use crate::queue::Queue;
use crate::sync::{Condvar, Mutex};
use crate::{Error, ErrorKind, Result};

/// The fields of [`Allocation::access`]. Counts are of threads and guards, but for `HELD`, which is
/// of commands. What would carry into the next field is refused.
mod word {
    /// One use being enqueued.
    pub(super) const USE: u64 = 1;
    pub(super) const USES: u64 = HELD - 1;
    /// One deferred command.
    pub(super) const HELD: u64 = 1 << 14;
    pub(super) const ALL_HELD: u64 = READ - HELD;
    /// One reader on the host.
    pub(super) const READ: u64 = 1 << 38;
    pub(super) const READS: u64 = TASK_READ - READ;
    /// One reader inside a host task.
    pub(super) const TASK_READ: u64 = 1 << 50;
    /// A writer inside a host task.
    pub(super) const TASK_WRITE: u64 = 1 << 62;
    pub(super) const TASKS: u64 = WRITE - TASK_READ;
    /// A writer on the host.
    pub(super) const WRITE: u64 = 1 << 63;
    pub(super) const WRITERS: u64 = WRITE | TASK_WRITE;
    pub(super) const TASK_READS: u64 = TASK_WRITE - TASK_READ;
    pub(super) const HOST: u64 = !(READ - 1);

    /// The access that the host has, or waits for.
    pub(super) const fn host(word: u64) -> u64 {
        word & HOST
    }

    /// The access of the host that keeps a use off. A reader or a writer that still waits for deferred commands does
    /// not: these may be loops, which go on.
    pub(super) const fn against_use(word: u64) -> u64 {
        if word & ALL_HELD != 0 { word & TASKS } else { host(word) }
    }

    /// Whether one more, of a field that counts to `all`, stays within the field. Half of `HELD` is
    /// kept for uses that turn into holds again.
    pub(super) const fn has_room(word: u64, step: u64, all: u64) -> bool {
        let limit = if step == HELD { all / 2 } else { all };
        (word & all) + step <= limit
    }
}

/// Where those sleep who wait for a change of an access word.
static ACCESS_CHANGED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

impl Allocation {
    /// Notes that a command uses the memory. Until [`Self::end_use`], no host access begins.
    #[inline]
    pub(super) fn begin_use(&self) -> Result<()> {
        if self.kind == Kind::Device { Ok(()) } else { self.enter(word::USE, word::USES, word::against_use) }
    }

    #[inline]
    pub(super) fn end_use(&self) {
        if self.kind != Kind::Device {
            self.leave(word::USE);
        }
    }

    /// Holds the memory for a deferred command; `in_loop`: for one that a loop puts on a queue.
    ///
    /// # Errors
    /// As `Span::begin_use`.
    pub fn hold(&self, queue: &Queue, in_loop: bool) -> Result<()> {
        self.check(queue.context(), queue.device())?;
        self.check_is_there()?;
        if self.kind == Kind::Device {
            return Ok(());
        }
        let against = if in_loop { word::against_use } else { word::host };
        self.enter(word::HELD, word::ALL_HELD, |word| against(word) & !word::TASKS)
    }

    /// Takes [`Allocation::hold`] back.
    pub fn release(&self) {
        if self.kind != Kind::Device {
            self.leave(word::HELD);
        }
    }

    /// Turns a hold into a use, unless a host task has access.
    pub fn try_use_held(&self) -> bool {
        if self.kind == Kind::Device {
            return true;
        }
        // Without room, threads that enqueue now make some soon, and the caller tries again.
        let may = |word: u64| word & word::TASKS == 0 && word::has_room(word, word::USE, word::USES);
        let turn = |word: u64| may(word).then(|| word - word::HELD + word::USE);
        self.access.fetch_update(Ordering::SeqCst, Ordering::SeqCst, turn).is_ok()
    }

    /// Turns such a use into a hold again.
    pub fn hold_used(&self) {
        if self.kind != Kind::Device {
            self.access.fetch_add(word::HELD - word::USE, Ordering::SeqCst);
        }
    }

    /// Ends such a use.
    pub fn end_held_use(&self) {
        if self.kind != Kind::Device {
            self.leave(word::USE);
        }
    }

    /// Waits until no host task has access.
    pub fn wait_for_tasks(&self) {
        self.wait_for_access(|word| word & word::TASKS == 0);
    }

    /// Counts a use or a hold in the field `all`, unless there is access of the host `against` it.
    #[inline]
    fn enter(&self, step: u64, all: u64, against: impl Fn(u64) -> u64) -> Result<()> {
        let may = |word: u64| against(word) == 0 && word::has_room(word, step, all);
        let enter = |word: u64| may(word).then(|| word + step);
        let Err(before) = self.access.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter) else {
            return Ok(());
        };
        let against = against(before);
        if against == 0 {
            return Err(self.too_many("commands use"));
        }
        if against & !word::TASKS == 0 {
            return Err(Error::busy_in_task());
        }
        Err(Error::invalid(format!("the {} memory is being accessed by the host", self.kind.name()))
            .remedy("drop the guard of `read` or `write` first"))
    }

    fn too_many(&self, who: &str) -> Error {
        Error::new(ErrorKind::Runtime, format!("too many {who} the {} memory at once", self.kind.name()))
            .remedy("wait for some of them first")
    }

    #[inline]
    fn leave(&self, step: u64) {
        let before = self.access.fetch_sub(step, Ordering::SeqCst);
        // Somebody may wait: the host for commands, or held commands for the host.
        if before & word::HOST != 0 {
            drop(ACCESS_CHANGED.0.lock());
            ACCESS_CHANGED.1.notify_all();
        }
    }

    fn wait_for_access(&self, allowed: impl Fn(u64) -> bool) {
        // Enqueues that began before take microseconds.
        for _ in 0..100 {
            if allowed(self.access.load(Ordering::SeqCst)) {
                return;
            }
            std::thread::yield_now();
        }
        let mut guard = ACCESS_CHANGED.0.lock();
        while !allowed(self.access.load(Ordering::SeqCst)) {
            guard = ACCESS_CHANGED.1.wait(guard);
        }
    }

    /// Waits for the queues that used the memory.
    pub(super) fn wait_for_commands(&self) -> Result<()> {
        self.context.queue_bits().finish(self.used_by.load(Ordering::SeqCst))?;
        self.context.sweep_all();
        Ok(())
    }
}

/// Host access to memory that the host can address. Commands that would use it are refused while it
/// lasts.
pub struct HostAccess {
    allocation: Arc<Allocation>,
    write: bool,
    /// What it counts for in the access word.
    step: u64,
    /// Where the memory is for the host, if it was mapped.
    mapped: Option<Mapped>,
}

impl fmt::Debug for HostAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostAccess").field("write", &self.write).finish_non_exhaustive()
    }
}

/// The host's address of mapped memory.
#[derive(Clone, Copy)]
struct Mapped(NonNull<c_void>);

// SAFETY: an address; what is there is only used through `HostAccess`, which lends it by its own
// borrows.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

/// Whether an allocation is mapped, and for how many that have access.
#[derive(Default)]
pub(super) struct Mapping(Option<(Mapped, usize)>);

impl Allocation {
    /// Gives the host access where that needs a call, and says where the memory is then.
    fn map(&self, write: bool) -> Result<Option<Mapped>> {
        let Some(start) = self.start.filter(|_| self.kind != Kind::Device) else { return Ok(None) };
        if !self.context.pointers()?.support().mapped {
            return Ok(None);
        }
        let mut mapping = self.mapping.lock();
        let (mapped, users) = match mapping.0 {
            Some((mapped, users)) => (mapped, users + 1),
            // SAFETY: the memory is the context's and has so many bytes; the access word keeps
            // commands off until it is unmapped.
            None => (Mapped(unsafe { self.context.map(start, self.size_bytes, write) }?), 1),
        };
        mapping.0 = Some((mapped, users));
        Ok(Some(mapped))
    }

    /// Takes [`Allocation::map`] back.
    fn unmap(&self) {
        let mut mapping = self.mapping.lock();
        let (Some((mapped, users)), Some(start)) = (mapping.0, self.start) else { return };
        if users > 1 {
            mapping.0 = Some((mapped, users - 1));
            return;
        }
        mapping.0 = None;
        // SAFETY: it was mapped there, and nobody has access any more.
        if let Err(error) = unsafe { self.context.unmap(start, mapped.0) } {
            self.context.keep_error(error.at("ending the host's access to memory"));
        }
    }
}

impl HostAccess {
    /// Begins host access and waits for the commands that use the memory; `in_task`: but not for
    /// deferred commands. Several readers, or one writer.
    pub fn begin(allocation: &Arc<Allocation>, write: bool, in_task: bool) -> Result<Self> {
        allocation.context.check()?;
        let allowed = |word: u64| if write { word & word::HOST == 0 } else { word & word::WRITERS == 0 };
        let (step, all) = match (write, in_task) {
            (false, false) => (word::READ, word::READS),
            (true, false) => (word::WRITE, word::WRITE),
            (false, true) => (word::TASK_READ, word::TASK_READS),
            (true, true) => (word::TASK_WRITE, word::TASK_WRITE),
        };
        let begin = |word: u64| (allowed(word) && word::has_room(word, step, all)).then(|| word + step);
        allocation.access.fetch_update(Ordering::SeqCst, Ordering::SeqCst, begin).map_err(|before| {
            match allowed(before) {
                true => allocation.too_many("guards read"),
                false => Error::invalid("the host accesses this memory already")
                    .remedy("drop the other guard first"),
            }
        })?;
        let mut access = Self { allocation: Arc::clone(allocation), write, step, mapped: None };
        // From here on, uses are refused once no deferred command is left.
        let busy = if in_task { word::USES } else { word::USES | word::ALL_HELD };
        allocation.wait_for_access(|word| word & busy == 0);
        allocation.wait_for_commands()?;
        access.mapped = allocation.map(write)?;
        Ok(access)
    }

    /// Refuses what [`HostAccess::slice`] would find empty.
    pub fn check<T: Pod>(&self, offset_bytes: usize, len: usize) -> Result<()> {
        self.start::<T>(offset_bytes, len).map(drop)
    }

    /// `len` elements from `offset_bytes` on; none where [`HostAccess::check`] fails.
    pub fn slice<T: Pod>(&self, offset_bytes: usize, len: usize) -> &[T] {
        match self.start::<T>(offset_bytes, len) {
            // SAFETY: within the allocation, aligned, host-addressable, any bytes are a `T`; no
            // command and no writer touches it while `self` lives.
            Ok(start) => unsafe { std::slice::from_raw_parts(start.as_ptr(), len) },
            Err(_) => &[],
        }
    }

    /// As [`HostAccess::slice`]; none where the access is not for writing.
    pub fn slice_mut<T: Pod>(&mut self, offset_bytes: usize, len: usize) -> &mut [T] {
        match self.start::<T>(offset_bytes, len) {
            // SAFETY: within the allocation, aligned, host-addressable, any bytes are a `T`; no
            // command, no reader and no other writer touches it while `self` is borrowed.
            Ok(start) if self.write => unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) },
            _ => &mut [],
        }
    }

    fn start<T>(&self, offset_bytes: usize, len: usize) -> Result<NonNull<T>> {
        let size_bytes = len.saturating_mul(size_of::<T>());
        let span = self.allocation.span(offset_bytes, size_bytes)?;
        // Without bytes any aligned address will do.
        let address = match self.mapped {
            Some(Mapped(mapped)) => mapped.as_ptr().wrapping_byte_add(offset_bytes),
            None => span.address(),
        };
        let start = NonNull::new(address.cast::<T>()).filter(|_| size_bytes != 0);
        match start {
            None if size_bytes == 0 => Ok(NonNull::dangling()),
            Some(start) if start.is_aligned() && self.allocation.kind != Kind::Device => Ok(start),
            _ => Err(Error::invalid("the host cannot address this memory as elements of that type")),
        }
    }
}

impl Drop for HostAccess {
    fn drop(&mut self) {
        if self.mapped.is_some() {
            self.allocation.unmap();
        }
        self.allocation.leave(self.step);
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    const FIELDS: [(u64, u64); 6] = [
        (word::USE, word::USES),
        (word::HELD, word::ALL_HELD),
        (word::READ, word::READS),
        (word::TASK_READ, word::TASK_READS),
        (word::TASK_WRITE, word::TASK_WRITE),
        (word::WRITE, word::WRITE),
    ];

    #[test]
    fn counts_have_bits_of_their_own() {
        assert_eq!(FIELDS.iter().map(|(_, all)| all.count_ones()).sum::<u32>(), u64::BITS);
        assert_eq!(FIELDS.iter().fold(0, |bits, (_, all)| bits | all), u64::MAX);
        assert!(FIELDS.iter().all(|(step, all)| all & step == *step && (all & (step - 1)) == 0));
    }

    #[test]
    fn the_host_keeps_uses_off_once_it_waits_for_no_deferred_command() {
        for own in [word::READ, word::WRITE] {
            assert_eq!(word::against_use(own | word::HELD), 0);
            assert_eq!(word::against_use(own | word::HELD | word::TASK_READ), word::TASK_READ);
            assert_eq!(word::against_use(own | word::USE), own);
        }
        assert_eq!(word::against_use(word::TASK_WRITE | word::HELD), word::TASK_WRITE);
        assert_eq!(word::against_use(word::HELD | word::USE), 0);
    }

    #[test]
    fn no_count_carries_into_the_next() {
        for (step, all) in FIELDS {
            // A second writer is refused before its count is looked at.
            if step == word::WRITE {
                continue;
            }
            let others = !all;
            let full = (0..=all / step).find(|count| !word::has_room((count * step) | others, step, all));
            let full = full.expect("a count without a limit") * step;
            assert!(full > 0 && full & others == 0, "{step:#x} counts to {full:#x}");
        }
        // Uses that turn into holds again find room, whatever is held.
        const { assert!(word::ALL_HELD / word::HELD / 2 >= word::USES) };
    }
}
