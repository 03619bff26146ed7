//! Second phis of loops that run once at most.
//!
//! LLVM makes a branch of such a loop before PoCL 6.0 sees it:
//!
//! ```text
//! for (int i = 0; i < n % 3; i += 2) w = f(w);
//! ```
//!
//! A phi at the start of the loop has `w` then, and what follows uses it. It gets a second one there,
//! with `~w` from the rounds. Behind the loop, `w` is the second one if the size of the group is the
//! largest number, which no size is. Inside of the loop nothing changes.

use std::collections::HashSet;

use super::rounds_writer::write;
use super::writer::has_other;
use super::{number_parameter, only_computes};
use crate::Result;
use crate::load::built_in_vector::functions_with_built_ins;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{Definitions, Instruction, Module, Op, Role, Type, TypeTable};

/// The most blocks of a loop.
const BLOCKS: usize = 32;

/// How deep numbers are followed.
const DEPTH: usize = 5;

/// `s_min` and `u_min` of OpenCL.std.
const MINIMA: [u32; 2] = [158, 159];

/// The module with these phis; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`](oclave_spirv::Rewriter::finish).
pub(super) fn add(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let found = Search { definitions: &definitions, types: &types }.find();
    if found.is_empty() { Ok(None) } else { write(&definitions, &types, &found, address_bits).map(Some) }
}

/// A loop that runs once at most.
pub(super) struct Single {
    pub(super) header: u32,
    /// The block behind it.
    pub(super) exit: u32,
    pub(super) labels: HashSet<u32>,
    /// Phis of the header that the code behind it uses, and their types.
    pub(super) phis: Vec<(u32, u32)>,
    /// A parameter of the function, and its type, where the function has no ids.
    pub(super) number: Option<(u32, u32)>,
}

struct Search<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
}

