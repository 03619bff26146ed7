//! The threads that run host tasks: a few, and one more for each that waits inside a task.

use std::cell::Cell;
use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Job, Key, exit};
use crate::driver::sync::{Condvar, Mutex, MutexGuard};

static POOL: Pool = Pool {
    state: Mutex::new(State { jobs: VecDeque::new(), threads: 0, idle: 0, blocked: 0 }),
    work: Condvar::new(),
};

/// How long a thread without work stays.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static IN_TASK: Cell<Place> = const { Cell::new(Place::Outside) };
}

/// Whether a thread runs host tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// One of the pool.
    Pool,
    /// Another one, which waits for the task.
    Waiting,
}

/// A job, and the promises that cannot do without it.
type Kept = (Vec<Key>, Job);

struct Pool {
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    jobs: VecDeque<Kept>,
    threads: usize,
    /// Threads that wait for work.
    idle: usize,
    /// Threads inside [`blocking`].
    blocked: usize,
}

/// Runs a job on a thread of the pool, soon.
pub(crate) fn spawn(job: impl FnOnce() + Send + 'static) {
    spawn_for(Vec::new(), Box::new(job));
}

/// The same, or on a thread that waits for one of these promises and takes it.
pub(crate) fn spawn_for(keys: Vec<Key>, job: Job) {
    let mut state = POOL.lock();
    state.jobs.push_back((keys, job));
    POOL.work.notify_one();
    if let Some(job) = POOL.grow(state) {
        job();
    }
}

/// Takes the first job that a promise needs, before a thread has begun with it.
pub(super) fn take(is_needed: impl Fn(Key) -> bool) -> Option<Job> {
    let mut state = POOL.lock();
    let place = state.jobs.iter().position(|(keys, _)| keys.iter().any(|key| is_needed(*key)))?;
    state.jobs.remove(place).map(|(_, job)| job)
}

/// Whether this thread runs a host task.
pub(crate) fn in_host_task() -> bool {
    IN_TASK.get() != Place::Outside
}

/// Runs a host task on a thread that waits for it.
pub(super) fn as_task(run: impl FnOnce()) {
    IN_TASK.set(Place::Waiting);
    run();
    IN_TASK.set(Place::Outside);
}

/// Calls something that may wait long. Inside a host task, another thread takes over meanwhile.
pub(crate) fn blocking<R>(wait: impl FnOnce() -> R) -> R {
    if IN_TASK.get() != Place::Pool {
        return wait();
    }
    let mut state = POOL.lock();
    state.blocked += 1;
    if let Some(job) = POOL.grow(state) {
        job();
    }
    let outcome = wait();
    POOL.lock().blocked -= 1;
    outcome
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Starts a thread when there is work for one more. Gives a job back that no thread will ever
    /// take: the system has no thread for it.
    fn grow(&'static self, mut state: MutexGuard<'_, State>) -> Option<Job> {
        let wanted = state.jobs.len() > state.idle && state.threads.saturating_sub(state.blocked) < limit();
        if !wanted {
            return None;
        }
        state.threads += 1;
        drop(state);
        let thread = std::thread::Builder::new().name("oclave-task".to_owned());
        let Err(error) = thread.spawn(|| self.work()) else { return None };
        log::error!("no thread for host tasks: {error:#}");
        let mut state = self.lock();
        state.threads -= 1;
        if state.threads > state.blocked { None } else { state.jobs.pop_front().map(|(_, job)| job) }
    }

    fn work(&self) {
        IN_TASK.set(Place::Pool);
        let mut state = self.lock();
        loop {
            if let Some((_, job)) = state.jobs.pop_front() {
                drop(state);
                // Host tasks catch their panics; what is left are the destructors of what they
                // hold.
                if catch_unwind(AssertUnwindSafe(|| exit::run(job))).is_err() {
                    log::error!("a host task panicked when it was dropped");
                }
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (woken, has_timed_out) = self.work.wait_timeout(state, PATIENCE);
            state = woken;
            state.idle -= 1;
            if has_timed_out && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// Threads that run at once.
fn limit() -> usize {
    std::thread::available_parallelism().map_or(2, NonZero::get).clamp(2, 8)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn tasks_that_wait_for_tasks_do_not_starve_them() {
        const DEPTH: usize = 40;
        fn nested(depth: usize, done: mpsc::Sender<()>) {
            spawn(move || {
                assert!(in_host_task());
                if depth == 0 {
                    return done.send(()).unwrap();
                }
                let (inner, finished) = mpsc::channel();
                nested(depth - 1, inner);
                blocking(|| finished.recv().unwrap());
                done.send(()).unwrap();
            });
        }
        let (done, finished) = mpsc::channel();
        nested(DEPTH, done);
        finished.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(!in_host_task());
    }
}
