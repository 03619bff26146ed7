//! The feature `tracing` is on: spans and events.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::field::{Empty, display};
use tracing::{Level, Span};

use super::{Measured, Ran};
use crate::Result;
use crate::driver::sync::Mutex;

/// Does the work of a span, and notes its error in the fields that exporters know.
fn in_span<T>(span: Span, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let outcome = span.in_scope(run);
    if let Err(error) = &outcome {
        span.record("error", display(error));
        span.record("otel.status_code", "ERROR");
    }
    outcome
}

pub(crate) fn build<T>(image: &str, device: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span = tracing::info_span!(
        target: "oclave", "build", image, device, error = Empty, otel.status_code = Empty
    );
    in_span(span, run)
}

pub(crate) fn compile<T>(image: &str, device: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span = tracing::info_span!(
        target: "oclave", "compile", image, device, error = Empty, otel.status_code = Empty
    );
    in_span(span, run)
}

pub(crate) fn finalize<T>(graph: u64, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span =
        tracing::info_span!(target: "oclave", "finalize", graph, error = Empty, otel.status_code = Empty);
    in_span(span, run)
}

pub(crate) fn wait<T>(what: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let span = tracing::debug_span!(target: "oclave", "wait", what, error = Empty, otel.status_code = Empty);
    in_span(span, run)
}

/// Puts a command on a queue. `describe` gives its name, and what `measured` needs to know.
#[inline]
pub(crate) fn submit<C, D, E>(
    (track, queue): (&Track, u64),
    command: C,
    describe: impl FnOnce(&C) -> (String, D),
    run: impl FnOnce(C) -> Result<E>,
    measured: impl FnOnce(String, D, &E) -> Option<Measured>,
) -> Result<E> {
    let is_measured = is_measured();
    if !is_measured && !tracing::enabled!(target: "oclave", Level::DEBUG) {
        return run(command);
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (name, what) = describe(&command);
    let span = tracing::debug_span!(
        target: "oclave", "submit",
        otel.name = format_args!("submit {name}"), command = name, submission = number, queue,
        error = Empty, otel.status_code = Empty
    );
    let event = in_span(span, || run(command))?;
    if is_measured {
        let measured = measured(name, what, &event);
        track.pending.lock().extend(measured.map(|measured| Pending { number, queue, measured }));
        track.report();
    }
    Ok(event)
}

/// Whether somebody asks for the times of devices.
fn is_measured() -> bool {
    tracing::enabled!(target: "oclave::device", Level::DEBUG)
}

/// The measured commands of a queue whose times nobody was told, in the order of their submission.
#[derive(Default)]
pub(crate) struct Track {
    pending: Mutex<VecDeque<Pending>>,
}

struct Pending {
    number: u64,
    queue: u64,
    measured: Measured,
}

impl Track {
    /// Tells the times of commands that have ended. Those behind one that has not ended come later.
    pub(crate) fn report(&self) {
        loop {
            // Not told under the lock: the subscriber may put commands on the queue.
            let mut pending = self.pending.lock();
            let has_ended = |first: &Pending| (first.measured.has_ended)();
            if !pending.front().is_some_and(has_ended) {
                return;
            }
            let Some(Pending { number, queue, measured }) = pending.pop_front() else { return };
            drop(pending);
            (measured.ran)().into_iter().for_each(|ran| tell(number, queue, ran));
        }
    }
}

impl Drop for Track {
    fn drop(&mut self) {
        self.report();
    }
}

fn tell(submission: u64, queue: u64, Ran { name, nodes, on_host, times, ago_ns }: Ran) {
    let (started_ago_ns, ended_ago_ns) = ago_ns.unzip();
    tracing::debug!(
        target: "oclave::device",
        command = name,
        submission,
        queue,
        nodes = (!nodes.is_empty()).then(|| tracing::field::debug(nodes)),
        on_host,
        queued_ns = times.queued_ns,
        submitted_ns = times.submitted_ns,
        started_ns = times.started_ns,
        ended_ns = times.ended_ns,
        started_ago_ns,
        ended_ago_ns,
    );
}
