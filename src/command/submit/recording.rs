//! The hook by which a graph takes the commands of a queue that records.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use crate::command::describe::command::Command;
use crate::driver::sync::{Mutex, MutexGuard};
use crate::event::NodeOwner;
use crate::{Event, Queue, Result};

/// The receiver of commands from recording queues: a graph.
pub(crate) trait Recorder: NodeOwner {
    /// Takes a command, with all its dependencies. The event stands for it in later commands
    /// ([`Event::recorded`]), and cannot be waited for.
    ///
    /// Called for a queue that records into this, and for any queue whose command depends on an
    /// event of this. Gives a command back that is neither: the recording has ended meanwhile.
    fn record(self: Arc<Self>, queue: &Queue, command: Command) -> Result<Result<Event, Command>>;
}

/// The recorder of the command of an event, while it lives.
pub(super) fn recorder_of(event: &Event) -> Option<Arc<dyn Recorder>> {
    let owner = event.recorded()?.owner()?;
    owner.recorder().downcast::<Arc<dyn Recorder>>().ok().map(|recorder| *recorder)
}

/// Whether a queue records, and into what. All clones of a queue share one.
pub(crate) struct Recording {
    /// Never given out again.
    id: u64,
    active: AtomicBool,
    /// The innermost last: a recording inside of another one hides it until it ends.
    recorders: Mutex<Vec<Weak<dyn Recorder>>>,
}

/// The queue records into something else, inside of a recording into this.
#[derive(Debug)]
pub(crate) struct RecordsElsewhere;

impl Default for Recording {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { id, active: AtomicBool::new(false), recorders: Mutex::new(Vec::new()) }
    }
}

impl Recording {
    /// Which queue, in the process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Begins to record. Whether that changed anything.
    pub(crate) fn begin(&self, recorder: &Weak<dyn Recorder>) -> Result<bool, RecordsElsewhere> {
        let mut recorders = self.lock();
        // A recorder that is gone records no more.
        recorders.retain(|present| present.strong_count() > 0);
        if recorders.last().is_some_and(|present| present.ptr_eq(recorder)) {
            return Ok(false);
        }
        if recorders.iter().any(|present| present.ptr_eq(recorder)) {
            return Err(RecordsElsewhere);
        }
        recorders.push(Weak::clone(recorder));
        self.active.store(true, Ordering::Release);
        Ok(true)
    }

    /// Ends to record into this. Whether it did.
    pub(crate) fn end(&self, recorder: &Weak<dyn Recorder>) -> bool {
        let mut recorders = self.lock();
        let before = recorders.len();
        recorders.retain(|present| !present.ptr_eq(recorder));
        self.active.store(!recorders.is_empty(), Ordering::Release);
        recorders.len() != before
    }

    /// Whether the queue may record.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    /// The recorder of the queue; costs one load while it does not record.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        if self.is_active() { self.active_recorder() } else { None }
    }

    #[cold]
    fn active_recorder(&self) -> Option<Arc<dyn Recorder>> {
        // One that is gone hides nothing.
        self.lock().iter().rev().find_map(Weak::upgrade)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Recorder>>> {
        self.recorders.lock()
    }
}
