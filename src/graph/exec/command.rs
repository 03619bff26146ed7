//! Executable graphs as commands.

use std::any::Any;
use std::sync::{Arc, PoisonError};

use super::executable::{ExecutableGraph, Inner};
use super::refresh::Moment;
use crate::command::{Command, CommandKind, GraphCommand, GraphPart, RunOn};
use crate::driver::event as driver;
use crate::driver::run::Mode;
use crate::driver::usm::Allocation;
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Error, Event, Queue, Result};

impl Command {
    /// Runs an executable graph, as one command (`sycl_ext_oneapi_graph`, section 7.6.5,
    /// `handler::ext_oneapi_graph`). In a graph it is a sub-graph.
    pub fn graph(graph: &ExecutableGraph) -> Self {
        Self::from_parts(CommandKind::Graph(graph.command()), Vec::new())
    }
}

impl From<&ExecutableGraph> for Command {
    fn from(graph: &ExecutableGraph) -> Self {
        Self::graph(graph)
    }
}

impl ExecutableGraph {
    /// The executable graph that a command runs; the layer of commands does not know its type.
    pub(in crate::graph) fn of(command: &Arc<dyn GraphCommand>) -> Result<Self> {
        let any = Arc::clone(command) as Arc<dyn Any + Send + Sync>;
        any.downcast()
            .map(Self::from_inner)
            .map_err(|_| Error::bug("a graph command runs no executable graph"))
    }
}

impl GraphCommand for Inner {
    fn id(&self) -> u64 {
        self.id
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        self.requirements.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        let (own_context, own_device) = (self.queue.context(), self.queue.device());
        let here = Arc::ptr_eq(context.driver(), own_context.driver()) && device == own_device;
        if here {
            return Ok(());
        }
        Err(self.at(Error::invalid("the queue is of another context or device than the graph")
            .remedy("submit it to a queue of the context and device that the graph was made for")))
    }

    fn submit(self: Arc<Self>, queue: &Queue, after: &[&Event], behind: &[&Event]) -> Result<Event> {
        ExecutableGraph::from_inner(self).submit(queue, after.iter().copied(), behind)
    }

    fn part_memory(self: Arc<Self>, part: usize) -> Vec<Arc<Allocation>> {
        match ExecutableGraph::from_inner(self).state().device.get(part) {
            Some(Some(part)) => part.memory().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// The partition runs as it was when it was submitted, after the events and its last run.
    fn run_part(self: Arc<Self>, part: &GraphPart, on: RunOn<'_>) -> Result<driver::Event> {
        let graph = ExecutableGraph::from_inner(self);
        let RunOn { queue, after, held } = on;
        let mut state = graph.state();
        graph
            .refresh(&mut state, part.index(), Moment::Run(part.submission()))
            .map_err(|error| graph.at(error))?;
        let Some(Some(part)) = state.device.get_mut(part.index()) else { return queue.marker(after) };
        let measure = graph.inner().options.profiling && queue.properties().profiling;
        part.exec.run(queue, after, Mode { measure, held }).map_err(|error| graph.at(error))
    }

    fn end_part(self: Arc<Self>, part: usize) {
        ExecutableGraph::from_inner(self).leave(part);
    }
}
