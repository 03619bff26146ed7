//! The hook by which a graph takes the commands of a queue that records.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Command;
use crate::{Event, Queue, Result};

/// What takes the commands of recording queues: a graph.
pub(crate) trait Recorder: Send + Sync {
    /// Takes a command, with all its dependencies. The event stands for it in later commands
    /// ([`Event::recorded`]), and cannot be waited for.
    ///
    /// Called for a queue that records into this, and for any queue whose command depends on an event of this.
    fn record(self: Arc<Self>, queue: &Queue, command: Command) -> Result<Event>;
}

/// Whether a queue records, and into what.
#[derive(Default)]
pub(crate) struct Recording {
    active: AtomicBool,
    recorder: Mutex<Option<Weak<dyn Recorder>>>,
}

impl Recording {
    /// Begins (`Some`) or ends (`None`) recording; gives what recorded until now.
    pub(crate) fn set(&self, recorder: Option<Weak<dyn Recorder>>) -> Option<Arc<dyn Recorder>> {
        let mut place = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        self.active.store(recorder.is_some(), Ordering::Release);
        std::mem::replace(&mut *place, recorder)?.upgrade()
    }

    /// What the queue records into; costs one load while it does not record. A recorder that is gone records no more.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        if self.active.load(Ordering::Acquire) { self.active_recorder() } else { None }
    }

    #[cold]
    fn active_recorder(&self) -> Option<Arc<dyn Recorder>> {
        let place = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref()?.upgrade()
    }
}
