//! Which nodes of a graph are ready: a topological order that is asked for node by node.

/// What each node still waits for.
pub(in crate::graph) struct Waiting {
    /// By node, how many.
    pub(in crate::graph) missing: Vec<u32>,
    /// Where each node's successors begin.
    starts: Vec<usize>,
    successors: Vec<u32>,
}

impl Waiting {
    pub(in crate::graph) fn new<'a>(count: usize, predecessors: impl Fn(u32) -> &'a [u32]) -> Self {
        let all = 0..count as u32;
        let mut starts = vec![0_usize; count + 1];
        let mut missing = Vec::with_capacity(count);
        for node in all.clone() {
            let before = predecessors(node);
            debug_assert!(
                before.iter().all(|wait| (*wait as usize) < count),
                "an edge leads out of the graph"
            );
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
    pub(in crate::graph) fn done(&mut self, node: u32, mut ready: impl FnMut(u32)) {
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
