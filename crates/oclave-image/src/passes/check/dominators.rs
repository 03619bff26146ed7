//! Dominator trees, after Lengauer and Tarjan ("A fast algorithm for finding dominators in a flowgraph", 1979, the
//! simple variant): nearly linear on any graph, which the iterative algorithms are not.

/// Which node lies on every way from node 0 to another.
pub(super) struct Dominators {
    /// Interval of a node in the tree; a node dominates those whose interval lies within its own.
    interval: Vec<(u32, u32)>,
}

const NONE: usize = usize::MAX;

impl Dominators {
    /// The tree of a graph given as lists of successors; node 0 is the root.
    pub(super) fn new(successors: &[Vec<usize>]) -> Self {
        let count = successors.len();
        let (order, parent) = depth_first(successors);
        let mut number = vec![NONE; count];
        for (i, &node) in order.iter().enumerate() {
            set(&mut number, node, i);
        }
        // Predecessors, in numbers of the search; what it did not reach has none.
        let mut predecessors = vec![Vec::new(); order.len()];
        for (i, &node) in order.iter().enumerate() {
            for &next in successors.get(node).into_iter().flatten() {
                if let Some(list) = number.get(next).and_then(|&n| predecessors.get_mut(n)) {
                    list.push(i);
                }
            }
        }
        let immediate = immediate(&predecessors, &parent);
        Self { interval: intervals(&immediate, &order, count) }
    }

    /// Whether the search from the root reaches a node.
    pub(super) fn is_reachable(&self, node: usize) -> bool {
        self.interval.get(node).is_some_and(|&(begin, end)| begin < end)
    }

    /// Whether every way to `b` goes through `a`. Both must be reachable.
    pub(super) fn dominates(&self, a: usize, b: usize) -> bool {
        match (self.interval.get(a), self.interval.get(b)) {
            (Some(a), Some(b)) => a.0 <= b.0 && b.1 <= a.1,
            _ => false,
        }
    }
}

/// Nodes in preorder, and for each the number of its parent.
fn depth_first(successors: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut order = Vec::new();
    let mut parent = Vec::new();
    let mut seen = vec![false; successors.len()];
    let mut stack = vec![(0, 0)];
    while let Some((node, from)) = stack.pop() {
        match seen.get_mut(node) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let number = order.len();
        order.push(node);
        parent.push(from);
        stack.extend(successors.get(node).into_iter().flatten().rev().map(|&next| (next, number)));
    }
    (order, parent)
}

/// The immediate dominator of each node, in numbers of the search.
fn immediate(predecessors: &[Vec<usize>], parent: &[usize]) -> Vec<usize> {
    let count = parent.len();
    let mut semi: Vec<usize> = (0..count).collect();
    let mut dominator = vec![0; count];
    let mut buckets = vec![Vec::new(); count];
    let mut forest = Forest { ancestor: vec![NONE; count], label: (0..count).collect() };
    for node in (1..count).rev() {
        for &from in predecessors.get(node).into_iter().flatten() {
            let best = forest.evaluate(from, &semi);
            let candidate = value(&semi, best);
            if candidate < value(&semi, node) {
                set(&mut semi, node, candidate);
            }
        }
        if let Some(bucket) = buckets.get_mut(value(&semi, node)) {
            bucket.push(node);
        }
        let above = value(parent, node);
        set(&mut forest.ancestor, node, above);
        for waiting in buckets.get_mut(above).map(std::mem::take).unwrap_or_default() {
            let best = forest.evaluate(waiting, &semi);
            let decided = if value(&semi, best) < value(&semi, waiting) { best } else { above };
            set(&mut dominator, waiting, decided);
        }
    }
    for node in 1..count {
        if value(&dominator, node) != value(&semi, node) {
            let above = value(&dominator, value(&dominator, node));
            set(&mut dominator, node, above);
        }
    }
    dominator
}

/// The forest of nodes that were handled, with compressed paths.
struct Forest {
    ancestor: Vec<usize>,
    label: Vec<usize>,
}

impl Forest {
    /// The node with the least semidominator on the path from `node` to its root.
    fn evaluate(&mut self, node: usize, semi: &[usize]) -> usize {
        if value(&self.ancestor, node) == NONE {
            return value(&self.label, node);
        }
        // The path up to the node below the root, then compressed from the top.
        let mut path = vec![node];
        let mut at = value(&self.ancestor, node);
        while value(&self.ancestor, at) != NONE {
            path.push(at);
            at = value(&self.ancestor, at);
        }
        path.pop();
        for &below in path.iter().rev() {
            let above = value(&self.ancestor, below);
            let (mine, theirs) = (value(&self.label, below), value(&self.label, above));
            if value(semi, theirs) < value(semi, mine) {
                set(&mut self.label, below, theirs);
            }
            let top = value(&self.ancestor, above);
            set(&mut self.ancestor, below, top);
        }
        value(&self.label, node)
    }
}

/// Entry and exit times of a walk over the tree, by node of the graph.
fn intervals(immediate: &[usize], order: &[usize], count: usize) -> Vec<(u32, u32)> {
    let mut children = vec![Vec::new(); immediate.len()];
    for (node, &above) in immediate.iter().enumerate().skip(1) {
        if let Some(list) = children.get_mut(above) {
            list.push(node);
        }
    }
    let mut interval = vec![(0, 0); count];
    let mut time = 0;
    let mut stack = vec![(0, false)];
    while let Some((node, leaving)) = stack.pop() {
        let Some(place) = order.get(node).and_then(|&n| interval.get_mut(n)) else { continue };
        time += 1;
        if leaving {
            place.1 = time;
        } else {
            place.0 = time;
            stack.push((node, true));
            stack.extend(children.get(node).into_iter().flatten().map(|&child| (child, false)));
        }
    }
    interval
}

fn value(of: &[usize], at: usize) -> usize {
    of.get(at).copied().unwrap_or(NONE)
}

fn set(of: &mut [usize], at: usize, to: usize) {
    if let Some(place) = of.get_mut(at) {
        *place = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node dominates another where the other cannot be reached without it.
    fn slow(successors: &[Vec<usize>], a: usize, b: usize) -> bool {
        let mut seen = vec![false; successors.len()];
        let mut stack = vec![0];
        while let Some(node) = stack.pop() {
            if node == a || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            stack.extend(&successors[node]);
        }
        !seen[b]
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_the_definition(edges in proptest::collection::vec((0_usize..12, 0_usize..12), 0..40)) {
            let mut successors = vec![Vec::new(); 12];
            edges.iter().for_each(|&(a, b)| successors[a].push(b));
            let tree = Dominators::new(&successors);
            for b in (0..12).filter(|&b| tree.is_reachable(b)) {
                for a in (0..12).filter(|&a| tree.is_reachable(a)) {
                    assert_eq!(tree.dominates(a, b), a == b || slow(&successors, a, b), "{a} {b} {successors:?}");
                }
            }
            assert!(tree.is_reachable(0));
        }
    }

    #[test]
    fn a_long_ladder_takes_no_time() {
        let count = 200_000;
        let successors: Vec<Vec<usize>> =
            (0..count).map(|i| [i + 1, i + 2, i / 2].into_iter().filter(|&n| n < count).collect()).collect();
        let tree = Dominators::new(&successors);
        assert!(tree.dominates(0, count - 1));
        assert!(!tree.dominates(count / 2, count - 1));
    }
}
