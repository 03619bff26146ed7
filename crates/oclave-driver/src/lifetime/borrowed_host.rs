//! Host memory that a caller lends to commands while it waits for them. They use it where it is:
//! nothing is copied in between.
//!
//! A command may outlive the wait: when the wait fails, or the command was deferred. So the memory
//! is taken back at the end. Commands that come later fail, and those that the driver has are waited
//! for, whatever that takes: the memory cannot be kept from its owner.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::host::{HostSink, HostSource, Writable};
use crate::MakeError as _;
use crate::event::Event;
use crate::queue::Queue;
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, Result};

/// Borrowed memory, for commands.
pub struct BorrowedHost {
    size_bytes: usize,
    state: Mutex<State>,
}

impl fmt::Debug for BorrowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedHost").field("size_bytes", &self.size_bytes).finish_non_exhaustive()
    }
}

struct State {
    /// `None` once the memory was taken back.
    start: Option<NonNull<u8>>,
    /// Of the commands that may use it.
    users: Vec<Event>,
}

// SAFETY: the address is handed to the driver only, while the lender waits.
unsafe impl Send for State {}

/// Calls with memory that commands may read until this returns.
pub fn lend<R>(bytes: &[u8], run: impl FnOnce(HostSource) -> Result<R>) -> Result<R> {
    let lender = Lender(BorrowedHost::new(NonNull::from(bytes)));
    run(HostSource::Lent(Arc::clone(&lender.0)))
}

/// Calls with memory that commands may write until this returns.
pub fn lend_mut<R>(bytes: &mut [u8], run: impl FnOnce(HostSink) -> Result<R>) -> Result<R> {
    let lender = Lender(BorrowedHost::new(NonNull::from(bytes)));
    run(HostSink::lent(&lender.0))
}

/// Takes the memory back at the end of the call, also if that panics.
struct Lender(Arc<BorrowedHost>);

impl Drop for Lender {
    fn drop(&mut self) {
        let users = {
            let mut state = self.0.lock();
            state.start = None;
            std::mem::take(&mut state.users)
        };
        users.iter().for_each(Event::end);
    }
}

impl BorrowedHost {
    fn new(bytes: NonNull<[u8]>) -> Arc<Self> {
        let state = State { start: Some(bytes.cast()), users: Vec::new() };
        Arc::new(Self { size_bytes: bytes.len(), state: Mutex::new(state) })
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Enqueues commands that use it; `enqueue` gets the address.
    pub(super) fn enqueue(
        &self,
        queue: &Arc<Queue>,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        let mut state = self.lock();
        let Some(start) = state.start else {
            return Err(Error::invalid("nobody waits any more for the copy from or to borrowed host memory"));
        };
        let submitted = enqueue(start.as_ptr().cast());
        match &submitted {
            Ok(event) => state.users.push(event.clone()),
            Err(error) => {
                queue.end_blocking(error);
                state.users.extend(queue.abandoned());
            }
        }
        submitted
    }
}

impl Writable for BorrowedHost {
    fn is_lent(&self) -> bool {
        true
    }

    fn write(
        &self,
        queue: &Arc<Queue>,
        _: usize,
        enqueue: &mut dyn FnMut(*mut c_void) -> Result<Event>,
    ) -> Result<Event> {
        self.enqueue(queue, enqueue)
    }
}
