//! Executable graphs as commands.

use std::sync::Arc;

use super::handle::{ExecutableGraph, Inner};
use super::prepared::RefreshFor;
use crate::MakeError as _;
use crate::command::{Command, CommandKind, GraphCommand, RunOn};
use crate::driver::event as driver;
use crate::driver::run::Mode;
use crate::driver::usm::Allocation;
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Error, Event, Queue, Result};

impl Command {
    /// Runs an executable graph, as one command (`sycl_ext_oneapi_graph`, section 7.6.5,
    /// `handler::ext_oneapi_graph`). In a graph it is a sub-graph.
    pub fn graph(graph: &ExecutableGraph) -> Self {
        let graph = Arc::clone(graph.inner()) as Arc<dyn GraphCommand>;
        Self::from_parts(CommandKind::Graph(graph), Vec::new())
    }
}

impl From<&ExecutableGraph> for Command {
    fn from(graph: &ExecutableGraph) -> Self {
        Self::graph(graph)
    }
}

impl GraphCommand for Inner {
    fn id(&self) -> u64 {
        self.id()
    }

    fn is_bound(&self) -> bool {
        false
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        self.prepared().requirements.clone()
    }

    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        let (own_context, own_device) = (self.layout.queue.context(), self.layout.queue.device());
        let here = Arc::ptr_eq(context.driver(), own_context.driver()) && device == own_device;
        if here {
            return Ok(());
        }
        Err(self.layout.at(Error::invalid("the queue is of another context or device than the graph")
            .remedy("submit it to a queue of the context and device that the graph was made for")))
    }

    fn submit(self: Arc<Self>, queue: &Queue, after: &[&Event], behind: &[&Event]) -> Result<Event> {
        ExecutableGraph::from_inner(self).submit(queue, after.iter().copied(), behind, &[])
    }

    fn part_memory(self: Arc<Self>, part: usize) -> Vec<Arc<Allocation>> {
        self.prepared().part(part).map_or_else(Vec::new, |part| part.memory().cloned().collect())
    }

    /// The partition runs as it was when it was submitted, after the events and its last run.
    fn run_part(self: Arc<Self>, part: usize, submission: u64, on: RunOn<'_>) -> Result<driver::Event> {
        let layout = &self.layout;
        let RunOn { queue, after, held } = on;
        let mut prepared = self.prepared();
        prepared.refresh(layout, part, RefreshFor::Run(submission)).map_err(|error| layout.at(error))?;
        let Some(part) = prepared.part_mut(part) else { return queue.marker(after) };
        let measure = layout.options.profiling && queue.properties().profiling;
        part.tuned.run(queue, after, Mode { measure, held }).map_err(|error| layout.at(error))
    }

    fn end_part(self: Arc<Self>, part: usize) {
        self.prepared().end_submission(part);
    }
}
