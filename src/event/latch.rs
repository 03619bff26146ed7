//! Latches: one outcome, set once; who waits for it, and the search for circles among those who wait.
//!
//! These are the locks of promises, and nothing else, so that a model can run them in every order
//! (`crates/loom-model`). It replaces `sync`.

use std::collections::HashSet;

use super::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};

/// Called once the outcome is set.
type Then<T> = Box<dyn FnOnce(&T) + Send>;

/// A place for an outcome. `W` is what goes on when something has ended that no latch stands for.
pub(crate) struct Latch<T: 'static, W = ()> {
    outcome: OnceLock<T>,
    /// Who is told of the outcome; `None` when they have been.
    then: Mutex<Option<Vec<Then<T>>>>,
    told: Condvar,
    /// The events that this waits for and whose end is not known. Empty when its own end is known.
    before: Mutex<Vec<Arc<Self>>>,
    /// More events that this waits for.
    awaited: Mutex<Vec<W>>,
}

/// A wait that would never end.
#[derive(Debug)]
pub(crate) struct Circle;

impl<T: 'static, W> Latch<T, W> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            outcome: OnceLock::new(),
            then: Mutex::new(Some(Vec::new())),
            told: Condvar::new(),
            before: Mutex::new(Vec::new()),
            awaited: Mutex::new(Vec::new()),
        })
    }

    /// Sets the outcome; a second one is dropped. [`Latch::tell`] then wakes the waiting threads.
    pub(crate) fn set(&self, outcome: T) {
        let _ = self.outcome.set(outcome);
        self.before().clear();
    }

    /// Tells all who wait of the outcome.
    pub(crate) fn tell(&self) {
        let Some(outcome) = self.outcome.get() else { return };
        let then = self.lock().take();
        self.told.notify_all();
        then.into_iter().flatten().for_each(|then| then(outcome));
    }

    /// `None` while it is not set.
    pub(crate) fn outcome(&self) -> Option<&T> {
        self.outcome.get()
    }

    /// Calls `then` once it is set: here and now, or on the thread that tells.
    pub(crate) fn when_known(&self, then: impl FnOnce(&T) + Send + 'static) {
        if let Some(waiting) = self.lock().as_mut() {
            return waiting.push(Box::new(then));
        }
        if let Some(outcome) = self.outcome.get() {
            then(outcome);
        }
    }

    /// Notes that it will not be set before another is. Do this before others see it: a wait inside
    /// a host task looks for a circle once, and does not see later notes. Only such waits add notes
    /// later, and they look for a circle afterwards.
    pub(crate) fn comes_after(&self, other: &Arc<Self>) {
        self.before().push(Arc::clone(other));
    }

    /// Notes what else it waits for, and forgets what is over.
    pub(crate) fn awaits(&self, what: W, is_over: impl Fn(&W) -> bool) {
        let mut awaited = self.awaited.lock();
        awaited.retain(|what| !is_over(what));
        awaited.push(what);
    }

    /// The first of what else it waits for that `choose` chooses.
    pub(crate) fn awaited<R>(&self, choose: impl FnMut(&W) -> Option<R>) -> Option<R> {
        self.awaited.lock().iter().find_map(choose)
    }

    /// Waits until all have been told.
    pub(crate) fn wait(&self) {
        let mut untold = self.lock();
        while untold.is_some() {
            untold = self.told.wait(untold);
        }
    }

    /// The same for `latch` inside a host task, whose own latch is `task`; `blocking` does the
    /// waiting.
    ///
    /// # Errors
    /// When it waits for the task.
    pub(crate) fn wait_in(
        latch: &Arc<Self>,
        task: &Arc<Self>,
        blocking: impl FnOnce(&Self),
    ) -> Result<(), Circle> {
        if latch.lock().is_none() {
            return Ok(());
        }
        // Noted first, so that of two tasks that wait for each other one at least gets to know.
        task.comes_after(latch);
        let is_circle = Self::waits_for(latch, task);
        if !is_circle {
            blocking(latch);
        }
        task.before().pop();
        if is_circle { Err(Circle) } else { Ok(()) }
    }

    /// Whether one waits for another, however far away.
    pub(crate) fn waits_for(from: &Arc<Self>, other: &Arc<Self>) -> bool {
        !Self::search(from, |latch| !Arc::ptr_eq(latch, other))
    }

    /// Those that are not set and must be before one is, which comes first. At most so many.
    pub(crate) fn all_before(from: &Arc<Self>, limit: usize) -> Vec<Arc<Self>> {
        let mut all = Vec::new();
        Self::search(from, |latch| {
            if latch.outcome().is_none() {
                all.push(Arc::clone(latch));
            }
            all.len() < limit
        });
        all
    }

    /// Shows one, and all that it waits for, however far away, to `goes_on`, until that says no. Returns
    /// whether it never did.
    fn search(from: &Arc<Self>, mut goes_on: impl FnMut(&Arc<Self>) -> bool) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![Arc::clone(from)];
        while let Some(latch) = open.pop() {
            let address: *const Self = &*latch;
            if !seen.insert(address) {
                continue;
            }
            if !goes_on(&latch) {
                return false;
            }
            if latch.outcome().is_none() {
                open.extend(latch.before().iter().cloned());
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Then<T>>>> {
        self.then.lock()
    }

    fn before(&self) -> MutexGuard<'_, Vec<Arc<Self>>> {
        self.before.lock()
    }
}
