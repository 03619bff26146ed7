//! How deep conditions nest in a function once a compiler has made structured code of it.
//!
//! Mesa's structurizer (`nir_lower_goto_ifs`) writes what a block dominates behind it. What does not
//! always follow it is under a condition. Several such blocks are chosen among by more conditions.
//! A switch is a chain of comparisons there, one for each block that it leads to.

use std::collections::HashMap;

use oclave_spirv::analysis::control_flow::{Block, Flow, Tree, targets};
use oclave_spirv::{Definitions, Op};

/// The most iterations of a loop that Mesa unrolls.
const ITERATIONS: usize = 32;
/// A loop is unrolled if all its iterations together have no more instructions, about.
const UNROLLED: usize = 1664;

/// The nesting of a function.
#[derive(Debug)]
pub(crate) struct Nesting {
    /// For each block, the conditions around it.
    pub(crate) conditions: Vec<usize>,
    /// For each block, the block before it that all ways lead through, and the conditions between.
    pub(crate) steps: Vec<Option<(usize, usize)>>,
    /// Blocks in an order in which each stands behind the one that dominates it.
    pub(crate) order: Vec<usize>,
}

impl Nesting {
    pub(crate) fn of(definitions: &Definitions<'_>, flow: &Flow<'_>) -> Self {
        let graph = expanded(definitions, flow);
        let count = graph.len();
        let forward = Tree::new(&graph, 0);
        // A node behind all that end the function is the root of the reversed graph.
        let mut backward = vec![Vec::new(); count + 1];
        for (at, successors) in graph.iter().enumerate() {
            for to in successors {
                if let Some(list) = backward.get_mut(*to) {
                    list.push(at);
                }
            }
        }
        let ends = |at: &usize| graph.get(*at).is_some_and(Vec::is_empty);
        if let Some(list) = backward.get_mut(count) {
            list.extend((0..count).filter(ends));
        }
        let back = Tree::new(&backward, count);

        let parent = |at: usize| forward.above(at);
        let always = |at: usize| parent(at).is_some_and(|parent| back.is_ancestor(at, parent));
        let mut under = vec![0_usize; count];
        for at in (0..count).filter(|at| !always(*at)) {
            if let Some(number) = parent(at).and_then(|parent| under.get_mut(parent)) {
                *number += 1;
            }
        }
        let mut order: Vec<usize> = (0..count).filter(|at| forward.is_reached(*at)).collect();
        order.sort_by_key(|at| forward.position(*at));
        let mut conditions = vec![0; count];
        let mut steps = vec![None; count];
        for at in order.iter().copied() {
            let Some(parent) = parent(at) else { continue };
            let step = if always(at) { 0 } else { choices(under.get(parent).copied().unwrap_or(0)) };
            let above = conditions.get(parent).copied().unwrap_or(0);
            if let (Some(here), Some(place)) = (conditions.get_mut(at), steps.get_mut(at)) {
                *here = above + step;
                *place = Some((parent, step));
            }
        }
        Self { conditions, steps, order }
    }
}

/// The conditions at the end of a block that chooses.
pub(crate) fn own(block: &Block<'_>) -> usize {
    usize::from(block.successors.len() > 1)
}

/// How many conditions choose among blocks.
fn choices(blocks: usize) -> usize {
    match blocks {
        0..=2 => 1,
        _ => 1 + blocks.next_power_of_two().ilog2() as usize,
    }
}

/// For each block, how many conditions the loop around it may add when it is unrolled. The iterations of a loop with several exits
/// are one inside the other.
pub(crate) fn by_unrolling(definitions: &Definitions<'_>, flow: &Flow<'_>) -> Vec<usize> {
    let size = |label| definitions.block(label).count();
    let sizes: Vec<usize> = flow.blocks.iter().map(|block| size(block.label)).collect();
    let mut added = vec![0; flow.blocks.len()];
    for of in flow.loops.iter().filter(|of| flow.exiting(of).len() > 1) {
        let size: usize = of.blocks.iter().filter_map(|block| sizes.get(*block)).sum();
        let iterations = ITERATIONS.min(UNROLLED / size.max(1));
        for block in of.blocks.iter().filter(|_| iterations > 1) {
            if let Some(added) = added.get_mut(*block) {
                *added = iterations.max(*added);
            }
        }
    }
    added
}

/// The successors of each block. A switch has a node for each comparison behind the first, behind
/// the blocks.
fn expanded(definitions: &Definitions<'_>, flow: &Flow<'_>) -> Vec<Vec<usize>> {
    let places: HashMap<u32, usize> =
        flow.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
    let mut graph: Vec<Vec<usize>> = vec![Vec::new(); flow.blocks.len()];
    for (at, block) in flow.blocks.iter().enumerate() {
        let mut targets: Vec<usize> = Vec::new();
        for label in labels(definitions, block) {
            targets.extend(places.get(&label).filter(|to| !targets.contains(to)));
        }
        let mut from = at;
        let is_switch = block.terminator.is_some_and(|end| end.is(Op::Switch));
        while is_switch && targets.len() > 2 {
            let (first, rest) = (targets.first().copied(), targets.len() - 1);
            let next = graph.len();
            graph.push(Vec::new());
            if let Some(list) = graph.get_mut(from) {
                list.extend(first.into_iter().chain([next]));
            }
            targets.drain(..targets.len() - rest);
            from = next;
        }
        if let Some(list) = graph.get_mut(from) {
            list.extend(targets);
        }
    }
    graph
}

/// The labels that a block leads to, each as often as it is named; the default of a switch last.
pub(crate) fn labels(definitions: &Definitions<'_>, block: &Block<'_>) -> Vec<u32> {
    let Some(end) = block.terminator else { return Vec::new() };
    let mut labels = targets(definitions, &end);
    if end.is(Op::Switch) && !labels.is_empty() {
        labels.rotate_left(1);
    }
    labels
}
