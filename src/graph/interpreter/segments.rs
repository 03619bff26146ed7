//! Cutting a graph into segments: runs of nodes that one launch of a task list replays, and nodes with a launch of their own.
//!
//! Pure: nodes are numbers in an order that keeps all edges, each with an estimate of its cost. The segments hold each node
//! once, in an order that keeps all edges, too.
//!
//! | segment | nodes | launch |
//! |---|---|---|
//! | serial | small ones, in order | one group |
//! | parallel | small ones, what hangs together in one group (see [`divide`](super::divide)) | many groups, no synchronisation between them |
//! | barrier | those with barriers, of one local size, and small ones between | groups of that size |
//! | launch | one that is large, or that no list can run | as ever |
//!
//! # When a list wins
//! A list runs nodes on one core, and begins with one launch; launches run them on all P cores, and begin with one each. What both take is in
//! the candidates: the list wins while the sum of its nodes and a launch is less than the sum of all launches; one node more is good for it while
//! it is less than the launch of its own. Groups that share independent nodes are on all cores, too: then these may be of any size.

use std::collections::BTreeMap;

use super::divide::{Divider, Shared, needed_ns};

/// A segment takes no longer than this, as estimated: one launch cannot be interrupted.
pub(super) const LONGEST_NS: f64 = 10e6;

/// A node, as far as cutting is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    /// Nanoseconds on one core, from a list.
    pub(crate) cost_ns: f64,
    /// Nanoseconds that a launch of its own takes.
    pub(crate) launch_ns: f64,
    pub(crate) kind: Kind,
}

/// Where a node can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anywhere: it does nothing.
    Nothing,
    /// In a list of any program.
    Free,
    /// In a list of this program; by groups of this size, if any.
    Of(u32, Option<[u32; 3]>),
    /// By a launch, a copy … of its own only.
    Alone,
}

/// The device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Machine {
    /// Nanoseconds that a launch costs before anything runs.
    pub(crate) launch_ns: f64,
    /// Cores, or whatever runs groups side by side; 1 at least.
    pub(crate) cores: u32,
    /// Whether all that can run in lists shall, whatever is faster.
    pub(crate) always: bool,
}

/// Some nodes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Segment {
    List(Run),
    /// One node by itself.
    Launch(u32),
}

/// The nodes of a launch of a task list.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Run {
    pub(crate) nodes: Vec<u32>,
    /// `None`: any will do.
    pub(crate) program: Option<u32>,
    /// The size of groups that some of them need.
    pub(crate) local: Option<[u32; 3]>,
    /// More than one share the nodes.
    pub(crate) groups: u32,
    /// Where the nodes of each group end, which run in order; empty where any group may run any node.
    pub(crate) lanes: Vec<u32>,
    /// On one core.
    pub(crate) cost_ns: f64,
}

impl Run {
    /// To number its tasks with.
    pub(super) fn numbering(&self) -> Numbering<'_> {
        Numbering { lanes: &self.lanes, seen: 0, lane: 0, next: 0, count: 0 }
    }
}

/// Gives nodes of a run, in their order, their places among its tasks: in turn, or every so manyth for a group of its own.
pub(super) struct Numbering<'r> {
    lanes: &'r [u32],
    seen: u32,
    lane: u32,
    next: u32,
    count: usize,
}

impl Numbering<'_> {
    /// The place of the next node, if it is a task.
    pub(super) fn place(&mut self, is_task: bool) -> Option<u32> {
        while self.lanes.get(self.lane as usize).is_some_and(|end| *end <= self.seen) {
            self.lane += 1;
            self.next = self.lane;
        }
        self.seen += 1;
        if !is_task {
            return None;
        }
        let place = self.next;
        self.next += (self.lanes.len() as u32).max(1);
        self.count = self.count.max(place as usize + 1);
        Some(place)
    }

    /// How many places there are, those that are empty counted.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

impl Segment {
    /// The nodes in the order in which they run.
    #[cfg(test)]
    pub(crate) fn nodes(&self) -> &[u32] {
        match self {
            Self::List(run) => &run.nodes,
            Self::Launch(node) => std::slice::from_ref(node),
        }
    }

    pub(super) fn nodes_mut(&mut self) -> &mut [u32] {
        match self {
            Self::List(run) => &mut run.nodes,
            Self::Launch(node) => std::slice::from_mut(node),
        }
    }
}

impl Machine {
    /// What sharing a work on one core among all would save.
    pub(super) fn saving_ns(&self, cost_ns: f64) -> f64 {
        cost_ns * (1.0 - 1.0 / f64::from(self.cores.max(1)))
    }

