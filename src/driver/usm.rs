//! Allocations of unified shared memory, freed when no handle is left and no command uses them.
//!
//! # Who may touch the bytes
//! Commands begin a use of the allocation before they are enqueued and end it when they are: in between, and while the
//! queue is not idle, commands may read and write. Host access (a [`HostAccess`]) first refuses new uses, then waits for
//! the queues that used the memory; both sides meet in one atomic word, so none misses the other.
//! Device memory has no host access.
//!
//! A command that is held back holds its memory from its submission on, when it is refused under host access as others
//! are. Host access waits for it. Only host tasks do not wait for what is held back, as that may wait for them; and
//! while a host task has access, commands are not refused, but held back until it ends.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use bytemuck::Pod;

use super::Device;
use super::context::Context;
use super::native::UsmHandle;
use super::program::Program;
use super::queue::Queue;
use super::retired::{Keep, leak};
use super::spare::Class;
use crate::error::{Error, ErrorKind, Result};

/// Kinds of USM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Device,
    Host,
    Shared,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Shared => "shared",
        }
    }
}

/// The largest alignment that OpenCL gives without being asked: that of `double16`.
const DEFAULT_ALIGNMENT: usize = 128;

/// One piece of USM.
pub(crate) struct Allocation {
    id: u64,
    context: Arc<Context>,
    /// The device of device memory, and of shared memory when the context has one device.
    device: Option<Device>,
    kind: Kind,
    /// `None` when there are no bytes.
    start: Option<NonNull<c_void>>,
    size_bytes: usize,
    /// The memory is a variable of this program, and goes with it.
    program: Option<Arc<Program>>,
    /// Somebody else frees the memory.
    borrowed: bool,
    /// A bit for each slot whose queues have used it.
    used_by: AtomicU64,
    /// Who uses the memory; see [`access`].
    access: AtomicU64,
}

/// The fields of [`Allocation::access`]. Counts are of threads and guards, but for `HELD`, which is of commands; each is far from
/// its limit.
mod access {
    /// One use being enqueued.
    pub(super) const USE: u64 = 1;
    pub(super) const USES: u64 = HELD - 1;
    /// One command held back.
    pub(super) const HELD: u64 = 1 << 12;
    pub(super) const ALL_HELD: u64 = READ - HELD;
    /// One reader on the host.
    pub(super) const READ: u64 = 1 << 40;
    /// One reader inside a host task.
    pub(super) const TASK_READ: u64 = 1 << 50;
    /// A writer inside a host task.
    pub(super) const TASK_WRITE: u64 = 1 << 62;
    pub(super) const TASKS: u64 = WRITE - TASK_READ;
    /// A writer on the host.
    pub(super) const WRITE: u64 = 1 << 63;
    pub(super) const WRITERS: u64 = WRITE | TASK_WRITE;
    pub(super) const HOST: u64 = !(READ - 1);
}

/// Where those sleep who wait for a change of an access word.
static ACCESS_CHANGED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

