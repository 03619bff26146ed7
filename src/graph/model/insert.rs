//! How a command becomes a node: what both ways of building a graph have in common.

use std::sync::Arc;

use super::dynamics::Owner;
use super::node::Node;
use super::state::{GraphInner, NodeData, State};
use super::tracks::{Role, TrackId};
use crate::MakeError as _;
use crate::command::{Command, CommandKind, Labelled, Name, full_name};
use crate::dag::NodeId;
use crate::memory::buffer::Requirement;
use crate::{Error, Event, Queue, Result};

/// Where a command comes from.
#[derive(Debug, Clone, Copy)]
pub(in crate::graph) enum Origin {
    /// From `add`.
    Explicit { all_leaves: bool },
    /// From a queue.
    Recorded(Option<TrackId>),
}

impl GraphInner {
    /// Adds a command after the given nodes, the nodes of its events, those that its buffers make
    /// it wait for, and those that its queue does.
    pub(in crate::graph) fn insert(
        self: &Arc<Self>,
        command: Command,
        predecessors: Vec<NodeId>,
        origin: Origin,
    ) -> Result<Node> {
        let own = command.name().cloned();
        let named = |error: Error| match self.name_of(own.as_ref(), None) {
            Some(name) => error.at(format!("command `{name}`")),
            None => error,
        };
        let node = self.insert_unless_ended(command, predecessors, origin, None).map_err(named)?;
        node.map_err(|_| self.at(Error::invalid("the recording has ended meanwhile")))
    }

    /// As [`insert`](Self::insert). Gives a recorded command back if the recording of its queue has
    /// ended meanwhile: who ended it has seen all nodes.
    pub(in crate::graph) fn insert_unless_ended(
        self: &Arc<Self>,
        command: Command,
        mut predecessors: Vec<NodeId>,
        origin: Origin,
        queue: Option<&Queue>,
    ) -> Result<Result<Node, Command>> {
        let own = command.name().cloned();
        let name = self.name_of(own.as_ref(), queue);
        let (mut kind, events) = command.into_parts();
        events.iter().try_for_each(|event| self.check_event(event))?;
        let (parts, id) = loop {
            // Edges follow the values that parameters have now, not those when the command was
            // described.
            kind.follow();
            let parts = kind.requirements();
            self.check(&kind, &parts, events.is_empty(), origin)?;
            let mut state = self.state();
            if let Origin::Recorded(Some(track)) = origin
                && !state.tracks.is_recording(track)
            {
                return Ok(Err(Command::from_parts(kind, events).with_name(own)));
            }
            // Parameters change under this lock.
            if !kind.is_behind() {
                predecessors.extend(events.iter().map(|event| self.node_of(&mut state, event)));
                let id = state.insert((kind, name), &parts, predecessors, !events.is_empty(), origin);
                break (parts, id);
            }
        };
        if matches!(origin, Origin::Recorded(_)) {
            parts.iter().for_each(|part| part.object().recorders().add(self.weak_recorder()));
        }
        Ok(Ok(Node::new(Arc::clone(self), id)))
    }

    /// The name of a command: its own name, in the labels of the graph and of the queue that it is
    /// recorded from.
    pub(in crate::graph) fn name_of(&self, own: Option<&Name>, queue: Option<&Queue>) -> Option<Name> {
        let queue = queue.map(|queue| queue.recording().id());
        full_name(own, |whose| match whose {
            Labelled::Graph(id) => id == self.id(),
            Labelled::Queue(id) => Some(id) == queue,
        })
    }

    /// Whether the graph takes the command, apart from its dependencies.
    pub(in crate::graph) fn check(
        &self,
        kind: &CommandKind,
        parts: &[Arc<Requirement>],
        free: bool,
        origin: Origin,
    ) -> Result<()> {
        let check = || {
            kind.check_bindings(Some(self.id()))?;
            let for_queues = match Role::of(kind) {
                Role::Barrier => Some("barrier"),
                Role::Marker if free => Some("marker"),
                Role::Marker | Role::Plain => None,
            };
            if let (Origin::Explicit { .. }, Some(name)) = (origin, for_queues) {
                let message = format!("a {name} was added, which only means something on a queue");
                return Err(Error::invalid(message)
                    .remedy("add an empty node: `graph.after_all_leaves().add(Command::empty())`"));
            }
            if kind.copies_device_globals() && !self.options.device_globals {
                return Err(Error::invalid(
                    "a copy of a device global was given to a graph (sycl_ext_oneapi_graph, section 7.12.4)",
                )
                .remedy("put it on a queue, or build the graph with `allow_device_globals`"));
            }
            if let CommandKind::Control(flow) = kind
                && flow.bodies.iter().any(|body| body.contains(self.id()))
            {
                return Err(Error::invalid(format!(
                    "the body of a `{}` is the graph itself, or contains it",
                    flow.name()
                ))
                .remedy("make another graph for the body"));
            }
            if let CommandKind::Graph(graph) = kind
                && graph.is_bound()
            {
                return Err(Error::invalid("a graph with events of a submission was given to another graph")
                    .remedy("give it the executable graph, and the events to submissions of the outer graph: `outer.with(..)`"));
            }
            parts.iter().try_for_each(|part| check_part(part))?;
            kind.check(self.context(), self.device())
        };
        check().map_err(|error| self.at(error))
    }

