//! Threads that wait for a promise, and meanwhile do what it waits for.
//!
//! A thread in `event.wait()` has nothing else to do. To give the next step to another thread would cost
//! more than most steps. So it waits for the driver's event itself, runs the host task that comes
//! next, or decides whether a loop goes on. It does only what the promise needs, one thing at a time. All else, and
//! everything that nobody waits for, is done by the threads of the library.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::dispatch::Continuation;
use super::{Job, exit, pool};
use crate::driver::sync::{Condvar, Mutex};

/// Tells promises apart while they live.
pub(crate) type Key = usize;

/// The next step of a promise.
pub(crate) enum Step {
    /// It goes on when a command of a driver has ended.
    After(Arc<Continuation>),
    /// A host task.
    Task(Job),
}

/// A thread that waits.
pub(crate) struct Helper {
    /// The promises that the one which it waits for cannot do without.
    needed: HashSet<Key>,
    state: Mutex<State>,
    told: Condvar,
}

struct State {
    /// Whether the thread takes a step soon. It does not while it waits for a command or runs a host task.
    is_open: bool,
    step: Option<Step>,
    is_over: bool,
}

static HELPERS: Mutex<Vec<Arc<Helper>>> = Mutex::new(Vec::new());
/// How many there are, so that nobody looks while there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// While this thread waits.
    static HELPER: RefCell<Option<Arc<Helper>>> = const { RefCell::new(None) };
    /// Whether this thread calls a waker, perhaps in a callback of the driver.
    static IS_WAKING: Cell<bool> = const { Cell::new(false) };
}

/// Gives a step to a thread that waits for it, or gives it back. `keys`: the promises that cannot do
/// without it.
pub(crate) fn offer(keys: impl Iterator<Item = Key> + Clone, step: Step) -> Result<(), Step> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Err(step);
    }
    let helpers = HELPERS.lock();
    for helper in helpers.iter().filter(|helper| keys.clone().any(|key| helper.needed.contains(&key))) {
        let mut state = helper.state.lock();
        if state.is_open && state.step.is_none() {
            state.step = Some(step);
            helper.told.notify_one();
            return Ok(());
        }
    }
    Err(step)
}

/// Calls a waker, which must not panic.
pub(crate) fn while_waking<R>(wake: impl FnOnce() -> R) -> R {
    let outer = IS_WAKING.replace(true);
    let outcome = wake();
    IS_WAKING.set(outer);
    outcome
}

/// Whether this thread calls a waker.
pub(crate) fn is_waking() -> bool {
    IS_WAKING.get()
}

/// For a thread that has run a host task, whose closure is gone.
pub(crate) fn takes_steps() {
    HELPER.with_borrow(|helper| helper.iter().for_each(|helper| helper.open(true)));
}

impl Helper {
    /// Begins to wait on this thread, which others see from now on. `None` where it must only wait, because it runs
    /// something of the library.
    pub(crate) fn begin(needed: impl Iterator<Item = Key>) -> Option<Arc<Self>> {
        let is_free = !pool::in_host_task()
            && !exit::is_own()
            && !exit::is_exiting()
            && !is_waking()
            && HELPER.with_borrow(Option::is_none);
        if !is_free {
            return None;
        }
        let state = State { is_open: true, step: None, is_over: false };
        let helper =
            Arc::new(Self { needed: needed.collect(), state: Mutex::new(state), told: Condvar::new() });
        HELPER.set(Some(Arc::clone(&helper)));
        HELPERS.lock().push(Arc::clone(&helper));
        COUNT.fetch_add(1, Ordering::AcqRel);
        Some(helper)
    }

    /// The promise is known.
    pub(crate) fn end(&self) {
        self.state.lock().is_over = true;
        self.told.notify_one();
    }

    fn open(&self, is_open: bool) {
        self.state.lock().is_open = is_open;
    }

    /// Does what comes next, until the promise is known. `first` is what was there before.
    pub(crate) fn run(self: Arc<Self>, first: Option<Step>) {
        let mut next = first.or_else(|| pool::take(|key| self.needed.contains(&key)).map(Step::Task));
        while let Some(step) = next.or_else(|| self.next()) {
            self.open(false);
            match step {
                Step::After(continuation) => continuation.go_on_here(|| self.open(true)),
                Step::Task(job) => pool::as_task(|| run(job)),
            }
            self.open(true);
            next = None;
        }
        HELPERS.lock().retain(|other| !Arc::ptr_eq(other, &self));
        COUNT.fetch_sub(1, Ordering::AcqRel);
        HELPER.set(None);
        let rest = self.state.lock().step.take();
        rest.into_iter().for_each(Step::leave);
    }

    fn next(&self) -> Option<Step> {
        let mut state = self.state.lock();
        loop {
            if let Some(step) = state.step.take() {
                return Some(step);
            }
            if state.is_over {
                return None;
            }
            state = self.told.wait(state);
        }
    }
}

impl Step {
    /// Lets the threads of the library do it.
    fn leave(self) {
        match self {
            Self::After(continuation) => continuation.arm(),
            Self::Task(job) => pool::spawn(job),
        }
    }
}

/// Runs something on a thread that waits.
pub(super) fn run(job: Job) {
    if catch_unwind(AssertUnwindSafe(|| exit::run(job))).is_err() {
        log::error!("a host task panicked when it was dropped");
    }
}
