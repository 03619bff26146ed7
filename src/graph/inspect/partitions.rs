//! The parts of an executable graph that are run as one.

use crate::driver::sequence::Sequence;
use crate::graph::exec::options::ReplayStrategy;
use crate::graph::exec::partition::PartitionExec;
use crate::graph::executable::layout::Layout;
use crate::graph::executable::part::Part;
use crate::graph::executable::prepared::Prepared;
use crate::graph::plan::partition::Partition;
use crate::graph::tune::flow::FlowSlot;

/// A part of an executable graph that is run as one: what is given to the device at once, or a host
/// task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartitionInfo {
    /// The numbers of its nodes ([`Node::index`](crate::graph::Node::index)), each after those that it
    /// depends on. Those of a sub-graph have its number.
    pub nodes: Vec<usize>,
    /// The places in the list of the partitions that it waits for.
    pub after: Vec<usize>,
    /// How it is put on queues. `None` for a host task, which runs on a thread of the library. Also
    /// for a loop or a condition that the host decides, and for an event from outside.
    pub strategy: Option<ReplayStrategy>,
    /// Each node waits for the one before it, so that nothing is tracked between them.
    pub linear: bool,
    /// Commands that the device is given.
    pub commands: usize,
    /// Points of synchronisation between them, where they may run out of order.
    pub sync_points: usize,
}

impl PartitionInfo {
    pub(super) fn all(layout: &Layout, prepared: &Prepared) -> Vec<Self> {
        let info = |((partition, part), slot): ((&Partition, &Option<Part>), &FlowSlot)| {
            let flow = slot.flow();
            let exec = part.as_ref().map(|part| &part.tuned.exec);
            let origin = |node: &u32| layout.flat.origin(*node as usize) as usize;
            let sequence = exec.map(|exec| &exec.steps.sequence);
            let linear = sequence.is_none_or(Sequence::is_linear);
            Self {
                nodes: partition.nodes.iter().map(origin).collect(),
                after: partition.waits.iter().map(|wait| *wait as usize).collect(),
                strategy: exec.map(PartitionExec::strategy).or(flow.map(|_| ReplayStrategy::Interpreter)),
                linear,
                commands: sequence.map_or(0, Sequence::commands),
                sync_points: if linear { 0 } else { sequence.map_or(0, Sequence::len) },
            }
        };
        layout.partitions.iter().zip(&prepared.parts).zip(&prepared.flows).map(info).collect()
    }
}
