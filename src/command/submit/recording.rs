//! The hook by which a graph takes the commands of a queue that records.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::command::describe::command::Command;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::event::NodeOwner;
use crate::{Event, Queue, Result};

/// What takes the commands of recording queues: a graph.
pub(crate) trait Recorder: NodeOwner {
    /// Takes a command, with all its dependencies. The event stands for it in later commands
    /// ([`Event::recorded`]), and cannot be waited for.
    ///
    /// Called for a queue that records into this, and for any queue whose command depends on an
    /// event of this. Gives a command back that is neither: the recording has ended meanwhile.
    fn record(self: Arc<Self>, queue: &Queue, command: Command) -> Result<Result<Event, Command>>;
}

/// What recorded the command of an event, while it lives.
pub(super) fn recorder_of(event: &Event) -> Option<Arc<dyn Recorder>> {
    let owner = event.recorded()?.owner()?;
    owner.recorder().downcast::<Arc<dyn Recorder>>().ok().map(|recorder| *recorder)
}

/// Whether a queue records, and into what. All clones of a queue share one.
pub(crate) struct Recording {
    /// Never given out again.
    id: u64,
    active: AtomicBool,
    recorder: Mutex<Option<Weak<dyn Recorder>>>,
}

/// The queue records into something else.
#[derive(Debug)]
pub(crate) struct RecordsElsewhere;

impl Default for Recording {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, active: AtomicBool::new(false), recorder: Mutex::new(None) }
    }
}

impl Recording {
    /// Which queue, in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Begins to record. Whether that changed anything.
    pub(crate) fn begin(&self, recorder: &Weak<dyn Recorder>) -> Result<bool, RecordsElsewhere> {
        let mut place = self.lock();
        match &*place {
            Some(present) if present.ptr_eq(recorder) => Ok(false),
            // A recorder that is gone records no more.
            Some(present) if present.strong_count() > 0 => Err(RecordsElsewhere),
            _ => {
                *place = Some(Weak::clone(recorder));
                self.active.store(true, Ordering::Release);
                Ok(true)
            }
        }
    }

    /// Ends to record into this. Whether it did.
    pub(crate) fn end(&self, recorder: &Weak<dyn Recorder>) -> bool {
        let mut place = self.lock();
        let ours = place.as_ref().is_some_and(|present| present.ptr_eq(recorder));
        if ours {
            *place = None;
            self.active.store(false, Ordering::Release);
        }
        ours
    }

    /// Whether the queue may record.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// What the queue records into; costs one load while it does not record.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        if self.is_active() { self.active_recorder() } else { None }
    }

    #[cold]
    fn active_recorder(&self) -> Option<Arc<dyn Recorder>> {
        self.lock().as_ref()?.upgrade()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Weak<dyn Recorder>>> {
        self.recorder.lock()
    }
}
