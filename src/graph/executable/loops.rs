//! How often loops ran, and when, for timelines.

use std::sync::Arc;
use std::time::Duration;

use crate::Event;
use crate::driver::sync::Mutex;
use crate::event::Profiling;
use crate::graph::tune::flow::LoopNode;

/// Spans that are kept of a loop.
const MANY: usize = 1000;

/// How often a loop ran in a submission of a graph; in
/// [`NodeTimes::loops`](crate::graph::NodeTimes::loops).
///
/// ```no_run
/// # fn f(queue: &oclave::Queue, executable: &oclave::graph::ExecutableGraph) -> oclave::Result<()> {
/// let event = queue.submit_graph(executable)?; // of a graph and a queue with profiling
/// event.wait()?;
/// let timeline = executable.timeline(&event)?;
/// for looped in timeline.nodes().iter().flat_map(|entry| &entry.loops) {
///     println!("{} {}: {} iterations, {:?} each", looped.name, looped.node, looped.iterations, looped.mean());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoopTimes {
    /// The number of its node in the graph that it is in: for a loop inside of another one, in a body.
    pub node: usize,
    /// `repeat` or `while`.
    pub name: String,
    /// How many iterations there were. Of a loop inside of another one, in all iterations of that.
    pub iterations: u64,
    /// When iterations ran, in their order. Where the host decides, each has a span. A launch of the interpreter has
    /// one span for all of its iterations. At most a thousand are kept. Loops inside of such a launch have none.
    pub spans: Vec<LoopSpan>,
}

/// When iterations of a loop ran on the device, in [`LoopTimes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopSpan {
    /// How many there were.
    pub iterations: u64,
    /// From the first start to the last end of their commands, on the device's clock. Host tasks are left out. `None` if
    /// no command ran on the device.
    pub times: Option<Profiling>,
}

impl LoopTimes {
    /// How long an iteration took on average on the device, by the spans. `None` where there are none.
    pub fn mean(&self) -> Option<Duration> {
        let (mut total, mut count) = (Duration::ZERO, 0);
        for span in &self.spans {
            if let Some(times) = span.times {
                total += times.duration();
                count += span.iterations;
            }
        }
        let nanoseconds = total.as_nanos().checked_div(count.into())?;
        Some(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
    }
}

/// The notes of a submission about a loop while it runs.
#[derive(Default)]
pub(super) struct LoopNotes(Mutex<Notes>);

#[derive(Default)]
struct Notes {
    iterations: u64,
    spans: Vec<LoopSpan>,
    /// Loops inside of it that the same launch runs.
    inside: Vec<(LoopNode, u64)>,
}

impl LoopNotes {
    /// Iterations have ended, whose commands these were.
    pub(super) fn ended(&self, iterations: u64, events: &[Event]) {
        let mut notes = self.0.lock();
        notes.iterations += iterations;
        if notes.spans.len() < MANY && iterations > 0 {
            let times = events.iter().filter(|event| event.native_event().is_some());
            let times = times.filter_map(|event| event.profiling().ok()).reduce(joined);
            notes.spans.push(LoopSpan { iterations, times });
        }
    }

    /// A launch of the interpreter has ended, after which there were so many iterations of these loops. The first is the loop
    /// itself, if this is of a loop.
    pub(super) fn launched(&self, own: Option<&LoopNode>, all: Vec<(LoopNode, u64)>, launch: &Event) {
        let mut all = all.into_iter();
        if own.is_some()
            && let Some((_, iterations)) = all.next()
        {
            let before = self.0.lock().iterations;
            self.ended(iterations.saturating_sub(before), std::slice::from_ref(launch));
        }
        self.0.lock().inside = all.collect();
    }

    /// The times of the loop, and of those that the same launch ran.
    pub(super) fn times(&self, own: Option<&LoopNode>) -> Vec<LoopTimes> {
        let notes = self.0.lock();
        let own = own.map(|own| LoopTimes::of(own, notes.iterations, notes.spans.clone()));
        let inside =
            notes.inside.iter().map(|(node, iterations)| LoopTimes::of(node, *iterations, Vec::new()));
        own.into_iter().chain(inside).collect()
    }
}

impl LoopTimes {
    fn of(node: &LoopNode, iterations: u64, spans: Vec<LoopSpan>) -> Self {
        Self { node: node.node as usize, name: node.name.to_owned(), iterations, spans }
    }

    /// Those of a submission of a loop or a condition that has ended, outer loops first. Nothing for other events.
    pub(in crate::graph) fn of_event(event: &Event) -> Vec<Self> {
        let of = event.detail().and_then(|detail| Arc::clone(detail).downcast::<Vec<Self>>().ok());
        of.map(|loops| loops.to_vec()).unwrap_or_default()
    }
}

/// From the first start to the last end.
fn joined(a: Profiling, b: Profiling) -> Profiling {
    Profiling::new([
        a.queued_ns.min(b.queued_ns),
        a.submitted_ns.min(b.submitted_ns),
        a.started_ns.min(b.started_ns),
        a.ended_ns.max(b.ended_ns),
    ])
}
