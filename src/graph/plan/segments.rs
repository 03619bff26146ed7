//! Cutting a graph into segments: runs of nodes that one launch of a task list replays, and nodes with a launch of their own.
//!
//! Pure: nodes are numbers in an order that keeps all edges, each with an estimate of its cost. The segments hold each node
//! once, in an order that keeps all edges, too.
//!
//! | segment | nodes | launch |
//! |---|---|---|
//! | serial | small ones, in order | one group |
//! | parallel | small ones, what hangs together in one group (see [`divide`](super::sharing)) | many groups, no synchronisation between them |
//! | barrier | those with barriers, of one local size, and small ones between | groups of that size |
//! | launch | one that is large, or that no list can run | as ever |
//!
//! # When a list wins
//! A list runs nodes on one core, and begins with one launch; launches run them on all P cores, and begin with one each. What both take is in
//! the candidates: the list wins while the sum of its nodes and a launch is less than the sum of all launches; one node more is good for it while
//! it is less than the launch of its own. Groups that share independent nodes are on all cores, too: then these may be of any size.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::run::{Run, Segment};
use super::sharing::{Divider, Shared, needed_ns};
use super::waiting::Waiting;

/// A segment takes no longer than this, as estimated: one launch cannot be interrupted.
pub(in crate::graph) const LONGEST_NS: f64 = 10e6;

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

impl Machine {
    /// What sharing a work on one core among all would save.
    pub(in crate::graph) fn saving_ns(&self, cost_ns: f64) -> f64 {
        cost_ns * (1.0 - 1.0 / f64::from(self.cores.max(1)))
    }

    /// Whether a node is better run from a list than by a launch.
    pub(in crate::graph) fn is_small(&self, candidate: &Candidate) -> bool {
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
