//! Parts of executable graphs, as prepared commands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Result;
use crate::command::describe::graph::{GraphCommand, RunOn};
use crate::driver::event as driver;
use crate::driver::usm::Allocation;

/// One submission of a part of a graph, for the device.
pub(crate) struct GraphPart {
    graph: Arc<dyn GraphCommand>,
    index: usize,
    submission: u64,
    /// Whether the graph knows that the submission is over.
    over: AtomicBool,
    /// The memory that it uses, once somebody has asked.
    memory: OnceLock<Vec<Arc<Allocation>>>,
}

impl GraphPart {
    /// `submission` is the number of the submission among those of the part. A graph that does not
    /// count them (`None`) is not told of the end.
    pub(crate) fn new(graph: Arc<dyn GraphCommand>, index: usize, submission: Option<u64>) -> Self {
        let over = AtomicBool::new(submission.is_none());
        Self { graph, index, submission: submission.unwrap_or_default(), over, memory: OnceLock::new() }
    }

    /// As a submission that goes on, and will be ended by somebody else.
    pub(crate) fn again(graph: Arc<dyn GraphCommand>, index: usize, submission: u64) -> Self {
        Self { graph, index, submission, over: AtomicBool::new(true), memory: OnceLock::new() }
    }

    pub(super) fn run(&self, on: RunOn<'_>) -> Result<driver::Event> {
        let event = Arc::clone(&self.graph).run_part(self.index, self.submission, on)?;
        self.end();
        Ok(event)
    }

    pub(super) fn memory(&self) -> &[Arc<Allocation>] {
        self.memory.get_or_init(|| Arc::clone(&self.graph).part_memory(self.index))
    }

    fn end(&self) {
        if !self.over.swap(true, Ordering::AcqRel) {
            Arc::clone(&self.graph).end_part(self.index);
        }
    }
}

impl Drop for GraphPart {
    fn drop(&mut self) {
        self.end();
    }
}
