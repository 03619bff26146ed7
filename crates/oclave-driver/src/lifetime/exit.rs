//! The end of the process while commands are in flight.
//!
//! `exit` runs the destructors of drivers, even if their threads or queues still have work. So the
//! hook of the library must run before them. It is called from two places:
//!
//! - `exit` first drops the thread-local values of the thread that calls it. Most processes exit on the
//!   main thread, where one such value calls the hook.
//! - Then `exit` calls registered functions in the reverse order of registration. Drivers register
//!   destructors when their libraries are loaded, and in the middle of their first compilations. So the
//!   library registers the hook again after each such step. This serves other threads that call `exit`,
//!   unless a program is being compiled.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::sync::Mutex;

/// What is to be done first, and the process that it was registered in: a process that was forked
/// has none of the threads.
static HOOK: OnceLock<(fn(), u32)> = OnceLock::new();

/// Contexts that exist.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// Registrations, of which each costs some bytes.
static REGISTRATIONS: AtomicUsize = AtomicUsize::new(0);
const MOST_REGISTRATIONS: usize = 1024;

/// Between two looks at events.
const PAUSE: Duration = Duration::from_millis(1);

/// Has a function called when the process exits, before the drivers end. The first one counts.
pub fn set_hook(hook: fn()) {
    HOOK.get_or_init(|| (hook, std::process::id()));
}

/// Registers the hook once more, as a driver may have registered destructors.
pub(crate) fn register() {
    if REGISTRATIONS.fetch_add(1, Ordering::Relaxed) >= MOST_REGISTRATIONS {
        return;
    }
    // SAFETY: the function takes nothing, does not unwind, and is there as long as the process.
    if unsafe { libc::atexit(run) } != 0 {
        log::warn!("commands that are in flight when the process exits are not waited for: `atexit` refuses");
    }
}

thread_local! {
    /// Only the main thread has this value.
    static EXIT_OF_MAIN_THREAD: CallsHook = const { CallsHook };
}

/// Calls the hook when it is dropped.
struct CallsHook;

impl Drop for CallsHook {
    fn drop(&mut self) {
        run();
    }
}

/// Makes the value of the main thread. The main thread of a test program never calls the library.
extern "C" fn watch_main_thread() {
    // SAFETY: both take nothing and always succeed.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    if is_main {
        EXIT_OF_MAIN_THREAD.with(|_| ());
    }
}

/// The loader calls the function before `main`, or when it loads a shared library with `oclave`.
// SAFETY: the section holds pointers to functions of this type, which the loader calls. The function
// needs nothing that Rust's runtime sets up before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = watch_main_thread;

/// Calls the hook the first time.
extern "C" fn run() {
    static RUNS: AtomicBool = AtomicBool::new(false);
    let Some((hook, process)) = HOOK.get() else { return };
    if *process == std::process::id() && !RUNS.swap(true, Ordering::SeqCst) {
        // Nothing in there panics; if it does, the process exits all the same.
        let _ = std::panic::catch_unwind(hook);
    }
}

/// Notes a context.
pub(crate) fn enter(context: &Arc<Context>) {
    let mut contexts = CONTEXTS.lock();
    contexts.retain(|context| context.strong_count() > 0);
    contexts.push(Arc::downgrade(context));
}

/// The commands of all contexts, for the end of the process. Never dropped: contexts must not go
/// then.
#[derive(Debug)]
pub struct Everything(std::mem::ManuallyDrop<Vec<Arc<Context>>>);

impl Everything {
    /// All contexts that are alive.
    pub fn now() -> Self {
        let contexts = CONTEXTS.lock();
        Self(std::mem::ManuallyDrop::new(contexts.iter().filter_map(Weak::upgrade).collect()))
    }

    /// Waits for what is on queues now. Whether it has ended.
    pub fn wait_until(&self, deadline: Instant) -> bool {
        self.0.iter().all(|context| {
            let Ok(events) = context.queue_bits().markers(u64::MAX) else { return false };
            while !events.iter().all(|event| event.has_ended()) {
                if Instant::now() >= deadline {
                    std::mem::forget(events);
                    return false;
                }
                std::thread::sleep(PAUSE);
            }
            // What is known to have ended is not waited for again.
            events.is_empty() || context.queue_bits().finish(u64::MAX).is_ok()
        })
    }

    /// Refuses commands from now on.
    pub fn close(&self) {
        self.0.iter().for_each(|context| context.close());
    }
}