    /// Whether a node is better run from a list than by a launch.
    pub(super) fn is_small(&self, candidate: &Candidate) -> bool {
        candidate.kind != Kind::Alone
            && candidate.cost_ns < LONGEST_NS
            && (self.always || candidate.cost_ns < candidate.launch_ns)
    }
}

/// Cuts a graph. `predecessors(i)` gives the nodes that `i` waits for, all of them before it.
///
/// Takes time linear in nodes and edges, with the number of programs and local sizes as a factor.
pub(crate) fn cut<'a>(
    nodes: &[Candidate],
    predecessors: impl Fn(u32) -> &'a [u32],
    machine: &Machine,
) -> Vec<Segment> {
    let mut cutter = Cutter {
        nodes,
        machine,
        graph: Waiting::new(nodes.len(), &predecessors),
        predecessors,
        places: vec![u32::MAX; nodes.len()],
        free: Vec::new(),
        listed: BTreeMap::new(),
        alone: Vec::new(),
        segments: Vec::new(),
        run: Run::default(),
        levels: Vec::new(),
    };
    cutter.begin();
    while cutter.step() {}
    cutter.end_run();
    cutter.segments
}

/// What each node still waits for.
struct Waiting {
    missing: Vec<u32>,
    /// Where each node's successors begin.
    starts: Vec<usize>,
    successors: Vec<u32>,
}

impl Waiting {
    fn new<'a>(count: usize, predecessors: impl Fn(u32) -> &'a [u32]) -> Self {
        let all = 0..count as u32;
        let mut starts = vec![0_usize; count + 1];
        let mut missing = Vec::with_capacity(count);
        for node in all.clone() {
            let before = predecessors(node);
            missing.push(before.len() as u32);
            for wait in before {
                if let Some(start) = starts.get_mut(*wait as usize + 1) {
                    *start += 1;
                }
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut successors = vec![0; sum];
        for node in all {
            for wait in predecessors(node) {
                if let Some(next) = next.get_mut(*wait as usize)
                    && let Some(place) = successors.get_mut(*next)
                {
                    *place = node;
                    *next += 1;
                }
            }
        }
        Self { missing, starts, successors }
    }

    /// Calls `ready` for what waited for this node last.
    fn done(&mut self, node: u32, mut ready: impl FnMut(u32)) {
        let start = |index: usize| self.starts.get(index).copied().unwrap_or(0);
        let range = start(node as usize)..start(node as usize + 1);
        for successor in self.successors.get(range).unwrap_or(&[]) {
            if let Some(missing) = self.missing.get_mut(*successor as usize) {
                *missing -= 1;
                if *missing == 0 {
                    ready(*successor);
                }
            }
        }
    }
}

/// Nodes of a program and a size of groups.
type Class = (u32, Option<[u32; 3]>);

struct Cutter<'a, P> {
    nodes: &'a [Candidate],
    machine: &'a Machine,
    graph: Waiting,
    predecessors: P,
    /// Scratch: the place of each node in the run.
    places: Vec<u32>,
    /// Ready ones for any list.
    free: Vec<u32>,
    /// Ready ones for lists of a class. Classes stay once they are there.
    listed: BTreeMap<Class, Vec<u32>>,
    /// Ready ones for launches.
    alone: Vec<u32>,
    segments: Vec<Segment>,
    /// What is being collected: nodes of one launch, or of several where sharing them is better.
    run: Run,
    /// Where levels of it end: nodes that do not depend on each other.
    levels: Vec<usize>,
}

