//! Events that are asked again and again whether they have ended, where the driver does not tell, or not soon.

use std::thread::Thread;
use std::time::{Duration, Instant};

use super::exit::is_exiting;
use super::pool::{blocking, spawn};
use crate::Result;
use crate::driver::sync::{Mutex, MutexGuard};

type Ask = Box<dyn Fn() -> Result<Option<Result<()>>> + Send>;
type Then = Box<dyn FnOnce(Result<()>) + Send>;

/// A query, and the receiver of its answer.
struct Watched {
    ask: Ask,
    then: Then,
    since: Instant,
    /// Answers without a status that are still put up with.
    failures_left: u32,
}

struct State {
    watched: Vec<Watched>,
    /// Whether a thread asks, or is about to.
    asking: bool,
    /// The thread that asks, while it pauses.
    pausing: Option<Thread>,
}

static STATE: Mutex<State> = Mutex::new(State { watched: Vec::new(), asking: false, pausing: None });

/// An event is asked again after this part of the time that it has been watched for, within limits. So its end is
/// noticed late by no more than that.
const PART: u32 = 8;
const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// A driver that does not say so often in a row never will.
const MAX_FAILURES: u32 = 1000;

fn state() -> MutexGuard<'static, State> {
    STATE.lock()
}

/// Calls `then` when an event has ended, soon after, with its error if it failed. `ask` gives its
/// outcome, or `None` while it has none. One thread asks all.
///
/// An error of `ask` says nothing: the command may run on, so it is asked again. After a second of
/// nothing else it is given up, aloud, and is the outcome.
pub(crate) fn watch(
    ask: impl Fn() -> Result<Option<Result<()>>> + Send + 'static,
    then: impl FnOnce(Result<()>) + Send + 'static,
) {
    let mut state = state();
    let since = Instant::now();
    state.watched.push(Watched {
        ask: Box::new(ask),
        then: Box::new(then),
        since,
        failures_left: MAX_FAILURES,
    });
    if let Some(thread) = &state.pausing {
        thread.unpark();
    }
    if !std::mem::replace(&mut state.asking, true) {
        drop(state);
        spawn(ask_all);
    }
}

/// Pauses before the next questions. A new event ends the pause.
fn pause() {
    let now = Instant::now();
    let mut state = state();
    let ages = state.watched.iter().map(|one| now.saturating_duration_since(one.since));
    let pause = ages.min().unwrap_or_default() / PART;
    state.pausing = Some(std::thread::current());
    drop(state);
    blocking(|| std::thread::park_timeout(pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)));
    self::state().pausing = None;
}

fn ask_all() {
    loop {
        pause();
        if is_exiting() {
            return;
        }
        // Not under the lock, because a query may take a lock itself.
        let all = std::mem::take(&mut state().watched);
        let (mut ended, mut rest) = (Vec::new(), Vec::new());
        for mut one in all {
            match (one.ask)() {
                Ok(Some(outcome)) => ended.push((one.then, outcome)),
                Ok(None) => rest.push(Watched { failures_left: MAX_FAILURES, ..one }),
                Err(error) if one.failures_left == 0 => {
                    log::error!("an event is given up, though its command may run on: {error}");
                    ended.push((one.then, Err(error)));
                }
                Err(_) => {
                    one.failures_left -= 1;
                    rest.push(one);
                }
            }
        }
        for (then, outcome) in ended {
            then(outcome);
        }
        let mut state = state();
        state.watched.append(&mut rest);
        if state.watched.is_empty() {
            state.asking = false;
            return;
        }
    }
}
