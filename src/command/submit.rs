//! Submitting: the one way from a command to a queue.

use std::sync::Arc;

use super::{Command, Recorder};
use crate::driver::event as driver;
use crate::memory::buffer;
use crate::{Event, Queue, Result};

/// Gives a command to what records the queue, or puts it on the queue. It waits for `after`, too.
pub(crate) fn submit(queue: &Queue, command: Command, after: &[&Event]) -> Result<Event> {
    if let Some(recorder) = recorder(queue, &command, after) {
        return recorder.record(queue, command.after_all(after));
    }
    let Command { kind, after: own } = command;
    let requirements = kind.requirements();
    let prepared = kind.prepare(queue)?;
    let run = |more: &[&Event]| {
        let dependencies = own.iter().chain(after.iter().copied()).chain(more.iter().copied());
        settled(queue, dependencies, |events| prepared.execute(queue.driver(), events)).map(Event::native)
    };
    if requirements.is_empty() { run(&[]) } else { buffer::ordered(queue, &requirements, run) }
}

/// What records the command: that which the queue records into, or else that of an event that it waits for.
#[inline]
fn recorder(queue: &Queue, command: &Command, after: &[&Event]) -> Option<Arc<dyn Recorder>> {
    let recorded = |event: &Event| event.recorded().and_then(|recorded| recorded.recorder());
    queue
        .recording()
        .recorder()
        .or_else(|| command.after.iter().find_map(recorded))
        .or_else(|| after.iter().copied().find_map(recorded))
}

/// Calls with those of the events that the driver must wait for, as it has them. Those that it cannot wait for are waited
/// for here.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for events of a recording; when a command that is waited for failed.
pub(crate) fn settled<'a, R>(
    queue: &Queue,
    events: impl Iterator<Item = &'a Event>,
    run: impl FnOnce(&[&driver::Event]) -> Result<R>,
) -> Result<R> {
    let context = queue.driver().context();
    let mut events = events.filter_map(|event| {
        event.driver().map_or_else(
            |error| Some(Err(error)),
            |native| match Arc::ptr_eq(native.queue().context(), context) {
                true => Some(Ok(native)),
                false => native.wait().err().map(Err),
            },
        )
    });
    match (events.next().transpose()?, events.next().transpose()?, events.next().transpose()?) {
        (None, ..) => run(&[]),
        (Some(a), None, _) => run(&[a]),
        (Some(a), Some(b), None) => run(&[a, b]),
        (Some(a), Some(b), Some(c)) => {
            let mut many = vec![a, b, c];
            for event in events {
                many.push(event?);
            }
            run(&many)
        }
    }
}
