//! Dominator trees, after Lengauer and Tarjan ("A fast algorithm for finding dominators in a
//! flowgraph", 1979, the simple variant). The algorithm is nearly linear on any graph. Iterative
//! algorithms are not.

/// A directed graph; node 0 is where every way begins.
pub(crate) struct Graph {
    /// Per node where its successors begin in `edges`; one more at the end.
    starts: Vec<usize>,
    edges: Vec<usize>,
}

impl Graph {
    /// No nodes.
    pub(crate) fn new() -> Self {
        Self { starts: vec![0], edges: Vec::new() }
    }

    /// Adds the next node, with its successors, which may be nodes to come.
    pub(crate) fn push(&mut self, successors: impl IntoIterator<Item = usize>) {
        self.edges.extend(successors);
        self.starts.push(self.edges.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn successors(&self, node: usize) -> &[usize] {
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(&begin), Some(&end)) => self.edges.get(begin..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The same nodes, with the edges the other way round, in the order of the nodes. Edges to nodes that are not there go.
    pub(crate) fn reversed(&self) -> Self {
        let count = self.len();
        let mut starts = vec![0; count + 1];
        for &to in self.edges.iter().filter(|&&to| to < count) {
            let before = value(&starts, to + 1);
            set(&mut starts, to + 1, before + 1);
        }
        for i in 0..count {
            let sum = value(&starts, i) + value(&starts, i + 1);
            set(&mut starts, i + 1, sum);
        }
        let mut next = starts.clone();
        let mut edges = vec![0; value(&starts, count)];
        for from in 0..count {
            for &to in self.successors(from).iter().filter(|&&to| to < count) {
                let place = value(&next, to);
                set(&mut edges, place, from);
                set(&mut next, to, place + 1);
            }
        }
        Self { starts, edges }
    }
}

/// Which node lies on all ways from the root of a graph to another.
#[derive(Debug)]
pub struct Tree {
    /// Intervals of nodes: a node is above those whose interval lies within its own. Empty for what is not reached.
    intervals: Vec<(u32, u32)>,
    parents: Vec<usize>,
    /// Place in reverse postorder; [`NONE`] for what is not reached.
    positions: Vec<usize>,
}

const NONE: usize = usize::MAX;

impl Tree {
    /// The tree of the nodes that `root` reaches, by the successors of each.
    pub fn new(successors: &[Vec<usize>], root: usize) -> Self {
        let mut graph = Graph::new();
        successors.iter().for_each(|to| graph.push(to.iter().copied()));
        Self::of(&graph, &graph.reversed(), root)
    }

    /// The tree of a graph; `predecessors` is the graph reversed.
    pub(crate) fn of(graph: &Graph, predecessors: &Graph, root: usize) -> Self {
        let mut search = Search::new(graph, root);
        search.immediate(predecessors);
        let mut parents = vec![NONE; graph.len()];
        for step in &search.steps {
            set(&mut parents, step.node, search.step(step.dominator).node);
        }
        let mut positions = vec![NONE; graph.len()];
        for (position, node) in reverse_postorder(graph, root).into_iter().enumerate() {
            set(&mut positions, node, position);
        }
        Self { intervals: search.intervals(graph.len()), parents, positions }
    }

    /// Whether the root reaches the node.
    #[inline]
    pub fn is_reached(&self, node: usize) -> bool {
        self.intervals.get(node).is_some_and(|&(begin, end)| begin < end)
    }

    /// Whether `a` is `b` or above it. What is not reached has nobody above it.
    #[inline]
    pub fn is_ancestor(&self, a: usize, b: usize) -> bool {
        match (self.intervals.get(a), self.intervals.get(b)) {
            (Some(a), Some(b)) => a.0 < a.1 && a.0 <= b.0 && b.1 <= a.1 && b.0 < b.1,
            _ => false,
        }
    }

    /// The last node before a node that all ways lead through.
    pub fn above(&self, node: usize) -> Option<usize> {
        Some(self.parent(node)).filter(|parent| *parent != NONE && *parent != node)
    }

    /// The same; the root is its own, and what is not reached has [`NONE`].
    pub(super) fn parent(&self, node: usize) -> usize {
        value(&self.parents, node)
    }

    /// The last node that all ways to two nodes lead through. It may be one of them. Both must be reached.
    pub(super) fn common(&self, mut a: usize, b: usize) -> Option<usize> {
        while !self.is_ancestor(a, b) {
            a = self.above(a)?;
        }
        Some(a)
    }

    /// Position of a node in reverse postorder.
    pub fn position(&self, node: usize) -> usize {
        value(&self.positions, node)
    }
}

fn reverse_postorder(graph: &Graph, root: usize) -> Vec<usize> {
    let mut seen = vec![false; graph.len()];
    let mut order = Vec::new();
    let mut open = vec![(root, 0)];
    if let Some(place) = seen.get_mut(root) {
        *place = true;
    }
    while let Some((node, next)) = open.last_mut() {
        let to = graph.successors(*node).get(*next).copied();
        *next += 1;
        match to {
            Some(to) => {
                if let Some(place) = seen.get_mut(to).filter(|seen| !**seen) {
                    *place = true;
                    open.push((to, 0));
                }
            }
            None => {
                order.push(*node);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

/// What is known of the `i`th node that the search met. Other nodes are given by such numbers, too.
#[derive(Clone, Copy)]
struct Step {
    /// The node in the graph.
    node: usize,
    parent: usize,
    semidominator: usize,
    dominator: usize,
    /// Links of the forest of nodes that were handled, with compressed paths.
    ancestor: usize,
    label: usize,
    /// A list of nodes: first those that wait for this one to be handled, then the children in the
    /// tree.
    first: usize,
    next: usize,
}

const NO_STEP: Step = Step {
    node: NONE,
    parent: NONE,
    semidominator: NONE,
    dominator: 0,
    ancestor: NONE,
    label: NONE,
    first: NONE,
    next: NONE,
};

struct Search {
    steps: Vec<Step>,
    /// Number of a node of the graph; [`NONE`] where the search did not come.
    number: Vec<usize>,
    path: Vec<usize>,
}

impl Search {
    /// Walks the graph depth first.
    fn new(graph: &Graph, root: usize) -> Self {
        let mut steps = Vec::with_capacity(graph.len());
        let mut number = vec![NONE; graph.len()];
        let mut stack = vec![(root, 0)];
        while let Some((node, parent)) = stack.pop() {
            if number.get(node) != Some(&NONE) {
                continue;
            }
            let here = steps.len();
            set(&mut number, node, here);
            steps.push(Step { node, parent, semidominator: here, label: here, ..NO_STEP });
            stack.extend(graph.successors(node).iter().rev().map(|&next| (next, here)));
        }
        Self { steps, number, path: Vec::new() }
    }

    #[inline]
    fn step(&self, at: usize) -> Step {
        self.steps.get(at).copied().unwrap_or(NO_STEP)
    }

    #[inline]
    fn change(&mut self, at: usize, change: impl FnOnce(&mut Step)) {
        if let Some(step) = self.steps.get_mut(at) {
            change(step);
        }
    }

    /// Puts `at` before the list of `owner`.
    fn link(&mut self, owner: usize, at: usize) {
        let head = self.step(owner).first;
        self.change(at, |s| s.next = head);
        self.change(owner, |s| s.first = at);
    }

    /// Finds the immediate dominator of each node.
    fn immediate(&mut self, predecessors: &Graph) {
        for at in (1..self.steps.len()).rev() {
            for &from in predecessors.successors(self.step(at).node) {
                let from = value(&self.number, from);
                // What the search did not reach leads nowhere.
                if from == NONE {
                    continue;
                }
                let best = self.evaluate(from);
                let candidate = self.step(best).semidominator;
                self.change(at, |s| s.semidominator = s.semidominator.min(candidate));
            }
            self.link(self.step(at).semidominator, at);
            let above = self.step(at).parent;
            self.change(at, |s| s.ancestor = above);
            let mut waiting = self.step(above).first;
            self.change(above, |s| s.first = NONE);
            while waiting != NONE {
                let best = self.evaluate(waiting);
                let sooner = self.step(best).semidominator < self.step(waiting).semidominator;
                self.change(waiting, |s| s.dominator = if sooner { best } else { above });
                waiting = self.step(waiting).next;
            }
        }
        for at in 1..self.steps.len() {
            let step = self.step(at);
            if step.dominator != step.semidominator {
                let above = self.step(step.dominator).dominator;
                self.change(at, |s| s.dominator = above);
            }
        }
    }

    /// The node with the least semidominator on the path from `at` to the root of its tree in the
    /// forest.
    fn evaluate(&mut self, at: usize) -> usize {
        if self.step(at).ancestor == NONE {
            return self.step(at).label;
        }
        // The path up to the node below the root, then compressed from the top.
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push(at);
        let mut up = self.step(at).ancestor;
        while self.step(up).ancestor != NONE {
            path.push(up);
            up = self.step(up).ancestor;
        }
        path.pop();
        for &below in path.iter().rev() {
            let above = self.step(self.step(below).ancestor);
            let sooner =
                self.step(above.label).semidominator < self.step(self.step(below).label).semidominator;
            self.change(below, |s| {
                s.ancestor = above.ancestor;
                if sooner {
                    s.label = above.label;
                }
            });
        }
        self.path = path;
        self.step(at).label
    }

    /// Entry and exit times of a walk over the tree, by node of the graph.
    fn intervals(&mut self, count: usize) -> Vec<(u32, u32)> {
        self.steps.iter_mut().for_each(|step| step.first = NONE);
        for at in 1..self.steps.len() {
            self.link(self.step(at).dominator, at);
        }
        let mut interval = vec![(0, 0); count];
        let mut time = 0;
        let mut stack = vec![(0, false)];
        while let Some((at, leaving)) = stack.pop() {
            let Some(place) = interval.get_mut(self.step(at).node) else { continue };
            time += 1;
            if leaving {
                place.1 = time;
                continue;
            }
            place.0 = time;
            stack.push((at, true));
            let mut child = self.step(at).first;
            while child != NONE {
                stack.push((child, false));
                child = self.step(child).next;
            }
        }
        interval
    }
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
            let tree = Tree::new(&successors, 0);
            for b in (0..12).filter(|&b| tree.is_reached(b)) {
                for a in (0..12).filter(|&a| tree.is_reached(a)) {
                    assert_eq!(tree.is_ancestor(a, b), a == b || slow(&successors, a, b), "{a} {b} {successors:?}");
                }
            }
            assert!(tree.is_reached(0));
        }
    }

    #[test]
    fn a_long_ladder_takes_no_time() {
        let count = if cfg!(miri) { 2_000 } else { 200_000 };
        let successors: Vec<Vec<usize>> =
            (0..count).map(|i| [i + 1, i + 2, i / 2].into_iter().filter(|&n| n < count).collect()).collect();
        let tree = Tree::new(&successors, 0);
        assert!(tree.is_ancestor(0, count - 1));
        assert!(!tree.is_ancestor(count / 2, count - 1));
    }

    /// 0 → 1 ⇄ 2, 1 → 3, with 4 out of reach.
    const GRAPH: [&[usize]; 5] = [&[1], &[2, 3], &[1], &[], &[3]];

    #[test]
    fn dominators_of_a_loop() {
        let graph: Vec<Vec<usize>> = GRAPH.iter().map(|to| to.to_vec()).collect();
        let tree = Tree::new(&graph, 0);
        assert_eq!(tree.position(0), 0);
        assert!(tree.is_ancestor(1, 2) && tree.is_ancestor(1, 3) && tree.is_ancestor(0, 3));
        assert!(!tree.is_ancestor(2, 3) && !tree.is_ancestor(0, 4) && !tree.is_ancestor(4, 3));
        assert_eq!([0, 1, 2, 3, 4].map(|node| tree.above(node)), [None, Some(0), Some(1), Some(1), None]);
        assert_eq!((tree.common(2, 3), tree.common(3, 3)), (Some(1), Some(3)));
    }
}
