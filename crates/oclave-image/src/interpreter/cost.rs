//! A static estimate of what a work-item costs: instructions by weight, more in loops.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::layout::InterpreterCost;
use oclave_spirv::{Instruction, Op, is_atomic, is_terminator};

/// Deeper loops count as this deep.
const DEEPEST: u32 = 3;
/// Loops times blocks beyond which all blocks of loops count as one deep: generated code can be of
/// any size.
const MOST_STEPS: usize = 1 << 20;

/// The cost of one function without what it calls.
#[derive(Debug, Clone, Default)]
pub(super) struct FunctionCost {
    steps: u64,
    has_loops: bool,
    /// Whether a loop has several entries.
    pub(super) is_irreducible: bool,
    /// Whether a loop with several exits has a barrier, and what such loops call.
    pub(super) leaves_barriers: bool,
    pub(super) left_calls: Vec<u32>,
    /// Callee and how often it is called.
    calls: Vec<(u32, u64)>,
}

#[derive(Default)]
struct Block {
    steps: u64,
    calls: Vec<u32>,
    has_barrier: bool,
    /// Labels.
    successors: Vec<u32>,
}

/// Collects the blocks of a function while it is walked.
#[derive(Default)]
pub(super) struct Counter {
    blocks: Vec<Block>,
    labels: HashMap<u32, usize>,
}

impl Counter {
    /// The next instruction of the function.
    pub(super) fn count(&mut self, instruction: &Instruction<'_>) {
        let Some(op) = instruction.op() else { return };
        if op == Op::Label {
            self.labels.insert(instruction.result_id().unwrap_or(0), self.blocks.len());
            self.blocks.push(Block::default());
            return;
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.steps += weight(op, instruction);
        block.has_barrier |= op == Op::ControlBarrier;
        if op == Op::FunctionCall {
            block.calls.extend(instruction.operand(0));
        }
        if is_terminator(op) {
            let operands = instruction.operands();
            block.successors = match op {
                Op::Branch => operands.to_vec(),
                Op::BranchConditional => operands.iter().skip(1).take(2).copied().collect(),
                // Literals of the cases are no labels of blocks, but for an accident that costs
                // nothing.
                Op::Switch => operands.iter().skip(1).copied().collect(),
                _ => Vec::new(),
            };
        }
    }

    /// The cost, once all instructions were seen.
    pub(super) fn finish(self) -> FunctionCost {
        let successors: Vec<Vec<usize>> = self
            .blocks
            .iter()
            .map(|block| {
                block.successors.iter().filter_map(|label| self.labels.get(label).copied()).collect()
            })
            .collect();
        let Loops { depths, is_irreducible, several_exits } = loops(&successors);
        let has_loops = depths.iter().any(|depth| *depth > 0);
        let mut cost = FunctionCost { has_loops, is_irreducible, ..FunctionCost::default() };
        for block in several_exits.iter().filter_map(|block| self.blocks.get(*block)) {
            cost.leaves_barriers |= block.has_barrier;
            cost.left_calls.extend(&block.calls);
        }
        for (block, depth) in self.blocks.into_iter().zip(depths) {
            let times = InterpreterCost::LOOP_TRIPS.pow(depth.min(DEEPEST));
            cost.steps = cost.steps.saturating_add(block.steps.saturating_mul(times));
            cost.calls.extend(block.calls.into_iter().map(|callee| (callee, times)));
        }
        cost
    }
}

fn weight(op: Op, instruction: &Instruction<'_>) -> u64 {
    match op {
        Op::Phi | Op::Variable | Op::Branch | Op::Line | Op::NoLine | Op::LoopMerge | Op::SelectionMerge => 0,
        Op::Bitcast | Op::LifetimeStart | Op::LifetimeStop | Op::CompositeExtract => 0,
        Op::Load | Op::Store | Op::CopyMemory | Op::CopyMemorySized => 2,
        Op::FDiv => 5,
        Op::SDiv | Op::UDiv | Op::SRem | Op::SMod | Op::UMod | Op::FRem | Op::FMod => 10,
        Op::ExtInst => match instruction.operand(1) {
            // fma, mad, and the integer and common functions that are an instruction or few.
            Some(26 | 42 | 95..=105 | 141..=182) => 2,
            _ => 10,
        },
        Op::ControlBarrier => 20,
        op if is_atomic(op) => 10,
        _ => 1,
    }
}

/// The loops of a function, as far as they are looked at.
#[derive(Debug, Default, PartialEq)]
struct Loops {
    /// How many each block is in.
    depths: Vec<u32>,
    /// Whether one has several entries.
    is_irreducible: bool,
    /// The blocks of those that are left in several places.
    several_exits: BTreeSet<usize>,
}

/// Block 0 is where the function begins.
fn loops(successors: &[Vec<usize>]) -> Loops {
    let count = successors.len();
    let mut predecessors = vec![Vec::new(); count];
    for (from, tos) in successors.iter().enumerate() {
        for to in tos {
            if let Some(list) = predecessors.get_mut(*to) {
                list.push(from);
            }
        }
    }
    let loops = back_edges(successors);
    let mut depths = vec![0; count];
    if loops.len().saturating_mul(count) > MOST_STEPS {
        for (header, tails) in loops {
            for block in tails.into_iter().chain([header]) {
                if let Some(depth) = depths.get_mut(block) {
                    *depth = 1;
                }
            }
        }
        return Loops { depths, ..Loops::default() };
    }
    let (mut is_irreducible, mut several_exits) = (false, BTreeSet::new());
    for (header, tails) in loops {
        // The natural loop: what reaches a tail without passing the header.
        let mut inside = vec![false; count];
        let mut open = tails;
        open.push(header);
        if let Some(of) = inside.get_mut(header) {
            *of = true;
        }
        while let Some(block) = open.pop() {
            let Some(seen) = inside.get_mut(block) else { continue };
            if *seen && block != header {
                continue;
            }
            *seen = true;
            if block != header {
                open.extend(predecessors.get(block).into_iter().flatten());
            }
        }
        // What reaches a tail from the beginning does not pass the header.
        is_irreducible |= header != 0 && inside.first() == Some(&true);
        let blocks = || inside.iter().enumerate().filter(|(_, inside)| **inside).map(|(block, _)| block);
        let is_exit = |block: &usize| {
            let mut next = successors.get(*block).into_iter().flatten();
            next.any(|to| inside.get(*to) == Some(&false))
        };
        if blocks().filter(is_exit).count() > 1 {
            several_exits.extend(blocks());
        }
        for (depth, inside) in depths.iter_mut().zip(&inside) {
            *depth += u32::from(*inside);
        }
    }
    Loops { depths, is_irreducible, several_exits }
}

/// Header → the blocks that jump back to it.
fn back_edges(successors: &[Vec<usize>]) -> BTreeMap<usize, Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut loops: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut states = vec![State::New; successors.len()];
    // Block and how many of its successors were looked at.
    let mut stack = vec![(0, 0)];
    if let Some(first) = states.first_mut() {
        *first = State::Open;
    }
    while let Some((block, next)) = stack.last_mut() {
        let block = *block;
        match successors.get(block).and_then(|list| list.get(*next)) {
            Some(&to) => {
                *next += 1;
                match states.get_mut(to) {
                    Some(state @ State::New) => {
                        *state = State::Open;
                        stack.push((to, 0));
                    }
                    Some(State::Open) => loops.entry(to).or_default().push(block),
                    _ => {}
                }
            }
            None => {
                if let Some(state) = states.get_mut(block) {
                    *state = State::Done;
                }
                stack.pop();
            }
        }
    }
    loops
}

