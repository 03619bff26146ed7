//! Sub-graphs put in their places: one graph of commands, in topological order.

use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

use crate::command::{CommandKind, Follows};
use crate::dag::Edges;
use crate::dag::Reduction;
use crate::graph::model::snapshot::Frozen;
use crate::{Error, Result};

/// The commands of a graph and of its sub-graphs, each behind those that it waits for. Edges that
/// follow from others are left out.
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
    /// Shared with the graph while nothing but values of its parameters has changed since.
    command: Arc<CommandKind>,
    follows: Follows,
    /// Values that followed parameters since are only in what was prepared for it.
    is_behind: bool,
    /// The number of the graph's node that it is, or is a part of.
    origin: u32,
}

impl Flat {
    /// `sub_graph` gives the commands of a node that is a sub-graph, by the node's index.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for more than 2³² − 1 nodes or edges.
    pub(crate) fn new<S: Deref<Target = Self>>(
        frozen: &Frozen,
        sub_graph: impl Fn(usize) -> Result<S>,
    ) -> Result<Self> {
        let mut flat = Self { exits: vec![0; frozen.commands.len()], ..Self::default() };
        flat.nodes.reserve(frozen.commands.len());
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
                    let commands = sub_graph(node.index())?;
                    let inside: BTreeSet<u64> = commands.inside.iter().copied().chain([sub.id()]).collect();
                    waits.extend(inside.iter().filter_map(|id| before.get(id)));
                    waits.sort_unstable();
                    waits.dedup();
                    let exit = flat.put_in(&commands, waits, origin)?;
                    before.extend(inside.iter().map(|id| (*id, exit)));
                    flat.inside.extend(inside);
                    exit
                }
                _ => flat.push(Arc::clone(command), origin, &waits)?,
            };
            *flat.exits.get_mut(node.index()).ok_or_else(missing)? = exit;
        }
        Ok(flat)
    }

    fn push(&mut self, command: Arc<CommandKind>, origin: u32, waits: &[u32]) -> Result<u32> {
        self.waits.push(waits.iter().copied());
        let (Ok(id), Ok(_)) = (u32::try_from(self.nodes.len()), u32::try_from(self.waits.count())) else {
            return Err(Error::invalid("more nodes or edges than 2³² − 1"));
        };
        let follows = command.follows();
        self.nodes.push(FlatNode { command, follows, is_behind: false, origin });
        Ok(id)
    }

    /// Copies a graph in, and gives the node that is complete when all of it is. Joins replace an
    /// edge for each pair.
    fn put_in(&mut self, sub: &Self, mut waits: Vec<u32>, origin: u32) -> Result<u32> {
        let empty = || Arc::new(CommandKind::Empty);
        let roots = (0..sub.len()).filter(|node| sub.waits(*node).is_empty()).count();
        if waits.len() > 1 && roots > 1 {
            waits = vec![self.push(empty(), origin, &waits)?];
        }
        let offset = self.nodes.len() as u32;
        self.sub_graphs.insert(origin, offset);
        let mut is_leaf = vec![true; sub.len()];
        for (index, node) in sub.nodes.iter().enumerate() {
            let own = sub.waits(index);
            for wait in own {
                let leaf = is_leaf.get_mut(*wait as usize);
                *leaf.ok_or_else(|| Error::bug(format!("node {index} of a sub-graph waits for none")))? =
                    false;
            }
            let moved: Vec<u32> = own.iter().map(|wait| wait + offset).collect();
            let command = Arc::clone(&node.command);
            self.push(command, origin, if own.is_empty() { &waits } else { &moved })?;
        }
        let leaves: Vec<u32> =
            (offset..).zip(is_leaf).filter(|(_, leaf)| *leaf).map(|(index, _)| index).collect();
        match leaves.as_slice() {
            [leaf] => Ok(*leaf),
            [] => self.push(empty(), origin, &waits),
            leaves => self.push(empty(), origin, leaves),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn command(&self, index: usize) -> Option<&Arc<CommandKind>> {
        self.nodes.get(index).map(|node| &node.command)
    }

    /// Gives a kernel the arguments and the range of another command of it, and gives the command
    /// before if it was replaced. One whose parameters are values is shared with the graph from now
    /// on, any other changed where it is.
    pub(crate) fn patch(&mut self, index: usize, to: &Arc<CommandKind>) -> Option<Arc<CommandKind>> {
        if to.follows() == Follows::Values {
            return self.replace(index, Arc::clone(to));
        }
        Arc::make_mut(&mut self.nodes.get_mut(index)?.command).patch(to);
        None
    }

    pub(crate) fn set_value(&mut self, index: usize, argument: usize, bytes: &[u8]) {
        if let Some(node) = self.nodes.get_mut(index)
            && node.command.value(argument) != Some(bytes)
        {
            Arc::make_mut(&mut node.command).set_value(argument, bytes);
        }
    }

    /// Puts another command in the place of one, and gives the one before.
    pub(crate) fn replace(&mut self, index: usize, command: Arc<CommandKind>) -> Option<Arc<CommandKind>> {
        let node = self.nodes.get_mut(index)?;
        (node.follows, node.is_behind) = (command.follows(), false);
        Some(std::mem::replace(&mut node.command, command))
    }

    /// What of a node may have changed when this is its command in the graph; `None`: anything.
    pub(crate) fn shares(&self, index: usize, command: &Arc<CommandKind>) -> Option<Follows> {
        let node = self.nodes.get(index)?;
        Arc::ptr_eq(&node.command, command).then_some(node.follows)
    }

    /// Whether values of the command are only in what was prepared for it; and notes that they are,
    /// or are not any more.
    pub(crate) fn set_behind(&mut self, index: usize, is_behind: bool) -> bool {
        self.nodes.get_mut(index).is_some_and(|node| std::mem::replace(&mut node.is_behind, is_behind))
    }

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

    /// What each node waits for.
    pub(crate) fn edges(&self) -> &Edges {
        &self.waits
    }

    /// A flat graph of commands with what they wait for.
    #[cfg(test)]
    pub(crate) fn of(nodes: Vec<(CommandKind, Vec<u32>)>) -> Self {
        let mut flat = Self::default();
        for (index, (command, waits)) in nodes.into_iter().enumerate() {
            let at = flat.push(Arc::new(command), index as u32, &waits).unwrap();
            flat.exits.push(at);
        }
        flat
    }
}
