//! Sub-graphs put in their places: one graph of commands, in topological order.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::MakeError as _;
use crate::command::CommandKind;
use crate::dag::{Edges, Reduction};
use crate::graph::model::snapshot::Frozen;
use crate::{Error, Result};

/// The nodes of a graph and of its sub-graphs, each after those that it waits for. Edges that
/// follow from others are left out. Never changes: commands are beside it
/// ([`Commands`](super::commands::Commands)).
#[derive(Debug, Default)]
pub(crate) struct Flat {
    nodes: Vec<FlatNode>,
    waits: Edges,
    /// By number of the graph's nodes: where the node's effect is complete.
    exits: Vec<u32>,
    /// By number of the graph's nodes that are sub-graphs: where their first command is.
    sub_graphs: HashMap<u32, u32>,
    /// The numbers of all sub-graphs in it, those in sub-graphs included.
    inside: BTreeSet<u64>,
}

#[derive(Debug)]
struct FlatNode {
    /// The number of the graph's node that it is, or is a part of.
    origin: u32,
    /// Or a loop or a condition, which the host decides.
    is_host_task: bool,
}

/// A further command, and the nodes that it comes before.
pub(in crate::graph) type CommandBefore = (Arc<CommandKind>, Vec<u32>);

/// A sub-graph to be put in its place, with its commands as they are now.
pub(in crate::graph) struct SubGraph<'a> {
    pub(in crate::graph) flat: &'a Flat,
    pub(in crate::graph) commands: Vec<Arc<CommandKind>>,
}

/// The nodes of a snapshot, and the command of each. `sub_graph` gives the node that is a sub-graph,
/// by the node's index.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for more than 2³² − 1 nodes or edges.
pub(in crate::graph) fn flatten<'s>(
    frozen: &Frozen,
    sub_graph: impl Fn(usize) -> Result<SubGraph<'s>>,
) -> Result<(Flat, Vec<Arc<CommandKind>>)> {
    let mut flat = Flat { exits: vec![0; frozen.commands.len()], ..Flat::default() };
    flat.nodes.reserve(frozen.commands.len());
    let mut all = Vec::with_capacity(frozen.commands.len());
    // Sub-graphs that were put in, and where: one that is put in twice, be it in another one,
    // runs one after the other.
    let mut before: HashMap<u64, u32> = HashMap::new();
    let mut reduction = Reduction::default();
    for node in &frozen.order {
        let missing = || Error::bug(format!("node {} of a snapshot has no command", node.index()));
        let command = frozen.commands.get(node.index()).ok_or_else(missing)?;
        let origin = node.index() as u32;
        let exit = |before: &u32| flat.exits.get(*before as usize).copied().ok_or_else(missing);
        let predecessors = frozen.predecessors.of(origin).iter();
        let mut waits: Vec<u32> = predecessors.map(exit).collect::<Result<_>>()?;
        reduction.reduce(flat.nodes.len() as u32, &mut waits, |node| flat.waits(node as usize));
        let exit = match &**command {
            CommandKind::Graph(sub) => {
                let SubGraph { flat: nodes, commands } = sub_graph(node.index())?;
                let inside: BTreeSet<u64> = nodes.inside.iter().copied().chain([sub.id()]).collect();
                waits.extend(inside.iter().filter_map(|id| before.get(id)));
                waits.sort_unstable();
                waits.dedup();
                let exit = flat.put_in(nodes, commands, waits, origin, &mut all)?;
                before.extend(inside.iter().map(|id| (*id, exit)));
                flat.inside.extend(inside);
                exit
            }
            _ => flat.push(Arc::clone(command), origin, &waits, &mut all)?,
        };
        *flat.exits.get_mut(node.index()).ok_or_else(missing)? = exit;
    }
    Ok((flat, all))
}

impl Flat {
    fn push(
        &mut self,
        command: Arc<CommandKind>,
        origin: u32,
        waits: &[u32],
        all: &mut Vec<Arc<CommandKind>>,
    ) -> Result<u32> {
        self.waits.push(waits.iter().copied());
        let (Ok(id), Ok(_)) = (u32::try_from(self.nodes.len()), u32::try_from(self.waits.count())) else {
            return Err(Error::invalid("more nodes or edges than 2³² − 1"));
        };
        // An event from outside is waited for in the same way.
        let is_host_task =
            matches!(*command, CommandKind::HostTask(_) | CommandKind::Control(_) | CommandKind::External(_));
        self.nodes.push(FlatNode { origin, is_host_task });
        all.push(command);
        Ok(id)
    }

