//! Loops of one block that count by one up or down to a value that the loop does not change.

use std::collections::BTreeMap;

use super::inline::Bodies;
use crate::{Definitions, Instruction, LoopControl, Op, Type, TypeTable, is_pure};

/// A block that goes back to itself.
#[derive(Debug)]
pub(super) struct Loop<'m> {
    pub(super) label: u32,
    pub(super) phis: Vec<Phi>,
    /// What it does, without phis and branch.
    pub(super) round: Vec<Instruction<'m>>,
    pub(super) condition: u32,
    /// Whether it goes on when the condition holds.
    pub(super) on_true: bool,
    pub(super) exit: u32,
    pub(super) count: Count,
}

#[derive(Debug)]
pub(super) struct Phi {
    pub(super) ty: u32,
    pub(super) id: u32,
    /// Values and predecessors, without the loop itself.
    pub(super) outer: Vec<[u32; 2]>,
    /// The value of the next round.
    pub(super) next: u32,
}

/// How often it runs.
#[derive(Debug)]
pub(super) struct Count {
    /// Which phi counts, and the value of the next round.
    pub(super) phi: usize,
    pub(super) next: u32,
    pub(super) end: u32,
    pub(super) width: u32,
    pub(super) is_down: bool,
    /// Runs on while `next` is below the end, by this comparison; else while it is not the end.
    pub(super) below: Option<Op>,
}

/// The loops whose rounds are at most so many instructions, all of them values, by the label.
pub(super) fn found<'m>(
    definitions: &Definitions<'m>,
    bodies: &Bodies<'m>,
    most_instructions: usize,
) -> BTreeMap<u32, Loop<'m>> {
    let types = TypeTable::new(definitions);
    let mut found = BTreeMap::new();
    for body in bodies.values() {
        let mut rest = body.as_slice();
        while let Some(start) = rest.iter().position(|i| i.is(Op::Label)) {
            let block = rest.get(start..).unwrap_or_default();
            let end = block.iter().skip(1).position(|i| i.is(Op::Label)).map_or(block.len(), |at| at + 1);
            let (block, behind) = block.split_at(end);
            rest = behind;
            found.extend(
                loop_of(definitions, &types, block, most_instructions).map(|found| (found.label, found)),
            );
        }
    }
    found
}

/// The loop that a block is, if it is such a loop.
fn loop_of<'m>(
    definitions: &Definitions<'m>,
    types: &TypeTable<'m>,
    block: &[Instruction<'m>],
    most_instructions: usize,
) -> Option<Loop<'m>> {
    let label = block.first()?.result_id()?;
    let branch = block.iter().find(|i| i.is(Op::BranchConditional))?;
    let &[condition, yes, no, ..] = branch.operands() else { return None };
    let (on_true, exit) = match (yes == label, no == label) {
        (true, false) => (true, no),
        (false, true) => (false, yes),
        _ => return None,
    };
    let (mut phis, mut round) = (Vec::new(), Vec::new());
    for instruction in block.iter().skip(1) {
        match instruction.op() {
            Some(Op::Phi) => phis.push(phi(instruction, label)?),
            Some(Op::Line | Op::NoLine) => {}
            Some(Op::LoopMerge) => {
                if instruction.operand(2)? & LoopControl::DONT_UNROLL.bits() != 0 {
                    return None;
                }
            }
            Some(Op::BranchConditional) => break,
            _ if is_value(instruction) => round.push(*instruction),
            _ => return None,
        }
    }
    if round.len() > most_instructions {
        return None;
    }
    let count = count(definitions, types, (&phis, &round), condition, on_true)?;
    Some(Loop { label, phis, round, condition, on_true, exit, count })
}

fn phi(instruction: &Instruction<'_>, label: u32) -> Option<Phi> {
    let pairs = instruction.operands().chunks_exact(2);
    let pairs = pairs.filter_map(|pair| <[u32; 2]>::try_from(pair).ok());
    let (own, outer): (Vec<_>, Vec<_>) = pairs.partition(|[_, from]| *from == label);
    let &[[next, _]] = own.as_slice() else { return None };
    Some(Phi { ty: instruction.result_type()?, id: instruction.result_id()?, outer, next })
}

/// Whether an instruction is a value, which may be written several times. Others may depend on which
/// work-items come there together.
///
/// Loads and stores are no values. A loop with them waits for memory. On an H100, a sparse matrix
/// times a vector took 1.47 times as long with its loops over rows unrolled. Such loops have few
/// rounds, and not as many in each work-item.
fn is_value(instruction: &Instruction<'_>) -> bool {
    instruction.op().is_some_and(is_pure)
}

fn count<'m>(
    definitions: &Definitions<'m>,
    types: &TypeTable<'m>,
    (phis, round): (&[Phi], &[Instruction<'m>]),
    condition: u32,
    on_true: bool,
) -> Option<Count> {
    let defined = |id: u32| round.iter().find(|i| i.result_id() == Some(id));
    let compared = defined(condition)?;
    let &[left, right] = compared.operands() else { return None };
    let counts = |next: u32| {
        let step = defined(next).filter(|i| i.is(Op::IAdd) || i.is(Op::ISub))?;
        let &[a, b] = step.operands() else { return None };
        let of = |value: u32, by: u32| Some((phis.iter().position(|p| p.id == value && p.next == next)?, by));
        let (phi, by) = of(a, b).or_else(|| of(b, a).filter(|_| step.is(Op::IAdd)))?;
        let &Type::Int { width: width @ (32 | 64), .. } = &types.ty(step.result_type()?)? else {
            return None;
        };
        let by = definitions.int_constant(by)?;
        let minus_one = u64::MAX >> (64 - width);
        match (by, step.is(Op::IAdd)) {
            (1, is_up) => Some((phi, width, !is_up)),
            (by, is_up) if by == minus_one => Some((phi, width, is_up)),
            _ => None,
        }
    };
    let (next, end, is_swapped) = match (counts(left), counts(right)) {
        (Some(_), None) => (left, right, false),
        (None, Some(_)) => (right, left, true),
        _ => return None,
    };
    let (phi, width, is_down) = counts(next)?;
    let below = match (compared.op()?, on_true, is_swapped) {
        (Op::INotEqual, true, _) | (Op::IEqual, false, _) => None,
        (Op::SLessThan, true, false)
        | (Op::SGreaterThan, true, true)
        | (Op::SGreaterThanEqual, false, false)
        | (Op::SLessThanEqual, false, true) => Some(Op::SLessThan),
        (Op::ULessThan, true, false)
        | (Op::UGreaterThan, true, true)
        | (Op::UGreaterThanEqual, false, false)
        | (Op::ULessThanEqual, false, true) => Some(Op::ULessThan),
        _ => return None,
    };
    let changes = |id: u32| defined(id).is_some() || phis.iter().any(|phi| phi.id == id);
    // What is known to the assembler it unrolls as it sees fit.
    let is_constant = |id: u32| definitions.int_constant(id).is_some();
    let starts = phis.get(phi)?.outer.iter().all(|[value, _]| is_constant(*value));
    if changes(end) || is_constant(end) && starts || is_down && below.is_some() {
        return None;
    }
    Some(Count { phi, next, end, width, is_down, below })
}
