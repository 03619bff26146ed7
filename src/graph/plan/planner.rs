//! From candidates to plans: the one to begin with, and those that may be faster yet. Pure.

use super::eligibility::{Candidate, Kind};
use super::flatten::Flat;
use super::segments::{Machine, cut};
use super::unit::{LaunchReasons, PartitionPlan, Unit};
use crate::dag::Edges;

/// Nodes that are estimated to cost more on one core are launched, in nanoseconds. That of the plan
/// to begin with: launches cost 2 to 10 µs before anything runs, and run on all cores.
const CAP_NS: f64 = 8000.0;
/// Those of other plans: estimates are off by as much at times.
const OTHER_CAPS_NS: [f64; 2] = [1000.0, 64_000.0];
/// Nodes that cost less than this part of the cap are better interpreted, whatever the device.
const CERTAIN: f64 = 0.25;
/// Partitions of more nodes run by the plan to begin with: others must be prepared in the midst of
/// a submission.
const MOST_NODES: usize = 10_000;

/// The nodes of a partition as planning sees them.
#[derive(Debug, Default)]
pub(in crate::graph) struct Candidates {
    pub(in crate::graph) nodes: Vec<Candidate>,
    /// The reasons that [`Kind::Standalone`] indexes.
    pub(in crate::graph) reasons: Vec<String>,
}

/// How a partition may run.
#[derive(Debug)]
pub(in crate::graph) struct Plans {
    pub(in crate::graph) first: PartitionPlan,
    /// Others, which may be faster: a race of them all tells.
    pub(in crate::graph) others: Vec<PartitionPlan>,
}

/// The plans for nodes of a flat graph on a device with so many cores. `always`: all that can be
/// interpreted is, whatever is faster.
pub(in crate::graph) fn plans(
    flat: &Flat,
    nodes: &[u32],
    candidates: &Candidates,
    cores: u32,
    always: bool,
) -> Plans {
    let planner = Planner { flat, nodes, candidates, cores, edges: edges_among(flat, nodes) };
    if always {
        return Plans { first: planner.with_cap(f64::INFINITY, true), others: Vec::new() };
    }
    let first = planner.with_cap(CAP_NS, false);
    let mut others: Vec<PartitionPlan> = Vec::new();
    if nodes.len() <= MOST_NODES && planner.is_uncertain() {
        let launches = "launches of their own were seen to be faster for its nodes";
        let capped = OTHER_CAPS_NS.into_iter().chain([f64::INFINITY]);
        let capped = capped.map(|cap_ns| planner.with_cap(cap_ns, cap_ns.is_infinite()));
        for other in capped.chain([PartitionPlan::launches(nodes, launches)]) {
            let known = std::iter::once(&first).chain(&others);
            if !known.into_iter().any(|known| known.units == other.units) {
                others.push(other);
            }
        }
    }
    Plans { first, others }
}

struct Planner<'a> {
    flat: &'a Flat,
    nodes: &'a [u32],
    candidates: &'a Candidates,
    cores: u32,
    edges: Edges,
}

impl Planner<'_> {
    /// Whether it is not clear for some node what is faster.
    fn is_uncertain(&self) -> bool {
        let is_uncertain = |node: &Candidate| {
            let can = !matches!(node.kind, Kind::Nothing | Kind::Standalone(_));
            can && (node.has_loops || node.cost_ns() > CERTAIN * CAP_NS)
        };
        self.candidates.nodes.iter().any(is_uncertain)
    }

    /// The plan that has nodes up to this cost interpreted.
    fn with_cap(&self, cap_ns: f64, always: bool) -> PartitionPlan {
        if !self.has_kernel() {
            let reason = self.candidates.reasons.first().map_or("there is no kernel", String::as_str);
            return PartitionPlan::launches(self.nodes, reason);
        }
        let machine = Machine { cores: self.cores, cap_ns, always };
        let mut units = cut(&self.candidates.nodes, |node| self.edges.of(node), &machine);
        let tasks = units.iter().map(|unit| self.tasks(unit)).sum();
        if tasks == 0 {
            return PartitionPlan::launches(self.nodes, "launches of their own are faster for its nodes");
        }
        for node in units.iter_mut().flat_map(Unit::nodes_mut) {
            *node = self.number(*node);
        }
        PartitionPlan { units, tasks, cap_ns, launched: LaunchReasons::Some(self.refused()) }
    }

    /// Whether some node decides which program a task list runs with.
    fn has_kernel(&self) -> bool {
        self.candidates.nodes.iter().any(|node| matches!(node.kind, Kind::Of(..)))
    }

    /// The nodes that cannot be interpreted, with the reasons; in order.
    fn refused(&self) -> Vec<(u32, String)> {
        let reason = |(node, candidate): (&u32, &Candidate)| match candidate.kind {
            Kind::Standalone(at) => {
                let reason = self.candidates.reasons.get(at as usize).cloned();
                debug_assert!(reason.is_some(), "reason {at} of {}", self.candidates.reasons.len());
                Some((self.flat.origin(*node as usize), reason?))
            }
            _ => None,
        };
        let mut refused: Vec<_> = self.nodes.iter().zip(&self.candidates.nodes).filter_map(reason).collect();
        refused.sort_unstable();
        refused
    }

    fn tasks(&self, unit: &Unit) -> usize {
        let Unit::TaskList(run) = unit else { return 0 };
        let mut numbering = run.numbering();
        for node in &run.nodes {
            let candidate = self.candidates.nodes.get(*node as usize);
            numbering.place(candidate.is_some_and(|candidate| candidate.kind != Kind::Nothing));
        }
        numbering.count()
    }

    fn number(&self, node: u32) -> u32 {
        debug_assert!((node as usize) < self.nodes.len(), "node {node} of {}", self.nodes.len());
        self.nodes.get(node as usize).copied().unwrap_or(u32::MAX)
    }
}

