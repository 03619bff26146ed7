//! Executable graphs as bodies of loops and conditions.

use std::any::Any;
use std::sync::Arc;

use super::handle::ExecutableGraph;
use crate::command::{CommandKind, ControlBody, GraphCommand};
use crate::graph::model::control::{GraphBody, sealed};
use crate::memory::buffer::Requirement;
use crate::memory::{Region, Reserved};
use crate::{Context, Device, Result};

#[allow(private_interfaces, reason = "of a sealed trait")]
impl sealed::Sealed for &ExecutableGraph {
    fn body(self) -> Arc<dyn ControlBody> {
        Arc::new(self.clone())
    }
}

impl ControlBody for ExecutableGraph {
    fn id(&self) -> u64 {
        // Apart from those of graphs.
        u64::MAX / 2 + 1 + ExecutableGraph::id(self)
    }

    fn requirements(&self) -> Vec<Arc<Requirement>> {
        self.prepared().requirements.clone()
    }

    fn memory(&self) -> Vec<(Reserved, Region)> {
        let own = ExecutableGraph::commands(self);
        own.iter().flat_map(|command| command.all_graph_memory()).collect()
    }

    fn contains(&self, _: u64) -> bool {
        false
    }

    fn check(&self, context: &Context, device: &Device) -> Result<()> {
        let command: Arc<dyn GraphCommand> = Arc::clone(self.inner()) as Arc<dyn GraphCommand>;
        command.check(context, device)
    }
}

/// The nodes of a body, to be drawn: commands, and the nodes that they wait for.
pub(in crate::graph) fn nodes(body: &Arc<dyn ControlBody>) -> Vec<(Arc<CommandKind>, Vec<u32>)> {
    let any = Arc::clone(body) as Arc<dyn Any + Send + Sync>;
    if let Some(body) = any.downcast_ref::<ExecutableGraph>() {
        return nodes_of(body);
    }
    let frozen = any.downcast_ref::<GraphBody>().and_then(|body| body.graph.freeze().ok());
    let Some(frozen) = frozen else { return Vec::new() };
    let waits = |node: usize| frozen.predecessors.of(node as u32).to_vec();
    frozen.commands.iter().enumerate().map(|(node, command)| (Arc::clone(command), waits(node))).collect()
}

/// The nodes of a body that is an executable of its own.
pub(in crate::graph) fn nodes_of(body: &ExecutableGraph) -> Vec<(Arc<CommandKind>, Vec<u32>)> {
    let waits = |node: usize| body.layout().flat.waits(node).to_vec();
    body.commands().into_iter().enumerate().map(|(node, command)| (command, waits(node))).collect()
}
