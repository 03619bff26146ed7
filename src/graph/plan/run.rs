//! Runs of nodes for one launch, and the places of their tasks.

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
    pub(in crate::graph) fn numbering(&self) -> Numbering<'_> {
        Numbering { lanes: &self.lanes, seen: 0, lane: 0, next: 0, count: 0 }
    }
}

/// Gives nodes of a run, in their order, their places among its tasks: in turn, or every so manyth for a group of its own.
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

impl Segment {
    /// The nodes in the order in which they run.
    #[cfg(test)]
    pub(crate) fn nodes(&self) -> &[u32] {
        match self {
            Self::List(run) => &run.nodes,
            Self::Launch(node) => std::slice::from_ref(node),
        }
    }

    pub(in crate::graph) fn nodes_mut(&mut self) -> &mut [u32] {
        match self {
            Self::List(run) => &mut run.nodes,
            Self::Launch(node) => std::slice::from_mut(node),
        }
    }
}
