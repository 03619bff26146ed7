//! Plans: which nodes of a partition are launched, and which are interpreted together.

/// A segment takes no longer than this, as estimated: one launch cannot be interrupted.
pub(in crate::graph) const LONGEST_NS: f64 = 10e6;

/// How the nodes of a partition run.
#[derive(Debug, Clone)]
pub(in crate::graph) struct PartitionPlan {
    /// In order, with numbers of the flat graph.
    pub(in crate::graph) units: Vec<Unit>,
    /// Places for tasks in all task lists; 0 where all nodes are launched.
    pub(in crate::graph) tasks: usize,
    /// Nodes that are estimated to cost more are launched.
    pub(in crate::graph) cap_ns: f64,
    /// Why nodes are not interpreted.
    pub(in crate::graph) launched: LaunchReasons,
}

impl PartitionPlan {
    pub(in crate::graph) fn launches(nodes: &[u32], reason: &str) -> Self {
        let units = nodes.iter().map(|node| Unit::Launch(*node)).collect();
        Self { units, tasks: 0, cap_ns: 0.0, launched: LaunchReasons::All(reason.to_owned()) }
    }
}

/// Nodes that are one launch.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::graph) enum Unit {
    /// Of the interpreter.
    TaskList(Box<Run>),
    /// Of one node by itself.
    Launch(u32),
}

/// The nodes of a task list.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::graph) struct Run {
    pub(in crate::graph) nodes: Vec<u32>,
    /// `None`: any will do.
    pub(in crate::graph) program: Option<u32>,
    /// The size of groups that some of them need.
    pub(in crate::graph) local: Option<[u32; 3]>,
    /// More than one share the nodes.
    pub(in crate::graph) groups: u32,
    /// Where the nodes of each group end, which run in order; empty where any group may run any
    /// node.
    pub(in crate::graph) lanes: Vec<u32>,
    /// Where levels end: nodes that do not depend on each other. Empty where they are not known.
    pub(in crate::graph) levels: Vec<u32>,
    /// On one core.
    pub(in crate::graph) cost_ns: f64,
}

impl Run {
    /// How many tasks are left of its level at each of them, itself included; `tasks` says which
    /// nodes are tasks.
    pub(in crate::graph) fn left_of_levels<'t>(
        &self,
        tasks: &'t [Option<u32>],
    ) -> impl Iterator<Item = (u32, u32)> + use<'_, 't> {
        let (mut ends, mut left) = (self.levels.iter().rev().peekable(), 0);
        (0..tasks.len() as u32).zip(tasks).rev().filter_map(move |(node, task)| {
            while ends.next_if(|end| **end > node).is_some() {
                left = 0;
            }
            let task = (*task)?;
            left = if self.levels.is_empty() { 1 } else { left + 1 };
            Some((task, left))
        })
    }

    pub(in crate::graph) fn numbering(&self) -> Numbering<'_> {
        Numbering { lanes: &self.lanes, seen: 0, lane: 0, next: 0, count: 0 }
    }
}

/// Gives nodes of a run, in their order, their places among its tasks: in turn, or strided by group.
pub(in crate::graph) struct Numbering<'r> {
    lanes: &'r [u32],
    seen: u32,
    lane: u32,
    next: u32,
    count: usize,
}

impl Numbering<'_> {
    /// The place of the next node, if it is a task.
    pub(in crate::graph) fn place(&mut self, is_task: bool) -> Option<u32> {
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
    pub(in crate::graph) fn count(&self) -> usize {
        self.count
    }
}

impl Unit {
    /// The nodes in the order in which they run.
    #[cfg(test)]
    pub(in crate::graph) fn nodes(&self) -> &[u32] {
        match self {
            Self::TaskList(run) => &run.nodes,
            Self::Launch(node) => std::slice::from_ref(node),
        }
    }

    pub(in crate::graph) fn nodes_mut(&mut self) -> &mut [u32] {
        match self {
            Self::TaskList(run) => &mut run.nodes,
            Self::Launch(node) => std::slice::from_mut(node),
        }
    }
}

/// Why nodes are not run by the interpreter.
#[derive(Debug, Clone)]
pub(in crate::graph) enum LaunchReasons {
    /// None is, for this reason.
    All(String),
    /// These cannot be, by number; others are too large.
    Some(Vec<(u32, String)>),
}

impl LaunchReasons {
    pub(in crate::graph) fn of(&self, origin: u32) -> String {
        match self {
            Self::All(reason) => reason.clone(),
            Self::Some(refused) => match refused.binary_search_by_key(&origin, |(node, _)| *node) {
                Ok(at) => refused.get(at).map(|(_, reason)| reason.clone()).unwrap_or_default(),
                Err(_) => "a launch of its own is faster".to_owned(),
            },
        }
    }
}
