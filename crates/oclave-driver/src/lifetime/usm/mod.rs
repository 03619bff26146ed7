//! Allocations of memory that kernels address by pointers, freed when no handle is left and no
//! command uses them.

mod access;
mod span;

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Device;
use crate::MakeError as _;
use crate::context::Context;
use crate::deferred_free::{DeferredResource, leak};
use crate::free_pool::Class;
use crate::native::UsmHandle;
use crate::program::Program;
use crate::sync::Mutex;
use crate::{Error, ErrorKind, Result};

pub use access::HostAccess;
pub use span::Span;

/// Kinds of USM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Of a device.
    Device,
    /// Of the host, which devices can access.
    Host,
    /// Of host and device.
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
pub const DEFAULT_ALIGNMENT: usize = 128;

/// What an address without memory stands for: the memory with a number, of an owner with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reserved {
    /// Who chooses the memory.
    pub owner: u64,
    /// Which of the owner's it is.
    pub number: u32,
}

/// One piece of USM.
pub struct Allocation {
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
    /// Its last word of 8 bytes is whole.
    has_whole_words: bool,
    /// There is no memory behind the address.
    reserved: Option<Reserved>,
    /// A bit for each slot whose queues have used it.
    used_by: AtomicU64,
    /// Who uses the memory; see [`access`].
    access: AtomicU64,
    mapping: Mutex<access::Mapping>,
}

