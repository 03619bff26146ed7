//! Steps of counters that are made by a complement or a subtraction.
//!
//! LLVM divides by the step of a counter to know how often a loop runs. Where vectors of work-items
//! are not full, Intel's compiler then runs this loop three rounds too often:
//!
//! ```text
//! uint step = (~in[b] & 7) + 1;
//! while (v < 21) { v += step; w *= 31; }
//! ```
//!
//! Other steps were right.

use std::collections::HashSet;

use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{condition, makes_value};
use oclave_spirv::{Definitions, Instruction, Module, Op, Role};

/// How many instructions of a value are looked at.
const MOST: usize = 64;

/// How many sums a counter goes through in a round.
const SUMS: usize = 8;

/// The steps of counters by which loops end.
pub(super) fn find(definitions: &Definitions<'_>, flows: &[Flow<'_>]) -> HashSet<u32> {
    let mut found = HashSet::new();
    for flow in flows {
        for of in &flow.loops {
            let conditions = flow.exiting(of).into_iter().filter_map(|block| condition(flow, block));
            let parts = parts(definitions, conditions);
            for counter in parts.iter().filter(|id| is_counter(flow, of, **id)) {
                found.extend(steps(definitions, flow, of, *counter));
            }
        }
    }
    found
}

/// Whether a module may have such steps: most have no complement.
pub(super) fn are_in(module: &Module) -> bool {
    module.instructions().any(|instruction| is_complement(&instruction))
}

fn is_complement(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.op(), Some(Op::Not | Op::SNegate | Op::BitwiseXor | Op::ISub))
}

fn is_counter(flow: &Flow<'_>, of: &Loop, id: u32) -> bool {
    flow.phis.get(&id) == Some(&of.header)
}

/// What a counter of a loop grows or shrinks by in a round. The loop must not change it. A complement
/// makes it, or it is subtracted.
fn steps(definitions: &Definitions<'_>, flow: &Flow<'_>, of: &Loop, counter: u32) -> Vec<u32> {
    let labels = || of.blocks.iter().filter_map(|at| flow.blocks.get(*at)).map(|block| block.label);
    let pairs = definitions.instruction(counter).map(|phi| phi.operands()).unwrap_or_default();
    let next = pairs.chunks_exact(2).find_map(|pair| match *pair {
        [value, from] if labels().any(|label| label == from) => Some(value),
        _ => None,
    });
    let mut added = Vec::new();
    if !next.is_some_and(|next| leads(definitions, counter, next, SUMS, &mut added)) {
        return Vec::new();
    }
    // Phis stand before what could be stored.
    added.retain(|(step, _)| {
        let made = definitions.instruction(*step).and_then(|step| step.op());
        made.is_some_and(|op| makes_value(op) && op != Op::Phi)
    });
    let parts = parts(definitions, added.iter().map(|(step, _)| *step));
    let is_made = |id: &u32| definitions.instruction(*id).is_some_and(|part| is_complement(&part));
    let changes = parts.iter().any(|id| is_counter(flow, of, *id));
    let is_wrong = parts.iter().any(is_made) || added.iter().any(|(_, is_less)| *is_less);
    let steps = added.into_iter().map(|(step, _)| step);
    if is_wrong && !changes { steps.collect() } else { Vec::new() }
}

/// Whether sums lead from a counter to a value; and what is added or, if `true`, subtracted.
fn leads(
    definitions: &Definitions<'_>,
    counter: u32,
    value: u32,
    depth: usize,
    added: &mut Vec<(u32, bool)>,
) -> bool {
    if value == counter {
        return true;
    }
    let Some(sum) = definitions.instruction(value).filter(|_| depth > 0) else { return false };
    let &[a, b] = sum.operands() else { return false };
    let is_less = sum.is(Op::ISub);
    let other = match is_less || sum.is(Op::IAdd) {
        true if leads(definitions, counter, a, depth - 1, added) => b,
        true if !is_less && leads(definitions, counter, b, depth - 1, added) => a,
        _ => return false,
    };
    added.push((other, is_less));
    true
}

/// Values, and what they are made of.
fn parts(definitions: &Definitions<'_>, values: impl Iterator<Item = u32>) -> HashSet<u32> {
    let (mut open, mut seen): (Vec<u32>, HashSet<u32>) = (values.collect(), HashSet::new());
    while let Some(id) = open.pop() {
        if seen.len() == MOST || !seen.insert(id) {
            continue;
        }
        let Some(made) = definitions.instruction(id).filter(|i| i.op().is_some_and(makes_value)) else {
            continue;
        };
        if !made.is(Op::Phi) && !made.is(Op::Load) {
            made.visit_ids(definitions, |at, role| {
                if role == Role::Id {
                    open.extend(made.word(at));
                }
            });
        }
    }
    seen
}
