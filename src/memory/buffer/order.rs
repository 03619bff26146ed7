//! The order of commands that use buffers, and the way of the contents to them.

use std::sync::Arc;

use super::contents::Carrier;
use super::hazards::Dependency;
use super::object::{Object, State};
use super::requirement::Requirement;
use crate::MakeError as _;
use crate::driver::sync::MutexGuard;
use crate::handles::with_slice;
use crate::{Context, Event, Result};

impl Dependency for Event {
    fn is_over(&self) -> bool {
        self.has_ended()
    }

    /// Commands that use a buffer are submitted under its lock, so they are recorded in the order
    /// of their queue.
    fn comes_after(&self, earlier: &Self) -> bool {
        match (self.in_order_queue(), earlier.in_order_queue()) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        }
    }
}

/// Submits a command that uses parts of buffers. `carry` submits what brings their contents to the
/// context. No other command that uses one of the buffers comes in between.
///
/// `submit` gets two lists of events that the command must wait for. Those of the first must
/// succeed: they bring the contents to a context. The second are earlier commands that use the
/// parts. Whether these succeed is not of interest: a command that failed leaves the contents
/// undefined, and later commands run.
///
/// # Errors
/// Those of `submit` and `carry`; when the context has no memory for the contents.
pub(crate) fn ordered(
    context: &Context,
    parts: &[Arc<Requirement>],
    carry: Carrier<'_>,
    submit: impl FnOnce(&[&Event], &[&Event]) -> Result<Event>,
) -> Result<Event> {
    match parts {
        [part] => among(context, parts, &mut [locked(part.object())], carry, submit),
        // A copy between images, for one.
        [a, b] if a.object().id() != b.object().id() => {
            let (first, second) = if a.object().id() < b.object().id() { (a, b) } else { (b, a) };
            among(context, parts, &mut [locked(first.object()), locked(second.object())], carry, submit)
        }
        _ => among(context, parts, &mut lock(parts), carry, submit),
    }
}

fn locked(object: &Arc<Object>) -> (&Arc<Object>, MutexGuard<'_, State>) {
    (object, object.lock())
}

/// Runs a blocking use of a part of an image, while no other command can use the image. Returns
/// `None`, and runs nothing, while the event of an earlier use may not have ended.
pub(crate) fn at_once<R>(part: &Requirement, run: impl FnOnce() -> R) -> Option<R> {
    let state = part.object().lock();
    let may = state.tracker.dependencies(part.area(), part.writes()).all(Event::is_behind);
    may.then(run)
}

/// As [`ordered`], with the buffers of the parts, each once.
fn among(
    context: &Context,
    parts: &[Arc<Requirement>],
    buffers: &mut [(&Arc<Object>, MutexGuard<'_, State>)],
    carry: Carrier<'_>,
    submit: impl FnOnce(&[&Event], &[&Event]) -> Result<Event>,
) -> Result<Event> {
    for (object, state) in &mut *buffers {
        state.end_moves();
        for part in of(object, parts) {
            if part.needs_contents() && !object.is_image() {
                state.bring(object, context, carry).map_err(|error| error.at(object.to_string()))?;
            }
        }
    }
    let moves = buffers.iter().flat_map(|(_, state)| state.moves.iter().map(|moved| &moved.event));
    let behind = buffers.iter().flat_map(|(object, state)| {
        of(object, parts).flat_map(|part| state.tracker.dependencies(part.area(), part.writes()))
    });
    let event = with_slice(moves, |moves| with_slice(behind, |behind| submit(moves, behind)))?;
    for (object, state) in buffers {
        for part in of(object, parts) {
            state.tracker.record(part.area(), part.writes(), event.clone());
            if part.writes() && !part.area().is_empty() && !object.is_image() {
                state.written_in(object, context)?;
            }
        }
    }
    Ok(event)
}

/// The buffers of some parts, each locked once. They are locked in the order of their ids, so that
/// no two threads wait for each other; [`ordered`] does the same for two.
fn lock(parts: &[Arc<Requirement>]) -> Vec<(&Arc<Object>, MutexGuard<'_, State>)> {
    let mut objects: Vec<&Arc<Object>> = parts.iter().map(|part| part.object()).collect();
    objects.sort_unstable_by_key(|object| object.id());
    objects.dedup_by_key(|object| object.id());
    objects.into_iter().map(locked).collect()
}

/// The parts that are of a buffer.
fn of<'a>(object: &Arc<Object>, parts: &'a [Arc<Requirement>]) -> impl Iterator<Item = &'a Arc<Requirement>> {
    let id = object.id();
    parts.iter().filter(move |part| part.object().id() == id)
}