    /// Copies a graph in, and gives the node that is complete when all of it is. Joins replace an
    /// edge for each pair.
    fn put_in(
        &mut self,
        sub: &Self,
        commands: Vec<Arc<CommandKind>>,
        mut waits: Vec<u32>,
        origin: u32,
        all: &mut Vec<Arc<CommandKind>>,
    ) -> Result<u32> {
        let empty = || Arc::new(CommandKind::Empty);
        let roots = (0..sub.len()).filter(|node| sub.waits(*node).is_empty()).count();
        if waits.len() > 1 && roots > 1 {
            waits = vec![self.push(empty(), origin, &waits, all)?];
        }
        let offset = self.nodes.len() as u32;
        self.sub_graphs.insert(origin, offset);
        let mut is_leaf = vec![true; sub.len()];
        for (index, command) in commands.into_iter().enumerate() {
            let own = sub.waits(index);
            for wait in own {
                let leaf = is_leaf.get_mut(*wait as usize);
                *leaf.ok_or_else(|| Error::bug(format!("node {index} of a sub-graph waits for none")))? =
                    false;
            }
            let moved: Vec<u32> = own.iter().map(|wait| wait + offset).collect();
            self.push(command, origin, if own.is_empty() { &waits } else { &moved }, all)?;
        }
        let leaves: Vec<u32> =
            (offset..).zip(is_leaf).filter(|(_, leaf)| *leaf).map(|(index, _)| index).collect();
        match leaves.as_slice() {
            [leaf] => Ok(*leaf),
            [] => self.push(empty(), origin, &waits, all),
            leaves => self.push(empty(), origin, leaves, all),
        }
    }

    /// The same nodes, with further commands, each before the nodes that it comes with. These are in rising order. A
    /// command waits for what the first of them waits for.
    pub(in crate::graph) fn with_commands_before(
        self,
        commands: Vec<Arc<CommandKind>>,
        before: Vec<CommandBefore>,
    ) -> Result<(Self, Vec<Arc<CommandKind>>)> {
        let mut new = Self { inside: self.inside, ..Self::default() };
        let mut all = Vec::with_capacity(commands.len() + before.len());
        let mut at_first: HashMap<u32, Vec<CommandBefore>> = HashMap::new();
        for (command, nodes) in before {
            if let Some(first) = nodes.first() {
                at_first.entry(*first).or_default().push((command, nodes));
            }
        }
        let mut more: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut moved: Vec<u32> = Vec::with_capacity(commands.len());
        let missing = || Error::bug("a node of a flat graph waits for one behind it");
        for (index, command) in (0_u32..).zip(commands) {
            let origin = self.nodes.get(index as usize).map_or(u32::MAX, |node| node.origin);
            let waits = self
                .waits
                .of(index)
                .iter()
                .map(|wait| moved.get(*wait as usize).copied().ok_or_else(missing));
            let mut waits: Vec<u32> = waits.collect::<Result<_>>()?;
            for (command, nodes) in at_first.remove(&index).into_iter().flatten() {
                let id = new.push(command, origin, &waits, &mut all)?;
                nodes.into_iter().for_each(|node| more.entry(node).or_default().push(id));
            }
            waits.extend(more.remove(&index).into_iter().flatten());
            waits.sort_unstable();
            moved.push(new.push(command, origin, &waits, &mut all)?);
        }
        let place = |node: &u32| moved.get(*node as usize).copied().ok_or_else(missing);
        new.exits = self.exits.iter().map(place).collect::<Result<_>>()?;
        let sub_graphs = self.sub_graphs.iter().map(|(node, first)| Ok((*node, place(first)?)));
        new.sub_graphs = sub_graphs.collect::<Result<_>>()?;
        Ok((new, all))
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(in crate::graph) fn is_host_task(&self, index: usize) -> bool {
        self.nodes.get(index).is_some_and(|node| node.is_host_task)
    }

    /// Where the first node of a sub-graph is, by the number of the graph's node.
    pub(crate) fn sub_graph(&self, node: usize) -> Option<usize> {
        self.sub_graphs.get(&(node as u32)).map(|first| *first as usize)
    }

    /// The number of the graph's node that this one is, or is a part of.
    pub(crate) fn origin(&self, index: usize) -> u32 {
        self.nodes.get(index).map_or(u32::MAX, |node| node.origin)
    }

    /// Where a node of the graph is, which is no sub-graph.
    pub(crate) fn position(&self, node: usize) -> Option<u32> {
        self.exits.get(node).copied()
    }

    /// The nodes that a node waits for; all are before it.
    pub(crate) fn waits(&self, index: usize) -> &[u32] {
        self.waits.of(index as u32)
    }

    /// The predecessors of each node.
    pub(crate) fn edges(&self) -> &Edges {
        &self.waits
    }

    /// A flat graph of commands with what they wait for.
    #[cfg(test)]
    pub(crate) fn of(nodes: Vec<(CommandKind, Vec<u32>)>) -> Self {
        let (mut flat, mut all) = (Self::default(), Vec::new());
        for (index, (command, waits)) in nodes.into_iter().enumerate() {
            let at = flat.push(Arc::new(command), index as u32, &waits, &mut all).unwrap();
            flat.exits.push(at);
        }
        flat
    }
}
