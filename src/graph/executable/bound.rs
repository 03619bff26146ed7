//! Submissions with events from outside.

use std::any::Any;
use std::sync::Arc;

use super::handle::{ExecutableGraph, Inner};
use crate::MakeError as _;
use crate::command::{Command, CommandKind, GraphCommand, RunOn};
use crate::driver::event as driver;
use crate::driver::usm::Allocation;
use crate::graph::model::external::ExternalEvent;
use crate::graph::model::snapshot::External;
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Error, Event, Queue, Result};

/// An [`ExecutableGraph`] with events for a submission; from [`ExecutableGraph::with`].
#[derive(Debug, Clone)]
#[must_use = "a graph does nothing until it is submitted"]
pub struct BoundGraph(Bound);

#[derive(Debug, Clone)]
struct Bound {
    graph: ExecutableGraph,
    /// By the number of the event from outside.
    events: Bindings,
    /// The error of an event that is not of the graph.
    refused: Option<Error>,
}

/// The executable graph that a command runs, be it with events of its own.
pub(in crate::graph) fn executable_of(command: &Arc<dyn GraphCommand>) -> Option<ExecutableGraph> {
    ExecutableGraph::of(command).ok().or_else(|| {
        let any = Arc::clone(command) as Arc<dyn Any + Send + Sync>;
        any.downcast::<Bound>().ok().map(|bound| bound.graph.clone())
    })
}

/// Events for a submission, by the number of the event from outside.
pub(in crate::graph) type Bindings = Vec<(u64, Event)>;

mod sealed {
    use super::{External, ExternalEvent};
    use crate::Event;

    pub trait Sealed {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "of a sealed trait")]
        fn is(&self, external: &External) -> bool;
    }

    #[allow(private_interfaces, reason = "of a sealed trait")]
    impl Sealed for ExternalEvent {
        fn is(&self, external: &External) -> bool {
            self.outside().id() == external.outside.id()
        }
    }

    #[allow(private_interfaces, reason = "of a sealed trait")]
    impl Sealed for Event {
        fn is(&self, external: &External) -> bool {
            external.outside.recorded().is_some_and(|recorded| recorded.is_same(self))
        }
    }

    pub trait Graph {}
}

/// An input that a submission binds to an event. It is an [`ExternalEvent`], or an [`Event`] from outside that recorded
/// commands wait for.
pub trait OutsideSource: sealed::Sealed {}

impl OutsideSource for ExternalEvent {}
impl OutsideSource for Event {}

/// A graph for [`Queue::submit_graph`]: `&executable`, `executable.with(&outside, &event)`.
pub trait GraphSource: sealed::Graph + Into<Command> {}

impl sealed::Graph for &ExecutableGraph {}
impl GraphSource for &ExecutableGraph {}
impl sealed::Graph for BoundGraph {}
impl GraphSource for BoundGraph {}
impl sealed::Graph for &BoundGraph {}
impl GraphSource for &BoundGraph {}

impl BoundGraph {
    pub(super) fn new(graph: ExecutableGraph) -> Self {
        Self(Bound { graph, events: Bindings::new(), refused: None })
    }

    /// Another event, see [`ExecutableGraph::with`]. Of two events for one, the last counts.
    pub fn with(mut self, outside: &impl OutsideSource, event: &Event) -> Self {
        let Bound { graph, events, refused } = &mut self.0;
        match graph.layout().externals.iter().find(|external| outside.is(external)) {
            Some(external) => {
                let id = external.outside.id();
                events.retain(|(other, _)| *other != id);
                events.push((id, event.clone()));
            }
            None if refused.is_none() => {
                let error =
                    Error::invalid("an event was given for one from outside that is not of the graph")
                        .remedy(
                            "use an event of `graph.external_events()`, from before the graph was finalized",
                        );
                *refused = Some(graph.at(error));
            }
            None => {}
        }
        self
    }
}

impl From<BoundGraph> for Command {
    fn from(graph: BoundGraph) -> Self {
        Self::from_parts(CommandKind::Graph(Arc::new(graph.0)), Vec::new())
    }
}

impl From<&BoundGraph> for Command {
    fn from(graph: &BoundGraph) -> Self {
        graph.clone().into()
    }
}

impl GraphCommand for Bound {
    fn id(&self) -> u64 {
        self.graph.id()
    }

    fn is_bound(&self) -> bool {
        true
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        self.graph.inner().requirements()
    }

    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        self.refused.clone().map_or(Ok(()), Err)?;
        self.graph.inner().check(context, device)
    }

    fn submit(self: Arc<Self>, queue: &Queue, after: &[&Event], behind: &[&Event]) -> Result<Event> {
        self.graph.submit(queue, after.iter().copied(), behind, &self.events)
    }

    fn part_memory(self: Arc<Self>, part: usize) -> Vec<Arc<Allocation>> {
        Arc::clone(self.graph.inner()).part_memory(part)
    }

    fn run_part(self: Arc<Self>, part: usize, submission: u64, on: RunOn<'_>) -> Result<driver::Event> {
        Arc::clone(self.graph.inner()).run_part(part, submission, on)
    }

    fn end_part(self: Arc<Self>, part: usize) {
        let inner: Arc<Inner> = Arc::clone(self.graph.inner());
        inner.end_part(part);
    }
}
