//! Rounds of a loop that leave one of its values as it is.
//!
//! LLVM makes an inner loop of such rounds (`separateNestedLoop` of its `loop-simplify`, which PoCL
//! runs):
//!
//! ```text
//! do {
//!     if (b > 0) n += in[b];
//! } while (b <= 0 || n < id);
//! ```
//!
//! The inner loop runs while `b <= 0`. This is the same for all work-items, so PoCL puts barriers into
//! it. But work-items leave the loop around it one by one. So the condition under which a round is idle
//! is made to depend on the work-item, as the ends of inner loops are.

use std::collections::{BTreeSet, HashSet};

use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{Definitions, Instruction, Op};

/// The labels of blocks whose branches lead from an idle round to another one, in loops that
/// work-items come to or leave one by one. With each, whether the round is idle when the condition is true.
pub(super) fn ends(
    definitions: &Definitions<'_>,
    uniformity: &Uniformity<'_, '_>,
    flow: &Flow<'_>,
) -> Vec<(u32, bool)> {
    let is_run_together =
        |of: &Loop| uniformity.keeps_together(flow, of) && uniformity.is_reached_together(flow, of);
    let loops = flow.loops.iter().filter(|of| !is_run_together(of));
    let full = full_blocks(definitions, flow);
    loops.flat_map(|of| ends_of_loop(definitions, flow, of, &full)).collect()
}

/// The labels of blocks that do more than to choose a value and to lead to another block.
fn full_blocks(definitions: &Definitions<'_>, flow: &Flow<'_>) -> HashSet<u32> {
    let is_more = |i: Instruction<'_>| {
        let is_less = |op| {
            matches!(op, Op::Phi | Op::Branch | Op::Line | Op::NoLine | Op::LoopMerge | Op::SelectionMerge)
        };
        !i.op().is_some_and(is_less)
    };
    let labels = flow.blocks.iter().map(|block| block.label);
    labels.filter(|label| definitions.block(*label).any(is_more)).collect()
}

fn ends_of_loop(
    definitions: &Definitions<'_>,
    flow: &Flow<'_>,
    of: &Loop,
    full: &HashSet<u32>,
) -> Vec<(u32, bool)> {
    let mut ends = Vec::new();
    let mut phis: Vec<u32> =
        flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi).collect();
    phis.sort_unstable();
    for phi in phis {
        let edges = idle_edges(definitions, flow, of, phi, full);
        let idle = blocks_before(flow, of, &edges);
        for (at, block) in idle.iter().filter_map(|at| Some((*at, flow.blocks.get(*at)?))) {
            let stays = |to: usize| (to != of.header && idle.contains(&to)) || edges.contains(&(at, to));
            let &[yes, no] = block.successors.as_slice() else { continue };
            if stays(yes) != stays(no) && block.terminator.is_some_and(|end| end.is(Op::BranchConditional)) {
                ends.push((block.label, stays(yes)));
            }
        }
    }
    ends
}

/// The edges on which a phi of a loop's header gets its own value for the next round. They lead to the
/// header, or to blocks that do nothing else.
fn idle_edges(
    definitions: &Definitions<'_>,
    flow: &Flow<'_>,
    of: &Loop,
    phi: u32,
    full: &HashSet<u32>,
) -> BTreeSet<(usize, usize)> {
    let (mut edges, mut seen, mut open) = (BTreeSet::new(), BTreeSet::from([phi]), vec![phi]);
    while let Some(next) = open.pop() {
        let Some((to, instruction)) = flow.phis.get(&next).copied().zip(definitions.instruction(next)) else {
            continue;
        };
        for pair in instruction.operands().chunks_exact(2) {
            let &[value, label] = pair else { continue };
            let Some(from) = flow.find(label).filter(|from| of.blocks.contains(from)) else { continue };
            if value == phi {
                edges.insert((from, to));
            } else if flow.phis.get(&value) == Some(&from) && !full.contains(&label) && seen.insert(value) {
                open.push(value);
            }
        }
    }
    edges
}

/// The blocks of a loop from which some edges are reached in the same round.
fn blocks_before(flow: &Flow<'_>, of: &Loop, edges: &BTreeSet<(usize, usize)>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open: Vec<usize> = edges.iter().map(|(from, _)| *from).collect();
    while let Some(at) = open.pop() {
        if found.insert(at) && at != of.header {
            let before = flow.blocks.get(at).into_iter().flat_map(|block| &block.predecessors);
            open.extend(before.filter(|at| of.blocks.contains(at)));
        }
    }
    found
}
