//! The state that all handles, accessors and commands of a buffer share, whatever its element type.
//!
//! # Where the contents are
//! A buffer belongs to no context. It has memory in each context that uses it, allocated on first
//! use. The newest contents are in one or more contexts, or still on the host. A new buffer is zero
//! and has no contents ([`Contents`]). Commands bring the contents to their context before they
//! run. After a command that writes, only its context has them.

use std::alloc::Layout;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::area::{Area, Triple};
use super::hazards::Tracker;
use super::recorded::Recorders;
use crate::MakeError as _;
use crate::driver::host::HostBytes;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::driver::usm::{Allocation, Kind};
use crate::memory::Region;
use crate::memory::shape::Shape;
use crate::{Context, Error, ErrorKind, Event, Queue, Result};

/// A buffer without the type of its elements, or the uses of an image.
pub(crate) struct Object {
    id: u64,
    range: Shape,
    shape: Triple,
    element: Layout,
    type_name: &'static str,
    /// The type and format of an image. Its memory is the driver's, in one context.
    image: Option<String>,
    /// Its memory in each context that used it.
    storages: Mutex<Vec<Storage>>,
    state: Mutex<State>,
    writes_back: AtomicBool,
    /// The recorders of commands that use it.
    recorders: Recorders,
}

/// A buffer's memory in a context.
#[derive(Clone)]
pub(super) struct Storage {
    pub(super) context: Context,
    pub(super) memory: Arc<Allocation>,
}

/// The state that changes with each access. Locked while a command is given its place among others.
pub(super) struct State {
    pub(super) tracker: Tracker<Event>,
    pub(super) contents: Contents,
    /// Parts that the host writes at the moment.
    pub(super) host_writes: Vec<Area>,
    /// The ways of the contents to contexts that were not known to have ended when the buffer was
    /// last used; the oldest first.
    pub(super) moves: Vec<Move>,
    /// Something has written since the buffer was made.
    pub(super) written: bool,
    /// The action of the last host writer as it closes, when the buffer's last handle went before it.
    after_host_writers: Option<AtEnd>,
}

/// The action on a buffer when the last of its users on the host is gone.
pub(super) type AtEnd = Box<dyn FnOnce(&Object) + Send>;

/// Contents on their way to a context.
pub(super) struct Move {
    /// Where they were before, and are if this fails.
    pub(super) from: Contents,
    pub(super) event: Event,
}

/// Where the newest contents are, or will be after the submitted commands.
#[derive(Clone)]
pub(super) enum Contents {
    Zeroes,
    Host(HostBytes),
    In(Vec<Storage>),
}

impl State {
    fn new(shape: Triple) -> Self {
        Self {
            tracker: Tracker::new(shape),
            contents: Contents::Zeroes,
            host_writes: Vec::new(),
            moves: Vec::new(),
            written: false,
            after_host_writers: None,
        }
    }
}

/// A number that no buffer or image had before.
fn next_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    IDS.fetch_add(1, Ordering::Relaxed)
}

impl Object {
    /// A buffer of elements `T`, all zero.
    pub(super) fn new<T>(range: Shape) -> Result<Self> {
        let shape = range.triple(1);
        let size = shape.iter().try_fold(size_of::<T>(), |size, extent| size.checked_mul(*extent));
        let sides = shape.iter().try_fold(1_usize, |size, extent| size.checked_mul((*extent).max(1)));
        if size.is_none_or(|size| size > isize::MAX as usize) || sides.is_none() {
            return Err(Error::new(
                ErrorKind::MemoryAllocation,
                format!(
                    "a buffer of {} elements of {} bytes is more than can be addressed",
                    range,
                    size_of::<T>()
                ),
            ));
        }
        Ok(Self {
            id: next_id(),
            range,
            shape,
            element: Layout::new::<T>(),
            type_name: std::any::type_name::<T>(),
            image: None,
            storages: Mutex::new(Vec::new()),
            state: Mutex::new(State::new(shape)),
            writes_back: AtomicBool::new(false),
            recorders: Recorders::default(),
        })
    }

    /// The uses of an image of so many pixels.
    pub(crate) fn of_image(range: Shape, image: String) -> Self {
        let shape = range.triple(1);
        Self {
            id: next_id(),
            range,
            shape,
            element: Layout::new::<()>(),
            type_name: "()",
            image: Some(image),
            storages: Mutex::new(Vec::new()),
            state: Mutex::new(State::new(shape)),
            writes_back: AtomicBool::new(false),
            recorders: Recorders::default(),
        }
    }