impl<'m> Search<'_, 'm> {
    fn find(&self) -> Vec<Single> {
        let with_ids = functions_with_built_ins(self.definitions);
        let mut found: Vec<Single> = Vec::new();
        for flow in &Flow::of_functions(self.definitions.module()) {
            let loops: Vec<&Loop> = flow.loops.iter().filter(|of| self.is_single(flow, of)).collect();
            let number = match with_ids.contains(&flow.function) {
                true => None,
                false => number_parameter(self.definitions, self.types, flow.function),
            };
            if loops.is_empty() || number.is_none() && !with_ids.contains(&flow.function) {
                continue;
            }
            let unclear = self.impure(flow);
            for of in loops {
                let single = self.single(flow, of, &unclear);
                // What leads back to a loop from another one stays as it is.
                let mut latches = of.latches.iter().filter_map(|at| flow.blocks.get(*at));
                if let Some(single) = single
                    && !latches.any(|latch| found.iter().any(|other| other.header == latch.label))
                {
                    found.push(Single { number, ..single });
                }
            }
        }
        found
    }

    /// The blocks that do more than compute, by label.
    fn impure(&self, flow: &Flow<'_>) -> HashSet<u32> {
        let (mut found, mut label) = (HashSet::new(), 0);
        for instruction in self.definitions.body(flow.function) {
            match instruction.op() {
                Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
                Some(Op::Phi) => {}
                _ if !only_computes(self.definitions, self.types, &instruction) => {
                    found.insert(label);
                }
                _ => {}
            }
        }
        found
    }

    /// Whether a loop runs once at most, as far as its counter and what that is compared with tell.
    fn is_single(&self, flow: &Flow<'_>, of: &Loop) -> bool {
        let Some(header) = flow.blocks.get(of.header) else { return false };
        let Some(end) = header.terminator.filter(|end| end.is(Op::BranchConditional)) else { return false };
        let (&[yes, no], Some(condition)) = (header.successors.as_slice(), end.operand(0)) else {
            return false;
        };
        let goes_on = of.blocks.contains(&yes);
        if goes_on == of.blocks.contains(&no) || of.latches.contains(&of.header) {
            return false;
        }
        let labels: HashSet<u32> =
            of.blocks.iter().filter_map(|at| flow.blocks.get(*at)).map(|block| block.label).collect();
        // If one part of a conjunction does not hold, the loop ends.
        let (mut open, mut parts) = (vec![condition], 0);
        while let Some(part) = open.pop() {
            parts += 1;
            let Some(instruction) = self.definitions.instruction(part).filter(|_| parts < BLOCKS) else {
                continue;
            };
            match instruction.op() {
                Some(Op::LogicalAnd) if goes_on => open.extend(instruction.operands()),
                Some(Op::LogicalOr) if !goes_on => open.extend(instruction.operands()),
                Some(Op::Select) if goes_on => open.extend(instruction.operands().iter().take(2)),
                Some(Op::Select) => open.extend(instruction.operands().iter().step_by(2)),
                _ if self.bounds(flow, of, &labels, &instruction, goes_on) == Some(true) => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether a comparison ends a loop after one round at the latest.
    fn bounds(
        &self,
        flow: &Flow<'_>,
        of: &Loop,
        labels: &HashSet<u32>,
        comparison: &Instruction<'m>,
        goes_on: bool,
    ) -> Option<bool> {
        let &[left, right] = comparison.operands() else { return None };
        let is_phi = |id: u32| flow.phis.get(&id) == Some(&of.header);
        let (counter, bound, is_left) = if is_phi(left) { (left, right, true) } else { (right, left, false) };
        let phi = self.definitions.instruction(counter).filter(|_| is_phi(counter))?;
        let ty = phi.result_type()?;
        let Some(Type::Int { width: width @ 1..=64 }) = self.types.ty(ty) else { return None };
        // Whether the counter stands on the smaller side, and whether the loop goes on if both are equal.
        let (is_less, or_equal) = match comparison.op()? {
            Op::INotEqual if goes_on => (None, false),
            Op::IEqual if !goes_on => (None, false),
            Op::ULessThan | Op::SLessThan => (Some(is_left == goes_on), !goes_on),
            Op::ULessThanEqual | Op::SLessThanEqual => (Some(is_left == goes_on), goes_on),
            Op::UGreaterThan | Op::SGreaterThan => (Some(is_left != goes_on), !goes_on),
            Op::UGreaterThanEqual | Op::SGreaterThanEqual => (Some(is_left != goes_on), goes_on),
            _ => return None,
        };
        let largest = i128::from(u64::MAX >> (64 - width));
        let pairs = || phi.operands().chunks_exact(2);
        let (mut step, mut start) = (None, None);
        for pair in pairs() {
            let &[value, from] = pair else { return None };
            let place = if labels.contains(&from) { &mut step } else { &mut start };
            if place.replace(value).is_some_and(|other| other != value) {
                return None;
            }
        }
        let step = self.definitions.instruction(step?)?;
        let by = match *step.operands() {
            [of, by] | [by, of] if of == counter && step.is(Op::IAdd) => self.constant(by, largest)?,
            [of, by] if of == counter && step.is(Op::ISub) => -self.constant(by, largest)?,
            _ => return None,
        };
        let is_up = is_less.unwrap_or(by > 0);
        if by == 0 || is_up != (by > 0) {
            return None;
        }
        let (low, high) = if is_up { (start?, bound) } else { (bound, start?) };
        // Numbers without a sign that go down end at 0, as others do if they begin above.
        let low = match self.least(low, largest, DEPTH) {
            None if is_up => return None,
            low => low.unwrap_or(0),
        };
        let high = self.most(high, DEPTH)?;
        Some(high < largest / 2 && high + i128::from(or_equal) - low <= by.abs())
    }

    /// The least that a number is, with a sign, if it is a constant or a choice of some. Other passes
    /// (`lone_counters`) let loops begin with `never ? 1 : 0`.
    fn least(&self, value: u32, largest: i128, depth: usize) -> Option<i128> {
        let choice = self.definitions.instruction(value).filter(|of| depth > 0 && of.is(Op::Select));
        match choice.as_ref().map(|choice| choice.operands()) {
            Some(&[_, yes, no]) => {
                Some(self.least(yes, largest, depth - 1)?.min(self.least(no, largest, depth - 1)?))
            }
            _ => self.constant(value, largest),
        }
    }

    /// A constant, as a number with a sign.
    fn constant(&self, value: u32, largest: i128) -> Option<i128> {
        let number = i128::from(self.definitions.int_constant(value)?);
        Some(if number > largest / 2 { number - largest - 1 } else { number })
    }

    /// The most that a number is, if it is known to be small. A signed one may be less than 0.
    fn most(&self, value: u32, depth: usize) -> Option<i128> {
        if let Some(constant) = self.definitions.int_constant(value) {
            return Some(i128::from(constant));
        }
        let instruction = self.definitions.instruction(value).filter(|_| depth > 0)?;
        let Some(Type::Int { width: width @ 1..=64 }) = self.types.ty(instruction.result_type()?) else {
            return None;
        };
        let largest = i128::from(u64::MAX >> (64 - width));
        let operands = instruction.operands();
        let number = |at: usize| operands.get(at).and_then(|id| self.definitions.int_constant(*id));
        let of = |at: usize| self.most(*operands.get(at)?, depth - 1);
        let least = |a: Option<i128>, b: Option<i128>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let most = match instruction.op()? {
            Op::UMod | Op::SRem | Op::SMod => number(1).map(|by| i128::from(by) - 1),
            Op::BitwiseAnd => least(of(0), of(1)),
            Op::ShiftRightLogical => Some(of(0).unwrap_or(largest) >> number(1)?.min(64)),
            Op::UDiv => of(0).unwrap_or(largest).checked_div(i128::from(number(1)?)),
            Op::Select => Some(of(1)?.max(of(2)?)),
            Op::IAdd => of(0)?.checked_add(of(1)?),
            Op::IMul => of(0)?.checked_mul(of(1)?),
            Op::UConvert | Op::SConvert => of(0),
            Op::ExtInst if operands.get(1).is_some_and(|name| MINIMA.contains(name)) => least(of(2), of(3)),
            _ => None,
        };
        most.filter(|most| *most >= 0 && *most <= largest)
    }

    /// What such a loop changes, if all ways out of it lead through its end.
    fn single(&self, flow: &Flow<'_>, of: &Loop, unclear: &HashSet<u32>) -> Option<Single> {
        let header = flow.blocks.get(of.header)?;
        let exit = header.successors.iter().find(|at| !of.blocks.contains(at))?;
        let labels: HashSet<u32> =
            of.blocks.iter().filter_map(|at| Some(flow.blocks.get(*at)?.label)).collect();
        if flow.exiting(of) != [of.header] || labels.len() > BLOCKS || !labels.is_disjoint(unclear) {
            return None;
        }
        let (mut used, mut label) = (HashSet::new(), 0);
        for instruction in self.definitions.body(flow.function) {
            if instruction.is(Op::Label) {
                label = instruction.result_id().unwrap_or(0);
            }
            if !labels.contains(&label) {
                instruction.visit_ids(self.definitions, |at, role| {
                    used.extend(instruction.word(at).filter(|_| role == Role::Id));
                });
            }
        }
        let mut phis = Vec::new();
        for (phi, _) in flow.phis.iter().filter(|(phi, at)| **at == of.header && used.contains(*phi)) {
            let ty = self.definitions.type_of(*phi)?;
            if has_other(self.types, ty) {
                phis.push((*phi, ty));
            }
        }
        phis.sort_unstable();
        let exit = flow.blocks.get(*exit)?.label;
        (!phis.is_empty()).then_some(Single { header: header.label, exit, labels, phis, number: None })
    }
}
