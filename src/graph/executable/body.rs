//! Executable graphs as bodies of loops and conditions.

use std::sync::Arc;

use super::handle::ExecutableGraph;
use crate::command::{CommandKind, ControlBody, ControlFlow, GraphCommand};
use crate::graph::model::control::{alone, frozen, sealed};
use crate::memory::buffer::Requirement;
use crate::memory::{Region, Reserved};
use crate::{Context, Device, Queue, Result};

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

    fn alone(&self, command: ControlFlow, queue: &Queue) -> Result<Arc<dyn GraphCommand>> {
        alone(command, queue)
    }
}

/// The nodes of a body, to be drawn.
pub(in crate::graph) fn commands(body: &Arc<dyn ControlBody>) -> Vec<(Arc<CommandKind>, Vec<u32>)> {
    let any = Arc::clone(body) as Arc<dyn std::any::Any + Send + Sync>;
    if let Some(body) = any.downcast_ref::<ExecutableGraph>() {
        let waits = |node: usize| body.layout().flat.waits(node).to_vec();
        return body
            .commands()
            .into_iter()
            .enumerate()
            .map(|(node, command)| (command, waits(node)))
            .collect();
    }
    match frozen(body) {
        Ok(Some(frozen)) => {
            let waits = |node: usize| frozen.predecessors.of(node as u32).to_vec();
            frozen
                .commands
                .iter()
                .enumerate()
                .map(|(node, command)| (Arc::clone(command), waits(node)))
                .collect()
        }
        _ => Vec::new(),
    }
}
