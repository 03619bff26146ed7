//! Plans that may be faster than one, though they were not estimated to be. Pure.

use super::run::Segment;
use super::segments::{Candidate, Kind, Machine};

/// Launches that are estimated to take so many times what a plan takes on each core are not tried. On a queue out of order they are
/// side by side at best, which estimates do not know of.
const CLOSE_LAUNCHES: f64 = 1.5;
/// Lists that are estimated to take so many times what a plan takes are not tried. What else is busy on the machine was seen to make
/// lists look 1.8 times as slow as they are, and launches behind each other take up to 1.7 times what kernels and empty launches
/// by themselves say.
const CLOSE_LISTS: f64 = 3.0;

/// What is worth being tried beside a plan.
#[derive(Debug, PartialEq)]
pub(in crate::graph) struct Rivals {
    /// Launches of all nodes.
    pub(in crate::graph) launches: bool,
    /// Lists of all that lists can run.
    pub(in crate::graph) lists: Option<Vec<Segment>>,
}

/// The rivals of a plan. `lists` cuts the nodes so that lists have all that they can.
pub(in crate::graph) fn rivals(
    nodes: &[Candidate],
    machine: &Machine,
    chosen: &[Segment],
    lists: impl FnOnce() -> Vec<Segment>,
) -> Rivals {
    let plans = Plans { nodes, machine };
    let takes = plans.takes_ns(chosen);
    let cores = f64::from(machine.cores.max(1));
    let has_list = chosen.iter().any(|segment| matches!(segment, Segment::List(_)));
    let all: f64 = (0..nodes.len() as u32).map(|node| plans.launch_ns(node)).sum();
    let can_list = |segment: &Segment| match segment {
        Segment::Launch(node) => !matches!(plans.kind(*node), Kind::Nothing | Kind::Alone),
        Segment::List(_) => false,
    };
    let lists = chosen.iter().any(can_list).then(lists).filter(|lists| {
        // A list by itself is a launch, too.
        plans.launches(lists) < plans.launches(chosen) && plans.takes_ns(lists) < CLOSE_LISTS * takes
    });
    Rivals { launches: has_list && all < CLOSE_LAUNCHES * cores * takes, lists }
}

struct Plans<'a> {
    nodes: &'a [Candidate],
    machine: &'a Machine,
}

impl Plans<'_> {
    fn kind(&self, node: u32) -> Kind {
        self.nodes.get(node as usize).map_or(Kind::Nothing, |node| node.kind)
    }

    /// What a launch of a node is estimated to take.
    fn launch_ns(&self, node: u32) -> f64 {
        let node = self.nodes.get(node as usize).filter(|node| node.kind != Kind::Nothing);
        node.map_or(0.0, |node| node.launch_ns)
    }

    /// What a plan is estimated to take.
    fn takes_ns(&self, plan: &[Segment]) -> f64 {
        let cores = f64::from(self.machine.cores.max(1));
        let segment = |segment: &Segment| match segment {
            Segment::List(run) => {
                run.cost_ns / f64::from(run.groups).clamp(1.0, cores) + self.machine.launch_ns
            }
            Segment::Launch(node) => self.launch_ns(*node),
        };
        plan.iter().map(segment).sum()
    }

    /// How many launches a plan has.
    fn launches(&self, plan: &[Segment]) -> usize {
        let does = |segment: &&Segment| match segment {
            Segment::List(_) => true,
            Segment::Launch(node) => self.kind(*node) != Kind::Nothing,
        };
        plan.iter().filter(does).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::plan::segments::cut;

    const MACHINE: Machine = Machine { launch_ns: 1000.0, cores: 2, always: false };

    fn node(cost_ns: f64, kind: Kind) -> Candidate {
        Candidate { cost_ns, launch_ns: MACHINE.launch_ns + cost_ns / 2.0, kind }
    }

    /// The plan for a chain, as the numbers of nodes in each segment, and its rivals.
    fn of_chain(nodes: &[Candidate]) -> (Vec<usize>, Rivals) {
        let before: Vec<u32> = (0..nodes.len() as u32).collect();
        let waits = |node: u32| &before[(node as usize).saturating_sub(1)..node as usize];
        let cut = |always: bool| cut(nodes, waits, &Machine { always, ..MACHINE });
        let chosen = cut(false);
        let sizes = chosen.iter().map(|segment| segment.nodes().len()).collect();
        (sizes, rivals(nodes, &MACHINE, &chosen, || cut(true)))
    }

    fn listed(rivals: &Rivals) -> Option<usize> {
        let lists = rivals.lists.iter().flatten();
        rivals.lists.is_some().then(|| lists.filter(|segment| matches!(segment, Segment::List(_))).count())
    }

    const KERNEL: Kind = Kind::Of(0, None);

    #[test]
    fn small_nodes_have_no_rival() {
        let (sizes, rivals) = of_chain(&[node(50.0, KERNEL); 100]);
        assert_eq!((sizes, rivals), (vec![100], Rivals { launches: false, lists: None }));
    }

    #[test]
    fn lists_are_tried_where_launches_were_chosen_and_are_not_much_faster() {
        // 5000 from a list, 3500 launched.
        let (sizes, rivals) = of_chain(&[node(5000.0, KERNEL); 100]);
        assert_eq!((sizes, rivals.launches, listed(&rivals)), (vec![1; 100], false, Some(1)));
        let slow = Candidate { launch_ns: 1500.0, ..node(5000.0, KERNEL) };
        assert_eq!(of_chain(&[slow; 100]).1, Rivals { launches: false, lists: None });
    }

    #[test]
    fn launches_are_tried_where_lists_were_chosen_and_are_not_much_faster() {
        let (sizes, rivals) = of_chain(&[node(1000.0, KERNEL); 100]);
        assert_eq!((sizes, rivals), (vec![100], Rivals { launches: true, lists: None }));
    }

    #[test]
    fn a_plan_of_both_has_both_as_rivals() {
        let nodes: Vec<Candidate> =
            (0..96).map(|i| node(if i % 8 == 0 { 2500.0 } else { 800.0 }, KERNEL)).collect();
        let (sizes, rivals) = of_chain(&nodes);
        assert_eq!((sizes, rivals.launches, listed(&rivals)), ([1, 7].repeat(12), true, Some(1)));
    }

    #[test]
    fn nodes_that_no_list_can_run_and_lists_of_one_node_are_no_reason_to_try() {
        let nodes: Vec<Candidate> =
            (0..100).map(|i| node(5000.0, if i % 2 == 0 { Kind::Alone } else { KERNEL })).collect();
        assert_eq!(of_chain(&nodes).1, Rivals { launches: false, lists: None });
        let nodes: Vec<Candidate> = (0..100)
            .map(|i| if i % 2 == 0 { node(5000.0, Kind::Alone) } else { node(0.0, Kind::Nothing) })
            .collect();
        assert_eq!(of_chain(&nodes).1, Rivals { launches: false, lists: None });
    }
}
