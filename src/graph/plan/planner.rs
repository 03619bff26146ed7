//! From nodes that are classified to plans: the one that is estimated to be the fastest, and those that may be faster yet.

use super::eligibility::Classes;
use super::flatten::Flat;
use super::interpreter::{Lessons, MOST_NODES, Plan, Way};
use super::rivals::{Rivals, rivals};
use super::run::Segment;
use super::segments::{Kind, Machine, cut};
use crate::graph::exec::list::Tasks;

/// The nodes of a partition.
pub(in crate::graph) struct Planner<'a> {
    flat: &'a Flat,
    nodes: &'a [u32],
    classes: Classes,
    edges: Local,
}

impl<'a> Planner<'a> {
    pub(in crate::graph) fn new(flat: &'a Flat, nodes: &'a [u32], classes: Classes) -> Self {
        Self { flat, nodes, classes, edges: Local::new(flat, nodes) }
    }

    /// The way to run them, and what can be learned from it. `always`: all that lists can run is in lists, whatever is faster.
    pub(in crate::graph) fn plan(&self, always: bool) -> (Way, Lessons) {
        let segments = self.cut(always);
        let mut works = self.classes.works(&segments);
        works.iter_mut().for_each(|work| work.node = self.number(work.node));
        let rivals = if always { Vec::new() } else { self.rivals(&segments) };
        let lessons = Lessons { programs: self.classes.programs.clone(), works, rivals };
        let reason = self.classes.refusal().unwrap_or("launches of their own are faster for its nodes");
        let launches = || Way::Launches(reason.to_owned());
        (self.with_tasks(segments, always).map_or_else(launches, Way::Lists), lessons)
    }

    fn cut(&self, always: bool) -> Vec<Segment> {
        let machine = Machine { always, ..self.classes.machine };
        cut(&self.classes.candidates, |node| self.edges.waits(node), &machine)
    }

    /// Plans that may be faster than one, but were not estimated to be.
    fn rivals(&self, chosen: &[Segment]) -> Vec<Way> {
        let Classes { candidates, machine, .. } = &self.classes;
        // It is planned anew when these are known.
        if self.classes.is_guessed || self.nodes.len() > MOST_NODES {
            return Vec::new();
        }
        let Rivals { launches, lists } = rivals(candidates, machine, chosen, || self.cut(true));
        let launches = launches
            .then(|| Way::Launches("launches of their own were seen to be faster for its nodes".to_owned()));
        let lists = lists.and_then(|segments| self.with_tasks(segments, true)).map(Way::Lists);
        launches.into_iter().chain(lists).collect()
    }

    /// The plan of segments, if there are lists in it.
    fn with_tasks(&self, mut segments: Vec<Segment>, always: bool) -> Option<Plan> {
        let classes = &self.classes;
        let count = segments.iter().map(|segment| self.tasks(segment)).sum();
        if count == 0 {
            return None;
        }
        let origin = |node: &u32| {
            self.nodes.get(*node as usize).map_or(u32::MAX, |node| self.flat.origin(*node as usize))
        };
        let reason = |at: &u32| classes.reasons.get(*at as usize).cloned().unwrap_or_default();
        let mut refused: Vec<(u32, String)> =
            classes.alone.iter().map(|(node, at)| (origin(node), reason(at))).collect();
        refused.sort_unstable();
        for node in segments.iter_mut().flat_map(Segment::nodes_mut) {
            *node = self.number(*node);
        }
        Some(Plan { segments, tasks: Tasks::new(classes.programs.clone(), count, always), refused })
    }

    /// How many places for tasks a segment has.
    fn tasks(&self, segment: &Segment) -> usize {
        let Segment::List(run) = segment else { return 0 };
        let mut numbering = run.numbering();
        for node in &run.nodes {
            let candidate = self.classes.candidates.get(*node as usize);
            numbering.place(candidate.is_some_and(|candidate| candidate.kind != Kind::Nothing));
        }
        numbering.count()
    }

    /// A node's number in the flat graph.
    fn number(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).copied().unwrap_or(u32::MAX)
    }
}

/// The edges within a partition, by places in it.
struct Local {
    ends: Vec<u32>,
    waits: Vec<u32>,
}

impl Local {
    fn new(flat: &Flat, nodes: &[u32]) -> Self {
        let mut places = vec![u32::MAX; flat.len()];
        let mut local = Self { ends: Vec::with_capacity(nodes.len()), waits: Vec::new() };
        for (place, node) in (0_u32..).zip(nodes) {
            let waits = flat.waits(*node as usize).iter();
            let inside = waits.filter_map(|wait| places.get(*wait as usize).copied());
            local.waits.extend(inside.filter(|place| *place != u32::MAX));
            local.ends.push(local.waits.len() as u32);
            if let Some(at) = places.get_mut(*node as usize) {
                *at = place;
            }
        }
        local
    }

    fn waits(&self, node: u32) -> &[u32] {
        let end = |node: u32| self.ends.get(node as usize).map_or(0, |end| *end as usize);
        let start = node.checked_sub(1).map_or(0, end);
        self.waits.get(start..end(node)).unwrap_or(&[])
    }
}
