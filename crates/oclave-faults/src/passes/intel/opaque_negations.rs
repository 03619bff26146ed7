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
//! It takes negated floating-point numbers for the same in all work-items, and all that depends on the
//! work-item by them only. Where such a value is kept across a barrier, all work-items then have that of the
//! last one:
//!
//! ```text
//! float v = -in[id];
//! barrier(CLK_LOCAL_MEM_FENCE);
//! out[id] = v;
//! ```
//!
//! So the complement or the negation becomes another value in a work-item whose global id is the
//! largest number. No work-item has that id.

use std::collections::{HashMap, HashSet};

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{change_values, is_largest, select};
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, TypeTable, is_group};

fault! {
    /// **Q43. Intel's CPU runtime 2026.2.** In kernels with barriers, `~min(in[id], b)` is wrong in
    /// groups that do not fill a vector of 16, and so is `fmax(-x, 2.0f)`. Right with
    /// `-cl-opt-disable`. So such complements and negations become `never ? 0 : ~x`.
    ///
    /// Also, it takes `-x` of a float for the same in all work-items, and all that depends on the work-item by
    /// such negations only. If that is kept across a barrier, all work-items have that of the last one. From
    /// source, `float v = -in[id]; barrier(CLK_LOCAL_MEM_FENCE); out[id] = v;` is wrong in groups of 2 to 256, but of 16.
    /// intel/llvm#23220 shows it.
    Q43 {
        affects: [INTEL],
        seen: Programs,
        symptom: "Complements are wrong in kernels with barriers; a negated float that is kept across a barrier is that of the last work-item.",
        remedy: "A selection with a condition that compilers do not know (`opaque_negations`).",
        upstream: ["intel/llvm#23220", "intel-negations-across-barriers.md"],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q43, "opaque_negations", |on| separate(on.analyses, on.target.address_bits));

/// Minima, maxima and clamps of OpenCL.std.
const CHOICES: [u32; 11] = [27, 28, 95, 97, 98, 149, 150, 156, 157, 158, 159];

/// Built-in variables that differ from work-item to work-item of a group.
const PLACES: [BuiltIn; 5] = [
    BuiltIn::LocalInvocationId,
    BuiltIn::GlobalInvocationId,
    BuiltIn::LocalInvocationIndex,
    BuiltIn::GlobalLinearId,
    BuiltIn::SubgroupLocalInvocationId,
];

/// How many parts of a value are looked at.
const PARTS: usize = 64;

/// The module with such complements and negations; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn separate(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let module = analyses.module();
    if !module.instructions().any(|i| i.op().is_some_and(waits_for_group)) {
        return Ok(None);
    }
    let definitions = analyses.definitions();
    let places = module.built_ins().filter(|(_, number)| PLACES.map(|place| place as u32).contains(number));
    let search = Search { definitions, places: places.map(|(id, _)| id).collect() };
    let mut found = search.inverted();
    found.extend(search.kept());
    if found.is_empty() {
        return Ok(None);
    }
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    let id = BuiltInVector::add(&mut edit, BuiltIn::GlobalInvocationId, address_bits);
    let begin = |at: &mut Cursor<'_, '_>| is_largest(at, &id);
    change_values(&mut edit, &found, begin, |at, never, words| select(at, &types, never, words));
    Ok(edit.finish()?)
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
    /// The built-in variables whose value differs from work-item to work-item of a group.
    places: HashSet<u32>,
}

/// What is known of the values of a function.
#[derive(Default)]
struct Values {
    /// Those that depend on the work-item, also without the negations.
    own: HashSet<u32>,
    /// Others that depend on negations.
    negated: HashMap<u32, Negated>,
    /// The negations of a value, each with the part that computes it.
    negations: HashMap<u32, Vec<(u32, u32)>>,
}

/// A value that depends on negations.
struct Negated {
    part: u32,
    by: Vec<u32>,
}

