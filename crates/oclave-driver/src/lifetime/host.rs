//! Host memory that commands read and write. Where nobody waits for them it is owned, shared, and
//! kept until they have ended; else it is [lent](super::loan).

use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

use super::loan::Loan;
use super::retired::{RetiredResource, leak};
use crate::context::Context;
use crate::event::{Event, RawEvent};
use crate::queue::Queue;
use crate::{Error, ErrorKind, Result};

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

/// Host bytes of any plain type, which nobody changes any more. Clones share them.
#[derive(Clone)]
pub struct HostBytes(Arc<dyn Bytes>);

// SAFETY: the bytes are plain data (`Pod`) that never changes; dropping it only frees memory, which
// needs no certain thread.
unsafe impl Send for HostBytes {}
// SAFETY: as above; shared references give bytes only.
unsafe impl Sync for HostBytes {}

impl HostBytes {
    /// Of a vector.
    pub fn owned<T: Pod>(data: Vec<T>) -> Self {
        Self(Arc::new(data))
    }

    /// Of a slice that others have, too.
    pub fn shared<T: Pod>(data: Arc<[T]>) -> Self {
        Self(Arc::new(data))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl fmt::Debug for HostBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.bytes().len())
    }
}

/// Host memory that commands read: owned and kept until they have ended, or lent by a caller who
/// waits. Clones share it.
#[derive(Clone)]
pub enum HostSource {
    /// Kept by the command.
    Owned(HostBytes),
    /// Of a caller who waits.
    Lent(Arc<Loan>),
}

impl From<HostBytes> for HostSource {
    fn from(bytes: HostBytes) -> Self {
        Self::Owned(bytes)
    }
}

impl HostSource {
    /// Of a vector.
    pub fn owned<T: Pod>(data: Vec<T>) -> Self {
        Self::Owned(HostBytes::owned(data))
    }

    /// How many bytes.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.bytes().len(),
            Self::Lent(loan) => loan.size_bytes(),
        }
    }

    /// Enqueues commands that read it, with an event of their own; `enqueue` gets the address. The
    /// memory stays until they have ended, also those that were enqueued before an error.
    pub(crate) fn read(
        &self,
        queue: &Arc<Queue>,
        mut enqueue: impl FnMut(*const c_void) -> Result<Event>,
    ) -> Result<Event> {
        let bytes = match self {
            Self::Owned(bytes) => bytes,
            Self::Lent(loan) => return loan.enqueue(queue, &mut |start| enqueue(start.cast_const())),
        };
        let submitted = enqueue(bytes.bytes().as_ptr().cast());
        keep_while_used(queue, &submitted, || RetiredResource::Host(Box::new(bytes.clone())));
        submitted
    }
}

impl fmt::Debug for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.size_bytes())
    }
}

/// Keeps host memory until the command that uses it has ended. If the command was refused, until
/// what the driver still has of it has.
fn keep_while_used(queue: &Arc<Queue>, submitted: &Result<Event>, keep: impl FnOnce() -> RetiredResource) {
    if let Some(event) = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned()) {
        keep_until(queue.context(), &event, keep());
    }
}

fn keep_until(context: &Context, event: &Event, keep: RetiredResource) {
    match event.raw().and_then(RawEvent::try_clone) {
        Ok(raw) => context.retired().push(vec![raw], keep),
        Err(error) => {
            context.keep_error(error);
            leak(keep);
        }
    }
}

/// Host memory that commands write. Clones share it. The host sees the data only while no command
/// may write.
pub struct HostBuffer<T>(Arc<Mutex<HostBufferState<T>>>);

impl<T> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostBuffer")
    }
}

struct HostBufferState<T> {
    /// Shared with those who look at it. A command that is to write meanwhile gets other memory, so
    /// that nobody looks under the lock and no command waits for somebody who looks.
    data: Arc<Vec<T>>,
    /// Of the commands that may still write.
    writers: Vec<RawEvent>,
    /// Why nobody knows when a command that writes has ended. The data is not read again then.
    lost: Option<Error>,
}

// SAFETY: plain data, which no thread in particular must free; handles of events are thread-safe.
unsafe impl<T: Pod> Send for HostBufferState<T> {}

/// Events kept before those of ended commands are let go.
const MANY: usize = 16;

