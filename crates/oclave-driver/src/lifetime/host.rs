//! Host memory that commands read and write. Where nobody waits for them it is owned, shared, and
//! kept until they have ended; else it is [lent](super::borrowed_host).

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use super::borrowed_host::BorrowedHost;
use super::deferred_free::{DeferredResource, leak};
use super::host_target_lock::{HostTargetLock, NotReady, State, Writer};
use crate::MakeError as _;
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
    Lent(Arc<BorrowedHost>),
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
        keep_while_used(queue, &submitted, || DeferredResource::Host(Box::new(bytes.clone())));
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
fn keep_while_used(queue: &Arc<Queue>, submitted: &Result<Event>, keep: impl FnOnce() -> DeferredResource) {
    if let Some(event) = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned()) {
        keep_until(queue.context(), &event, keep());
    }
}

fn keep_until(context: &Context, event: &Event, keep: DeferredResource) {
    match event.raw().and_then(RawEvent::try_clone) {
        Ok(raw) => context.deferred().push(vec![raw], keep),
        Err(error) => {
            context.keep_error(error);
            leak(keep);
        }
    }
}

/// Host memory that commands write. Clones share it. The host sees the data only while no command
/// may write.
pub struct HostBuffer<T>(Arc<HostTargetLock<Vec<T>, RawEvent>>);

impl<T> fmt::Debug for HostBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostBuffer")
    }
}

// SAFETY: plain data, which no thread in particular must free; handles of events are thread-safe.
unsafe impl<T: Pod> Send for State<Vec<T>, RawEvent> {}

impl Writer for RawEvent {
    type Error = Error;

    fn try_clone(&self) -> Result<Self> {
        Self::try_clone(self)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }

    fn wait_for_end(&self) -> Result<()> {
        Self::wait_for_end(self)
    }
}

impl From<NotReady<Error>> for Error {
    fn from(unsettled: NotReady<Error>) -> Self {
        match unsettled {
            NotReady::Refused(error) => error,
            NotReady::Lost(cause) => {
                Self::new(ErrorKind::Runtime, "host memory was lost while a command wrote to it")
                    .with_source(cause)
            }
        }
    }
}

/// A copy of data that somebody looks at.
fn copy<T: Pod>(data: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(data.len()).map_err(|error| {
        Error::new(ErrorKind::MemoryAllocation, "no memory for host data that somebody looks at meanwhile")
            .with_source(error)
    })?;
    copy.extend_from_slice(data);
    Ok(copy)
}

impl<T: Pod> HostBuffer<T> {
    /// Of a vector.
    pub fn new(data: Vec<T>) -> Self {
        Self(Arc::new(HostTargetLock::new(data)))
    }

    /// The data, when the commands that were given to the device have written it. It stays as it
    /// is: commands that come later write elsewhere while this is kept.
    pub fn look(&self) -> Result<Arc<Vec<T>>> {
        Ok(self.0.look()?)
    }

    /// Puts other data there, with the old data's consent, and gives the old data.
    pub fn replace(&self, data: Vec<T>, may: impl FnOnce(&[T]) -> Result<()>) -> Result<Arc<Vec<T>>> {
        self.0.replace(data, |old| may(old))
    }

    /// For commands.
    pub fn sink(&self) -> HostSink {
        HostSink { size_bytes: size_of_val(self.0.lock().data().as_slice()), state: Arc::clone(&self.0) as _ }
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

impl<T: Pod> Writable for HostTargetLock<Vec<T>, RawEvent> {
    fn write(
        &self,
        queue: &Arc<Queue>,
        size_bytes: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let mut state = self.lock();
        // The owner may have taken the data meanwhile.
        if size_of_val(state.data().as_slice()) != size_bytes {
            return Err(Error::invalid("the host memory that the command writes to was taken away"));
        }
        let start = match state.writable(|data| copy(data))? {
            Some(data) => data.as_mut_ptr(),
            None => return Err(Error::bug("host memory that is shared at once")),
        };
        let submitted = enqueue(start.cast());
        if let Some(until) = submitted.as_ref().ok().cloned().or_else(|| queue.abandoned()) {
            let end = until.raw().and_then(RawEvent::try_clone);
            state
                .is_written_until(end.inspect_err(|error| until.queue().context().keep_error(error.clone())));
        }
        submitted
    }
}

impl HostSink {
    /// Of memory that is lent.
    pub(super) fn lent(loan: &Arc<BorrowedHost>) -> Self {
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
        keep_while_used(queue, &submitted, || DeferredResource::Host(Box::new(Arc::clone(&self.state))));
        submitted
    }
}

impl fmt::Debug for HostSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host memory of {} bytes", self.size_bytes)
    }
}