    /// Whether it is an image, whose memory and contents are the driver's.
    pub(super) fn is_image(&self) -> bool {
        self.image.is_some()
    }

    /// The same with contents, which have its size.
    pub(super) fn with_contents(mut self, contents: HostBytes) -> Self {
        self.state.get_mut().contents = Contents::Host(contents);
        self
    }

    /// Tells buffers of the process apart, those that are gone included.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn range(&self) -> Shape {
        self.range
    }

    pub(crate) fn shape(&self) -> Triple {
        self.shape
    }

    pub(super) fn element_bytes(&self) -> usize {
        self.element.size()
    }

    pub(super) fn size_bytes(&self) -> usize {
        Area::whole(self.shape).len() * self.element.size()
    }

    /// Whether its contents go back to the host when its last handle is gone.
    pub(crate) fn writes_back(&self) -> bool {
        self.writes_back.load(Ordering::Acquire)
    }

    pub(crate) fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    pub(super) fn set_writes_back(&self, writes_back: bool) {
        self.writes_back.store(writes_back, Ordering::Release);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Leaves it to the last host writer to do this. Gives it back when none is open.
    pub(super) fn after_host_writers(&self, end: AtEnd) -> Option<AtEnd> {
        let mut state = self.lock();
        if state.host_writes.is_empty() {
            return Some(end);
        }
        state.after_host_writers = Some(end);
        None
    }

    /// Does what was left to the last host writer, if that has closed.
    pub(super) fn host_writer_closed(&self) {
        let end = {
            let mut state = self.lock();
            if state.host_writes.is_empty() { state.after_host_writers.take() } else { None }
        };
        if let Some(end) = end {
            end(self);
        }
    }

    /// Its memory in a context, made if need be. What is in there is not of interest yet.
    fn memory(&self, context: &Context) -> Result<Arc<Allocation>> {
        let mut storages = self.storages.lock();
        if let Some(storage) = storages.iter().find(|storage| storage.context == *context) {
            return Ok(Arc::clone(&storage.memory));
        }
        let memory = allocate(context, self.size_bytes(), self.element.align())
            .map_err(|error| error.at(self.to_string()))?;
        storages.push(Storage { context: context.clone(), memory: Arc::clone(&memory) });
        Ok(memory)
    }

    pub(super) fn storage(&self, context: &Context) -> Result<Storage> {
        Ok(Storage { context: context.clone(), memory: self.memory(context)? })
    }

    /// Stores the error of a `Drop`, with a context that used the buffer, which reports it.
    pub(super) fn keep_error(&self, error: Error) {
        let storages = self.storages.lock();
        match storages.first() {
            Some(storage) => storage.context.driver().keep_error(error),
            None => log::error!("{error:#}"),
        }
    }

    /// The memory from the first to the last element of an area, which is within the buffer.
    pub(crate) fn region(&self, area: &Area, queue: &Queue) -> Result<Region> {
        let memory = self.memory(queue.context())?;
        if area.is_empty() {
            return Ok(Region::new(memory, 0, 0));
        }
        let (first, end) = area.linear(self.shape);
        let bytes = self.element.size();
        Ok(Region::new(memory, first * bytes, (end - first) * bytes))
    }

    /// The error of an area that is not within the buffer.
    pub(super) fn beyond(&self, offset: Shape, extent: Shape) -> Error {
        Error::invalid(format!("{extent} elements from {offset} on are not within {self}"))
    }
}

/// Memory that all devices of the context can address, and the host where possible.
///
/// Nothing is then copied between devices. On a device that shares the host's memory it is as fast
/// as any other.
fn allocate(context: &Context, size_bytes: usize, align_bytes: usize) -> Result<Arc<Allocation>> {
    let support = context.driver().memory_support()?;
    let (kind, device) = match context.devices() {
        // Nothing is gained by memory that the host must map.
        [device] if support.mapped => (Kind::Device, Some(device)),
        [device] if support.shared => (Kind::Shared, Some(device)),
        _ if support.shared => (Kind::Shared, None),
        _ if support.host => (Kind::Host, None),
        _ => (Kind::Device, Some(context.device())),
    };
    Allocation::new(context.driver(), device, kind, size_bytes, align_bytes)
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.image {
            Some(image) => write!(f, "image {} ({image}) of {} pixels", self.id, self.range),
            None => write!(f, "buffer {} of {} `{}`", self.id, self.range, self.type_name),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