/// The edges within a partition, by places in it.
fn edges_among(flat: &Flat, nodes: &[u32]) -> Edges {
    let mut places = vec![u32::MAX; flat.len()];
    let mut edges = Edges::default();
    for (place, node) in (0_u32..).zip(nodes) {
        let waits = flat.waits(*node as usize).iter();
        let inside = waits.filter_map(|wait| places.get(*wait as usize).copied());
        edges.push(inside.filter(|place| *place != u32::MAX));
        debug_assert!((*node as usize) < places.len(), "node {node} of {}", places.len());
        if let Some(at) = places.get_mut(*node as usize) {
            *at = place;
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::command::CommandKind;

    fn kernel(steps: f64, has_loops: bool) -> Candidate {
        Candidate { kind: Kind::Of(0, None), steps, has_loops }
    }

    /// The plans of a chain.
    fn of_chain(nodes: Vec<Candidate>, always: bool) -> Plans {
        let waits = |i: usize| i.checked_sub(1).map(|i| i as u32).into_iter().collect();
        let flat = Flat::of((0..nodes.len()).map(|i| (CommandKind::Empty, waits(i))).collect());
        let numbers: Vec<u32> = (0..nodes.len() as u32).collect();
        let candidates = Candidates { nodes, reasons: vec!["no".to_owned()] };
        plans(&flat, &numbers, &candidates, 2, always)
    }

    /// The nodes of each unit, and whether it is a task list.
    fn units(plan: &PartitionPlan) -> Vec<(usize, bool)> {
        plan.units.iter().map(|unit| (unit.nodes().len(), matches!(unit, Unit::TaskList(_)))).collect()
    }

    #[test]
    fn small_nodes_are_one_list_and_nothing_is_tried() {
        let plans = of_chain(vec![kernel(100.0, false); 50], false);
        assert_eq!((units(&plans.first), plans.first.tasks), (vec![(50, true)], 50));
        assert!(plans.others.is_empty());
    }

    #[test]
    fn loops_have_lists_and_launches_compared() {
        let plans = of_chain(vec![kernel(100.0, true); 50], false);
        assert_eq!(units(&plans.first), [(50, true)]);
        let others: Vec<_> = plans.others.iter().map(units).collect();
        assert_eq!(others, [vec![(1, false); 50]]);
    }

    #[test]
    fn large_nodes_among_small_ones_are_launched_and_other_sizes_tried() {
        let nodes = (0..32).map(|i| kernel(if i % 8 == 7 { 1e6 } else { 100.0 }, false)).collect();
        let plans = of_chain(nodes, false);
        assert_eq!(units(&plans.first), [(7, true), (1, false)].repeat(4));
        let others: Vec<_> = plans.others.iter().map(units).collect();
        assert_eq!(others, [vec![(32, true)], vec![(1, false); 32]]);
    }

    #[test]
    fn all_that_can_be_interpreted_is_where_it_is_asked_for() {
        let mut nodes = vec![kernel(1e6, true); 3];
        nodes[1] = Candidate::standalone(0);
        let plans = of_chain(nodes, true);
        assert_eq!(units(&plans.first), [(1, true), (1, false), (1, true)]);
        assert_eq!((plans.first.launched.of(1), plans.others.len()), ("no".to_owned(), 0));
    }

    #[test]
    fn a_partition_that_cannot_be_interpreted_says_why() {
        let plans = of_chain(vec![Candidate::standalone(0); 40], false);
        assert_eq!((plans.first.tasks, plans.first.launched.of(7)), (0, "no".to_owned()));
        // Copies could be in any list, and there is none.
        let copy = Candidate { kind: Kind::AnyList, steps: 10.0, has_loops: false };
        assert_eq!(of_chain(vec![copy; 40], true).first.tasks, 0);
    }
}