/// The cost of a function with all that it calls.
pub(super) fn total(costs: &BTreeMap<u32, FunctionCost>, function: u32) -> InterpreterCost {
    let mut known: HashMap<u32, (u64, bool)> = HashMap::new();
    let mut open = vec![function];
    let mut waiting = std::collections::HashSet::new();
    while let Some(&id) = open.last() {
        let Some(cost) = costs.get(&id).filter(|_| !known.contains_key(&id)) else {
            known.entry(id).or_insert((0, false));
            open.pop();
            continue;
        };
        // Each function stands on the stack until what it calls is known. (What calls itself is
        // taken to call nothing.)
        if waiting.insert(id) {
            open.extend(cost.calls.iter().map(|(callee, _)| *callee).filter(|id| !waiting.contains(id)));
            continue;
        }
        let mut sum = (cost.steps, cost.has_loops);
        for (callee, times) in &cost.calls {
            let (steps, has_loops) = known.get(callee).copied().unwrap_or_default();
            sum.0 = sum.0.saturating_add(steps.saturating_mul(*times));
            sum.1 |= has_loops;
        }
        known.insert(id, sum);
        open.pop();
    }
    let (steps, has_loops) = known.get(&function).copied().unwrap_or_default();
    InterpreterCost { steps: u32::try_from(steps).unwrap_or(u32::MAX).max(1), has_loops }
}

#[cfg(test)]
mod tests {
    use super::loops;

    #[test]
    fn nested_loops_count_twice() {
        // 0 → 1 → 2 ⇄ 3, 2 → 4 → 1, 4 → 5
        let successors = [vec![1], vec![2], vec![3, 4], vec![2], vec![1, 5], vec![]];
        assert_eq!(loops(&successors).depths, [0, 1, 2, 2, 1, 0]);
        assert_eq!(loops(&[vec![0]]).depths, [1]);
        assert_eq!(loops(&[]).depths, [0; 0]);
    }

    #[test]
    fn loops_tell_their_entries_and_exits() {
        // 0 → 1 → 2 → 1, 1 → 3
        let plain = loops(&[vec![1], vec![2, 3], vec![1], vec![]]);
        assert!(!plain.is_irreducible && plain.several_exits.is_empty());
        // The same, with 2 → 3.
        let left = loops(&[vec![1], vec![2, 3], vec![1, 3], vec![]]);
        assert_eq!(left.several_exits.into_iter().collect::<Vec<_>>(), [1, 2]);
        // 0 → 1 ⇄ 2, 0 → 2
        assert!(loops(&[vec![1, 2], vec![2, 3], vec![1], vec![]]).is_irreducible);
    }
}
