//! Keeps LLVM's `instcombine` from a check that ends the process, in PoCL 6.0, in groups of one and
//! two.
//!
//! The check is the one of `second_phis`. Here, a value is computed before a condition, and a phi
//! behind one way takes it:
//!
//! ```text
//! w = v + 1; if (v >= 4) { w = f(); barrier(…); } out[id] = w;
//! ```
//!
//! In such groups, PoCL 6.0 keeps phis, and gives the way without code a block of its own. So
//! `instcombine` moves `v + 1` there, before it looks at the condition. Only the second run finds by
//! the condition that the addition does not overflow.
//!
//! This pass compares `never ? ~v : v` instead, if the size of the group is one of the largest
//! numbers, which no size is. Each comparison has another number for `~v`. So LLVM learns nothing
//! of `v` from the condition. PoCL knows the size later. Then it is `v` again.
//!
//! LLVM may know the outcome for `~v`. For `~v` of `v & 1`, it knows that `~v != 0`. Then it learns
//! behind the branch that the size is another one. So each comparison has a size of its own, and
//! not the one of `second_phis`. Else LLVM would remove second phis there.
//!
//! LLVM may also know the condition itself by that, and values that are computed from it. So where
//! the condition is one comparison, only branches take the new one. Other uses keep the old one.

use std::collections::{HashMap, HashSet};

use super::built_in_vector::{BuiltInVector, functions_with_built_ins};
use super::never::{emit, is_large};
use crate::Result;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{
    BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, is_calculation,
    is_integer_comparison, is_within,
};

/// How deep LLVM looks into what a value is computed from.
const DEPTH: usize = 6;