impl<'p, P: Fn(u32) -> &'p [u32]> Cutter<'_, P> {
    fn begin(&mut self) {
        let roots = (0_u32..).zip(&self.graph.missing).filter(|(_, missing)| **missing == 0);
        let roots: Vec<u32> = roots.map(|(node, _)| node).collect();
        roots.into_iter().for_each(|node| self.ready(node));
    }

    fn candidate(&self, node: u32) -> Candidate {
        let none = Candidate { cost_ns: 0.0, launch_ns: 0.0, kind: Kind::Alone };
        self.nodes.get(node as usize).copied().unwrap_or(none)
    }

    fn ready(&mut self, node: u32) {
        let candidate = self.candidate(node);
        match candidate.kind {
            _ if !self.machine.is_small(&candidate) => self.alone.push(node),
            Kind::Of(program, local) => self.listed.entry((program, local)).or_default().push(node),
            _ => self.free.push(node),
        }
    }

    fn done(&mut self, nodes: &[u32]) {
        let mut ready = Vec::new();
        for node in nodes {
            self.graph.done(*node, |node| ready.push(node));
        }
        ready.into_iter().for_each(|node| self.ready(node));
    }

    /// Takes some of the ready nodes: those that go on with the run as long as there are any, large ones when there is nothing
    /// else. Whether there was one.
    fn step(&mut self) -> bool {
        if let Some(class) = self.class() {
            let mut batch = std::mem::take(&mut self.free);
            if let Some(nodes) = self.listed.get_mut(&class) {
                batch.append(nodes);
            }
            self.take(&batch, Some(class));
        } else if !self.free.is_empty() {
            let batch = std::mem::take(&mut self.free);
            self.take(&batch, None);
        } else if !self.alone.is_empty() {
            self.end_run();
            let batch = std::mem::take(&mut self.alone);
            self.large(&batch);
            self.done(&batch);
        } else {
            return false;
        }
        true
    }

    /// The class to go on with: of the same program, of the same size of groups if there is one; else that with most nodes.
    fn class(&self) -> Option<Class> {
        let fit = |class: &Class| {
            let same_program = self.run.program.is_none_or(|program| program == class.0);
            let fits = class.1.is_none() || self.run.local.is_none() || class.1 == self.run.local;
            (same_program && fits, class.1 == self.run.local)
        };
        let ready = self.listed.iter().filter(|(_, nodes)| !nodes.is_empty());
        ready.max_by_key(|(class, nodes)| (fit(class), nodes.len())).map(|(class, _)| *class)
    }

    /// Goes on with nodes that do not depend on each other.
    fn take(&mut self, batch: &[u32], class: Option<Class>) {
        let (program, local) = class.map_or((None, None), |(program, local)| (Some(program), local));
        let other_program = program.is_some() && self.run.program.is_some_and(|run| Some(run) != program);
        let other_size = local.is_some() && self.run.local.is_some_and(|run| Some(run) != local);
        if other_program || other_size {
            self.end_run();
        }
        // All cores may be busy with it.
        let longest = LONGEST_NS * f64::from(self.machine.cores);
        for node in batch {
            let cost_ns = self.candidate(*node).cost_ns;
            if self.run.cost_ns + cost_ns > longest {
                self.end_run();
            }
            self.run.nodes.push(*node);
            self.run.cost_ns += cost_ns;
            self.run.program = self.run.program.or(program);
            self.run.local = self.run.local.or(local);
        }
        self.levels.push(self.run.nodes.len());
        self.done(batch);
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let mut levels = std::mem::take(&mut self.levels);
        // In the midst of a level, too.
        levels.push(run.nodes.len());
        for (place, node) in (0_u32..).zip(&run.nodes) {
            if let Some(entry) = self.places.get_mut(*node as usize) {
                *entry = place;
            }
        }
        let costs: Vec<f64> = run.nodes.iter().map(|node| self.candidate(*node).cost_ns).collect();
        let predecessors = |place: usize, each: &mut dyn FnMut(usize)| {
            let Some(node) = run.nodes.get(place) else { return };
            let before = (self.predecessors)(*node).iter().filter_map(|node| self.places.get(*node as usize));
            before.filter(|place| **place != u32::MAX).for_each(|place| each(*place as usize));
        };
        let divider = Divider { costs: &costs, levels: &levels, predecessors, machine: self.machine };
        let pieces = divider.pieces();
        for node in &run.nodes {
            if let Some(entry) = self.places.get_mut(*node as usize) {
                *entry = u32::MAX;
            }
        }
        for piece in pieces {
            let of = |place: &u32| run.nodes.get(*place as usize).copied();
            let nodes = run.nodes.get(piece.nodes.clone()).unwrap_or(&[]);
            let local = nodes.iter().find_map(|node| match self.candidate(*node).kind {
                Kind::Of(_, local) => local,
                _ => None,
            });
            let like = |groups: u32| Run { groups, program: run.program, local, ..Run::default() };
            let cost_ns = costs.get(piece.nodes).unwrap_or(&[]).iter().sum();
            match piece.shared {
                Shared::No => self.serial(nodes, like(1)),
                Shared::Any(groups) => {
                    let run = Run { nodes: nodes.to_vec(), cost_ns, ..like(groups) };
                    self.segments.push(Segment::List(run));
                }
                Shared::Lanes(all) => {
                    let mut shared = Run { cost_ns, ..like(all.len() as u32) };
                    for lane in all {
                        shared.nodes.extend(lane.iter().filter_map(of));
                        shared.lanes.push(shared.nodes.len() as u32);
                    }
                    self.segments.push(Segment::List(shared));
                }
            }
        }
    }

    /// Nodes for one group, in order; or for launches of their own, if these are faster.
    fn serial(&mut self, nodes: &[u32], like: Run) {
        let mut run = like.clone();
        for node in nodes {
            let cost_ns = self.candidate(*node).cost_ns;
            if run.cost_ns + cost_ns > LONGEST_NS {
                self.end_serial(std::mem::replace(&mut run, like.clone()));
            }
            run.nodes.push(*node);
            run.cost_ns += cost_ns;
        }
        self.end_serial(run);
    }

    /// Nodes that do not depend on each other, too large for one core in turn: shared by all if there are enough of them.
    fn large(&mut self, batch: &[u32]) {
        let mut classes: BTreeMap<Class, Vec<u32>> = BTreeMap::new();
        for node in batch {
            match self.candidate(*node) {
                Candidate { kind: Kind::Of(program, local), cost_ns, .. } if cost_ns < LONGEST_NS => {
                    classes.entry((program, local)).or_default().push(*node);
                }
                _ => self.segments.push(Segment::Launch(*node)),
            }
        }
        let cores = self.machine.cores.max(1);
        for ((program, local), nodes) in classes {
            let all = nodes.iter().map(|node| self.candidate(*node));
            let (cost_ns, launch_ns, longest) =
                all.fold((0.0, 0.0, 0.0_f64), |(cost, launch, longest), node| {
                    (cost + node.cost_ns, launch + node.launch_ns, longest.max(node.cost_ns))
                });
            let on_all = cost_ns / f64::from(cores);
            let takes = on_all.max(longest) + needed_ns(self.machine);
            if nodes.len() < 2 * cores as usize || takes >= launch_ns {
                self.segments.extend(nodes.into_iter().map(Segment::Launch));
                continue;
            }
            // One launch takes no longer than it may.
            let parts = (on_all / LONGEST_NS).ceil().max(1.0) as usize;
            for nodes in nodes.chunks(nodes.len().div_ceil(parts).max(1)) {
                self.segments.push(Segment::List(Run {
                    nodes: nodes.to_vec(),
                    program: Some(program),
                    local,
                    groups: nodes.len() as u32,
                    lanes: Vec::new(),
                    cost_ns: nodes.iter().map(|node| self.candidate(*node).cost_ns).sum(),
                }));
            }
        }
    }

    fn end_serial(&mut self, run: Run) {
        let does = |node: &&u32| self.candidate(**node).kind != Kind::Nothing;
        let launches: Vec<f64> =
            run.nodes.iter().filter(does).map(|node| self.candidate(*node).launch_ns).collect();
        let wins = run.cost_ns + self.machine.launch_ns < launches.iter().sum();
        if launches.len() > 1 && wins || self.machine.always && !launches.is_empty() {
            self.segments.push(Segment::List(run));
        } else {
            self.segments.extend(run.nodes.into_iter().map(Segment::Launch));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use proptest::prelude::*;

    const MACHINE: Machine = Machine { launch_ns: 8000.0, cores: 2, always: false };

    fn candidate_of(cost_ns: f64, kind: Kind) -> Candidate {
        Candidate { cost_ns, launch_ns: 8000.0 + cost_ns / 2.0, kind }
    }

    fn node(cost_ns: f64) -> Candidate {
        candidate_of(cost_ns, Kind::Of(0, None))
    }

    fn grouped(x: u32) -> Candidate {
        candidate_of(100.0, Kind::Of(0, Some([x, 1, 1])))
    }

    fn chain(count: usize) -> Vec<Vec<u32>> {
        (0..count as u32).map(|i| i.checked_sub(1).into_iter().collect()).collect()
    }

    fn cut_graph(nodes: &[Candidate], edges: &[Vec<u32>]) -> Vec<Segment> {
        cut(nodes, |node| edges[node as usize].as_slice(), &MACHINE)
    }

    fn nodes(segments: &[Segment]) -> Vec<Vec<u32>> {
        segments.iter().map(|segment| segment.nodes().to_vec()).collect()
    }

    #[test]
    fn a_chain_of_small_nodes_is_one_segment() {
        let segments = cut_graph(&[node(100.0); 1000], &chain(1000));
        assert_eq!(nodes(&segments), [(0..1000).collect::<Vec<u32>>()]);
        assert!(matches!(&segments[..], [Segment::List(run)] if run.groups == 1 && run.program == Some(0)));
        assert!(cut_graph(&[], &[]).is_empty());
    }

    #[test]
    fn large_and_foreign_nodes_cut() {
        let alone = candidate_of(1.0, Kind::Alone);
        let other = candidate_of(1.0, Kind::Of(1, None));
        let all = [
            node(100.0),
            node(100.0),
            node(1e5),
            node(100.0),
            node(9000.0),
            alone,
            node(100.0),
            other,
            other,
        ];
        let segments = cut_graph(&all, &chain(9));
        let [list, launch] =
            [|nodes: &[u32]| (true, nodes.to_vec()), |nodes: &[u32]| (false, nodes.to_vec())];
        let kinds: Vec<_> =
            segments.iter().map(|s| (matches!(s, Segment::List(_)), s.nodes().to_vec())).collect();
        // One node by itself is better launched.
        let expected =
            [list(&[0, 1]), launch(&[2]), list(&[3, 4]), launch(&[5]), launch(&[6]), list(&[7, 8])];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn small_nodes_beside_large_ones_stay_together() {
        // Two chains: even nodes are large, odd ones small.
        let all: Vec<_> = (0..20).map(|i| if i % 2 == 0 { node(1e5) } else { node(10.0) }).collect();
        let edges: Vec<Vec<u32>> = (0..20_u32).map(|i| i.checked_sub(2).into_iter().collect()).collect();
        let segments = cut_graph(&all, &edges);
        assert_eq!(segments.len(), 11);
        assert_eq!(segments[0].nodes().len(), 10);
    }

    #[test]
    fn nodes_that_are_together_as_large_as_launches_are_launched() {
        assert_eq!(cut_graph(&[node(15_000.0); 2], &chain(2)), [Segment::Launch(0), Segment::Launch(1)]);
    }

    #[test]
    fn long_runs_are_cut() {
        let segments = cut_graph(&[node(10_000.0); 2500], &chain(2500));
        let sizes: Vec<usize> = segments.iter().map(|segment| segment.nodes().len()).collect();
        assert_eq!(sizes, [1000, 1000, 500]);
    }

    #[test]
    fn levels_with_much_work_are_shared() {
        // Two levels of 100 nodes, each of 1 µs.
        let edges: Vec<Vec<u32>> =
            (0..200).map(|i| if i < 100 { vec![] } else { vec![i - 100, (i + 1) % 100] }).collect();
        let segments = cut_graph(&[node(1000.0); 200], &edges);
        assert_eq!(segments.len(), 2);
        assert!(segments.iter().all(|segment| matches!(segment, Segment::List(run) if run.groups == 25)));
        // Little work is not.
        assert_eq!(nodes(&cut_graph(&[node(10.0); 200], &edges)).len(), 1);
    }

    #[test]
    fn large_nodes_that_do_not_depend_on_each_other_are_shared() {
        let segments = cut_graph(&[node(50_000.0); 10], &vec![vec![]; 10]);
        let Segment::List(run) = &segments[0] else { panic!("{segments:?}") };
        assert_eq!((segments.len(), run.groups, run.nodes.len()), (1, 10, 10));
        // Not a few, which would leave cores idle; nor what a launch does better.
        assert_eq!(cut_graph(&[node(50_000.0); 3], &vec![vec![]; 3]).len(), 3);
        let slow = Candidate { launch_ns: 20_000.0, ..node(50_000.0) };
        assert_eq!(cut_graph(&[slow; 10], &vec![vec![]; 10]).len(), 10);
    }

    #[test]
    fn chains_side_by_side_run_as_wholes() {
        // Eight chains of a hundred, a node of each in turn; what begins and ends all of them is not in it.
        let begin = 1;
        let mut edges = vec![vec![]];
        edges.extend((0..800_u32).map(|i| vec![if i < 8 { 0 } else { begin + i - 8 }]));
        edges.push((0..8).map(|i| begin + 792 + i).collect());
        let segments = cut_graph(&[node(200.0); 802], &edges);
        let Segment::List(run) = &segments[1] else { panic!("{segments:?}") };
        assert_eq!((segments.len(), run.groups, run.nodes.len()), (3, 8, 800));
        assert_eq!(run.lanes, (1..9).map(|lane| lane * 100).collect::<Vec<u32>>());
        let mut numbering = run.numbering();
        let places: Vec<_> = (0..800).map(|_| numbering.place(true).unwrap()).collect();
        assert_eq!((&places[..3], &places[100..103]), (&[0, 8, 16][..], &[1, 9, 17][..]));
        assert_eq!(numbering.count(), 800);
    }

    #[test]
    fn nodes_with_barriers_run_with_those_of_their_size() {
        let nothing = candidate_of(0.0, Kind::Nothing);
        let all = [node(1.0), grouped(64), nothing, node(1.0), grouped(64), grouped(32), node(1.0)];
        let segments = cut_graph(&all, &chain(7));
        assert_eq!(nodes(&segments), [vec![0, 1, 2, 3, 4], vec![5, 6]]);
        let sizes: Vec<_> =
            segments.iter().map(|s| matches!(s, Segment::List(run) if run.local.is_some())).collect();
        assert_eq!(sizes, [true, true]);
    }

    fn candidate() -> impl Strategy<Value = Candidate> {
        let local = prop_oneof![Just(None), (1..4_u32).prop_map(|x| Some([x * 16, 1, 1]))];
        let kind = prop_oneof![
            1 => Just(Kind::Nothing),
            2 => Just(Kind::Free),
            6 => (0..2_u32, local).prop_map(|(program, local)| Kind::Of(program, local)),
            1 => Just(Kind::Alone),
        ];
        let cost = prop_oneof![Just(10.0), Just(3000.0), Just(1e5), Just(1e8)];
        (kind, cost).prop_map(|(kind, cost_ns)| match kind {
            Kind::Nothing => candidate_of(0.0, kind),
            kind => candidate_of(cost_ns, kind),
        })
    }

    proptest! {
        #[test]
        fn every_node_runs_once_after_what_it_depends_on_where_it_can(
            graph in prop::collection::vec((candidate(), prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 0..60),
            cores in 1..5_u32,
            always in any::<bool>(),
        ) {
            let edges: Vec<Vec<u32>> = graph.iter().enumerate()
                .map(|(i, (_, before))| {
                    let mut before: Vec<u32> = before.iter().filter(|_| i > 0).map(|at| at.index(i) as u32).collect();
                    before.dedup();
                    before
                })
                .collect();
            let candidates: Vec<Candidate> = graph.iter().map(|(candidate, _)| *candidate).collect();
            let machine = Machine { launch_ns: 8000.0, cores, always };
            let segments = cut(&candidates, |node| edges[node as usize].as_slice(), &machine);
            // Segment and place in it; nodes of a parallel segment have no order among them.
            let mut when = vec![None; graph.len()];
            // What each node's group runs in order, where groups have their own.
            let mut lanes = vec![None; graph.len()];
            for (number, segment) in segments.iter().enumerate() {
                let Segment::List(run) = segment else {
                    prop_assert!(when[segment.nodes()[0] as usize].replace((number, 0)).is_none());
                    continue;
                };
                prop_assert!(run.groups >= 1 && run.nodes.len() > usize::from(!always));
                prop_assert!(run.lanes.is_empty() || run.lanes.len() == run.groups as usize);
                for (place, node) in run.nodes.iter().enumerate() {
                    let lane = run.lanes.iter().position(|end| (place as u32) < *end);
                    let place = if run.groups > 1 && lane.is_none() { 0 } else { place };
                    prop_assert!(when[*node as usize].replace((number, place)).is_none());
                    lanes[*node as usize] = lane;
                    let candidate = candidates[*node as usize];
                    let fits = match candidate.kind {
                        Kind::Nothing | Kind::Free => true,
                        Kind::Of(program, local) => {
                            run.program == Some(program) && (local.is_none() || local == run.local)
                        }
                        Kind::Alone => false,
                    };
                    prop_assert!(fits && candidate.cost_ns < LONGEST_NS, "{:?} in {:?}", candidate, run);
                }
                let cost: f64 = run.nodes.iter().map(|node| candidates[*node as usize].cost_ns).sum();
                prop_assert!((cost - run.cost_ns).abs() <= 1e-6 * cost);
                prop_assert!(cost <= LONGEST_NS * f64::from(run.groups.min(cores)) + 1e6);
            }
            prop_assert!(when.iter().all(Option::is_some));
            for (node, before) in edges.iter().enumerate() {
                for before in before {
                    let (first, then) = (when[*before as usize].unwrap(), when[node].unwrap());
                    prop_assert!(first < then);
                    prop_assert!(first.0 != then.0 || lanes[*before as usize] == lanes[node]);
                }
            }
        }
    }
}
