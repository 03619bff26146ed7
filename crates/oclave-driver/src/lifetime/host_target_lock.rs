//! The lock of host memory that commands write and threads look at.
//!
//! Nobody looks at the data under the lock, and nobody waits under it. A thread that looks keeps a
//! reference instead. A command that is to write meanwhile gets a copy.
//!
//! A model runs this lock in every order, too (`crates/loom-model`). It replaces `sync`.

use super::sync::{Arc, Mutex, MutexGuard};

/// A command that may still write.
pub(super) trait Writer: Sized {
    type Error: Clone;

    fn try_clone(&self) -> Result<Self, Self::Error>;

    fn is_same(&self, other: &Self) -> bool;

    /// Whether it has ended, as far as that is known without waiting.
    fn has_ended(&self) -> bool;

    fn wait_for_end(&self) -> Result<(), Self::Error>;
}

/// Data that commands write, and that the host sees only while no command may write.
pub(super) struct HostTargetLock<D, W: Writer>(Mutex<State<D, W>>);

pub(super) struct State<D, W: Writer> {
    /// Shared with those who look at it.
    data: Arc<D>,
    /// The commands that may still write.
    writers: Vec<W>,
    /// Why nobody knows when a command that writes has ended. The data is not read again then.
    lost: Option<W::Error>,
}

/// Why data cannot be looked at.
pub(super) enum NotReady<E> {
    /// The driver refused to wait.
    Refused(E),
    /// Nobody knows whether a command still writes, for this reason.
    Lost(E),
}

/// Commands kept before those that have ended are let go.
const MANY: usize = 16;

impl<D, W: Writer> HostTargetLock<D, W> {
    pub(super) fn new(data: D) -> Self {
        Self(Mutex::new(State { data: Arc::new(data), writers: Vec::new(), lost: None }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<D, W>> {
        self.0.lock()
    }

    /// Waits until no command writes. Not under the lock: what the device waits for may be done by
    /// a thread that needs it.
    fn wait(&self) -> Result<MutexGuard<'_, State<D, W>>, NotReady<W::Error>> {
        loop {
            let writer = {
                let state = self.lock();
                if let Some(cause) = &state.lost {
                    return Err(NotReady::Lost(cause.clone()));
                }
                match state.writers.last() {
                    Some(writer) => writer.try_clone().map_err(NotReady::Refused)?,
                    None => return Ok(state),
                }
            };
            writer.wait_for_end().map_err(NotReady::Refused)?;
            self.lock().writers.retain(|other| !other.is_same(&writer));
        }
    }

    /// The data, when the commands that were given to the device have written it. It stays as it
    /// is: commands that come later write elsewhere while this is kept.
    pub(super) fn look(&self) -> Result<Arc<D>, NotReady<W::Error>> {
        Ok(Arc::clone(&self.wait()?.data))
    }

    /// Puts other data there when no command writes, with the old data's consent, and gives the old
    /// data.
    pub(super) fn replace<E: From<NotReady<W::Error>>>(
        &self,
        data: D,
        may: impl FnOnce(&D) -> Result<(), E>,
    ) -> Result<Arc<D>, E> {
        let mut state = self.wait()?;
        may(&state.data)?;
        Ok(std::mem::replace(&mut state.data, Arc::new(data)))
    }
}

impl<D, W: Writer> State<D, W> {
    pub(super) fn data(&self) -> &D {
        &self.data
    }

    /// Data that a command may write: a copy if somebody looks at the data. `None` if there is
    /// none.
    pub(super) fn writable<E>(&mut self, copy: impl FnOnce(&D) -> Result<D, E>) -> Result<Option<&mut D>, E> {
        if Arc::get_mut(&mut self.data).is_none() {
            self.data = Arc::new(copy(&self.data)?);
        }
        Ok(Arc::get_mut(&mut self.data))
    }

    /// Notes that a command writes, or why nobody knows when it will have ended.
    pub(super) fn is_written_until(&mut self, end: Result<W, W::Error>) {
        match end {
            Ok(writer) => {
                if self.writers.len() >= MANY {
                    self.writers.retain(|writer| !writer.has_ended());
                }
                self.writers.push(writer);
            }
            Err(cause) => self.lost = Some(cause),
        }
    }
}