// SAFETY: the pointer is only dereferenced through `HostAccess`, which the access word guards; the rest is Sync.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Memory of `size_bytes`, aligned to `align_bytes` at least. No bytes take no memory.
    pub(crate) fn new(
        context: &Arc<Context>,
        device: Option<&Device>,
        kind: Kind,
        size_bytes: usize,
        align_bytes: usize,
    ) -> Result<Arc<Self>> {
        context.check()?;
        context.sweep();
        let start = allocate(context, device, kind, size_bytes, align_bytes)
            .map_err(|error| error.at(format!("{} memory of {size_bytes} bytes", kind.name())))?;
        let allocation = Self {
            id: next_id(),
            context: Arc::clone(context),
            device: device.cloned(),
            kind,
            start,
            size_bytes,
            program: None,
            borrowed: false,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
        };
        // Once more, for a driver that does not keep to the alignment.
        if start.is_some_and(|start| start.addr().get() % align_bytes != 0) {
            return Err(Error::new(
                ErrorKind::MemoryAllocation,
                format!("the driver gave memory that is not aligned to {align_bytes} bytes"),
            ));
        }
        Ok(Arc::new(allocation))
    }

    /// Tells allocations of the process apart, those that are gone included.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// A variable of a built program, which its driver says to lie at `start`.
    pub(super) fn of_program(program: &Arc<Program>, start: NonNull<c_void>, size_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            id: next_id(),
            context: Arc::clone(program.context()),
            device: Some(program.device().clone()),
            kind: Kind::Device,
            start: Some(start),
            size_bytes,
            program: Some(Arc::clone(program)),
            borrowed: false,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
        })
    }

    /// Memory that somebody else allocated in the context.
    pub(super) fn outside(
        context: &Arc<Context>,
        device: Option<Device>,
        kind: Kind,
        start: NonNull<c_void>,
        memory: &UsmHandle,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: next_id(),
            context: Arc::clone(context),
            device,
            kind,
            start: Some(start),
            size_bytes: memory.size_bytes,
            program: None,
            borrowed: !memory.owned,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The bytes from `offset_bytes` on.
    pub(crate) fn span(self: &Arc<Self>, offset_bytes: usize, size_bytes: usize) -> Result<Span<'_>> {
        match offset_bytes.checked_add(size_bytes) {
            Some(end) if end <= self.size_bytes => {
                Ok(Span { allocation: self, offset_bytes, size_bytes, held: false })
            }
            _ => Err(Error::invalid(format!(
                "{size_bytes} bytes from {offset_bytes} on are not within memory of {} bytes",
                self.size_bytes
            ))),
        }
    }

    /// The bytes from `offset_bytes` to the end; none from beyond the end.
    pub(crate) fn tail(self: &Arc<Self>, offset_bytes: usize) -> Span<'_> {
        let offset_bytes = offset_bytes.min(self.size_bytes);
        Span { allocation: self, offset_bytes, size_bytes: self.size_bytes - offset_bytes, held: false }
    }

    /// The first byte's address; null when there are no bytes.
    pub(crate) fn address(&self) -> *mut c_void {
        self.start.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// Whether commands of this context and device may use the memory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is of another context or device.
    pub(crate) fn check(&self, context: &Arc<Context>, device: &Device) -> Result<()> {
        if !Arc::ptr_eq(&self.context, context) {
            return Err(Error::invalid(format!(
                "the {} memory belongs to another context",
                self.kind.name()
            ))
            .remedy("allocate it in the context of the queue"));
        }
        if self.kind == Kind::Device && self.device.as_ref().is_some_and(|owner| !reaches(device, owner)) {
            return Err(Error::invalid(format!(
                "the memory belongs to another device than the queue's, `{}`",
                device.name()
            ))
            .remedy("allocate it with `alloc_device_on`, or use shared or host memory"));
        }
        Ok(())
    }

    /// Says that any queue may use the memory at any time: its address is known to kernels that do not get it as an
    /// argument. When the last handle goes, all queues are asked.
    pub(crate) fn used_by_any_queue(&self) {
        self.used_by.store(u64::MAX, Ordering::SeqCst);
    }

    /// Holds the memory for a command that is held back.
    ///
    /// # Errors
    /// As [`Span::begin_use`].
    pub(crate) fn hold(&self, queue: &Queue) -> Result<()> {
        self.check(queue.context(), queue.device())?;
        if self.kind == Kind::Device {
            Ok(())
        } else {
            self.enter(access::HELD, access::HOST & !access::TASKS)
        }
    }

    /// Takes [`Allocation::hold`] back.
    pub(crate) fn release(&self) {
        if self.kind != Kind::Device {
            self.leave(access::HELD);
        }
    }

    /// Turns a hold into a use, unless a host task has access.
    pub(crate) fn try_use_held(&self) -> bool {
        if self.kind == Kind::Device {
            return true;
        }
        let turn = |word: u64| (word & access::TASKS == 0).then(|| word - access::HELD + access::USE);
        self.access.fetch_update(Ordering::SeqCst, Ordering::SeqCst, turn).is_ok()
    }

    /// Turns such a use into a hold again.
    pub(crate) fn hold_used(&self) {
        if self.kind != Kind::Device {
            self.access.fetch_add(access::HELD - access::USE, Ordering::SeqCst);
        }
    }

    /// Ends such a use.
    pub(crate) fn end_held_use(&self) {
        if self.kind != Kind::Device {
            self.leave(access::USE);
        }
    }

    /// Waits until no host task has access.
    pub(crate) fn wait_for_tasks(&self) {
        self.wait_for_access(|word| word & access::TASKS == 0);
    }

    /// Counts a use or a hold, unless one of `against` has access.
    fn enter(&self, step: u64, against: u64) -> Result<()> {
        let before = self.access.fetch_add(step, Ordering::SeqCst);
        if before & against == 0 {
            return Ok(());
        }
        self.leave(step);
        if before & access::HOST & !access::TASKS == 0 {
            return Err(Error::busy_in_task());
        }
        Err(Error::invalid(format!("the {} memory is being accessed by the host", self.kind.name()))
            .remedy("drop the guard of `read` or `write` first"))
    }

    fn leave(&self, step: u64) {
        let before = self.access.fetch_sub(step, Ordering::SeqCst);
        // Somebody may wait: the host for commands, or held commands for the host.
        if before & access::HOST != 0 {
            drop(ACCESS_CHANGED.0.lock().unwrap_or_else(PoisonError::into_inner));
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
        let mut guard = ACCESS_CHANGED.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !allowed(self.access.load(Ordering::SeqCst)) {
            guard = ACCESS_CHANGED.1.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the queues that used the memory.
    fn wait_for_commands(&self) -> Result<()> {
        self.context.slots().finish(self.used_by.load(Ordering::SeqCst))?;
        self.context.sweep_all();
        Ok(())
    }
}

fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}

fn allocate(
    context: &Arc<Context>,
    device: Option<&Device>,
    kind: Kind,
    size_bytes: usize,
    align_bytes: usize,
) -> Result<Option<NonNull<c_void>>> {
    let usm = context.usm()?;
    for device in device.map_or(context.devices(), std::slice::from_ref) {
        let capabilities = device.capabilities();
        let supported = capabilities.usm.as_ref().is_some_and(|usm| match kind {
            Kind::Device => usm.device,
            Kind::Host => usm.host,
            Kind::Shared => usm.shared,
        });
        if !supported {
            return Err(device.lacks(&format!("{} USM", kind.name()), "another kind of memory"));
        }
        if size_bytes as u64 > capabilities.limits.max_allocation_bytes || size_bytes > isize::MAX as usize {
            return Err(Error::new(
                ErrorKind::MemoryAllocation,
                format!(
                    "device `{}` takes at most {} bytes in one allocation",
                    device.name(),
                    capabilities.limits.max_allocation_bytes
                ),
            ));
        }
    }
    if size_bytes == 0 {
        return Ok(None);
    }
    // Drivers need not know alignments above their default.
    let alignment = if align_bytes <= DEFAULT_ALIGNMENT { 0 } else { align_bytes as u32 };
    let none = std::ptr::null();
    let id = device.map_or(std::ptr::null_mut(), Device::id);
    let wanted = Class { kind, device: id.addr(), alignment, size_bytes };
    context.allocate(wanted, |size_bytes| {
        // SAFETY: context and device are alive; no properties are given.
        let start = unsafe {
            match kind {
                Kind::Device => usm.clDeviceMemAllocINTEL(context.raw(), id, none, size_bytes, alignment),
                Kind::Host => usm.clHostMemAllocINTEL(context.raw(), none, size_bytes, alignment),
                Kind::Shared => usm.clSharedMemAllocINTEL(context.raw(), id, none, size_bytes, alignment),
            }
        };
        start.map(NonNull::new).map_err(|error| error.with_kind(ErrorKind::MemoryAllocation))
    })
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let Some(start) = self.start.filter(|_| !self.borrowed) else { return };
        let keep = match &self.program {
            None => Keep::Usm(start),
            Some(_) if *self.used_by.get_mut() == 0 => return,
            Some(program) => match program.keep() {
                Ok(keep) => keep,
                // The driver does not let it live on, so what uses it must end before.
                Err(error) => {
                    let ended = self.wait_for_commands();
                    self.context.keep_error(ended.err().unwrap_or(error).at("dropping a program's variable"));
                    return;
                }
            },
        };
        match *self.used_by.get_mut() {
            0 => self.context.free(keep),
            mask => match self.context.slots().markers(mask) {
                Ok(events) if events.is_empty() => self.context.free(keep),
                Ok(events) => self.context.retired().push(events, keep),
                Err(error) => {
                    self.context.keep_error(error.at("dropping memory that commands may still use"));
                    leak(keep);
                }
            },
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} memory at {:p}, {} bytes", self.kind.name(), self.address(), self.size_bytes)
    }
}

/// Bytes of an allocation, within its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    allocation: &'a Arc<Allocation>,
    offset_bytes: usize,
    size_bytes: usize,
    held: bool,
}

