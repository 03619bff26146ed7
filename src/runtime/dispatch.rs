//! The thread that learns from drivers which commands have ended.
//!
//! Drivers call back on threads of theirs, where nothing may be asked of them. So a callback only
//! posts a job to this thread. Jobs put commands on queues, which never waits for other commands,
//! and run no user code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use super::{Job, exit, watch};
use crate::MakeError as _;
use crate::driver::event::{Ended, Event, RawEvent};
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

/// Runs a job on the thread when a command has ended, with its error if it failed.
pub(crate) fn when_ended(event: &Event, then: impl FnOnce(Result<()>) + Send + 'static) {
    let then = Box::new(move |ended: Ended| post(move || then(ended.outcome())));
    if let Err(then) = event.when_ended(then) {
        let event = event.clone();
        watch(move || event.outcome(), move |outcome| then(Ended::Seen(outcome)));
    }
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