impl<T: Pod> HostBufferState<T> {
    /// Where a command may write. No command writes to data that somebody looks at: it was settled
    /// for that.
    fn start(&mut self) -> Result<*mut T> {
        if let Some(data) = Arc::get_mut(&mut self.data) {
            return Ok(data.as_mut_ptr());
        }
        let mut data = Vec::new();
        data.try_reserve_exact(self.data.len()).map_err(|error| {
            Error::new(
                ErrorKind::MemoryAllocation,
                "no memory for host data that somebody looks at meanwhile",
            )
            .with_source(error)
        })?;
        data.extend_from_slice(&self.data);
        self.data = Arc::new(data);
        Arc::get_mut(&mut self.data)
            .map(Vec::as_mut_ptr)
            .ok_or_else(|| Error::invalid("host memory that is shared at once"))
    }
}

impl<T> HostBufferState<T> {
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
                event.queue().context().keep_error(error.clone());
                self.lost = Some(error);
            }
        }
    }
}

impl<T: Pod> HostBuffer<T> {
    /// Of a vector.
    pub fn new(data: Vec<T>) -> Self {
        Self(Arc::new(Mutex::new(HostBufferState { data: Arc::new(data), writers: Vec::new(), lost: None })))
    }

    fn lock(&self) -> MutexGuard<'_, HostBufferState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no command writes. Not under the lock: what the device waits for may be done by
    /// a thread that needs it.
    fn settled(&self) -> Result<MutexGuard<'_, HostBufferState<T>>> {
        loop {
            let writer = {
                let state = self.lock();
                if let Some(cause) = &state.lost {
                    return Err(Error::new(
                        ErrorKind::Runtime,
                        "host memory was lost while a command wrote to it",
                    )
                    .with_source(cause.clone()));
                }
                match state.writers.last() {
                    Some(writer) => writer.try_clone()?,
                    None => return Ok(state),
                }
            };
            writer.wait_for_end()?;
            self.lock().writers.retain(|other| other.raw() != writer.raw());
        }
    }

    /// The data, when the commands that were given to the device have written it. It stays as it
    /// is: commands that come later write elsewhere while this is kept.
    pub fn look(&self) -> Result<Arc<Vec<T>>> {
        Ok(Arc::clone(&self.settled()?.data))
    }

    /// Puts other data there, with the old data's consent, and gives the old data.
    pub fn replace(&self, data: Vec<T>, may: impl FnOnce(&[T]) -> Result<()>) -> Result<Arc<Vec<T>>> {
        let mut state = self.settled()?;
        may(&state.data)?;
        Ok(std::mem::replace(&mut state.data, Arc::new(data)))
    }

    /// For commands.
    pub fn sink(&self) -> HostSink {
        HostSink { size_bytes: size_of_val(self.lock().data.as_slice()), state: Arc::clone(&self.0) as _ }
    }
}

impl<T> Clone for HostBuffer<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What commands that write to a [`HostBuffer`] know of it.
#[derive(Clone)]
pub struct HostSink {
    size_bytes: usize,
    state: Arc<dyn Writable>,
}

pub(super) trait Writable: Send + Sync {
    /// Whether a caller waits for the commands, so that they need not keep it.
    fn is_lent(&self) -> bool {
        false
    }

    /// As [`HostSink::write`].
    fn write(
        &self,
        queue: &Arc<Queue>,
        size_bytes: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event>;
}

impl<T: Pod> Writable for Mutex<HostBufferState<T>> {
    fn write(
        &self,
        queue: &Arc<Queue>,
        size_bytes: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let mut state = self.lock().unwrap_or_else(PoisonError::into_inner);
        // The owner may have taken the data meanwhile.
        if size_of_val(state.data.as_slice()) != size_bytes {
            return Err(Error::invalid("the host memory that the command writes to was taken away"));
        }
        let submitted = enqueue(state.start()?.cast());
        let until = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned());
        until.iter().for_each(|event| state.is_written_until(event));
        submitted
    }
}

impl HostSink {
    /// Of memory that is lent.
    pub(super) fn lent(loan: &Arc<Loan>) -> Self {
        Self { size_bytes: loan.size_bytes(), state: Arc::clone(loan) as _ }
    }

    /// How many bytes.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Enqueues a command that writes all of it, with an event of its own; `enqueue` gets the
    /// address.
    pub(crate) fn write(
        &self,
        queue: &Arc<Queue>,
        mut enqueue: impl FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let submitted = self.state.write(queue, self.size_bytes, &mut enqueue);
        if self.state.is_lent() {
            return submitted;
        }
        keep_while_used(queue, &submitted, || RetiredResource::Host(Box::new(Arc::clone(&self.state))));
        submitted
    }
}

impl fmt::Debug for HostSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.size_bytes)
    }
}