impl Values {
    /// Negations that several parts compute: compilers compute them once.
    fn repeated(&self) -> impl Iterator<Item = u32> {
        let several = self
            .negations
            .values()
            .filter(|all| all.iter().any(|(_, part)| Some(part) != all.first().map(|(_, first)| first)));
        several.flatten().map(|(id, _)| *id)
    }
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

    /// Negations that may decide what is needed behind a barrier: all that depends on the work-item by
    /// negations only, and is used in another part of the function or kept in a private variable. A part ends
    /// where a block does, and at a barrier or a call.
    fn kept(&self) -> HashSet<u32> {
        let (mut found, mut part, mut waits) = (HashSet::new(), 0, false);
        let mut values = Values::default();
        let mut kept: HashSet<u32> = HashSet::new();
        for instruction in self.definitions.module().instructions() {
            match instruction.op() {
                Some(Op::Label) => part += 1,
                Some(op) if waits_for_group(op) || op == Op::FunctionCall => {
                    part += 1;
                    waits = true;
                }
                Some(Op::FunctionEnd) => {
                    kept.extend(values.repeated());
                    if waits {
                        found.extend(kept.drain());
                    }
                    (waits, values, kept) = (false, Values::default(), HashSet::new());
                }
                _ => {}
            }
            let is_private = |to: u32| self.definitions.is_private_variable(to);
            let is_stored = instruction.is(Op::Store) && instruction.operand(0).is_some_and(is_private);
            for id in instruction.operands() {
                let of = values.negated.get(id).filter(|value| value.part != part || is_stored);
                kept.extend(of.iter().flat_map(|value| &value.by));
            }
            let Some(id) = instruction.result_id() else { continue };
            if let Some(of) = self.negates(&instruction) {
                values.negations.entry(of).or_default().push((id, part));
                values.negated.insert(id, Negated { part, by: vec![id] });
            } else if self.is_own(&instruction)
                || instruction.operands().iter().any(|id| values.own.contains(id))
            {
                values.own.insert(id);
            } else {
                let by = instruction.operands().iter().filter_map(|id| values.negated.get(id));
                let mut by: Vec<u32> = by.flat_map(|value| value.by.iter().copied()).collect();
                by.sort_unstable();
                by.dedup();
                by.truncate(PARTS);
                if !by.is_empty() {
                    values.negated.insert(id, Negated { part, by });
                }
            }
        }
        found
    }

    /// Whether it is a place of the work-item.
    fn is_own(&self, instruction: &Instruction<'_>) -> bool {
        instruction.is(Op::Load) && instruction.operand(0).is_some_and(|from| self.places.contains(&from))
    }

    /// The floating-point number that it is the negation of.
    fn negates(&self, instruction: &Instruction<'_>) -> Option<u32> {
        match (instruction.op()?, instruction.operands()) {
            (Op::FNegate, &[value]) => Some(value),
            (Op::FMul | Op::FDiv, &[value, by]) if self.is_float(by, -1.0) => Some(value),
            (Op::FMul, &[by, value]) if self.is_float(by, -1.0) => Some(value),
            (Op::FSub, &[from, value]) if self.is_float(from, 0.0) => Some(value),
            _ => None,
        }
    }

    /// Whether a constant is this number, in each lane.
    fn is_float(&self, value: u32, number: f32) -> bool {
        let Some(constant) = self.definition(value) else { return false };
        match (constant.op(), constant.operands()) {
            (Some(Op::ConstantNull), _) => number == 0.0,
            (Some(Op::ConstantComposite), lanes) => lanes.iter().all(|lane| self.is_float(*lane, number)),
            (Some(Op::Constant), &[low, high]) => {
                f64::from_bits(u64::from(high) << 32 | u64::from(low)) == f64::from(number)
            }
            // -1 as a half.
            (Some(Op::Constant), &[word]) => {
                f32::from_bits(word) == number || number < 0.0 && word & 0xffff == 0xbc00 && word >> 16 == 0
            }
            _ => false,
        }
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
