//! The parameters and command groups of a graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::command::CommandKind;
use crate::dag::NodeId;
use crate::memory::buffer::Requirement;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupId(u32);

/// The owner of a command that follows a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Node(NodeId),
    /// A command of a group, by its place.
    Alternative(GroupId, usize),
}

/// An argument that follows a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::graph) struct Site {
    pub(in crate::graph) owner: Owner,
    pub(in crate::graph) argument: usize,
}

/// The command groups of a graph, and what follows its parameters.
#[derive(Debug, Default)]
pub(crate) struct Dynamics {
    /// By parameter. Many nodes may follow one, and each may get another command.
    sites: HashMap<u64, BTreeSet<Site>>,
    groups: Vec<Group>,
    changes: Arc<Changes>,
    /// Changed objects by the number of their last change, and the reverse.
    changed: BTreeMap<u64, Changed>,
    last_changes: HashMap<Changed, u64>,
}

/// An object that nodes take their arguments, ranges or commands from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::graph) enum Changed {
    Parameter(u64),
    Node(NodeId),
    Group(GroupId),
}

impl From<Owner> for Changed {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Node(node) => Self::Node(node),
            Owner::Alternative(group, _) => Self::Group(group),
        }
    }
}

/// How often nodes of a graph were changed, so that executables notice when they are behind.
#[derive(Debug, Default)]
pub(in crate::graph) struct Changes(AtomicU64);

impl Changes {
    pub(in crate::graph) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Commands of which one is that of the nodes.
#[derive(Debug)]
pub(in crate::graph) struct Group {
    pub(in crate::graph) alternatives: Vec<Alternative>,
    pub(in crate::graph) active: usize,
    nodes: Vec<NodeId>,
}

#[derive(Debug)]
pub(in crate::graph) struct Alternative {
    pub(in crate::graph) command: Arc<CommandKind>,
    /// The nodes that the command itself names as dependencies.
    pub(in crate::graph) after: Vec<NodeId>,
}

impl Alternative {
    /// The accesses of the command to parts of buffers, with the values that its parameters have now.
    pub(in crate::graph) fn requirements(&self) -> Vec<Arc<Requirement>> {
        if !self.command.is_behind() {
            return self.command.requirements();
        }
        let mut command = CommandKind::clone(&self.command);
        command.follow();
        command.requirements()
    }
}

impl Dynamics {
    /// Notes that a command follows parameters.
    pub(crate) fn register(&mut self, command: Option<&CommandKind>, owner: Owner) {
        for binding in command.map(CommandKind::bindings).unwrap_or_default() {
            let sites = self.sites.entry(binding.parameter.id()).or_default();
            sites.insert(Site { owner, argument: binding.argument });
        }
    }

    /// Notes that it does no more.
    pub(super) fn forget(&mut self, command: &CommandKind, owner: Owner) {
        for binding in command.bindings() {
            if let Some(sites) = self.sites.get_mut(&binding.parameter.id()) {
                sites.remove(&Site { owner, argument: binding.argument });
            }
        }
    }

    pub(in crate::graph) fn changes(&self) -> &Arc<Changes> {
        &self.changes
    }

    /// Arguments, ranges or commands of nodes have changed.
    pub(in crate::graph) fn note_change(&mut self, what: Changed) {
        let number = self.changes.0.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(before) = self.last_changes.insert(what, number) {
            self.changed.remove(&before);
        }
        self.changed.insert(number, what);
    }

    /// The nodes with changes after the first so many.
    pub(in crate::graph) fn changed_after(&self, changes: u64) -> impl Iterator<Item = NodeId> {
        self.changed.range(changes + 1..).flat_map(|(_, what)| match what {
            Changed::Parameter(parameter) => self.followers(*parameter).collect(),
            Changed::Node(node) => vec![*node],
            Changed::Group(group) => self.nodes(*group).to_vec(),
        })
    }

    /// The nodes with an argument that follows a parameter; those of a group also where another of
    /// its commands is active.
    pub(in crate::graph) fn followers(&self, parameter: u64) -> impl Iterator<Item = NodeId> {
        let nodes = self.sites(parameter).flat_map(|site| match &site.owner {
            Owner::Node(node) => std::slice::from_ref(node),
            Owner::Alternative(group, _) => self.nodes(*group),
        });
        nodes.copied()
    }

    pub(in crate::graph) fn sites(&self, parameter: u64) -> impl Iterator<Item = &Site> {
        self.sites.get(&parameter).into_iter().flatten()
    }

    /// A new group, the first command of which is active.
    pub(in crate::graph) fn add_group(&mut self, alternatives: Vec<Alternative>) -> GroupId {
        let id = GroupId(self.groups.len() as u32);
        for (index, alternative) in alternatives.iter().enumerate() {
            let command = Arc::clone(&alternative.command);
            self.register(Some(&command), Owner::Alternative(id, index));
        }
        self.groups.push(Group { alternatives, active: 0, nodes: Vec::new() });
        id
    }

    pub(in crate::graph) fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.get(id.0 as usize)
    }

    /// The accesses to parts of buffers of all commands of the groups that nodes have.
    pub(in crate::graph) fn requirements_of_groups(&self) -> Vec<Arc<Requirement>> {
        let used = self.groups.iter().filter(|group| !group.nodes.is_empty());
        used.flat_map(|group| &group.alternatives).flat_map(Alternative::requirements).collect()
    }

    /// Notes that a node has its command from a group.
    pub(in crate::graph) fn join(&mut self, id: GroupId, node: NodeId) {
        if let Some(group) = self.group_mut(id) {
            group.nodes.push(node);
        }
    }

    /// The nodes that have their command from a group.
    fn nodes(&self, id: GroupId) -> &[NodeId] {
        self.group(id).map_or(&[], Group::nodes)
    }

    pub(super) fn group_mut(&mut self, id: GroupId) -> Option<&mut Group> {
        let group = self.groups.get_mut(id.0 as usize);
        debug_assert!(group.is_some(), "group {} of a graph", id.0);
        group
    }
}

impl Group {
    /// The nodes that have their command from it.
    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    pub(in crate::graph) fn command(&self) -> Option<&Arc<CommandKind>> {
        self.alternatives.get(self.active).map(|alternative| &alternative.command)
    }
}
