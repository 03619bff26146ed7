//! The end of the process: commands in flight are waited for, for a while, and then the threads of
//! the library do nothing more.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::driver::exit::{Everything, set_hook};

/// How long commands are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long programs are waited for that are being built: drivers do not survive an exit meanwhile,
/// and do not stop.
const BUILD_PATIENCE: Duration = Duration::from_secs(60);

/// If commands are deferred while nothing runs, they wait for something that will never happen.
const QUIET: Duration = Duration::from_millis(100);

const PAUSE: Duration = Duration::from_millis(1);

static EXITING: AtomicBool = AtomicBool::new(false);
/// Deferred commands, host tasks included.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// Threads of the library that do something.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// Programs that threads of the library build.
static BUILDS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is one of those.
    static IS_ACTIVE: Cell<bool> = const { Cell::new(false) };
}

/// Counts while it lives.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(counter: &'static AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }

    /// A deferred command.
    pub(crate) fn held() -> Self {
        Self::new(&HELD)
    }

    /// A program that is being built.
    pub(crate) fn build() -> Self {
        Self::new(&BUILDS)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Sees to the end of the process from now on.
pub(crate) fn prepare() {
    set_hook(drain);
}

/// Whether the threads of the library are to do nothing more.
pub(crate) fn is_exiting() -> bool {
    EXITING.load(Ordering::SeqCst)
}

/// Runs a job on a thread of the library; never returns when the process exits.
pub(super) fn run(job: super::Job) {
    let active = Counted::new(&ACTIVE);
    if is_exiting() {
        // Dropping its fields may call the driver.
        std::mem::forget(job);
        drop(active);
        stop();
    }
    IS_ACTIVE.set(true);
    job();
    IS_ACTIVE.set(false);
    drop(active);
}

/// Whether this thread runs a job of the library.
pub(super) fn is_own() -> bool {
    IS_ACTIVE.get()
}

/// For a thread of the library that comes back from code of a user.
pub(crate) fn stop_if_exiting() {
    if is_exiting() && IS_ACTIVE.get() {
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
        stop();
    }
}

fn stop() -> ! {
    loop {
        std::thread::park();
    }
}

fn drain() {
    let everything = Everything::now();
    let deadline = Instant::now() + PATIENCE;
    // The process may exit on a thread of the library, in a host task.
    let own = usize::from(IS_ACTIVE.get());
    let mut quiet = Instant::now();
    while own == 0 && HELD.load(Ordering::SeqCst) != 0 && Instant::now() < deadline {
        if ACTIVE.load(Ordering::SeqCst) != 0 || !everything.wait_until(Instant::now() + 20 * PAUSE) {
            quiet = Instant::now();
        } else if quiet.elapsed() > QUIET {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    everything.wait_until(deadline);
    EXITING.store(true, Ordering::SeqCst);
    everything.close();
    let wait = |counter: &AtomicUsize, left: usize, deadline: Instant| {
        while counter.load(Ordering::SeqCst) > left && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        counter.load(Ordering::SeqCst) <= left
    };
    let builds_end = wait(&BUILDS, 0, Instant::now() + BUILD_PATIENCE);
    let threads_stop = wait(&ACTIVE, own, deadline.max(Instant::now() + QUIET));
    // Then the commands that they enqueued last.
    let ended = everything.wait_until(deadline.max(Instant::now() + QUIET));
    if !(builds_end && threads_stop && ended) {
        log::warn!("the process exits while commands run: wait for the queues before");
    }
}
