//! Commands of which one is that of a node (`sycl_ext_oneapi_graph`, section 7.4.3).

use std::fmt;
use std::sync::Arc;

use crate::MakeError as _;
use crate::command::{Command, CommandKind, Name};
use crate::dag::NodeId;
use crate::graph::model::builder::{NodeSource, sealed};
use crate::graph::model::describe::NodeType;
use crate::graph::model::dynamics::{Alternative, Changed, GroupId};
use crate::graph::model::insert::Origin;
use crate::graph::model::node::Node;
use crate::graph::model::state::{GraphInner, NodeData, State};
use crate::{Error, Event, Graph, Result};

/// Commands of which one, the active one, is that of the nodes to which the group is added.
///
/// All are kernels, or all are host tasks. The kernels may differ in their arguments and ranges;
/// arguments may follow a [`DynamicParameter`](crate::graph::DynamicParameter), which reaches them also
/// while they are not active. All must depend on the same nodes. What comes after the node waits
/// for it as if it did what any of the commands does.
///
/// ```no_run
/// # mod kernels { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/doc_kernels.rs")); }
/// # use kernels::{numbers::number, saxpy::saxpy};
/// # fn main() -> oclave::Result<()> {
/// # use oclave::graph::DynamicCommandGroup;
/// # use oclave::{Command, Context, Device, Graph};
/// # let context = Context::new(&Device::select()?)?;
/// # let (x, y) = (context.alloc_device::<f32>(64)?, context.alloc_device::<f32>(64)?);
/// # let z = context.alloc_device::<u32>(64)?;
/// let graph = Graph::new(&context, context.device())?;
/// let either = DynamicCommandGroup::new(&graph, [
///     Command::parallel_for(64, saxpy(2.0, &x, &y)),
///     Command::parallel_for(32, number(&z, 7)),
/// ])?;
/// graph.add(&either)?;
/// either.set_active_index(1)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DynamicCommandGroup {
    graph: Arc<GraphInner>,
    id: GroupId,
    len: usize,
    /// Of its nodes: the first that a command has.
    name: Option<Name>,
}

impl DynamicCommandGroup {
    /// A group for nodes of a graph. The first command is active.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) without a command, for commands that are neither
    /// kernels nor host tasks, for both in one group, and for what the graph refuses a command.
    pub fn new(graph: &Graph, commands: impl IntoIterator<Item = Command>) -> Result<Self> {
        let graph = graph.inner();
        let refuse = |message: String| graph.at(Error::invalid(message).at("dynamic command group"));
        let mut checked: Vec<(CommandKind, Vec<Event>)> = Vec::new();
        let mut ty = None;
        let mut name = None;
        for (index, command) in commands.into_iter().enumerate() {
            name = name.or_else(|| command.name().cloned());
            let (mut kind, events) = command.into_parts();
            kind.follow();
            let own = NodeType::of(&kind);
            if !matches!(own, NodeType::Kernel | NodeType::HostTask) {
                return Err(refuse(format!("command {index} is a {own}, which no group can hold")));
            }
            if *ty.get_or_insert(own) != own {
                return Err(refuse(format!("command {index} is a {own}, those before it are not")));
            }
            let parts = kind.requirements();
            let named = |error: Error| error.at(format!("command {index} of a dynamic command group"));
            graph.check(&kind, &parts, false, Origin::Explicit { all_leaves: false }).map_err(named)?;
            events.iter().try_for_each(|event| graph.check_event(event)).map_err(named)?;
            checked.push((kind, events));
        }
        let len = checked.len();
        if len == 0 {
            return Err(refuse("there is no command".to_owned()));
        }
        // Events from outside get nodes once nothing is refused any more.
        let mut state = graph.state();
        let mut alternatives = Vec::with_capacity(len);
        for (kind, events) in checked {
            let after = events.iter().map(|event| graph.node_of(&mut state, event)).collect();
            alternatives.push(Alternative { command: Arc::new(kind), after });
        }
        let id = state.dynamics.add_group(alternatives);
        drop(state);
        Ok(Self { graph: Arc::clone(graph), id, len, name })
    }

    /// The place of the active command.
    pub fn active_index(&self) -> usize {
        self.graph.state().dynamics.group(self.id).map_or(0, |group| group.active)
    }

    /// Makes a command active: the nodes of the group have it at once, executables when they are
    /// updated with them. Ranges stay as they were last set. The active command is no change.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid), and nothing changes, when there is no such command.
    pub fn set_active_index(&self, index: usize) -> Result<()> {
        if index >= self.len {
            let message = format!("command {index} of a dynamic command group of {}", self.len);
            return Err(self.graph.at(Error::invalid(message)));
        }
        let mut state = self.graph.state();
        if state.dynamics.group(self.id).is_some_and(|group| group.active == index) {
            return Ok(());
        }
        state.activate(self.id, index);
        state.dynamics.note_change(Changed::Group(self.id));
        Ok(())
    }
}

impl State {
    fn insert_group(
        &mut self,
        (id, name): (GroupId, Option<Name>),
        mut predecessors: Vec<NodeId>,
        all_leaves: bool,
    ) -> Result<NodeId> {
        let Some(group) = self.dynamics.group(id) else { return Err(Error::invalid("no such group")) };
        let mut common: Option<Vec<NodeId>> = None;
        let mut parts = Vec::new();
        for (index, alternative) in group.alternatives.iter().enumerate() {
            let mut before = alternative.after.clone();
            let own = alternative.requirements();
            self.hazards.before(&own, &mut before);
            parts.extend(own);
            before.sort_unstable_by_key(|node| node.index());
            before.dedup();
            let common = common.get_or_insert_with(|| before.clone());
            if *common != before {
                return Err(differing(index, common, &before));
            }
        }
        predecessors.extend(common.unwrap_or_default());
        if all_leaves {
            predecessors.extend(self.dag.leaves());
        }
        let command = group.command().map_or_else(|| Arc::new(CommandKind::Empty), Arc::clone);
        let data = NodeData { command, track: None, group: Some(id), name };
        let node = self.link(data, &parts, &predecessors);
        self.dynamics.join(id, node);
        Ok(node)
    }
}

fn differing(index: usize, first: &[NodeId], other: &[NodeId]) -> Error {
    let list = |nodes: &[NodeId]| format!("{:?}", nodes.iter().map(|node| node.index()).collect::<Vec<_>>());
    Error::invalid(format!(
        "command {index} of a dynamic command group depends on nodes {}, command 0 on {}",
        list(other),
        list(first)
    ))
    .remedy("let all commands depend on the same events, and use the same buffers as far as nodes before use them")
}

#[allow(private_interfaces, reason = "of a sealed trait")]
impl sealed::Sealed for &DynamicCommandGroup {
    fn add_to(self, graph: &Arc<GraphInner>, after: Vec<NodeId>, origin: Origin) -> Result<Node> {
        if !Arc::ptr_eq(&self.graph, graph) {
            let message =
                format!("a dynamic command group of graph {} was given to another graph", self.graph.id());
            return Err(graph.at(Error::invalid(message)));
        }
        let name = graph.name_of(self.name.as_ref(), None);
        let all_leaves = matches!(origin, Origin::Explicit { all_leaves: true });
        let node = graph
            .state()
            .insert_group((self.id, name), after, all_leaves)
            .map_err(|error| graph.at(error))?;
        Ok(Node::new(Arc::clone(graph), node))
    }
}
impl NodeSource for &DynamicCommandGroup {}

impl fmt::Debug for DynamicCommandGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicCommandGroup({} commands for graph {})", self.len, self.graph.id())
    }
}
