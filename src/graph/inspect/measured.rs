//! When the nodes of a submission ran, for who asks when it has ended.

use std::sync::Arc;

use super::timeline::{self, NodeTimes, TimedPart};
use crate::Event;
use crate::command::GraphCommand;
use crate::graph::executable::bound::executable_of;
use crate::graph::executable::handle::ExecutableGraph;

/// The measurements of a submission that was made just now.
pub(crate) struct MeasuredGraph {
    graph: ExecutableGraph,
    parts: Vec<TimedPart>,
}

/// For the last submission of a graph that was finalized with profiling.
pub(crate) fn measured(command: &Arc<dyn GraphCommand>) -> Option<MeasuredGraph> {
    let graph = executable_of(command)?;
    if !graph.layout().options.profiling {
        return None;
    }
    let parts = TimedPart::all(graph.layout(), &graph.prepared());
    Some(MeasuredGraph { graph, parts })
}

impl MeasuredGraph {
    /// When its nodes ran, in the submission that the event is of. `None` where that is not known.
    pub(crate) fn ran(self, event: &Event) -> Option<Vec<NodeTimes>> {
        let timeline = timeline::of_event(self.graph.id(), self.parts, event).ok()?;
        Some(timeline.into_nodes())
    }
}
