//! Cutting a graph into segments: runs of nodes that one launch of a task list replays, and nodes
//! with a launch of their own.
//!
//! Pure: nodes are numbers in an order that keeps all edges, each with an estimate of its cost. The
//! segments hold each node once, in an order that keeps all edges, too.
//!
//! | segment | nodes | launch |
//! |---|---|---|
//! | serial | small ones, in order | one group |
//! | parallel | small ones, what hangs together in one group (see [`divide`](super::sharing)) | many groups, no synchronisation between them |
//! | barrier | those with barriers, of one local size, and small ones between | groups of that size |
//! | launch | one that is large, or that no list can run | as ever |
//!
//! # What is small
//! A list runs nodes on one core, and begins with one launch; launches run them on all cores, and
//! begin with one each. So nodes up to a cost, the cap, are in lists, and others are launched.
//! Which cap is best is not known here: [`planner`](super::planner) makes plans of several.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::eligibility::{Candidate, Kind};
use super::sharing::{Divider, Shared};
use super::unit::{LONGEST_NS, Run, Unit};
use crate::dag::Waiting;

/// The properties of a device that decide where nodes run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::graph) struct Machine {
    /// Cores, or whatever runs groups side by side; 1 at least.
    pub(in crate::graph) cores: u32,
    /// Nodes that cost more nanoseconds on one core are launched.
    pub(in crate::graph) cap_ns: f64,
    /// Whether a list of one node is one, too.
    pub(in crate::graph) always: bool,
}

/// Cuts a graph. `predecessors(i)` gives the nodes that `i` waits for, all of them before it.
///
/// Takes time linear in nodes and edges, with the number of programs and local sizes as a factor.
pub(in crate::graph) fn cut<'a>(
    nodes: &[Candidate],
    predecessors: impl Fn(u32) -> &'a [u32],
    machine: &Machine,
) -> Vec<Unit> {
    let mut cutter = Cutter {
        nodes,
        machine,
        graph: Waiting::new(nodes.len(), &predecessors),
        predecessors,
        places: vec![u32::MAX; nodes.len()],
        free: Vec::new(),
        listed: BTreeMap::new(),
        alone: Vec::new(),
        units: Vec::new(),
        run: Run::default(),
        levels: Vec::new(),
    };
    cutter.graph.ready().into_iter().for_each(|node| cutter.ready(node));
    while cutter.step() {}
    cutter.end_run();
    cutter.units
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
    units: Vec<Unit>,
    /// The run that is being collected: nodes of one launch, or of several where sharing them is better.
    run: Run,
    /// Where levels of it end: nodes that do not depend on each other.
    levels: Vec<usize>,
}

impl<'p, P: Fn(u32) -> &'p [u32]> Cutter<'_, P> {
    fn candidate(&self, node: u32) -> Candidate {
        debug_assert!((node as usize) < self.nodes.len(), "node {node} of {}", self.nodes.len());
        self.nodes.get(node as usize).copied().unwrap_or(Candidate::standalone(0))
    }

    fn ready(&mut self, node: u32) {
        let candidate = self.candidate(node);
        match candidate.kind {
            _ if !candidate.is_small(self.machine.cap_ns) => self.alone.push(node),
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

    /// Takes some of the ready nodes: those that go on with the run as long as there are any, large
    /// ones when there is nothing else. Whether there was one.
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
            self.units.extend(batch.iter().map(|node| Unit::Launch(*node)));
            self.done(&batch);
        } else {
            return false;
        }
        true
    }

    /// The class to go on with: of the same program, of the same size of groups if there is one;
    /// else that with most nodes.
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
            let cost_ns = self.candidate(*node).cost_ns();
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
            debug_assert!((*node as usize) < self.places.len(), "node {node} of {}", self.places.len());
            if let Some(entry) = self.places.get_mut(*node as usize) {
                *entry = place;
            }
        }
        let costs: Vec<f64> = run.nodes.iter().map(|node| self.candidate(*node).cost_ns()).collect();
        let predecessors = |place: usize, each: &mut dyn FnMut(usize)| {
            let Some(node) = run.nodes.get(place) else { return };
            let before = (self.predecessors)(*node).iter().filter_map(|node| self.places.get(*node as usize));
            before.filter(|place| **place != u32::MAX).for_each(|place| each(*place as usize));
        };
        let cores = self.machine.cores;
        let divider = Divider { costs: &costs, levels: &levels, predecessors, cores };
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
            let cost_ns = costs.get(piece.nodes.clone()).unwrap_or(&[]).iter().sum();
            match piece.shared {
                Shared::No => self.serial(nodes, &levels, piece.nodes.start, like(1)),
                Shared::Any(groups) => {
                    let levels = vec![nodes.len() as u32];
                    let run = Run { nodes: nodes.to_vec(), levels, cost_ns, ..like(groups) };
                    self.units.push(Unit::TaskList(Box::new(run)));
                }
                Shared::Lanes(all) => {
                    let mut shared = Run { cost_ns, ..like(all.len() as u32) };
                    for lane in all {
                        shared.nodes.extend(lane.iter().filter_map(of));
                        shared.lanes.push(shared.nodes.len() as u32);
                    }
                    self.units.push(Unit::TaskList(Box::new(shared)));
                }
            }
        }
    }

    /// Nodes for one group, in order; or for launches of their own, if these are faster. `levels`
    /// are those of the run, of which the nodes begin at `start`.
    fn serial(&mut self, nodes: &[u32], levels: &[usize], start: usize, like: Run) {
        let mut run = like.clone();
        let mut ends = levels.iter().skip_while(|end| **end <= start).peekable();
        for (at, node) in (start..).zip(nodes) {
            let cost_ns = self.candidate(*node).cost_ns();
            if run.cost_ns + cost_ns > LONGEST_NS {
                self.end_serial(std::mem::replace(&mut run, like.clone()));
            }
            while ends.next_if(|end| **end <= at).is_some() {
                run.levels.push(run.nodes.len() as u32);
            }
            run.nodes.push(*node);
            run.cost_ns += cost_ns;
        }
        self.end_serial(run);
    }

    fn end_serial(&mut self, mut run: Run) {
        run.levels.push(run.nodes.len() as u32);
        let does = |node: &&u32| self.candidate(**node).kind != Kind::Nothing;
        let count = run.nodes.iter().filter(does).count();
        if count > 1 || self.machine.always && count > 0 {
            self.units.push(Unit::TaskList(Box::new(run)));
        } else {
            self.units.extend(run.nodes.into_iter().map(Unit::Launch));
        }
    }
}
