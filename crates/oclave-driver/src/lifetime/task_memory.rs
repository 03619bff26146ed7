//! Memory that the host writes and reads between launches only: lists of tasks.

use std::sync::Arc;

use super::usm::{Allocation, Kind, Span};
use crate::Device;
use crate::MakeError as _;
use crate::context::Context;
use crate::event::{Event, Status};
use crate::{Error, Result};

/// Launches that may be noted before those that have ended are looked for.
const MANY: usize = 16;

/// Host-addressable USM that nobody else has. The host's writes wait for the launches that were
/// given it.
pub struct TaskMemory {
    allocation: Arc<Allocation>,
    /// The launches that may still read the memory; of an in-order queue, the last one.
    readers: Vec<Event>,
}

impl TaskMemory {
    /// Memory of `size_bytes`, aligned to 128.
    pub fn new(context: &Arc<Context>, device: &Device, size_bytes: usize) -> Result<Self> {
        let (kind, device) = match context.pointers()?.support().host {
            true => (Kind::Host, None),
            false => (Kind::Shared, Some(device)),
        };
        let allocation = Allocation::new(context, device, kind, size_bytes, 128)?;
        Ok(Self { allocation, readers: Vec::new() })
    }

    /// Whether no launch reads the memory any more.
    #[inline]
    pub fn is_idle(&mut self) -> Result<bool> {
        while let Some(reader) = self.readers.last() {
            match reader.status()? {
                Status::Complete | Status::Failed(_) => drop(self.readers.pop()),
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Writes bytes, once no launch reads the memory any more.
    #[inline]
    pub fn write(&mut self, offset_bytes: usize, bytes: &[u8]) -> Result<()> {
        let span = self.allocation.span(offset_bytes, bytes.len())?;
        while let Some(reader) = self.readers.last() {
            match reader.status()? {
                Status::Complete | Status::Failed(_) => {}
                // How the launch ended is the business of those who wait for it.
                _ => reader.wait().or_else(|error| match reader.status()? {
                    Status::Failed(_) => Ok(()),
                    _ => Err(error),
                })?,
            }
            self.readers.pop();
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let context = self.allocation.context();
        if context.pointers()?.support().mapped {
            // SAFETY: the span has as many bytes, and all launches that were given it have ended.
            return unsafe { context.write_now(span.address(), bytes) };
        }
        // SAFETY: the span has as many bytes. The host can address them, as the memory is
        // `Kind::Host` or `Kind::Shared`. All launches that were given it have ended, and `&mut
        // self` keeps others from being given it; `bytes` is other memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), span.address().cast::<u8>(), bytes.len()) };
        Ok(())
    }

    /// Reads bytes that a launch has written, which must have ended.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) while a launch may write the memory.
    pub fn read(&mut self, offset_bytes: usize, bytes: &mut [u8]) -> Result<()> {
        if !self.is_idle()? {
            return Err(Error::invalid("a launch still writes the list of tasks"));
        }
        let span = self.allocation.span(offset_bytes, bytes.len())?;
        let context = self.allocation.context();
        if context.pointers()?.support().mapped {
            // SAFETY: the span has as many bytes, and all launches that were given it have ended.
            return unsafe { context.read_now(span.address(), bytes) };
        }
        // SAFETY: the span has as many bytes. The host can address them, as the memory is
        // `Kind::Host` or `Kind::Shared`. All launches that were given it have ended, and `&mut
        // self` keeps others from being given it; `bytes` is other memory.
        unsafe {
            std::ptr::copy_nonoverlapping(span.address().cast::<u8>(), bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    /// Gives the memory to one launch, whose event `enqueue` returns.
    #[inline]
    pub fn launch(&mut self, enqueue: impl FnOnce(Span<'_>) -> Result<Event>) -> Result<Event> {
        if self.allocation.size_bytes() == 0 {
            return Err(Error::invalid("a list of no tasks"));
        }
        let event = enqueue(self.allocation.tail(0))?;
        let queue = event.queue();
        let before = (!queue.properties().out_of_order)
            .then(|| self.readers.iter_mut().find(|reader| Arc::ptr_eq(reader.queue(), queue)));
        match before.flatten() {
            Some(reader) => *reader = event.clone(),
            None => {
                if self.readers.len() >= MANY {
                    self.readers.retain(|reader| !reader.has_ended());
                }
                self.readers.push(event.clone());
            }
        }
        Ok(event)
    }
}

impl std::fmt::Debug for TaskMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskMemory").field("allocation", &self.allocation).finish_non_exhaustive()
    }
}
