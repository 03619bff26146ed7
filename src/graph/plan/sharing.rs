//! Divides a run of nodes among groups. Components that do not depend on each other run side by
//! side, each as a whole, so that nothing is synchronised.
//!
//! A run is looked at level by level; the nodes of a level do not depend on each other. From a
//! level on, further levels are added while no connected component becomes too large a part. So
//! chains side by side become one piece, and so does a single wide level. Where that saves little,
//! the nodes stay with the serial piece around them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::unit::LONGEST_NS;

/// Nanoseconds that sharing must save: it cuts the run in two, which costs two launches, other
/// cores must be woken, and estimates are rough.
const NEEDED_NS: f64 = 22_000.0;
/// Work of one group in nanoseconds, where there are enough components.
const GROUP_NS: f64 = 4000.0;
/// The largest component may be this much more than a core's part.
const UNEVEN: f64 = 1.5;
/// Levels that are looked at beyond the last one where parts were even.
const PATIENCE: usize = 16;
/// Places without a task are allowed in a piece: as many as there are tasks, and some.
const FEW_GAPS: usize = 1024;

/// Nodes of a run in its order, for a launch of their own.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::graph) struct Piece {
    pub(in crate::graph) nodes: Range<usize>,
    pub(in crate::graph) shared: Shared,
}

/// Who runs the nodes of a piece.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::graph) enum Shared {
    /// One group, in order.
    No,
    /// So many groups, in any order.
    Any(u32),
    /// A group for each list, in the order of the list: places in the run.
    Lanes(Vec<Vec<u32>>),
}

pub(in crate::graph) struct Divider<'a, P> {
    /// Nanoseconds of each node on one core.
    pub(in crate::graph) costs: &'a [f64],
    /// Where each level ends.
    pub(in crate::graph) levels: &'a [usize],
    /// The places in the run that a node waits for.
    pub(in crate::graph) predecessors: P,
    /// Cores, or whatever runs groups side by side; 1 at least.
    pub(in crate::graph) cores: u32,
}

impl<P: Fn(usize, &mut dyn FnMut(usize))> Divider<'_, P> {
    /// The pieces, in order.
    pub(in crate::graph) fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut level, mut serial) = (0, 0);
        while level < self.levels.len() {
            let next = self.grow(level);
            let nodes = self.begin(level)..self.begin(next);
            let shared = self.share(nodes.clone());
            if shared != Shared::No {
                pieces.push(Piece { nodes: serial..nodes.start, shared: Shared::No });
                serial = nodes.end;
                pieces.push(Piece { nodes, shared });
            }
            level = next;
        }
        pieces.push(Piece { nodes: serial..self.costs.len(), shared: Shared::No });
        pieces.retain(|piece| !piece.nodes.is_empty());
        pieces
    }

    fn begin(&self, level: usize) -> usize {
        level.checked_sub(1).map_or(0, |before| self.levels.get(before).copied().unwrap_or(self.costs.len()))
    }

    /// The end of the levels from one on that are best taken together.
    fn grow(&self, first: usize) -> usize {
        let cores = f64::from(self.cores);
        let mut components = Components::new(self.begin(first));
        let (mut best, mut level) = (first + 1, first);
        while level < self.levels.len() {
            self.add(&mut components, self.begin(level)..self.begin(level + 1));
            level += 1;
            if components.count < 2 || components.total > LONGEST_NS * cores {
                break;
            }
            if components.largest * cores <= components.total * UNEVEN {
                best = level;
            } else if level - best > PATIENCE + 2 * (best - first) {
                break;
            }
        }
        best
    }

    fn add(&self, components: &mut Components, nodes: Range<usize>) {
        for node in nodes {
            components.add(self.costs.get(node).copied().unwrap_or(0.0));
            (self.predecessors)(node, &mut |before| components.join(before, node));
        }
    }

    /// How groups share nodes, if that is worth a launch of their own.
    fn share(&self, nodes: Range<usize>) -> Shared {
        let total: f64 = self.costs.get(nodes.clone()).unwrap_or(&[]).iter().sum();
        let cores = f64::from(self.cores.max(1));
        if nodes.len() < 2 || total - total / cores <= NEEDED_NS {
            return Shared::No;
        }
        let mut components = Components::new(nodes.start);
        self.add(&mut components, nodes.clone());
        let groups = (total / GROUP_NS).max(cores).min(components.count as f64) as u32;
        if components.count == nodes.len() {
            return Shared::Any(groups);
        }
        let (lanes, longest) = self.lanes(&mut components, nodes.clone(), groups);
        let time = longest.max(total / cores);
        let places = lanes.iter().map(Vec::len).max().unwrap_or(0).saturating_mul(lanes.len());
        match total - time > NEEDED_NS && time <= LONGEST_NS && places <= 2 * nodes.len() + FEW_GAPS {
            true => Shared::Lanes(lanes),
            false => Shared::No,
        }
    }

    /// The components given to groups, the most costly first, each to the one that has least; and
    /// the cost of the group that has most.
    fn lanes(&self, components: &mut Components, nodes: Range<usize>, groups: u32) -> (Vec<Vec<u32>>, f64) {
        let mut roots: Vec<usize> = nodes.clone().filter(|node| components.root(*node) == *node).collect();
        roots.sort_by(|a, b| components.cost(*b).total_cmp(&components.cost(*a)));
        let mut least: BinaryHeap<Reverse<(u64, usize)>> =
            (0..groups as usize).map(|lane| Reverse((0, lane))).collect();
        let mut lane_of = vec![0; nodes.len()];
        let mut longest = 0;
        for root in roots {
            let Some(Reverse((load, lane))) = least.pop() else { break };
            if let Some(entry) = lane_of.get_mut(root - nodes.start) {
                *entry = lane;
            }
            // In picoseconds: numbers that have an order, and none is nothing.
            let load = load + (components.cost(root) * 1000.0) as u64 + 1;
            longest = longest.max(load);
            least.push(Reverse((load, lane)));
        }
        let mut lanes = vec![Vec::new(); groups as usize];
        for node in nodes.clone() {
            let lane = lane_of.get(components.root(node) - nodes.start).and_then(|lane| lanes.get_mut(*lane));
            lane.into_iter().for_each(|lane| lane.push(node as u32));
        }
        (lanes, longest as f64 / 1000.0)
    }
}

