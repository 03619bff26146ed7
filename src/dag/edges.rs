//! The edges of a graph that grows no more.

/// For each node, by number, the nodes at the other ends of its edges.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// Where the list of each node ends.
    ends: Vec<usize>,
    /// The lists, one behind the other.
    nodes: Vec<u32>,
}

impl Edges {
    /// Adds the edges of the next node.
    pub(crate) fn push(&mut self, nodes: impl IntoIterator<Item = u32>) {
        self.nodes.extend(nodes);
        self.ends.push(self.nodes.len());
    }

    /// The edges of a node, in the order in which they were added.
    pub(crate) fn of(&self, node: u32) -> &[u32] {
        let end = |node: u32| self.ends.get(node as usize).copied();
        debug_assert!(end(node).is_some(), "node {node} of {}", self.ends.len());
        let start = node.checked_sub(1).and_then(end).unwrap_or(0);
        end(node).and_then(|end| self.nodes.get(start..end)).unwrap_or(&[])
    }

    /// How many edges there are.
    pub(crate) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The edges of so many nodes from their other ends, in the order of the nodes that `of` gives
    /// them for.
    pub(crate) fn reversed<'a>(nodes: usize, of: impl Fn(u32) -> &'a [u32]) -> Self {
        let all = || (0..nodes as u32).flat_map(|node| of(node).iter().map(move |end| (node, *end as usize)));
        // Where each list begins, and in the end where it ends.
        let mut ends = vec![0; nodes];
        for (_, end) in all() {
            debug_assert!(end < nodes, "an edge leads out of the graph");
            if let Some(next) = ends.get_mut(end + 1) {
                *next += 1;
            }
        }
        let mut count = 0;
        for end in &mut ends {
            count += *end;
            *end = count;
        }
        let mut reversed = vec![0; all().count()];
        for (node, end) in all() {
            if let Some(next) = ends.get_mut(end)
                && let Some(place) = reversed.get_mut(*next)
            {
                *place = node;
                *next += 1;
            }
        }
        Self { ends, nodes: reversed }
    }
}
