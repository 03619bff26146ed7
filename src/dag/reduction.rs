//! Edges that follow from others, which no driver needs to see.

/// Finds the edges of each new node that other edges of it imply.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    /// By node: the last node whose search came by.
    seen: Vec<u32>,
    stack: Vec<u32>,
    order: Vec<u32>,
}

impl Reduction {
    /// Keeps those of `waits` that no other of them waits for, directly or by way of others, in
    /// their order. `waits_of` gives the edges of earlier nodes, which have lower numbers than
    /// `node`.
    ///
    /// The search takes time in proportion to the number of edges. In graphs where that is not
    /// enough, edges stay that others imply.
    pub(crate) fn reduce<'a>(
        &mut self,
        node: u32,
        waits: &mut Vec<u32>,
        waits_of: impl Fn(u32) -> &'a [u32],
    ) {
        let Some(first) = waits.iter().copied().min() else { return };
        if waits.len() < 2 {
            return;
        }
        self.seen.resize(node as usize + 1, 0);
        let mut steps = 16 * waits.len() + 256;
        self.order.clone_from(waits);
        self.order.sort_unstable_by(|a, b| b.cmp(a));
        for wait in &self.order {
            if self.seen[*wait as usize] == node {
                continue;
            }
            self.stack.push(*wait);
            while let Some(at) = self.stack.pop() {
                for earlier in waits_of(at).iter().filter(|earlier| **earlier >= first) {
                    steps = steps.saturating_sub(1);
                    let seen = &mut self.seen[*earlier as usize];
                    if *seen != node {
                        *seen = node;
                        self.stack.push(*earlier);
                    }
                }
                if steps == 0 {
                    self.stack.clear();
                }
            }
        }
        waits.retain(|wait| self.seen[*wait as usize] != node);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Reduction;

    /// The edges of nodes, reduced one after the other.
    fn reduced(graph: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut reduction = Reduction::default();
        let mut all: Vec<Vec<u32>> = Vec::new();
        for (node, waits) in graph.iter().enumerate() {
            let mut waits = waits.clone();
            reduction.reduce(node as u32, &mut waits, |earlier| &all[earlier as usize]);
            all.push(waits);
        }
        all
    }

    fn reachable(graph: &[Vec<u32>]) -> Vec<Vec<bool>> {
        let mut all: Vec<Vec<bool>> = Vec::new();
        for waits in graph {
            let mut own = vec![false; graph.len()];
            for wait in waits.iter().map(|wait| *wait as usize) {
                own[wait] = true;
                own.iter_mut().zip(&all[wait]).for_each(|(own, theirs)| *own |= theirs);
            }
            all.push(own);
        }
        all
    }

    #[test]
    fn a_node_after_all_before_it_waits_for_the_last() {
        let graph: Vec<Vec<u32>> = (0..400).map(|node| (0..node).collect()).collect();
        let all = reduced(&graph);
        assert!(all.iter().skip(1).zip(0..).all(|(waits, last)| waits == &[last]));
    }

    proptest! {
        #[test]
        fn the_order_is_the_same_and_no_edge_follows_from_others(
            graph in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..6), 1..40)
        ) {
            let graph: Vec<Vec<u32>> = graph.iter().enumerate().map(|(node, waits)| {
                let mut waits: Vec<u32> = waits.iter().filter(|_| node > 0).map(|wait| wait.index(node) as u32).collect();
                waits.sort_unstable();
                waits.dedup();
                waits
            }).collect();
            let all = reduced(&graph);
            let before = reachable(&graph);
            prop_assert_eq!(&before, &reachable(&all));
            for waits in &all {
                for wait in waits {
                    prop_assert!(!waits.iter().any(|other| before[*other as usize][*wait as usize]));
                }
            }
        }
    }
}
