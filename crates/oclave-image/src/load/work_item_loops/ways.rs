//! Ways behind barriers that PoCL gets wrong. The first form below was seen on 7.1 only.
//!
//! PoCL copies what follows a barrier, so that each way has an end of its own. It does so wherever the
//! way comes to a block that others lead to as well. Then it runs what is between two barriers in a
//! loop over work-items, once for each pair of barriers. Two forms go wrong:
//!
//! - A barrier stands at the end of a block with more than two ways (`splits_choice`). Several of them
//!   meet before the next barrier. PoCL puts one of them into the loop. The others run once, or the
//!   process ends ("Could not find a dominating alternative variable").
//! - Behind a barrier, work-items take different ways, and each of the ways leads to a block that
//!   others lead to (`parts`). Then each way has an end of its own, and all work-items take the way of
//!   the first one.

use std::collections::BTreeSet;

use crate::analysis::control_flow::Flow;
use crate::analysis::uniformity::{Uniformity, condition};

/// Whether the device's compiler puts a barrier between one of these conditions, from the inside, and
/// its ways, and the condition has more than two. It does so at the first condition above a barrier.
/// That is the innermost one, and the one above each condition that gets a barrier before it.
pub(super) fn splits_choice(flow: &Flow<'_>, conditions: &[usize]) -> bool {
    let is_first = |at: usize| {
        let inner = conditions.get(at.wrapping_sub(1));
        at == 0 || (at > 1 && inner.is_some_and(|inner| !flow.ends_loop(*inner)))
    };
    let count = |at: usize| successors(flow, at).iter().collect::<BTreeSet<_>>().len();
    conditions.iter().enumerate().any(|(at, condition)| is_first(at) && count(*condition) > 2)
}

/// Whether work-items may part behind a barrier of a block, and come by several edges to blocks that
/// others lead to. At the block's own end they part only where the barrier stands at its start.
///
/// PoCL first joins edges that lead to a barrier (`joins`) or to the end of the kernel.
/// Without `joins` all edges count. So it is for a barrier before a condition that leads to the same block
/// as the ways behind it. There, groups of one work-item ran these ways twice.
pub(super) fn parts(
    uniformity: &Uniformity<'_, '_>,
    flow: &Flow<'_>,
    joins: Option<&BTreeSet<usize>>,
    (barrier, at_start): (usize, bool),
) -> bool {
    let (all, behind) = edges(flow, joins, barrier, barrier);
    all > 1
        && behind.into_iter().any(|at| {
            let value = condition(flow, at).filter(|_| at_start || at != barrier);
            value.is_some_and(|value| !uniformity.is_uniform(flow, vec![value]))
                && edges(flow, joins, barrier, at).0 > 1
        })
}

/// Follows a block and what comes after it, up to blocks that are not only behind the barrier. Gives
/// the number of edges to those, and the blocks from which they may lead. Edges that close a loop do
/// not count.
fn edges(
    flow: &Flow<'_>,
    joins: Option<&BTreeSet<usize>>,
    barrier: usize,
    from: usize,
) -> (usize, BTreeSet<usize>) {
    let (mut count, mut joined) = (0, BTreeSet::new());
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = open.pop() {
        for &to in successors(flow, at).iter().filter(|to| !flow.dominates(**to, at)) {
            if flow.dominates(barrier, to) {
                if seen.insert(to) {
                    open.push(to);
                }
            } else if joins.is_some_and(|joins| joins.contains(&to) || successors(flow, to).is_empty()) {
                joined.insert(to);
            } else {
                count += 1;
            }
        }
    }
    (count + joined.len(), seen)
}

fn successors<'f>(flow: &'f Flow<'_>, block: usize) -> &'f [usize] {
    flow.blocks.get(block).map(|block| block.successors.as_slice()).unwrap_or_default()
}
