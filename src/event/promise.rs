//! Promises: events of what no driver knows yet, or ever will: deferred commands, host
//! tasks, events from outside.
//!
//! A promise is *known* when the driver has the command, or when it has ended; *complete* when it
//! has ended.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::latch::{Circle, Latch};
use super::{Event, EventStatus, Known, Profiling};
use crate::MakeError as _;
use crate::driver::event as driver;
use crate::runtime::{Continuation, Helper, Key, Step};
use crate::{Error, ErrorKind, Result, runtime};

/// The outcome of a promise.
#[derive(Clone)]
pub(crate) enum Outcome {
    /// The driver has the command.
    Native(driver::Event),
    /// It ended without the driver.
    Done(Times),
    /// It failed, or never ran.
    Failed(Error),
}

impl Outcome {
    /// Of something that has no duration.
    pub(crate) fn done_now() -> Self {
        let now = Instant::now();
        Self::Done(Times { submitted: now, started: now, ended: now })
    }
}

/// When something ran, on the host's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) submitted: Instant,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
}

/// The event of something that no driver knows yet.
pub(crate) struct Promise {
    created: Instant,
    /// Whether its times may be asked for.
    profiling: bool,
    running: AtomicBool,
    latch: Arc<OutcomeLatch>,
    /// The loop that the command is part of: it does not end before this has.
    within: Option<Arc<Self>>,
    /// More facts about the command, for those who know their type.
    detail: OnceLock<Arc<dyn Any + Send + Sync>>,
}

type OutcomeLatch = Latch<Outcome, Arc<Continuation>>;

/// Of how many promises a thread that waits for one looks what they need.
const MANY: usize = 10_000;

thread_local! {
    /// The host task that this thread runs.
    static TASK: RefCell<Option<Arc<Promise>>> = const { RefCell::new(None) };
    /// The loop whose commands this thread puts on queues.
    static LOOP: RefCell<Option<Arc<Promise>>> = const { RefCell::new(None) };
}

impl Promise {
    pub(crate) fn new(profiling: bool) -> Arc<Self> {
        Arc::new(Self {
            created: Instant::now(),
            profiling,
            running: AtomicBool::new(false),
            latch: Latch::new(),
            within: LOOP.with_borrow(Clone::clone),
            detail: OnceLock::new(),
        })
    }

    /// One that has come true without anything being done.
    pub(crate) fn done(profiling: bool) -> Arc<Self> {
        let promise = Self::new(profiling);
        let now = promise.created;
        promise.settle(Outcome::Done(Times { submitted: now, started: now, ended: now }));
        promise
    }

    /// Says that it runs.
    pub(crate) fn runs(&self) {
        self.running.store(true, Ordering::Relaxed);
    }

    /// Notes what else there is to tell of the command, once, before the outcome.
    pub(crate) fn set_detail(&self, detail: Arc<dyn Any + Send + Sync>) {
        let _ = self.detail.set(detail);
    }

    /// More facts about the command.
    pub(crate) fn detail(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.detail.get()
    }

    /// Enters the outcome. [`Promise::notify`] then wakes the waiting threads.
    pub(crate) fn resolve(&self, outcome: Outcome) {
        // Only the promise's maker resolves it, once.
        self.latch.set(outcome);
    }

    /// Tells all who wait of the outcome.
    pub(crate) fn notify(&self) {
        self.latch.tell();
    }

    /// Enters the outcome, and tells all who wait.
    pub(crate) fn settle(&self, outcome: Outcome) {
        self.resolve(outcome);
        self.notify();
    }

    /// Comes to what an event comes to, which is of a command, host task or promise.
    pub(crate) fn follow(self: &Arc<Self>, event: &Event) {
        match event.known() {
            Ok(Known::Native(event)) => self.settle(Outcome::Native(event.clone())),
            Ok(Known::Done) => self.settle(Outcome::done_now()),
            Ok(Known::Failed(error)) => self.settle(Outcome::Failed(error.clone())),
            Err(error) => self.settle(Outcome::Failed(error)),
            Ok(Known::Unknown(other)) => {
                self.comes_after(other);
                let own = Arc::clone(self);
                other.when_known(move |outcome| own.settle(outcome.clone()));
            }
        }
    }

