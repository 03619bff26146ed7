//! A graph as it was at one moment: what executables are made from, and what is drawn.

use std::collections::HashMap;
use std::sync::Arc;

use super::dynamics::Changes;
use super::state::GraphInner;
use crate::MakeError as _;
use crate::command::{CommandKind, Name, Outside};
use crate::dag::{Edges, NodeId};
use crate::{Context, Device, Error, Result};

/// Nodes and edges that change no more. Commands are shared with the graph, which puts other ones
/// in their place when it is changed; everything else is a copy.
pub(crate) struct Frozen {
    /// The number of the graph.
    pub(crate) graph: u64,
    /// How often nodes of the graph are changed, and how often they were when it was frozen.
    pub(in crate::graph) changes: (Arc<Changes>, u64),
    pub(crate) context: Context,
    pub(crate) device: Device,
    /// By number.
    pub(crate) commands: Vec<Arc<CommandKind>>,
    /// The predecessors of each node, in the order in which the edges were made.
    pub(crate) predecessors: Edges,
    /// The events from outside.
    pub(in crate::graph) externals: Vec<External>,
    /// By number, of the nodes that have one.
    pub(in crate::graph) names: HashMap<u32, Name>,
    /// Each after its predecessors.
    pub(crate) order: Vec<NodeId>,
}

/// An event from outside, as a node.
#[derive(Debug, Clone)]
pub(in crate::graph) struct External {
    pub(in crate::graph) outside: Outside,
    pub(in crate::graph) node: u32,
    /// Whether a node waits for it.
    pub(in crate::graph) is_used: bool,
}

impl GraphInner {
    /// The graph as it is now.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a cycle, which only a graph without cycle checks
    /// can have.
    pub(crate) fn freeze(&self) -> Result<Frozen> {
        let mut state = self.state();
        state.follow_all();
        let order = state.dag.topological().map_err(|cycle| {
            let message = format!("the graph has a cycle: {}", state.cycle(&cycle));
            self.at(
                Error::invalid(message).remedy("without `no_cycle_check` the edge that closes it is found")
            )
        })?;
        let nodes = state.dag.len();
        let mut frozen = Frozen {
            graph: self.id(),
            changes: (Arc::clone(state.dynamics.changes()), state.dynamics.changes().count()),
            context: self.context().clone(),
            device: self.device().clone(),
            commands: Vec::with_capacity(nodes),
            predecessors: Edges::default(),
            externals: Vec::new(),
            names: HashMap::new(),
            order,
        };
        for node in state.dag.ids() {
            let data = state.dag.payload(node);
            frozen.commands.extend(data.map(|data| Arc::clone(&data.command)));
            if let Some(CommandKind::External(outside)) = data.map(|data| &*data.command) {
                let is_used = !state.dag.successors(node).is_empty();
                frozen.externals.push(External { outside: outside.clone(), node: node.number(), is_used });
                // Nothing to wait for, and no reason for a partition.
                if let (false, Some(command)) = (is_used, frozen.commands.last_mut()) {
                    *command = Arc::new(CommandKind::Empty);
                }
            }
            if let Some(name) = data.and_then(|data| data.name.clone()) {
                frozen.names.insert(node.number(), name);
            }
            let predecessors = state.dag.predecessors(node).iter();
            frozen.predecessors.push(predecessors.map(|node| node.number()));
        }
        Ok(frozen)
    }
}

impl Frozen {
    /// The nodes and edges alone. Sub-graphs stay what they are; other commands are gone.
    pub(crate) fn without_commands(mut self) -> Self {
        let empty = Arc::new(CommandKind::Empty);
        for command in &mut self.commands {
            if !matches!(**command, CommandKind::Graph(_)) {
                *command = Arc::clone(&empty);
            }
        }
        self.order = Vec::new();
        self
    }
}
