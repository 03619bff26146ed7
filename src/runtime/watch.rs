//! Events that are asked again and again whether they have ended, where the driver does not tell of all.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::pool::{blocking, spawn};
use crate::Result;
use crate::driver::event::RawEvent;

type Then = Box<dyn FnOnce(Result<()>) + Send>;

static WATCHED: Mutex<Vec<(RawEvent, Then)>> = Mutex::new(Vec::new());

/// Between two rounds of questions.
const PATIENCE: Duration = Duration::from_millis(1);

fn watched() -> MutexGuard<'static, Vec<(RawEvent, Then)>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `then` when an event has ended, soon after, with its error if it failed. One thread watches all.
pub(crate) fn watch(event: RawEvent, then: impl FnOnce(Result<()>) + Send + 'static) {
    let mut watched = watched();
    watched.push((event, Box::new(then)));
    if watched.len() == 1 {
        drop(watched);
        spawn(ask_all);
    }
}

fn ask_all() {
    loop {
        blocking(|| std::thread::sleep(PATIENCE));
        let (ended, is_last) = {
            let mut watched = watched();
            let (ended, rest): (Vec<_>, Vec<_>) =
                watched.drain(..).partition(|(event, _)| !matches!(event.outcome(), Ok(None)));
            *watched = rest;
            (ended, watched.is_empty())
        };
        for (event, then) in ended {
            then(event.outcome().and_then(|outcome| outcome.unwrap_or(Ok(()))));
        }
        if is_last {
            return;
        }
    }
}