/// Connected components, as nodes are added one by one.
struct Components {
    first: usize,
    /// By node: one of the same component, its root in the end, and what the component costs, where
    /// it is the root.
    nodes: Vec<(usize, f64)>,
    count: usize,
    total: f64,
    largest: f64,
}

impl Components {
    /// Without nodes yet; the first will be this one.
    fn new(first: usize) -> Self {
        Self { first, nodes: Vec::new(), count: 0, total: 0.0, largest: 0.0 }
    }

    fn add(&mut self, cost: f64) {
        self.nodes.push((self.first + self.nodes.len(), cost));
        self.count += 1;
        self.total += cost;
        self.largest = self.largest.max(cost);
    }

    fn entry(&self, node: usize) -> Option<&(usize, f64)> {
        self.nodes.get(node.checked_sub(self.first)?)
    }

    fn set(&mut self, node: usize, entry: (usize, f64)) {
        if let Some(place) = node.checked_sub(self.first).and_then(|at| self.nodes.get_mut(at)) {
            *place = entry;
        }
    }

    /// The cost of the component with this root.
    fn cost(&self, root: usize) -> f64 {
        self.entry(root).map_or(0.0, |entry| entry.1)
    }

    fn root(&mut self, mut node: usize) -> usize {
        while let Some(&(up, cost)) = self.entry(node)
            && up != node
        {
            let above = self.entry(up).map_or(up, |entry| entry.0);
            self.set(node, (above, cost));
            node = above;
        }
        node
    }

    /// Says that two hang together; one that was not added is left out.
    fn join(&mut self, a: usize, b: usize) {
        if self.entry(a).is_none() || self.entry(b).is_none() {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        // The more costly stays the root, so that paths stay short.
        let (root, other) = if self.cost(a) >= self.cost(b) { (a, b) } else { (b, a) };
        let cost = self.cost(root) + self.cost(other);
        self.set(root, (root, cost));
        self.set(other, (root, 0.0));
        self.count -= 1;
        self.largest = self.largest.max(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divides a graph of levels of a width each; node `at` of a level waits for those that `waits`
    /// gives of the level before.
    fn divide(widths: &[usize], cost: f64, waits: impl Fn(usize, usize) -> Vec<usize>) -> Vec<Piece> {
        let levels: Vec<usize> = widths
            .iter()
            .scan(0, |end, width| {
                *end += width;
                Some(*end)
            })
            .collect();
        let costs = vec![cost; levels.last().copied().unwrap_or(0)];
        let predecessors = |node: usize, each: &mut dyn FnMut(usize)| {
            let level = levels.iter().position(|end| node < *end).unwrap_or(0);
            if level > 0 {
                let begin = |level: usize| if level == 0 { 0 } else { levels[level - 1] };
                waits(level, node - begin(level)).into_iter().for_each(|at| each(begin(level - 1) + at));
            }
        };
        Divider { costs: &costs, levels: &levels, predecessors, cores: 2 }.pieces()
    }

    #[test]
    fn little_work_one_chain_and_uneven_parts_stay_in_order() {
        let serial = |pieces: &[Piece]| pieces.len() == 1 && pieces[0].shared == Shared::No;
        assert!(serial(&divide(&[8; 10], 50.0, |_, at| vec![at])));
        assert!(serial(&divide(&[1; 1000], 50.0, |_, _| vec![0])));
        // One chain with a node beside it here and there.
        assert!(serial(&divide(&[2; 1000], 50.0, |_, _| vec![0])));
    }
}
