//! Futures of events: a thread that gets to know of the end wakes the task.
//!
//! Most often this is a thread of the driver, in its callback. It wakes the task itself: another
//! thread in between would cost more than the wait. Nothing else is done there. The task is polled
//! by its executor, which asks the event.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{Event, Known, Outcome};
use crate::driver::event::Ended;
use crate::driver::sync::Mutex;
use crate::{Result, runtime};

/// The end of a command, as a future: `event.await`. From [`IntoFuture`] of [`Event`], or of a
/// reference to one.
///
/// It needs no runtime, may be polled on any thread, and no thread spins or blocks for it.
/// [`Event::wait`] says which errors it gives. Dropping it neither cancels the command nor waits
/// for it. The first poll hands the command to the device.
///
/// A thread of the driver wakes the task. Executors that run tasks at once in their wakers are
/// noticed, and their tasks run on a thread of the library. A waker that panics is logged.
///
/// ```no_run
/// # use oclave::{Queue, Result, UsmSlice};
/// async fn doubled(queue: &Queue, x: &UsmSlice<f32>, y: &UsmSlice<f32>) -> Result<Vec<f32>> {
///     queue.copy(x, y)?.await?; // other tasks run meanwhile
///     queue.marker()?.await?; // everything on the queue, as `Queue::wait` does
///     queue.read_async(y)?.await // the data
/// }
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct EventFuture {
    event: Event,
    /// From the first poll on that did not find the end.
    pending: Option<Arc<Mutex<Pending>>>,
}

/// The state that the future shares with the thread that learns of the end.
enum Pending {
    /// Nobody knows of the end yet.
    Waits(Waker),
    /// It has ended. The driver's callback must not drop what it was told, so it is dropped here.
    Ended { _told: Option<Ended> },
    /// The future has been dropped.
    Gone,
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        EventFuture { event: self, pending: None }
    }
}

impl IntoFuture for &Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        self.clone().into_future()
    }
}

impl Future for EventFuture {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if runtime::is_waking() {
            // The waker runs the task, and OpenCL must not be called here.
            let waker = context.waker().clone();
            runtime::spawn(move || waker.wake());
            return Poll::Pending;
        }
        match &self.pending {
            None => match self.begin(context.waker()) {
                Ok(true) if self.event.recorded().is_some() => return Poll::Ready(Ok(())),
                Ok(true) => return Poll::Ready(self.event.wait_for_ended()),
                Ok(false) => {}
                Err(error) => return Poll::Ready(Err(error)),
            },
            Some(pending) => {
                let mut state = pending.lock();
                if let Pending::Waits(waker) = &mut *state {
                    waker.clone_from(context.waker());
                    return Poll::Pending;
                }
            }
        }
        match self.has_ended() {
            true => Poll::Ready(self.event.wait_for_ended()),
            false => Poll::Pending,
        }
    }
}

impl EventFuture {
    /// Asks to be told of the end, unless the command has ended: then `true`.
    fn begin(&mut self, waker: &Waker) -> Result<bool> {
        let event = &self.event;
        if event.recorded().is_some() {
            // Recorded as a barrier, or refused.
            return event.wait().map(|()| true);
        }
        if let Known::Unknown(promise) = event.known()? {
            promise.check_circle()?;
        } else if event.is_behind() || event.has_ended() {
            return Ok(true);
        }
        let pending = Arc::new(Mutex::new(Pending::Waits(waker.clone())));
        let told = Arc::clone(&pending);
        self.pending = Some(pending);
        self.event.when_told(move |ended| tell(&told, ended))?;
        Ok(false)
    }

    /// Whether somebody has told so.
    fn has_ended(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| matches!(*pending.lock(), Pending::Ended { .. }))
    }
}

impl Drop for EventFuture {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            // Not under the lock: wakers and events have destructors.
            let last = std::mem::replace(&mut *pending.lock(), Pending::Gone);
            drop(last);
        }
    }
}

/// Notes the end of a command and wakes the task. Calls no OpenCL.
fn tell(pending: &Mutex<Pending>, ended: Option<Ended>) {
    if runtime::is_exiting() {
        std::mem::forget(ended);
        return;
    }
    let mut state = pending.lock();
    if matches!(*state, Pending::Gone) {
        drop(state);
        ended.into_iter().for_each(runtime::dispose);
        return;
    }
    let last = std::mem::replace(&mut *state, Pending::Ended { _told: ended });
    drop(state);
    let Pending::Waits(waker) = last else { return };
    // A panic must not reach the driver.
    let outcome = runtime::while_waking(|| catch_unwind(AssertUnwindSafe(|| waker.wake())));
    if outcome.is_err() {
        log::error!("the waker of a task that awaited an event panicked");
    }
}

impl Event {
    /// Calls `then` once, when the command has ended: here and now, or on a thread that gets to
    /// know. That may be one of the driver's.
    fn when_told(&self, then: impl FnOnce(Option<Ended>) + Send + 'static) -> Result<()> {
        match self.known()? {
            Known::Native(event) => runtime::when_told(event, |ended| then(Some(ended))),
            Known::Done | Known::Failed(_) => then(None),
            Known::Unknown(promise) => promise.when_known(|outcome| match outcome {
                Outcome::Native(event) => runtime::when_told(event, |ended| then(Some(ended))),
                Outcome::Done(_) | Outcome::Failed(_) => then(None),
            }),
        }
        Ok(())
    }
}

impl fmt::Debug for EventFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventFuture").field("event", &self.event).finish_non_exhaustive()
    }
}
