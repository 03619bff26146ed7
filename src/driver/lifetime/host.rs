//! Host memory that commands read and write while nobody waits for them: owned, shared, and kept until they have ended.

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use super::retired::{Keep, leak};
use crate::driver::context::Context;
use crate::driver::event::{Event, RawEvent};
use crate::driver::queue::Queue;
use crate::error::{Error, ErrorKind, Result};

/// Plain data of any type, which nobody changes any more.
trait Bytes {
    fn bytes(&self) -> &[u8];
}

impl<T: Pod> Bytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: Pod> Bytes for Arc<[T]> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// Host bytes that commands read. Clones share them.
#[derive(Clone)]
pub(crate) struct HostSource(Arc<dyn Bytes>);

// SAFETY: the bytes are plain data (`Pod`) that never changes; dropping it only frees memory, which needs no certain thread.
unsafe impl Send for HostSource {}
// SAFETY: as above; shared references give bytes only.
unsafe impl Sync for HostSource {}

impl HostSource {
    pub(crate) fn owned<T: Pod>(data: Vec<T>) -> Self {
        Self(Arc::new(data))
    }

    pub(crate) fn shared<T: Pod>(data: Arc<[T]>) -> Self {
        Self(Arc::new(data))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Holds the bytes until a command has ended.
    pub(in crate::driver) fn keep_until(&self, context: &Context, event: &Event) {
        keep_until(context, event, Keep::Host(Box::new(self.clone())));
    }
}

impl fmt::Debug for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.bytes().len())
    }
}

fn keep_until(context: &Context, event: &Event, keep: Keep) {
    match event.raw().and_then(RawEvent::try_clone) {
        Ok(raw) => context.retired().push(vec![raw], keep),
        Err(error) => {
            context.keep_error(error);
            leak(keep);
        }
    }
}

/// Host memory that commands write. Clones share it. The host sees the data only while no command may write.
pub(crate) struct HostBuffer<T>(Arc<Mutex<Landing<T>>>);

struct Landing<T> {
    data: Vec<T>,
    /// Of the commands that may still write.
    writers: Vec<RawEvent>,
    /// A command may write for ever: the driver does not say when it has ended.
    lost: bool,
}

// SAFETY: plain data, which no thread in particular must free; handles of events are thread-safe.
unsafe impl<T: Pod> Send for Landing<T> {}

/// Events kept before those of ended commands are let go.
const MANY: usize = 16;

impl<T: Pod> Landing<T> {
    /// Waits until no command writes.
    fn settle(&mut self) -> Result<()> {
        if self.lost {
            return Err(Error::new(ErrorKind::Runtime, "host memory was lost while a command wrote to it"));
        }
        while let Some(writer) = self.writers.last() {
            writer.wait_for_end()?;
            self.writers.pop();
        }
        Ok(())
    }
}

impl<T> Landing<T> {
    /// Notes that commands write until an event.
    fn is_written_until(&mut self, event: &Event) {
        match event.raw().and_then(RawEvent::try_clone) {
            Ok(writer) => {
                if self.writers.len() >= MANY {
                    self.writers.retain(|writer| !writer.has_ended());
                }
                self.writers.push(writer);
            }
            Err(error) => {
                self.lost = true;
                event.queue().context().keep_error(error);
            }
        }
    }
}

impl<T: Pod> HostBuffer<T> {
    pub(crate) fn new(data: Vec<T>) -> Self {
        Self(Arc::new(Mutex::new(Landing { data, writers: Vec::new(), lost: false })))
    }

    fn lock(&self) -> MutexGuard<'_, Landing<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls with the data, when the commands that were given to the device have written it.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut Vec<T>) -> R) -> Result<R> {
        let mut landing = self.lock();
        landing.settle()?;
        Ok(look(&mut landing.data))
    }

    /// For commands.
    pub(crate) fn sink(&self) -> HostSink {
        HostSink { size_bytes: size_of_val(self.lock().data.as_slice()), landing: Arc::clone(&self.0) as _ }
    }
}

impl<T> Clone for HostBuffer<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What commands that write to a [`HostBuffer`] know of it.
#[derive(Clone)]
pub(crate) struct HostSink {
    size_bytes: usize,
    landing: Arc<dyn Writable>,
}

trait Writable: Send + Sync {
    fn write(
        &self,
        queue: &Arc<Queue>,
        size_bytes: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event>;
}

impl<T: Pod> Writable for Mutex<Landing<T>> {
    fn write(
        &self,
        queue: &Arc<Queue>,
        size_bytes: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let mut landing = self.lock().unwrap_or_else(PoisonError::into_inner);
        // The owner may have taken the data meanwhile.
        if size_of_val(landing.data.as_slice()) != size_bytes {
            return Err(Error::invalid("the host memory that the command writes to was taken away"));
        }
        let submitted = enqueue(landing.data.as_mut_ptr().cast());
        let until = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned());
        until.iter().for_each(|event| landing.is_written_until(event));
        submitted
    }
}

impl HostSink {
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Enqueues a command that writes all of it, with an event of its own; `enqueue` gets the address.
    pub(in crate::driver) fn write(
        &self,
        queue: &Arc<Queue>,
        mut enqueue: impl FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let submitted = self.landing.write(queue, self.size_bytes, &mut enqueue);
        let until = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned());
        let keep = || Keep::Host(Box::new(Arc::clone(&self.landing)));
        until.iter().for_each(|event| keep_until(queue.context(), event, keep()));
        submitted
    }
}

impl fmt::Debug for HostSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.size_bytes)
    }
}
