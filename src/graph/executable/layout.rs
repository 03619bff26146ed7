//! The parts of an executable graph that never change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::memory;
use super::names::Names;
use crate::MakeError as _;
use crate::command::CommandKind;
use crate::graph::exec::options::Options;
use crate::graph::exec::prepare::Source;
use crate::graph::model::snapshot::{External, Frozen};
use crate::graph::plan::commands::Commands;
use crate::graph::plan::flatten::{Flat, SubGraph, flatten};
use crate::graph::plan::partition::{Partition, partition};
use crate::{Error, Queue, Result};

/// Nodes, edges and partitions, and what they are prepared for.
pub(in crate::graph) struct Layout {
    /// The number of the graph that it was made from.
    pub(in crate::graph) graph: u64,
    /// The numbers of the graphs whose memory it has: its own, and those of its sub-graphs.
    pub(in crate::graph) owners: Vec<u64>,
    /// For commands to be prepared with; of the context and device. All executables share it.
    pub(in crate::graph) queue: Queue,
    pub(in crate::graph) options: Options,
    pub(in crate::graph) flat: Flat,
    pub(in crate::graph) names: Names,
    /// The events from outside, those of sub-graphs included.
    pub(in crate::graph) externals: Vec<External>,
    pub(in crate::graph) partitions: Vec<Partition>,
    /// The partitions that are events from outside, in rising order.
    outside: Vec<usize>,
    /// The partitions that no other one waits for.
    pub(in crate::graph) leaves: Vec<usize>,
    /// The partition that all others come after, if it is for the device.
    pub(in crate::graph) first: Option<usize>,
    /// The partition that comes after all others, if it is for the device.
    pub(in crate::graph) last: Option<usize>,
    /// The partitions that end with nodes whose events can be had, by the number of the graph's node.
    pub(in crate::graph) ends: HashMap<u32, u32>,
}

impl Layout {
    /// The layout of a snapshot, and the command of each node. `sub_graph` gives the node that is a
    /// sub-graph, by the node's index. The events of the nodes `ends` can be had.
    pub(in crate::graph) fn new<'s>(
        frozen: &Frozen,
        options: Options,
        owners: Vec<u64>,
        ends: &[u32],
        sub_graph: impl Fn(usize) -> Result<SubGraph<'s>>,
    ) -> Result<(Self, Vec<Arc<CommandKind>>)> {
        let queue = Queue::internal(&frozen.context, &frozen.device)?;
        let (mut flat, mut commands) = flatten(frozen, sub_graph)?;
        if let Some(byte) = options.poison {
            let fills = memory::fills(frozen.graph, &commands, byte);
            if !fills.is_empty() {
                (flat, commands) = flat.with_commands_before(commands, fills)?;
            }
        }
        let mut places = Vec::with_capacity(ends.len());
        for node in ends {
            let missing = || Error::bug(format!("node {node} of a graph is not in the flat graph"));
            places.push(flat.position(*node as usize).ok_or_else(missing)?);
        }
        let mut cuts = places.clone();
        cuts.sort_unstable();
        cuts.dedup();
        let partitions = partition(&flat, &cuts)?;
        let of = |place: &u32| partitions.iter().position(|partition| partition.nodes.contains(place));
        let ends = ends.iter().zip(&places).filter_map(|(node, place)| Some((*node, of(place)? as u32)));
        let ends = ends.collect();
        let waited: HashSet<u32> =
            partitions.iter().flat_map(|partition| partition.waits.iter().copied()).collect();
        let is_external = |partition: &Partition| {
            let command = partition.nodes.first().and_then(|node| commands.get(*node as usize));
            command.is_some_and(|command| matches!(**command, CommandKind::External(_)))
        };
        let outside = partitions.iter().enumerate().filter(|(_, partition)| is_external(partition));
        let outside = outside.map(|(index, _)| index).collect();
        let leaves: Vec<usize> =
            (0..partitions.len()).filter(|index| !waited.contains(&(*index as u32))).collect();
        let all = partitions.iter().enumerate();
        let roots: Vec<usize> =
            all.filter(|(_, partition)| partition.waits.is_empty()).map(|(index, _)| index).collect();
        let for_device = |index: &usize| partitions.get(*index).is_some_and(|partition| !partition.host);
        let only = |all: &[usize]| match *all {
            [index] => Some(index).filter(for_device),
            _ => None,
        };
        let (first, last) = (only(&roots), only(&leaves));
        let layout = Self {
            graph: frozen.graph,
            owners,
            queue,
            options,
            flat,
            names: Names::default(),
            externals: frozen.externals.clone(),
            partitions,
            outside,
            leaves,
            first,
            last,
            ends,
        };
        Ok((layout, commands))
    }

    /// The nodes of a partition, to be prepared.
    pub(in crate::graph) fn source<'a>(&'a self, index: usize, commands: &'a Commands) -> Option<Source<'a>> {
        Some(Source {
            flat: &self.flat,
            commands,
            nodes: &self.partitions.get(index)?.nodes,
            partition: index as u32,
            queue: &self.queue,
            options: self.options,
        })
    }

    /// Whether a partition is an event from outside.
    pub(in crate::graph) fn is_external(&self, index: usize) -> bool {
        self.outside.binary_search(&index).is_ok()
    }

    /// Names the graph in an error.
    pub(in crate::graph) fn at(&self, error: Error) -> Error {
        self.names.in_error(error).at(format!("graph {}", self.graph))
    }
}
