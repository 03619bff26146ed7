//! Commands that failed half-way: what is on the queue of them runs on, and nobody has an event of
//! it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::event::Event;
use super::queue::Queue;
use crate::MakeError as _;
use crate::sys::CL_INVALID_VALUE;
use crate::{Error, Result};

/// How often a queue is asked to wait that refuses, and how long after each time.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Whether a code is one of invalid arguments, by which nothing happens.
fn is_refusal(code: i32) -> bool {
    code <= CL_INVALID_VALUE
}

impl Queue {
    /// For several commands that failed half-way: waits for those that were enqueued, which nobody
    /// else knows of. Where the driver does not wait, they count as one command that has not ended.
    /// The memory that they use stays. Memory that is not the context's must stay as well, see
    /// [`Queue::abandoned`].
    pub fn abandon(&self) {
        let count = self.core.submitted.fetch_add(1, Ordering::AcqRel) + 1;
        let Err(error) = self.finish_or_give_up() else { return };
        self.core.abandoned.fetch_max(count, Ordering::AcqRel);
        log::error!("commands that failed half-way may run on, as the driver does not wait for them");
        self.context().keep_error(error.at("waiting for commands that failed half-way"));
    }

    /// An event after the abandoned commands, while they may still run.
    pub fn abandoned(self: &Arc<Self>) -> Option<Event> {
        let count = self.core.abandoned.load(Ordering::Acquire);
        (!self.is_complete(count)).then(|| Event::new(Arc::clone(self), None, count, count))
    }

    /// Waits for all commands now on the queue, and asks again where the driver refuses at first.
    fn finish_or_give_up(&self) -> Result<()> {
        for _ in 1..TRIES {
            if self.core.finish().is_ok() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        self.core.finish()
    }

    /// For a blocking command on borrowed memory that failed: returns when it has ended, if it was
    /// enqueued, whatever that takes. The memory cannot be kept from its owner in any other way.
    pub(crate) fn end_blocking(&self, error: &Error) {
        // Arguments that are refused are refused before anything is enqueued.
        if error.code().is_none_or(is_refusal) {
            return;
        }
        self.end_borrowed();
    }

    /// Returns when all commands now on the queue have ended, whatever that takes.
    pub(crate) fn end_borrowed(&self) {
        while let Err(error) = self.finish_or_give_up() {
            log::error!("waiting on, as a command may use borrowed memory: {error}");
            if error.code().is_none_or(is_refusal) {
                // There is no such queue any more, so nothing runs on it.
                return;
            }
        }
    }
}
