//! The size of a graph's memory, with its reasons.

use std::fmt;

use crate::graph::executable::handle::ExecutableGraph;

/// The memory of a graph ([`Graph::alloc`](crate::Graph::alloc)) in an executable; from
/// [`ExecutableGraph::memory`].
///
/// [`Display`](fmt::Display) writes a line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphMemory {
    /// Bytes that were asked for, by memory that is used.
    pub requested_bytes: usize,
    /// Bytes that the executable has for it, those of bodies included.
    pub used_bytes: usize,
    /// In the order of their first uses; those of bodies behind the others.
    pub allocations: Vec<GraphAllocation>,
}

/// One of the allocations of a [`GraphMemory`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GraphAllocation {
    /// The number of the graph ([`Graph::id`](crate::Graph::id)) that it is of.
    pub graph: u64,
    /// It was the graph's first (0), second, …
    pub number: usize,
    /// The size that was asked for.
    pub size_bytes: usize,
    /// Where it lies in the memory of the executable, or of the body.
    pub offset_bytes: usize,
    /// The numbers of the nodes that use it ([`Node::index`](crate::graph::Node::index)); those in a
    /// sub-graph have its number.
    pub nodes: Vec<usize>,
    /// Places in [`GraphMemory::allocations`] of those with the same bytes, at another time.
    pub shares_with: Vec<usize>,
    /// Places of those that live at the same time.
    pub lives_beside: Vec<usize>,
}

impl GraphMemory {
    pub(super) fn of(graph: &ExecutableGraph) -> Self {
        let mut all = Self { requested_bytes: 0, used_bytes: 0, allocations: Vec::new() };
        all.add(graph);
        all
    }

    fn add(&mut self, graph: &ExecutableGraph) {
        let flat = &graph.layout().flat;
        let plan = graph.prepared().memory.clone();
        let first = self.allocations.len();
        self.used_bytes += plan.size_bytes;
        for (number, request) in plan.requests.iter().enumerate() {
            let mut nodes: Vec<usize> =
                request.nodes.iter().map(|node| flat.origin(*node as usize) as usize).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let sharing =
                (0..plan.requests.len()).filter(|other| *other != number && plan.shares(number, *other));
            let beside = plan.beside.get(number).into_iter().flatten();
            let mut lives_beside: Vec<usize> = beside.map(|other| first + *other as usize).collect();
            lives_beside.sort_unstable();
            self.requested_bytes += request.size_bytes;
            self.allocations.push(GraphAllocation {
                graph: request.key.owner,
                number: request.key.number as usize,
                size_bytes: request.size_bytes,
                offset_bytes: plan.offsets.get(number).copied().unwrap_or(0),
                nodes,
                shares_with: sharing.map(|other| first + other).collect(),
                lives_beside,
            });
        }
        graph.bodies().iter().flatten().for_each(|body| self.add(body));
    }
}

impl fmt::Display for GraphMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requested_bytes, used_bytes, allocations } = self;
        write!(f, "{used_bytes} bytes for {} allocations of {requested_bytes} bytes", allocations.len())?;
        for (place, allocation) in allocations.iter().enumerate() {
            let GraphAllocation { graph, number, size_bytes, offset_bytes, nodes, shares_with, lives_beside } =
                allocation;
            let ends = nodes.first().zip(nodes.last());
            let (first, last) = ends.map_or((0, 0), |(first, last)| (*first, *last));
            write!(
                f,
                "\n{place}: {size_bytes} bytes at {offset_bytes}, nodes {first} to {last}, memory {number} of graph {graph}; \
                 beside {} others, shares with {}",
                lives_beside.len(),
                shares_with.len()
            )?;
        }
        Ok(())
    }
}
