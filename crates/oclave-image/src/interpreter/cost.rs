//! A static estimate of what a work-item costs: instructions by weight, more in loops.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::layout::InterpreterCost;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{Definitions, Instruction, Op, is_atomic};

/// Deeper loops count as this deep.
const DEEPEST: u32 = 3;

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

impl FunctionCost {
    pub(super) fn of(definitions: &Definitions<'_>, flow: &Flow<'_>) -> Self {
        let has_loops = flow.irreducible || !flow.loops.is_empty();
        let mut cost = Self { has_loops, is_irreducible: flow.irreducible, ..Self::default() };
        let mut depths = vec![0_u32; flow.blocks.len()];
        let mut left = BTreeSet::<usize>::new();
        for of in &flow.loops {
            for at in &of.blocks {
                if let Some(depth) = depths.get_mut(*at) {
                    *depth += 1;
                }
            }
            if flow.exiting(of).len() > 1 {
                left.extend(&of.blocks);
            }
        }
        for (at, (block, depth)) in flow.blocks.iter().zip(depths).enumerate() {
            if left.contains(&at) {
                cost.leaves_barriers |= block.barrier;
                cost.left_calls.extend(&block.calls);
            }
            let times = InterpreterCost::LOOP_TRIPS.pow(depth.min(DEEPEST));
            let steps: u64 = definitions.block(block.label).map(|i| weight(&i)).sum();
            cost.steps = cost.steps.saturating_add(steps.saturating_mul(times));
            cost.calls.extend(block.calls.iter().map(|callee| (*callee, times)));
        }
        cost
    }
}

fn weight(instruction: &Instruction<'_>) -> u64 {
    let Some(op) = instruction.op() else { return 0 };
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