// SAFETY: the pointer is only dereferenced through `HostAccess`, which the access word guards; the
// rest is Sync.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Memory of `size_bytes`, aligned to `align_bytes` at least. No bytes take no memory.
    pub fn new(
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
            has_whole_words: true,
            reserved: None,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
            mapping: Mutex::default(),
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

    /// Device memory that `stands_for` names, which is chosen later. The address is one that no memory has. Commands with
    /// it are checked as others are, and cannot be enqueued.
    ///
    /// # Errors
    /// As [`Self::new`], but nothing is allocated.
    pub fn reserve(
        context: &Arc<Context>,
        device: &Device,
        stands_for: Reserved,
        size_bytes: usize,
        align_bytes: usize,
    ) -> Result<Arc<Self>> {
        context.check()?;
        check_size(context, Some(device), Kind::Device, size_bytes)?;
        Ok(Arc::new(Self {
            id: next_id(),
            context: Arc::clone(context),
            device: Some(device.clone()),
            kind: Kind::Device,
            start: free_address(size_bytes, align_bytes),
            size_bytes,
            program: None,
            borrowed: false,
            has_whole_words: true,
            reserved: Some(stands_for),
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
            mapping: Mutex::default(),
        }))
    }

    /// What it stands for, if there is no memory behind the address.
    #[inline]
    pub fn reserved(&self) -> Option<Reserved> {
        self.reserved
    }

    /// Refuses to run commands with an address that has no memory.
    #[inline]
    fn check_is_there(&self) -> Result<()> {
        self.reserved.map_or(Ok(()), |reserved| Err(reserved.not_there()))
    }

    /// Tells allocations of the process apart, those that are gone included.
    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A variable of a built program, which its driver says to lie at `start`.
    pub(crate) fn of_program(program: &Arc<Program>, start: NonNull<c_void>, size_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            id: next_id(),
            context: Arc::clone(program.context()),
            device: Some(program.device().clone()),
            kind: Kind::Device,
            start: Some(start),
            size_bytes,
            program: Some(Arc::clone(program)),
            borrowed: false,
            has_whole_words: false,
            reserved: None,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
            mapping: Mutex::default(),
        })
    }

    /// Memory that somebody else allocated in the context.
    pub(crate) fn outside(
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
            has_whole_words: false,
            reserved: None,
            used_by: AtomicU64::new(0),
            access: AtomicU64::new(0),
            mapping: Mutex::default(),
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// How many bytes.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The bytes that kernels of the library may read, from its start on. That is its size, rounded up to words of 8 bytes if
    /// the library allocated it.
    pub fn readable_bytes(&self) -> usize {
        if self.has_whole_words { whole_words(self.size_bytes) } else { self.size_bytes }
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The first byte's address; null when there are no bytes.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        self.start.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// Whether commands of this context and device may use the memory.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is of another context or device.
    #[inline]
    pub fn check(&self, context: &Arc<Context>, device: &Device) -> Result<()> {
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

    /// Says that any queue may use the memory at any time: its address is known to kernels that do
    /// not get it as an argument. When the last handle goes, all queues are asked.
    pub fn used_by_any_queue(&self) {
        self.used_by.store(u64::MAX, Ordering::SeqCst);
    }
}

fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}

impl Reserved {
    #[cold]
    fn not_there(self) -> Error {
        Error::invalid(format!("memory {} of graph {} is there only while that graph runs", self.number, self.owner)).remedy(
            "use it in nodes of the graph and of bodies of its loops, copy it to other memory in a node, or take `alloc_device`",
        )
    }
}

/// An address that no memory has, apart from all others given before.
fn free_address(size_bytes: usize, align_bytes: usize) -> Option<NonNull<c_void>> {
    // Half of all addresses; no device and no system of today has memory in the middle.
    const FIRST: u64 = 1 << 62;
    static NEXT: AtomicU64 = AtomicU64::new(FIRST);
    let alignment = align_bytes.max(DEFAULT_ALIGNMENT) as u64;
    let room = (size_bytes as u64).next_multiple_of(alignment).saturating_add(2 * alignment);
    let start = NEXT.fetch_add(room, Ordering::Relaxed).next_multiple_of(alignment);
    NonNull::new(std::ptr::without_provenance_mut(start as usize)).filter(|_| size_bytes > 0)
}

/// Refuses memory that the devices do not have.
fn check_size(context: &Arc<Context>, device: Option<&Device>, kind: Kind, size_bytes: usize) -> Result<()> {
    let support = context.pointers()?.support();
    let supported = match kind {
        Kind::Device => support.device,
        Kind::Host => support.host,
        Kind::Shared => support.shared,
    };
    for device in device.map_or(context.devices(), std::slice::from_ref) {
        let capabilities = device.capabilities();
        if !supported {
            return Err(device.lacks(
                &format!("{} memory that kernels address by pointers", kind.name()),
                "another kind of memory",
            ));
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
    Ok(())
}

fn allocate(
    context: &Arc<Context>,
    device: Option<&Device>,
    kind: Kind,
    size_bytes: usize,
    align_bytes: usize,
) -> Result<Option<NonNull<c_void>>> {
    check_size(context, device, kind, size_bytes)?;
    let pointers = context.pointers()?;
    if size_bytes == 0 {
        return Ok(None);
    }
    // Drivers need not know alignments above their default.
    let alignment = if align_bytes <= DEFAULT_ALIGNMENT { 0 } else { align_bytes as u32 };
    let id = device.map_or(std::ptr::null_mut(), Device::id);
    let wanted = Class { kind, device: id.addr(), alignment, size_bytes: whole_words(size_bytes) };
    context.allocate(wanted, |size_bytes| {
        // SAFETY: context and device are alive.
        let start = unsafe { pointers.allocate(context.raw(), id, kind, size_bytes, alignment) };
        start.map_err(|error| error.with_kind(ErrorKind::MemoryAllocation))
    })
}

/// The size of memory in whole words of 8 bytes. The interpreter reads a value with the word that it is a part of.
fn whole_words(size_bytes: usize) -> usize {
    size_bytes.next_multiple_of(8)
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let Some(start) = self.start.filter(|_| self.reserved.is_none()) else { return };
        if self.borrowed {
            return self.context.pointers().into_iter().for_each(|pointers| pointers.forget(start));
        }
        let keep = match &self.program {
            None => DeferredResource::Usm(start),
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
            mask => match self.context.queue_bits().markers(mask) {
                Ok(events) if events.is_empty() => self.context.free(keep),
                Ok(events) => self.context.deferred().push(events, keep),
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
        if let Some(Reserved { owner, number }) = self.reserved {
            return write!(f, "memory {number} of graph {owner}, {} bytes", self.size_bytes);
        }
        write!(f, "{} memory at {:p}, {} bytes", self.kind.name(), self.address(), self.size_bytes)
    }
}

/// Whether a device can use the device memory of another: its own, or that of a device that it is a
/// part of.
#[inline]
fn reaches(device: &Device, owner: &Device) -> bool {
    device == owner || device.parent().is_some_and(|parent| reaches(parent, owner))
}