    /// Refuses events that were recorded to other graphs.
    pub(in crate::graph) fn check_event(&self, event: &Event) -> Result<()> {
        match event.recorded() {
            Some(_) if self.recorded(event).is_none() => Err(self
                .at(Error::invalid("the command depends on an event that was recorded to another graph"))
                .remedy("record both to one graph, or let it depend on an `external_event()` of this graph")),
            _ => Ok(()),
        }
    }

    /// The node of an event that was [checked](Self::check_event). An event from outside gets one.
    pub(in crate::graph) fn node_of(&self, state: &mut State, event: &Event) -> NodeId {
        self.recorded(event).unwrap_or_else(|| state.external_node(event, || self.name_of(None, None)))
    }

    /// The node of an event, when it is of this graph.
    pub(in crate::graph) fn recorded(&self, event: &Event) -> Option<NodeId> {
        let recorded = event.recorded()?;
        recorded.is_of(self).then(|| NodeId::new(recorded.node()))
    }
}

impl State {
    /// Adds a barrier to a queue that records: after a node, or after all that the queue has recorded.
    pub(in crate::graph) fn insert_barrier(
        &mut self,
        track: TrackId,
        after: Option<NodeId>,
        name: Option<Name>,
    ) -> NodeId {
        let named = after.is_some();
        let predecessors = after.into_iter().collect();
        self.insert((CommandKind::Barrier, name), &[], predecessors, named, Origin::Recorded(Some(track)))
    }

    fn insert(
        &mut self,
        (mut kind, name): (CommandKind, Option<Name>),
        parts: &[Arc<Requirement>],
        mut predecessors: Vec<NodeId>,
        named: bool,
        origin: Origin,
    ) -> NodeId {
        let role = Role::of(&kind);
        let track = match origin {
            Origin::Explicit { all_leaves } => {
                if all_leaves {
                    predecessors.extend(self.dag.leaves());
                }
                None
            }
            Origin::Recorded(track) => {
                if let Some(track) = track {
                    let nodes = &self.dag;
                    let is_own =
                        |node: &NodeId| nodes.payload(*node).is_some_and(|data| data.track == Some(track));
                    let precedes_own = |node| nodes.successors(node).iter().any(is_own);
                    self.tracks.implicit(track, role, named, precedes_own, &mut predecessors);
                }
                track
            }
        };
        self.hazards.before(parts, &mut predecessors);
        if let CommandKind::Kernel { call, .. } = &mut kind {
            call.shrink();
        }
        let data = NodeData { command: Arc::new(kind), track, group: None, name };
        let id = self.link(data, parts, &predecessors);
        let command = self.dag.payload(id).map(|data| Arc::clone(&data.command));
        self.dynamics.register(command.as_deref(), Owner::Node(id));
        if let Some(track) = track {
            self.tracks.note(track, role, named, id);
        }
        id
    }
}

/// Refuses buffers that graphs do not take.
pub(in crate::graph) fn check_part(part: &Requirement) -> Result<()> {
    if !part.object().writes_back() {
        return Ok(());
    }
    Err(Error::invalid(
        "the buffer writes back to the host when it is dropped (sycl_ext_oneapi_graph, section 7.11.3)",
    )
    .at(part.object().to_string())
    .remedy("call `set_write_back(false)` on it, and read it with `Command::read`"))
}

impl Role {
    fn of(kind: &CommandKind) -> Self {
        match kind {
            CommandKind::Marker => Self::Marker,
            CommandKind::Barrier => Self::Barrier,
            _ => Self::Plain,
        }
    }
}
