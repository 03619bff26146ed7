//! Complements and negations beside minima, maxima and selections, kept apart from these.
//!
//! Intel's compiler turns `~min(x, b)` into `max(~x, ~b)`. In kernels with barriers, it then takes
//! wrong values for work-items that do not fill a vector:
//!
//! ```text
//! uint v = ~min(in[id], b);
//! barrier(CLK_GLOBAL_MEM_FENCE);
//! out[id] = v;
//! ```
//!
//! So the complement or the negation becomes another value in a work-item whose global id is the
//! largest number. No work-item has that id.

use std::collections::HashSet;

use super::built_in_vector::BuiltInVector;
use super::never::{is_largest, select, write_for_values};
use crate::Result;
use oclave_spirv::{BuiltIn, Definitions, Instruction, Module, Op, Rewriter, TypeTable, is_group};

/// Minima, maxima and clamps of OpenCL.std.
const CHOICES: [u32; 11] = [27, 28, 95, 97, 98, 149, 150, 156, 157, 158, 159];

/// How many parts of a value are looked at.
const PARTS: usize = 64;

/// The module with such complements and negations; `None` where there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn separate(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    if !module.instructions().any(|i| i.op().is_some_and(waits_for_group)) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let found = Search { definitions: &definitions }.inverted();
    if found.is_empty() {
        return Ok(None);
    }
    let types = TypeTable::new(&definitions);
    let mut new = Rewriter::new(&definitions);
    let id = BuiltInVector::of(&mut new, BuiltIn::GlobalInvocationId, address_bits);
    let begin = |new: &mut Rewriter<'_>| is_largest(new, &id);
    write_for_values(new, &id, &found, begin, |new, never, words| select(new, &types, never, words)).map(Some)
}

/// Whether work-items of a group wait for each other.
fn waits_for_group(op: Op) -> bool {
    op == Op::ControlBarrier || is_group(op)
}

/// Whether compilers move a complement or a negation from the result to the operands.
fn passes_bits(op: Op) -> bool {
    matches!(
        op,
        Op::UConvert
            | Op::SConvert
            | Op::FConvert
            | Op::Bitcast
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::ShiftLeftLogical
            | Op::ShiftRightLogical
            | Op::ShiftRightArithmetic
    )
}

struct Search<'a, 'm> {
    definitions: &'a Definitions<'m>,
}

impl<'m> Search<'_, 'm> {
    /// Complements and negations of what is chosen, and those among which one is chosen; also behind
    /// conversions and bitwise operations.
    fn inverted(&self) -> HashSet<u32> {
        let code = || self.definitions.module().instructions();
        let mut found: HashSet<u32> = code()
            .filter(|i| {
                self.inverts(i).is_some_and(|of| self.parts(vec![of]).iter().any(|i| self.is_chosen(i)))
            })
            .filter_map(|i| i.result_id())
            .collect();
        for user in code().filter(|i| self.is_choice(i) || i.is(Op::Store)) {
            let parts = self.parts(user.operands().to_vec());
            found.extend(parts.iter().filter(|i| self.inverts(i).is_some()).filter_map(|i| i.result_id()));
        }
        found
    }

    /// What values are conversions of, and bitwise operations with.
    fn parts(&self, mut open: Vec<u32>) -> Vec<Instruction<'m>> {
        let (mut parts, mut seen) = (Vec::new(), HashSet::new());
        while let Some(value) = open.pop().filter(|_| seen.len() < PARTS) {
            let Some(instruction) = self.definition(value).filter(|_| seen.insert(value)) else { continue };
            if instruction.op().is_some_and(passes_bits) && self.inverts(&instruction).is_none() {
                open.extend(instruction.operands());
            }
            parts.push(instruction);
        }
        parts
    }

    fn definition(&self, value: u32) -> Option<Instruction<'m>> {
        self.definitions.instruction(value)
    }

    /// What it is the complement or the negation of.
    fn inverts(&self, instruction: &Instruction<'_>) -> Option<u32> {
        match (instruction.op()?, instruction.operands()) {
            (Op::Not | Op::FNegate, &[value]) => Some(value),
            (Op::BitwiseXor, &[value, ones]) | (Op::BitwiseXor | Op::ISub, &[ones, value])
                if self.is_ones(ones) =>
            {
                Some(value)
            }
            _ => None,
        }
    }

    /// Whether all bits of a constant are set.
    fn is_ones(&self, value: u32) -> bool {
        let Some(constant) = self.definition(value) else { return false };
        match constant.op() {
            Some(Op::Constant) => constant.operands().iter().all(|word| {
                // Narrow numbers are extended by zeroes or by their sign.
                [u32::MAX, 0xffff, 0xff].contains(word)
            }),
            Some(Op::ConstantComposite) => constant.operands().iter().all(|part| self.is_ones(*part)),
            _ => false,
        }
    }

    /// Whether it is a choice, or comes from a variable, which may hold one.
    fn is_chosen(&self, instruction: &Instruction<'_>) -> bool {
        let is_private = |from: u32| self.definitions.is_private_variable(from);
        self.is_choice(instruction)
            || instruction.is(Op::Load) && instruction.operand(0).is_some_and(is_private)
    }

    /// Whether it gives one of its operands.
    fn is_choice(&self, instruction: &Instruction<'_>) -> bool {
        match (instruction.op(), instruction.operands()) {
            (Some(Op::Select | Op::Phi), _) => true,
            (Some(Op::ExtInst), &[set, number, ..]) => {
                self.definitions.opencl_std() == Some(set) && CHOICES.contains(&number)
            }
            _ => false,
        }
    }
}
