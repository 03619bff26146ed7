//! The state that all handles of a graph share: its properties, and its nodes while it is built.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::describe::title;
use super::dynamics::{Dynamics, GroupId, Owner};
use super::hazards::Hazards;
use super::tracks::{TrackId, Tracks};
use crate::MakeError as _;
use crate::command::{CommandKind, Name};
use crate::dag::{Dag, NodeId};
use crate::driver::sync::{Mutex, MutexGuard};
use crate::memory::buffer::Requirement;
use crate::{Context, Device, Error};

/// The state that all handles of a graph, its nodes, and the events of recorded commands share.
pub(crate) struct GraphInner {
    id: u64,
    context: Context,
    device: Device,
    pub(super) options: Options,
    /// Handles of the graph itself. Nodes and events do not count.
    pub(super) users: AtomicUsize,
    /// How often memory of the graph was asked for.
    pub(super) allocations: AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::graph) struct Options {
    pub(super) check_cycles: bool,
    /// Whether commands may copy device globals.
    pub(super) device_globals: bool,
    pub(super) waits: Waits,
}

/// The meaning of waits on queues that record; for [`GraphBuilder::waits`](crate::graph::GraphBuilder::waits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Waits {
    /// They are errors.
    #[default]
    Refused,
    /// They are barriers of the recording.
    AsBarriers,
}

/// The state that changes while a graph is built.
pub(crate) struct State {
    pub(crate) dag: Dag<NodeData>,
    pub(in crate::graph) hazards: Hazards,
    pub(in crate::graph) tracks: Tracks,
    pub(in crate::graph) dynamics: Dynamics,
    /// The nodes that are events from outside.
    pub(in crate::graph) externals: Vec<NodeId>,
}

/// A node of a graph: its command and options.
#[derive(Debug, Clone)]
pub(crate) struct NodeData {
    /// Shared with frozen graphs: an update puts another one in its place, or changes a copy.
    pub(crate) command: Arc<CommandKind>,
    /// The queue that it was recorded from.
    pub(crate) track: Option<TrackId>,
    /// The dynamic command group that its command comes from.
    pub(crate) group: Option<GroupId>,
    /// With the labels around it.
    pub(crate) name: Option<Name>,
}

impl GraphInner {
    pub(super) fn new(context: Context, device: Device, options: Options) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let state = State {
            dag: Dag::new(options.check_cycles),
            hazards: Hazards::default(),
            tracks: Tracks::default(),
            dynamics: Dynamics::default(),
            externals: Vec::new(),
        };
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context,
            device,
            options,
            users: AtomicUsize::new(0),
            allocations: AtomicU32::new(0),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn waits_as_barriers(&self) -> bool {
        self.options.waits == Waits::AsBarriers
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn at(&self, error: Error) -> Error {
        error.at(format!("graph {}", self.id))
    }
}

impl PartialEq for GraphInner {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for GraphInner {}

impl Hash for GraphInner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for GraphInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} of {} nodes)", self.id, self.state().dag.len())
    }
}

impl State {
    /// Adds a node after others, and notes what it does to parts of buffers.
    pub(in crate::graph) fn link(
        &mut self,
        data: NodeData,
        parts: &[Arc<Requirement>],
        predecessors: &[NodeId],
    ) -> NodeId {
        let id = self.dag.add(data, predecessors);
        self.hazards.note(id, parts);
        id
    }

    /// Nodes of a cycle, as messages show them: with what they do while there are few.
    pub(in crate::graph) fn cycle(&self, path: &[NodeId]) -> String {
        const SHOWN: usize = 12;
        let name = |id: &NodeId| match self.dag.payload(*id) {
            Some(data) => format!("{} ({})", id.index(), title(data.name.as_ref(), &data.command)),
            None => id.index().to_string(),
        };
        let mut text: Vec<String> = path.iter().take(SHOWN).map(name).collect();
        if path.len() > SHOWN {
            text.push(format!("… {} more", path.len() - SHOWN));
        }
        text.extend(path.first().map(|first| first.index().to_string()));
        text.join(" → ")
    }

    pub(in crate::graph) fn command_of(&self, owner: Owner) -> Option<&Arc<CommandKind>> {
        match owner {
            Owner::Node(node) => self.dag.payload(node).map(|data| &data.command),
            Owner::Alternative(group, index) => {
                Some(&self.dynamics.group(group)?.alternatives.get(index)?.command)
            }
        }
    }

    pub(in crate::graph) fn owner(&self, node: NodeId) -> Owner {
        let group = self.dag.payload(node).and_then(|data| data.group);
        match group.and_then(|id| Some((id, self.dynamics.group(id)?.active))) {
            Some((group, active)) => Owner::Alternative(group, active),
            None => Owner::Node(node),
        }
    }

    /// Changes a command, and with that of a group those of its nodes. Executables keep what they
    /// have.
    pub(in crate::graph) fn change(&mut self, owner: Owner, change: impl FnOnce(&mut CommandKind)) {
        match owner {
            Owner::Node(node) => {
                debug_assert!(self.dag.payload(node).is_some(), "{node:?} is of another graph");
                if let Some(data) = self.dag.payload_mut(node) {
                    change(Arc::make_mut(&mut data.command));
                }
            }
            Owner::Alternative(id, index) => {
                let Some(group) = self.dynamics.group_mut(id) else { return };
                if let Some(alternative) = group.alternatives.get_mut(index) {
                    change(Arc::make_mut(&mut alternative.command));
                }
                if group.active == index {
                    self.distribute(id);
                }
            }
        }
    }

    /// Gives the arguments of a node that follow parameters the values of now. Commands follow when
    /// they are read, not when a parameter changes, which any number of nodes may follow.
    pub(in crate::graph) fn follow(&mut self, node: NodeId) {
        let owner = self.owner(node);
        if self.command_of(owner).is_some_and(|command| command.is_behind()) {
            self.change(owner, CommandKind::follow);
        }
    }

    /// As [`follow`](Self::follow), of all nodes.
    pub(in crate::graph) fn follow_all(&mut self) {
        self.dag.ids().for_each(|node| self.follow(node));
    }

    /// Puts another command in the place of a node's, and gives the one before.
    pub(in crate::graph) fn replace(
        &mut self,
        node: NodeId,
        command: CommandKind,
    ) -> Option<Arc<CommandKind>> {
        let data = self.dag.payload_mut(node)?;
        let before = std::mem::replace(&mut data.command, Arc::new(command));
        let now = Arc::clone(&data.command);
        self.dynamics.forget(&before, Owner::Node(node));
        self.dynamics.register(Some(&now), Owner::Node(node));
        Some(before)
    }

    /// Makes a command of a group that of its nodes.
    pub(in crate::graph) fn activate(&mut self, id: GroupId, index: usize) {
        if let Some(group) = self.dynamics.group_mut(id) {
            group.active = index;
        }
        self.distribute(id);
    }

    fn distribute(&mut self, id: GroupId) {
        let Some(group) = self.dynamics.group(id) else { return };
        let Some(command) = group.command() else { return };
        for node in group.nodes() {
            if let Some(data) = self.dag.payload_mut(*node) {
                data.command = Arc::clone(command);
            }
        }
    }
}
