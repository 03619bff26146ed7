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
//!   the first one. PoCL 6.0 gets this wrong, too.

use std::collections::{BTreeMap, BTreeSet};

use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{Uniformity, condition};

/// How edges to blocks that others lead to are counted.
#[derive(Clone, Copy)]
pub(super) enum Edges<'a> {
    /// Those to one of these blocks or to the end of the kernel are one, if they come from one choice.
    /// PoCL joins them.
    Joined(&'a BTreeSet<usize>),
    /// Each counts.
    All,
    /// Each counts, and a block that chooses by its own phi counts as behind if a block behind only
    /// leads there. LLVM may put a copy of it there (`duplicateCondBranchOnPHIIntoPred` of
    /// `JumpThreading.cpp`). This was seen on 6.0 only.
    AllWithCopies,
}

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

/// Whether work-items may part behind a barrier of the source, as [`parts`] says. Barriers also stand at
/// the end of a loop with barriers, and before the conditions above a barrier: PoCL's or ours.
pub(super) fn parts_behind_source(uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) -> bool {
    let joins = barriers_of(uniformity, flow);
    let has_barrier = |of: &&Loop| of.blocks.iter().any(|at| joins.contains(at));
    let exits = flow.loops.iter().filter(has_barrier).flat_map(|of| flow.exiting(of));
    let above = joins.iter().flat_map(|at| flow.conditions_above(*at)).filter(|at| !flow.ends_loop(*at));
    let others: BTreeSet<usize> = exits.chain(above).collect();
    let mut barriers = joins.iter().map(|at| (*at, true)).chain(others.into_iter().map(|at| (at, false)));
    barriers.any(|barrier| parts(uniformity, flow, Edges::Joined(&joins), barrier))
}

/// The blocks with barriers of the source.
pub(super) fn barriers_of(uniformity: &Uniformity<'_, '_>, flow: &Flow<'_>) -> BTreeSet<usize> {
    (0..flow.blocks.len()).filter(|at| uniformity.is_barrier(flow, *at)).collect()
}

/// Whether work-items may part behind a barrier of a block, and come by several edges to blocks that
/// others lead to. At the block's own end they part only where the barrier stands at its start.
///
/// All edges count for a barrier before a condition that leads to the same block as the ways behind it.
/// There, groups of one work-item ran these ways twice.
pub(super) fn parts(
    uniformity: &Uniformity<'_, '_>,
    flow: &Flow<'_>,
    counted: Edges<'_>,
    (barrier, at_start): (usize, bool),
) -> bool {
    let edges = |from| edges(uniformity, flow, counted, barrier, from);
    let (all, behind) = edges(barrier);
    all > 1
        && behind.into_iter().any(|at| {
            let value = condition(flow, at).filter(|_| at_start || at != barrier);
            value.is_some_and(|value| !uniformity.is_uniform(flow, vec![value])) && edges(at).0 > 1
        })
}

/// Follows a block and what comes after it, up to blocks that are not only behind the barrier. Gives
/// the number of edges to those, and the blocks from which they may lead. Edges that close a loop do
/// not count.
fn edges(
    uniformity: &Uniformity<'_, '_>,
    flow: &Flow<'_>,
    counted: Edges<'_>,
    barrier: usize,
    from: usize,
) -> (usize, BTreeSet<usize>) {
    let is_joined = |to| match counted {
        Edges::Joined(joins) => joins.contains(&to) || successors(flow, to).is_empty(),
        Edges::All | Edges::AllWithCopies => false,
    };
    let is_copied = |at, to| {
        matches!(counted, Edges::AllWithCopies)
            && successors(flow, at).len() == 1
            && uniformity.chooses_by_phi(flow, to)
    };
    let (mut count, mut joined) = (0, BTreeMap::<usize, Vec<usize>>::new());
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = open.pop() {
        for &to in successors(flow, at).iter().filter(|to| !flow.dominates(**to, at)) {
            if flow.dominates(barrier, to) || is_copied(at, to) {
                if seen.insert(to) {
                    open.push(to);
                }
            } else if is_joined(to) {
                joined.entry(to).or_default().push(at);
            } else {
                count += 1;
            }
        }
    }
    count += joined
        .iter()
        .map(|(to, from)| if are_joined(flow, *to, from) { 1 } else { from.len() })
        .sum::<usize>();
    (count, seen)
}

/// Whether edges that lead from these blocks to a barrier or to the end of the kernel become one. They do
/// where one branch decides between all of them, and nothing else leads away behind it. PoCL joins
/// what leaves a region of LLVM's. Where such regions are nested, what leaves the inner one stays apart.
fn are_joined(flow: &Flow<'_>, to: usize, from: &[usize]) -> bool {
    let mut choices = (1..from.len())
        .flat_map(|second| (0..second).map(move |first| (first, second)))
        .filter_map(|(first, second)| flow.common_dominator(*from.get(first)?, *from.get(second)?));
    let Some(choice) = choices.next() else { return true };
    choices.all(|other| other == choice) && {
        let (mut seen, mut open) = (BTreeSet::from([choice]), vec![choice]);
        while let Some(at) = open.pop() {
            open.extend(successors(flow, at).iter().filter(|next| **next != to && seen.insert(**next)));
        }
        seen.into_iter().all(|at| flow.dominates(choice, at))
    }
}

fn successors<'f>(flow: &'f Flow<'_>, block: usize) -> &'f [usize] {
    flow.blocks.get(block).map(|block| block.successors.as_slice()).unwrap_or_default()
}
