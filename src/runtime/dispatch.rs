//! The thread that learns from drivers which commands have ended.
//!
//! Drivers call back on threads of theirs, where nothing may be asked of them. So a callback only
//! posts a job to this thread. Jobs put commands on queues, which never waits for other commands,
//! and run no user code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use super::{Job, exit, help, watch};
use crate::MakeError as _;
use crate::driver::event::{Ended, Event, RawEvent};
use crate::driver::sync::Mutex;
use crate::{Error, ErrorKind, Result};

/// `None`: the system has no thread for it.
static JOBS: OnceLock<Option<Sender<Job>>> = OnceLock::new();

fn jobs() -> Option<&'static Sender<Job>> {
    let start = || {
        let (sender, jobs) = channel::<Job>();
        let thread = std::thread::Builder::new().name("oclave-events".to_owned());
        match thread.spawn(move || jobs.into_iter().for_each(|job| exit::run(Box::new(|| run(job))))) {
            Ok(_) => Some(sender),
            Err(error) => {
                log::error!("no thread for events: {error:#}");
                None
            }
        }
    };
    JOBS.get_or_init(start).as_ref()
}

/// Runs a job. Panics of users' closures are caught elsewhere, but a value that a closure holds may
/// panic as it is dropped. That must not end the thread: all deferred commands wait for it.
fn run(job: Job) {
    if catch_unwind(AssertUnwindSafe(job)).is_err() {
        log::error!("the thread for events caught a panic");
    }
}

/// Makes sure that the thread is there.
pub(crate) fn start() -> Result<()> {
    match jobs() {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorKind::Runtime, "the system has no thread to wait for events")),
    }
}

/// Runs a job on the thread.
fn post(job: impl FnOnce() + Send + 'static) {
    // The thread lives as long as the process.
    if let Some(jobs) = jobs() {
        let _ = jobs.send(Box::new(job));
    }
}

/// Code that runs after a command has ended, with its error if it failed: on the thread, or on one that
/// waits for it.
pub(crate) struct Continuation(Mutex<State>);

enum State {
    Waits(Event, Box<dyn FnOnce(Result<()>) + Send>),
    /// A thread waits for the command. What the driver tells meanwhile must not be dropped in its
    /// callback.
    Taken(Option<Ended>),
    Over,
}

impl Continuation {
    /// One that nothing starts yet.
    pub(crate) fn new(event: &Event, then: impl FnOnce(Result<()>) + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Waits(event.clone(), Box::new(then)))))
    }

    /// Whether nobody has begun with it.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.0.lock(), State::Waits(..))
    }

    /// Makes it go on when the driver tells of the end.
    pub(crate) fn arm(self: Arc<Self>) {
        let event = match &*self.0.lock() {
            State::Waits(event, _) => event.clone(),
            _ => return,
        };
        when_told(&event, move |ended| {
            let mut state = self.0.lock();
            if let State::Taken(told @ None) = &mut *state {
                *told = Some(ended);
                return;
            }
            drop(state);
            post(move || self.go_on(ended));
        });
    }

    fn go_on(&self, ended: Ended) {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Waits(event, then) => {
                drop(state);
                then(ended.outcome());
                drop(event);
            }
            // The thread that waited drops it, if it has not done so yet.
            State::Taken(_) => *state = State::Taken(Some(ended)),
            State::Over => drop(state),
        }
    }

    /// Waits for the command and goes on, unless another thread has begun with it. `has_ended` is called in between.
    pub(super) fn go_on_here(&self, has_ended: impl FnOnce()) {
        let mut state = self.0.lock();
        let (event, then) = match std::mem::replace(&mut *state, State::Over) {
            State::Waits(event, then) => (event, then),
            other => {
                *state = other;
                return;
            }
        };
        *state = State::Taken(None);
        drop(state);
        let outcome = event.wait_for_outcome();
        has_ended();
        help::run(Box::new(move || then(outcome)));
        let told = std::mem::replace(&mut *self.0.lock(), State::Over);
        drop((told, event));
    }
}

/// Runs a job on the thread when a command has ended, with its error if it failed.
pub(crate) fn when_ended(event: &Event, then: impl FnOnce(Result<()>) + Send + 'static) {
    Continuation::new(event, then).arm();
}

/// As [`when_ended`], but on the thread that gets to know, which may be one of the driver's. There,
/// nothing may call OpenCL, and [`Ended`] must not be dropped: [`dispose`] does that.
pub(crate) fn when_told(event: &Event, then: impl FnOnce(Ended) + Send + 'static) {
    if let Err(then) = event.when_ended(Box::new(then)) {
        let event = event.clone();
        watch(move || event.outcome(), move |outcome| then(Ended::Seen(outcome)));
    }
}

/// Drops what a callback was told, on the thread.
pub(crate) fn dispose(ended: Ended) {
    post(move || drop(ended));
}

/// The same as [`when_ended`] of an event from outside.
pub(crate) fn when_raw_ended(event: RawEvent, then: impl FnOnce(Result<()>) + Send + 'static) {
    let then = Box::new(move |ended: Ended| post(move || then(ended.outcome())));
    if let Err(then) = event.when_ended(then) {
        watch(move || event.outcome(), move |outcome| then(Ended::Seen(outcome)));
    }
}
