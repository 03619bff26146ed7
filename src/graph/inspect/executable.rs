//! Inspection of executable graphs by users.

use std::ffi::c_void;
use std::path::Path;

use super::dot::{self, Detail};
use super::memory::GraphMemory;
use super::partitions::PartitionInfo;
use super::segments::{self, NotInterpreted, SegmentInfo};
use super::timeline::{self, TimedPart, Timeline};
use crate::command::GraphCommand;
use crate::graph::executable::handle::ExecutableGraph;
use crate::graph::executable::prepared::RefreshFor;
use crate::{Event, Queue, Result};

impl ExecutableGraph {
    /// The parts that are run as one, each after those that it waits for.
    pub fn partitions(&self) -> Vec<PartitionInfo> {
        PartitionInfo::all(self.layout(), &self.prepared())
    }

    /// The handles (`cl_command_buffer_khr`) of the command buffers that its partitions are
    /// recorded in for queues like this one, in order; for use with OpenCL directly. None where no
    /// command buffer is used.
    ///
    /// They stay valid while the executable lives and is not updated, and belong to it: release
    /// none. What is enqueued with them is not known to the library: keep the executable until it
    /// has ended, and order it with its submissions.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a queue of another context or device; when the
    /// driver refuses to record.
    pub fn native_command_buffers(&self, queue: &Queue) -> Result<Vec<*mut c_void>> {
        self.inner().check(queue.context(), queue.device())?;
        // It may prepare steps again, as a submission.
        let _turn = self.turn();
        let mut prepared = self.prepared();
        (0..self.layout().partitions.len())
            .try_for_each(|part| prepared.refresh(self.layout(), part, RefreshFor::Submission))?;
        let mut handles = Vec::new();
        for part in prepared.parts.iter_mut().flatten() {
            let exec = &mut part.tuned.exec;
            handles.extend(exec.replay.native(&exec.steps.sequence, queue.driver())?);
        }
        Ok(handles)
    }

    /// The launches of the interpreter, and what they run; none where it is not used.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        segments::all(self.layout(), &self.prepared())
    }

    /// The nodes that the interpreter does not run, by the reason why, host tasks left out. Where
    /// it is not used at all these are all nodes.
    pub fn not_interpreted(&self) -> Vec<NotInterpreted> {
        segments::not_interpreted(self)
    }

    /// The memory of the graph that it has: how much was asked for, how much is used, and which
    /// memory lives at the same time.
    ///
    /// ```no_run
    /// # use oclave::{Graph, Result};
    /// # fn f(graph: &Graph) -> Result<()> {
    /// let memory = graph.finalize()?.memory();
    /// println!("{} bytes in the place of {}", memory.used_bytes, memory.requested_bytes);
    /// println!("{memory}"); // with a line for each allocation
    /// # Ok(())
    /// # }
    /// ```
    pub fn memory(&self) -> GraphMemory {
        GraphMemory::of(self)
    }

    /// When each command ran in the submission that the event is of, which must have ended. With
    /// [`ReplayStrategy::Enqueue`](crate::graph::ReplayStrategy::Enqueue) node by node, with command
    /// buffers from their begin to their end.
    ///
    /// Ask before the next submission: that may be of other segments, made after an update, or with
    /// an interpreter program that was being built.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the event is of something else, or the segments
    /// are others by now; [`Profiling`](crate::ErrorKind::Profiling) when the graph was finalized
    /// without [`profiling`](crate::graph::Finalizer::profiling), the queue was built without it, or the
    /// submission has not ended.
    pub fn timeline(&self, event: &Event) -> Result<Timeline> {
        let parts = TimedPart::all(self.layout(), &self.prepared());
        timeline::of_event(self.id(), parts, event)
            .map(|timeline| timeline.with_names(&self.layout().names))
            .map_err(|error| self.at(error))
    }

    /// The commands and their order in DOT, those of sub-graphs included; with a frame around the
    /// nodes that one launch of the interpreter runs ([`segments`](Self::segments)). Numbers are
    /// those of the nodes of the graph that it was made from.
    pub fn to_dot(&self, detail: Detail) -> String {
        dot::of_executable(self, detail)
    }

    /// Writes a drawing to a file, as [`Graph::print`](crate::Graph::print).
    ///
    /// # Errors
    /// As there.
    pub fn print(&self, path: impl AsRef<Path>, detail: Detail) -> Result<()> {
        dot::print(path.as_ref(), || self.to_dot(detail)).map_err(|error| self.at(error))
    }
}