impl<'a> Span<'a> {
    /// The same bytes, for a command that was held back if `held`: its use has begun already.
    pub(crate) fn held(mut self, held: bool) -> Self {
        self.held = held;
        self
    }

    pub(crate) fn allocation(&self) -> &'a Arc<Allocation> {
        self.allocation
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The first byte's address; null in an allocation without bytes.
    pub(crate) fn address(&self) -> *mut c_void {
        self.allocation.address().wrapping_byte_add(self.offset_bytes)
    }

    /// `size_bytes` of it, from `offset_bytes` on.
    pub(crate) fn part(&self, offset_bytes: usize, size_bytes: usize) -> Result<Self> {
        match offset_bytes.checked_add(size_bytes) {
            Some(end) if end <= self.size_bytes => {
                Ok(self.allocation.span(self.offset_bytes + offset_bytes, size_bytes)?.held(self.held))
            }
            _ => Err(Error::invalid("a part that is not within its span")),
        }
    }

    /// Where it begins in the allocation.
    pub(super) fn offset_bytes(&self) -> usize {
        self.offset_bytes
    }

    pub(super) fn shares_allocation(&self, other: &Self) -> bool {
        self.allocation.id() == other.allocation.id()
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.allocation, other.allocation)
            && self.offset_bytes < other.offset_bytes + other.size_bytes
            && other.offset_bytes < self.offset_bytes + self.size_bytes
    }

    /// Notes that commands of `queue` use the memory. Until [`Span::end_use`], no host access begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the memory is of another context or device, or when the host accesses it.
    pub(super) fn begin_use(&self, queue: &Queue) -> Result<()> {
        let allocation = self.allocation;
        allocation.check(queue.context(), queue.device())?;
        if allocation.kind != Kind::Device && !self.held {
            allocation.enter(access::USE, access::HOST)?;
        }
        // The bit stays: whether the queue is busy is asked when it matters. The load spares a locked write per use.
        if allocation.used_by.load(Ordering::SeqCst) & queue.bit() == 0 {
            allocation.used_by.fetch_or(queue.bit(), Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) fn end_use(&self) {
        if self.allocation.kind != Kind::Device && !self.held {
            self.allocation.leave(access::USE);
        }
    }
}

/// Whether a device can use the device memory of another: its own, or that of a device that it is a part of.
fn reaches(device: &Device, owner: &Device) -> bool {
    device == owner || device.parent().is_some_and(|parent| reaches(parent, owner))
}

/// Host access to memory that the host can address. Commands that would use it are refused while it lasts.
pub(crate) struct HostAccess {
    allocation: Arc<Allocation>,
    write: bool,
    /// What it counts for in the access word.
    step: u64,
}

impl HostAccess {
    /// Begins host access and waits for the commands that use the memory; `in_task`: but not for those that are held back.
    /// Several readers, or one writer.
    pub(crate) fn begin(allocation: &Arc<Allocation>, write: bool, in_task: bool) -> Result<Self> {
        allocation.context.check()?;
        let allowed = |word: u64| if write { word & access::HOST == 0 } else { word & access::WRITERS == 0 };
        let step = match (write, in_task) {
            (false, false) => access::READ,
            (true, false) => access::WRITE,
            (false, true) => access::TASK_READ,
            (true, true) => access::TASK_WRITE,
        };
        allocation
            .access
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| allowed(word).then(|| word + step))
            .map_err(|_| {
                Error::invalid("the host accesses this memory already").remedy("drop the other guard first")
            })?;
        let access = Self { allocation: Arc::clone(allocation), write, step };
        // New uses are refused from here on.
        let busy = if in_task { access::USES } else { access::USES | access::ALL_HELD };
        allocation.wait_for_access(|word| word & busy == 0);
        allocation.wait_for_commands()?;
        Ok(access)
    }

    /// Refuses what [`HostAccess::slice`] would find empty.
    pub(crate) fn check<T: Pod>(&self, offset_bytes: usize, len: usize) -> Result<()> {
        self.start::<T>(offset_bytes, len).map(drop)
    }

    /// `len` elements from `offset_bytes` on; none where [`HostAccess::check`] fails.
    pub(crate) fn slice<T: Pod>(&self, offset_bytes: usize, len: usize) -> &[T] {
        match self.start::<T>(offset_bytes, len) {
            // SAFETY: within the allocation, aligned, host-addressable, any bytes are a `T`; no command and no writer
            // touches it while `self` lives.
            Ok(start) => unsafe { std::slice::from_raw_parts(start.as_ptr(), len) },
            Err(_) => &[],
        }
    }

    /// As [`HostAccess::slice`]; none where the access is not for writing.
    pub(crate) fn slice_mut<T: Pod>(&mut self, offset_bytes: usize, len: usize) -> &mut [T] {
        match self.start::<T>(offset_bytes, len) {
            // SAFETY: within the allocation, aligned, host-addressable, any bytes are a `T`; no command, no reader and no
            // other writer touches it while `self` is borrowed.
            Ok(start) if self.write => unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) },
            _ => &mut [],
        }
    }

    fn start<T>(&self, offset_bytes: usize, len: usize) -> Result<NonNull<T>> {
        let size_bytes = len.saturating_mul(size_of::<T>());
        let span = self.allocation.span(offset_bytes, size_bytes)?;
        // Without bytes any aligned address will do.
        let start = NonNull::new(span.address().cast::<T>()).filter(|_| size_bytes != 0);
        match start {
            None if size_bytes == 0 => Ok(NonNull::dangling()),
            Some(start) if start.is_aligned() && self.allocation.kind != Kind::Device => Ok(start),
            _ => Err(Error::invalid("the host cannot address this memory as elements of that type")),
        }
    }
}

impl Drop for HostAccess {
    fn drop(&mut self) {
        self.allocation.leave(self.step);
    }
}
