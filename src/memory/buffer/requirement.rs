//! Requirements: what a command does with parts of buffers. Its place in the order follows from
//! them.

use std::fmt;
use std::sync::Arc;

use super::area::Area;
use super::object::Object;
use crate::MakeError as _;
use crate::memory::Region;
use crate::{Context, Device, Error, Queue, Result};

/// The access of a command to the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AccessMode {
    Read,
    Write,
    ReadWrite,
}

/// A part of a buffer that a command uses, and how. Commands whose parts overlap run in the order
/// in which they were submitted, unless both only read.
#[derive(Clone)]
pub struct Requirement {
    pub(super) object: Arc<Object>,
    pub(super) area: Area,
    pub(super) access: AccessMode,
    /// The previous contents of the part are not needed.
    pub(super) no_init: bool,
    /// Where the sub-buffer begins that it was named through.
    pub(super) sub_buffer_bytes: Option<usize>,
}

impl Requirement {
    /// Of an image.
    pub(crate) fn of_image(object: &Arc<Object>, area: Area, access: AccessMode) -> Self {
        Self { object: Arc::clone(object), area, access, no_init: false, sub_buffer_bytes: None }
    }

    /// The buffer; that of a sub-buffer is its parent.
    pub(crate) fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Which elements, in the coordinates of the buffer.
    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    pub(crate) fn reads(&self) -> bool {
        self.access != AccessMode::Write
    }

    pub(crate) fn writes(&self) -> bool {
        self.access != AccessMode::Read
    }

    /// Whether the command replaces all of the buffer.
    pub(crate) fn replaces_all(&self) -> bool {
        self.no_init && self.writes() && self.is_whole()
    }

    /// Whether it is of all elements.
    pub(crate) fn is_whole(&self) -> bool {
        self.area == Area::whole(self.object.shape())
    }

    /// Whether the command needs what was in the buffer before: always, unless it replaces all of
    /// it.
    pub(crate) fn needs_contents(&self) -> bool {
        !self.area.is_empty() && !self.replaces_all()
    }

    /// Changes what the command does with the elements.
    pub(crate) fn set_access(&mut self, access: AccessMode) {
        self.access = access;
    }

    /// The same for a command that writes, too.
    pub(super) fn written(mut self) -> Self {
        self.access = AccessMode::ReadWrite;
        self
    }

    /// The same for a command that replaces all elements of the part.
    pub(crate) fn replaced(mut self) -> Self {
        self.no_init = true;
        self
    }

    /// The same for a command that may not run: then what was in the part before stays.
    pub(crate) fn of_possible_command(mut self) -> Self {
        self.no_init = false;
        self
    }

    /// Refuses for a command that is waited for at once, as a host accessor is refused, while the
    /// host writes the part.
    pub(crate) fn check_no_host_writer(&self) -> Result<()> {
        self.object.lock().check_no_host_writer(&self.area).map_err(|error| error.at(self.object.to_string()))
    }

    /// The memory from the first to the last element, in the context of a queue; made if need be.
    /// The contents are there once the command has been given its place among others
    /// ([`ordered`](super::ordered)).
    pub(crate) fn region(&self, queue: &Queue) -> Result<Region> {
        self.check(queue.device())?;
        self.object.region(&self.area, queue)
    }

    /// Whether a device takes it: sub-buffers must begin where it wants them to.
    pub(crate) fn check(&self, device: &Device) -> Result<()> {
        let Some(offset) = self.sub_buffer_bytes else { return Ok(()) };
        let alignment = device.capabilities().limits.buffer_alignment_bytes as usize;
        if offset.checked_rem(alignment).is_none_or(|rest| rest == 0) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a sub-buffer at byte {offset} of {}, which device `{}` wants at a multiple of {alignment} bytes",
            self.object,
            device.name()
        ))
        .remedy("use a part of an accessor, which may begin at any element"))
    }

    /// Makes the memory in a context, if need be, for [`Self::read_in`] and [`Self::write_in`] to
    /// come.
    pub(crate) fn make_in(&self, context: &Context) -> Result<()> {
        self.object.storage(context).map(drop)
    }

    /// Reads the part from memory of a context, for a task that has its place among others; nothing
    /// where the contents are not needed.
    pub(super) fn read_in(&self, context: &Context, target: &mut [u8]) -> Result<()> {
        if self.no_init {
            return Ok(());
        }
        let storage = self.object.storage(context)?;
        storage.read(&self.object, &self.area, target).map_err(|error| error.at(self.object.to_string()))
    }

    /// Writes the part to memory of a context, for such a task; nothing where it is only read.
    pub(super) fn write_in(&self, context: &Context, source: &[u8]) -> Result<()> {
        if !self.writes() {
            return Ok(());
        }
        let storage = self.object.storage(context)?;
        storage.write(self, source).map_err(|error| error.at(self.object.to_string()))
    }

    /// Whether one writes elements that the other uses.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.object.id() == other.object.id()
            && (self.writes() || other.writes())
            && self.area.overlaps(&other.area)
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.area.len() * self.object.element_bytes()
    }

    /// Byte offset in the buffer and size of each stretch of memory that the part has, in order.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (usize, usize)> {
        let bytes = self.object.element_bytes();
        self.area.runs(self.object.shape()).map(move |(start, length)| (start * bytes, length * bytes))
    }
}

impl fmt::Debug for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} of {:?} from {:?} on in {}",
            self.access, self.area.extent, self.area.offset, self.object
        )
    }
}