    /// Whether it waits for another one, however far away.
    pub(crate) fn waits_for(&self, other: &Self) -> bool {
        Latch::waits_for(&self.latch, &other.latch)
    }

    /// `None` while it is not known.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.latch.outcome()
    }

    /// Calls `then` once it is known: here and now, or on the thread that gets to know.
    pub(crate) fn when_known(&self, then: impl FnOnce(&Outcome) + Send + 'static) {
        self.latch.when_known(then);
    }

    /// Notes that it will not be known before another is: see [`Latch::comes_after`].
    pub(crate) fn comes_after(&self, other: &Self) {
        self.latch.comes_after(&other.latch);
    }

    /// The same of an event, which may be known by now.
    pub(crate) fn comes_after_event(&self, event: &Event) {
        if let Ok(Known::Unknown(promise)) = event.known() {
            self.comes_after(promise);
        }
    }

    /// Notes that it will not be known before the host task has ended that this thread runs, if it
    /// runs one.
    pub(crate) fn comes_after_this_task(&self) {
        TASK.with_borrow(|task| task.iter().for_each(|task| self.comes_after(task)));
    }

    /// Whether this thread runs the closure of a host task.
    pub(crate) fn is_in_task() -> bool {
        TASK.with_borrow(Option::is_some)
    }

    /// Whether this thread puts commands on queues that are part of a loop.
    pub(crate) fn is_in_loop() -> bool {
        LOOP.with_borrow(Option::is_some)
    }

    /// Runs a host task, the promise of which this is.
    pub(crate) fn as_task<R>(self: &Arc<Self>, run: impl FnOnce() -> R) -> R {
        let outer = TASK.replace(Some(Arc::clone(self)));
        let outcome = run();
        TASK.set(outer);
        outcome
    }

    /// Puts commands on queues that are part of a loop, the promise of which this is.
    pub(crate) fn as_loop<R>(self: &Arc<Self>, run: impl FnOnce() -> R) -> R {
        let outer = LOOP.replace(Some(Arc::clone(self)));
        let outcome = run();
        LOOP.set(outer);
        outcome
    }

    /// Calls `then` when a command of a driver has ended that this waits for. That is here and now, on the thread for
    /// events, or on one that waits for this.
    pub(crate) fn when_ended(&self, event: &driver::Event, then: impl FnOnce(Result<()>) + Send + 'static) {
        // A callback costs more than the question.
        if let Ok(Some(outcome)) = event.outcome() {
            return then(outcome);
        }
        let continuation = Continuation::new(event, then);
        match runtime::offer(self.keys(), Step::After(continuation)) {
            Err(Step::After(continuation)) => {
                self.latch.awaits(Arc::clone(&continuation), |other| !other.is_open());
                continuation.arm();
            }
            Ok(()) | Err(Step::Task(_)) => {}
        }
    }

    /// Runs a host task that this waits for, on a thread of the pool or on one that waits for this.
    pub(crate) fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        match runtime::offer(self.keys(), Step::Task(Box::new(job))) {
            Err(Step::Task(job)) => runtime::spawn_for(self.keys().collect(), job),
            Ok(()) | Err(Step::After(_)) => {}
        }
    }

    /// Of this, and of the loops that it is part of.
    fn keys(&self) -> impl Iterator<Item = Key> + Clone {
        std::iter::successors(Some(self), |promise| promise.within.as_deref())
            .map(|promise| key(&promise.latch))
    }

    /// Waits until it is known, and meanwhile does what it waits for.
    fn help(&self) {
        if self.outcome().is_some() {
            return;
        }
        let needed = Latch::all_before(&self.latch, MANY);
        let Some(helper) = Helper::begin(needed.iter().map(key)) else { return };
        let over = Arc::clone(&helper);
        self.latch.when_known(move |_| over.end());
        let is_open =
            |continuation: &Arc<Continuation>| continuation.is_open().then(|| Arc::clone(continuation));
        let first = needed.iter().find_map(|latch| latch.awaited(is_open));
        helper.run(first.map(Step::After));
    }

    /// Waits until it is known.
    ///
    /// # Errors
    /// Inside a host task, when it waits for that: it would never be known.
    pub(crate) fn wait_known(&self) -> Result<Option<&Outcome>> {
        match TASK.with_borrow(Clone::clone) {
            None => {
                self.help();
                self.latch.wait();
            }
            Some(task) => {
                Latch::wait_in(&self.latch, &task.latch, |latch| runtime::blocking(|| latch.wait()))
                    .map_err(|Circle| waits_for_itself())?
            }
        }
        Ok(self.latch.outcome())
    }

    /// For who waits without blocking.
    ///
    /// # Errors
    /// Inside a host task, when it waits for that.
    pub(crate) fn check_circle(&self) -> Result<()> {
        TASK.with_borrow(|task| match task {
            Some(task) if Latch::waits_for(&self.latch, &task.latch) => Err(waits_for_itself()),
            _ => Ok(()),
        })
    }

    /// Waits until it is complete.
    pub(crate) fn wait(&self) -> Result<()> {
        match self.wait_known()? {
            Some(Outcome::Native(event)) => event.wait(),
            Some(Outcome::Failed(error)) => Err(error.clone()),
            Some(Outcome::Done(_)) | None => Ok(()),
        }
    }

    pub(crate) fn status(&self) -> Result<EventStatus> {
        Ok(match self.outcome() {
            Some(Outcome::Native(event)) => event.status()?.into(),
            Some(Outcome::Done(_)) => EventStatus::Complete,
            Some(Outcome::Failed(error)) => EventStatus::Failed(error.code().unwrap_or(NO_CODE)),
            None if self.running.load(Ordering::Relaxed) => EventStatus::Running,
            None => EventStatus::Queued,
        })
    }

    pub(crate) fn profiling(&self) -> Result<Profiling> {
        let bad = |what: &str| Err(Error::new(ErrorKind::Profiling, what));
        match self.outcome() {
            Some(Outcome::Native(event)) => event.profiling(),
            _ if !self.profiling => {
                Err(Error::new(ErrorKind::Profiling, "the queue was built without profiling")
                    .remedy("build it with `Queue::builder(&context).profiling()`"))
            }
            Some(Outcome::Done(times)) => Ok(Profiling::new(
                [self.created, times.submitted, times.started, times.ended].map(nanoseconds),
            )),
            Some(Outcome::Failed(_)) => bad("the command failed"),
            None => bad("the command has not ended"),
        }
    }
}

/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, for failures outside of OpenCL.
const NO_CODE: i32 = -14;

fn waits_for_itself() -> Error {
    Error::invalid("a host task waits for what waits for the task")
        .remedy("wait outside of it, or give it the parts of buffers that it uses: `Command::host_task_with`")
}

/// Now, on the clock of host tasks.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(Instant::now())
}

/// Since a moment early in the process.
fn nanoseconds(at: Instant) -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    // An event that was there before the first question counts from a second before it.
    let second = std::time::Duration::from_secs(1);
    let epoch = EPOCH.get_or_init(|| at.checked_sub(second).unwrap_or(at));
    u64::try_from(at.saturating_duration_since(*epoch).as_nanos()).unwrap_or(u64::MAX)
}

/// Tells promises apart.
fn key(latch: &Arc<OutcomeLatch>) -> Key {
    Arc::as_ptr(latch).addr()
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.outcome() {
            None => "unknown",
            Some(Outcome::Native(_)) => "enqueued",
            Some(Outcome::Done(_)) => "done",
            Some(Outcome::Failed(_)) => "failed",
        };
        write!(f, "promise ({state})")
    }
}
