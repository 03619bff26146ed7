//! Events that are asked again and again whether they have ended, where the driver does not tell.

use std::time::Duration;

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
    /// Answers without a status that are still put up with.
    failures_left: u32,
}

struct State {
    watched: Vec<Watched>,
    /// Whether a thread asks.
    asking: bool,
}

static STATE: Mutex<State> = Mutex::new(State { watched: Vec::new(), asking: false });

/// Between two rounds of questions.
const PAUSE: Duration = Duration::from_millis(1);

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
    state.watched.push(Watched { ask: Box::new(ask), then: Box::new(then), failures_left: MAX_FAILURES });
    if !std::mem::replace(&mut state.asking, true) {
        drop(state);
        spawn(ask_all);
    }
}

fn ask_all() {
    loop {
        blocking(|| std::thread::sleep(PAUSE));
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
