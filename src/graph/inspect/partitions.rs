//! The parts of an executable graph that are run as one.

use std::ffi::c_void;

use crate::command::GraphCommand;
use crate::driver::sequence::Sequence;
use crate::graph::exec::executable::ExecutableGraph;
use crate::graph::exec::options::ReplayStrategy;
use crate::graph::exec::partition::{PartitionExec, PartitionState};
use crate::graph::exec::refresh::Moment;
use crate::graph::plan::partition::Partition;
use crate::{Queue, Result};

/// A part of an executable graph that is run as one: what is given to the device at once, or a host
/// task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionInfo {
    /// The numbers of its nodes ([`Node::index`](crate::Node::index)), each behind those that it
    /// depends on. Those of a sub-graph have its number.
    pub nodes: Vec<usize>,
    /// The places in the list of the partitions that it waits for.
    pub after: Vec<usize>,
    /// How it is put on queues; `None` for a host task, which runs on a thread of the library.
    pub strategy: Option<ReplayStrategy>,
    /// Each node waits for the one before it, so that nothing is tracked between them.
    pub linear: bool,
    /// Commands that the device is given.
    pub commands: usize,
    /// Points of synchronisation between them, where they may run out of order.
    pub sync_points: usize,
}

impl ExecutableGraph {
    /// The parts that are run as one, each behind those that it waits for.
    pub fn partitions(&self) -> Vec<PartitionInfo> {
        let state = self.state();
        let flat = self.flat();
        let info = |(partition, part): (&Partition, &Option<PartitionState>)| {
            let part = part.as_ref().map(|part| &part.exec);
            let origin = |node: &u32| flat.origin(*node as usize) as usize;
            let sequence = part.map(|part| &part.steps.sequence);
            let linear = sequence.is_none_or(Sequence::is_linear);
            let commands = sequence.map_or(0, Sequence::commands);
            PartitionInfo {
                nodes: partition.nodes.iter().map(origin).collect(),
                after: partition.waits.iter().map(|wait| *wait as usize).collect(),
                strategy: part.map(PartitionExec::strategy),
                linear,
                commands,
                sync_points: if linear { 0 } else { sequence.map_or(0, Sequence::len) },
            }
        };
        self.inner().partitions.iter().zip(&state.device).map(info).collect()
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
        let mut state = self.state();
        (0..self.inner().partitions.len())
            .try_for_each(|part| self.refresh(&mut state, part, Moment::Submission))?;
        let mut handles = Vec::new();
        for PartitionState { exec: part, .. } in state.device.iter_mut().flatten() {
            handles.extend(part.replay.native(&part.steps.sequence, queue.driver())?);
        }
        Ok(handles)
    }
}