/// The module with these comparisons; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn hide(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let found = Search::new(&definitions).find();
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let (types, mut hidden) = (TypeTable::new(&definitions), 0);
    let mut branches = HashMap::new();
    for instruction in module.instructions() {
        let place = instruction.result_id().and_then(|id| Some((id, found.get(&id)?)));
        match (instruction.op(), place) {
            (Some(Op::EntryPoint), _) => size.copy_entry_point(&mut new, &instruction),
            (Some(op), Some((id, place))) => {
                // Behind the opcode come the type and the result.
                let mut words = instruction.words.get(1..).unwrap_or_default().to_vec();
                if let Some(value) = words.get_mut(place.operand + 2)
                    && let Some(ty) = definitions.type_of(*value)
                {
                    // Of one value, each comparison takes another one, by a condition of its own.
                    let width = width(&types, ty).clamp(1, 64);
                    let number = new.int_constant(width, number(hidden, width));
                    hidden += 1;
                    let never = is_large(&mut new, &size, hidden);
                    let other = emit(&mut new, Op::BitwiseXor, ty, &[*value, number]);
                    *value = emit(&mut new, Op::Select, ty, &[never, other, *value]);
                }
                if place.is_condition
                    && let Some(result) = words.get_mut(1)
                {
                    *result = new.fresh_id();
                    branches.insert(id, *result);
                    new.copy(&instruction);
                    new.push(op, &words);
                } else {
                    new.replace(&instruction, op, &words);
                }
            }
            (Some(Op::BranchConditional), _) => {
                new.copy_mapped(&instruction, |id| branches.get(&id).copied().unwrap_or(id));
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// A number with which a value becomes another one: all bits, or some for further comparisons.
///
/// LLVM clears bits that a comparison does not need. Of `v < 2`, it needs all but the lowest one. So the
/// numbers also differ in their high bits, and have the highest and the lowest one.
fn number(hidden: u64, width: u32) -> u64 {
    let mixed = !hidden.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed | 1 << 63) >> (64 - width) | 1
}

/// The width of an integer type.
fn width(types: &TypeTable<'_>, ty: u32) -> u32 {
    match types.ty(ty) {
        Some(Type::Int { width }) => width,
        _ => 32,
    }
}

/// Where the value of a comparison is hidden.
struct Place {
    operand: usize,
    /// Whether the comparison is the whole condition of its branches. Then only they take another
    /// one.
    is_condition: bool,
}

struct Search<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: TypeTable<'m>,
    /// The phis of each block, by label.
    phis: HashMap<u32, Vec<Instruction<'m>>>,
}

impl<'a, 'm> Search<'a, 'm> {
    fn new(definitions: &'a Definitions<'m>) -> Self {
        let mut phis: HashMap<u32, Vec<Instruction<'m>>> = HashMap::new();
        let mut label = 0;
        for instruction in definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
                Some(Op::Phi) => phis.entry(label).or_default().push(instruction),
                _ => {}
            }
        }
        Self { definitions, types: TypeTable::new(definitions), phis }
    }

    /// Comparisons, and where their values are hidden.
    fn find(&self) -> HashMap<u32, Place> {
        let functions = functions_with_built_ins(self.definitions);
        let mut found: HashMap<u32, Place> = HashMap::new();
        for flow in Flow::of_functions(self.definitions.module()) {
            if !functions.contains(&flow.function) {
                continue;
            }
            for block in &flow.blocks {
                let end = block.terminator.filter(|end| end.is(Op::BranchConditional));
                let Some(condition) = end.and_then(|end| end.operand(0)) else { continue };
                let comparisons = self.comparisons(condition);
                if comparisons.is_empty() {
                    continue;
                }
                let mut parts = HashSet::new();
                for meeting in block.successors.iter().filter_map(|at| flow.blocks.get(*at)) {
                    if meeting.predecessors.len() > 1 {
                        self.given(block.label, meeting.label, &mut parts);
                    }
                }
                let told = comparisons.into_iter().filter(|(_, _, told)| !told.is_disjoint(&parts));
                for (comparison, operand, _) in told {
                    let place = found.entry(comparison).or_insert(Place { operand, is_condition: true });
                    place.is_condition &= comparison == condition;
                }
            }
        }
        found
    }

    /// What the values are computed from that phis of one block take from another one. LLVM may know
    /// the value on other ways, so that it is only needed on this one.
    fn given(&self, from: u32, meeting: u32, parts: &mut HashSet<u32>) {
        let phis = self.phis.get(&meeting).into_iter().flatten();
        for pair in phis.flat_map(|phi| phi.operands().chunks_exact(2)) {
            if let [value, at] = pair
                && *at == from
            {
                self.parts(*value, DEPTH, parts);
            }
        }
    }

    /// What a value is computed from, and where that is loaded from.
    fn parts(&self, value: u32, depth: usize, parts: &mut HashSet<u32>) {
        let Some(instruction) = self.definitions.instruction(value) else { return };
        if instruction.is(Op::Load) {
            parts.insert(self.origin(value));
            return;
        }
        if instruction.op().is_some_and(|op| op == Op::CompositeExtract || is_calculation(op)) {
            for operand in instruction.operands() {
                parts.insert(self.origin(*operand));
                if depth > 1 {
                    self.parts(*operand, depth - 1, parts);
                }
            }
        }
    }

    /// The variable from which a value is loaded, or another value as it is.
    fn origin(&self, value: u32) -> u32 {
        let load = self.definitions.instruction(value).filter(|of| of.is(Op::Load));
        let from = load.and_then(|load| load.operand(0));
        from.filter(|from| self.definitions.is_private_variable(*from)).unwrap_or(value)
    }

    /// The comparisons of a condition with numbers: which operand is compared, and of which values
    /// LLVM learns something.
    fn comparisons(&self, condition: u32) -> Vec<(u32, usize, HashSet<u32>)> {
        let (mut found, mut open, mut seen) = (Vec::new(), vec![condition], HashSet::new());
        while let Some(value) = open.pop() {
            let of = self.definitions.instruction(value).filter(|_| seen.insert(value));
            let Some(instruction) = of else { continue };
            match instruction.op() {
                Some(Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::Select) => {
                    open.extend(instruction.operands());
                }
                Some(op) if is_integer_comparison(op) => {
                    let operands = instruction.operands();
                    let is_number = |id: u32| self.definitions.int_constant(id).is_some();
                    let is_other =
                        |id: u32| is_number(*operands.iter().find(|other| **other != id).unwrap_or(&id));
                    let place = operands.iter().position(|id| !is_number(*id) && is_other(*id));
                    let Some((place, of)) = place.and_then(|at| Some((at, *operands.get(at)?))) else {
                        continue;
                    };
                    let ty = self.definitions.type_of(of).and_then(|ty| self.types.ty(ty));
                    if matches!(ty, Some(Type::Int { .. })) {
                        found.push((value, place, self.told(of, matches!(op, Op::IEqual | Op::INotEqual))));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Of which values LLVM learns something by a comparison of one with a number.
    fn told(&self, value: u32, is_equality: bool) -> HashSet<u32> {
        let mut told = HashSet::from([self.origin(value)]);
        let Some(instruction) = self.definitions.instruction(value) else { return told };
        let is_seen_through = match instruction.op() {
            Some(Op::IAdd | Op::ISub) => !is_equality,
            Some(op) => is_equality && is_within(op, Op::ShiftRightLogical, Op::BitwiseAnd),
            None => false,
        };
        if is_seen_through {
            let operands = instruction.operands();
            let (numbers, others): (Vec<u32>, Vec<u32>) =
                operands.iter().partition(|id| self.definitions.int_constant(**id).is_some());
            if !numbers.is_empty() {
                told.extend(others.into_iter().map(|other| self.origin(other)));
            }
        }
        told
    }
}
