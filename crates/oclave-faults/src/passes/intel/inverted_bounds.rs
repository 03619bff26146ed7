//! Hides comparisons of differences with ids from Intel's CPU runtime.
//!
//! The runtime turns the conditions that a kernel begins with into bounds of its loop over the
//! work-items. It notes that a condition counts down in a flag, and does not clear the flag. The
//! next condition on an id is inverted then, in this kernel or in a later one of the program:
//!
//! ```text
//! int i = get_global_id(0), j = d - i;
//! if (i > n || j > m) return;             // runs from n on
//! ```
//!
//! It is also wrong for two conditions on one id, if the first one has a sum and includes its bound:
//! `i - d <= n || i < m`. For `n + d == 0`, item 0 is wrong.
//!
//! So the compared value is combined with a zero that compilers do not know. The runtime makes no
//! bounds of such conditions. Conditions in loops and after side effects are no bounds.

use std::collections::{HashMap, HashSet};

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::hidden_zero;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::analysis::work_items::id_variables;
use oclave_spirv::{
    BuiltIn, Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable, is_atomic, is_group,
    is_integer_comparison, is_pure,
};

fault! {
    /// **Q61. Intel's CPU runtime 2026.2.** A condition that a kernel begins with becomes a bound of the
    /// loop over the work-items. One on a difference `d - i` with an id inverts the next one on an id, in
    /// this kernel or in a later one of the program. From source, `int i = get_global_id(0), j = d - i;
    /// if (i > n || j > m) return; out[i] = i;` runs from `n` on. Beside a kernel that begins with `if (d - i >= n)
    /// return;`, another one with `if (i >= n) return;` runs from `n` on, out of its buffers. Also,
    /// `if (i - d <= n || i < m) return;` is wrong for item 0 if `n + d` is 0. Such comparisons get a zero
    /// that compilers do not know.
    Q61 {
        affects: [INTEL],
        seen: Programs,
        symptom: "A condition on a difference with an id inverts later conditions on ids.",
        remedy: "A zero that compilers do not know joins the difference (`inverted_bounds`).",
        upstream: ["intel-differences-invert-bounds.md"],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q61, "inverted_bounds", |on| hide(on.analyses, on.target.address_bits));

/// How often all instructions are visited, at most. Each visit follows variables and calls once.
const VISITS: usize = 8;

/// The value depends on the id of the work-item.
const OF_ID: u8 = 1;
/// The value falls as the id grows.
const FALLS: u8 = 2;
/// The value is an id, and something that is no constant is added or subtracted.
const IS_MOVED: u8 = 4;

/// The module with hidden comparisons; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn hide(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let facts = Facts::new(definitions);
    let found = facts.comparisons(analyses);
    if found.is_empty() {
        return Ok(None);
    }
    let types = TypeTable::new(definitions);
    let mut edit = Editor::new(definitions);
    let size = BuiltInVector::add(&mut edit, BuiltIn::GlobalSize, address_bits);
    for (comparison, place) in found {
        let mut words = comparison.words.to_vec();
        // The opcode, the type and the result come before the operands.
        let (Some(op), Some(value)) = (comparison.op(), words.get_mut(3 + place)) else { continue };
        let Some(ty) = definitions.type_of(*value) else { continue };
        let mut at = edit.instead_of(&comparison);
        *value = join(&mut at, &types, &size, *value, ty);
        at.push(op, words.get(1..).unwrap_or_default());
    }
    Ok(edit.finish()?)
}

/// Writes `value ^ -zero`, with a zero for each lane. All bits of the negated zero are unknown: LLVM reduces
/// comparisons to the bits that they need, such as the sign.
fn join(at: &mut Cursor<'_, '_>, types: &TypeTable<'_>, size: &BuiltInVector, value: u32, ty: u32) -> u32 {
    let lane = types.lane(ty);
    let n = size.read(at, 0);
    let zero = hidden_zero(at, n, size.width);
    let width = at.int_type(size.width);
    let mut zero = at.emit(Op::SNegate, width, &[zero]);
    if !matches!(types.ty(lane), Some(Type::Int { width }) if width == size.width) {
        zero = at.emit(Op::SConvert, lane, &[zero]);
    }
    if let Some(Type::Vector { count, .. }) = types.ty(ty) {
        let lanes: Vec<u32> = (0..count).map(|_| zero).collect();
        zero = at.emit(Op::CompositeConstruct, ty, &lanes);
    }
    at.emit(Op::BitwiseXor, ty, &[value, zero])
}

/// What is known of values, of private variables, and of what functions return.
struct Facts<'a, 'm> {
    definitions: &'a Definitions<'m>,
    of: HashMap<u32, u8>,
}

impl<'a, 'm> Facts<'a, 'm> {
    fn new(definitions: &'a Definitions<'m>) -> Self {
        let of = id_variables(definitions).into_iter().map(|id| (id, OF_ID)).collect();
        let mut facts = Self { definitions, of };
        for _ in 0..VISITS {
            let mut is_new = false;
            for instruction in definitions.module().instructions() {
                let op = instruction.op();
                match (op, instruction.operands()) {
                    (Some(Op::Store), &[to, value, ..]) => {
                        let to = definitions.root(to);
                        if definitions.is_private_variable(to) {
                            is_new |= facts.add(to, facts.get(value));
                        }
                    }
                    (Some(Op::ReturnValue), &[value]) => {
                        let function = definitions.function_of(&instruction);
                        is_new |= function.is_some_and(|function| facts.add(function, facts.get(value)));
                    }
                    (Some(Op::FunctionCall), [callee, arguments @ ..]) => {
                        for (parameter, argument) in definitions.parameters(*callee).zip(arguments) {
                            is_new |= facts.add(parameter, facts.get(*argument));
                        }
                    }
                    _ => {}
                }
                if let Some(result) = instruction.result_id().filter(|_| op != Some(Op::Function)) {
                    is_new |= facts.add(result, facts.follow(&instruction));
                }
            }
            if !is_new {
                break;
            }
        }
        facts
    }

    fn get(&self, id: u32) -> u8 {
        self.of.get(&id).copied().unwrap_or(0)
    }

    /// Adds facts; whether one of them is new.
    fn add(&mut self, id: u32, facts: u8) -> bool {
        let known = self.get(id);
        let is_new = known | facts != known;
        if is_new {
            self.of.insert(id, known | facts);
        }
        is_new
    }

    /// The facts of an instruction's result.
    fn follow(&self, instruction: &Instruction<'_>) -> u8 {
        let operands = instruction.operands();
        let all = || operands.iter().fold(0, |all, id| all | self.get(*id));
        let is_constant = |id: &u32| self.definitions.int_constant(*id).is_some();
        match (instruction.op(), operands) {
            (Some(Op::Load), &[from, ..]) => self.get(self.definitions.root(from)),
            (Some(Op::FunctionCall), &[callee, ..]) => self.get(callee),
            (Some(Op::ISub), &[_, taken]) if self.get(taken) & OF_ID != 0 => all() | FALLS | IS_MOVED,
            (Some(Op::SNegate | Op::Not), _) if all() & OF_ID != 0 => all() | FALLS,
            (Some(Op::IMul), _) if all() & OF_ID != 0 && operands.iter().any(|id| self.is_negative(*id)) => {
                all() | FALLS
            }
            (Some(Op::IAdd | Op::ISub), _) if all() & OF_ID != 0 && !operands.iter().any(is_constant) => {
                all() | IS_MOVED
            }
            // The outcome of a comparison is no number.
            (Some(op), _) if is_integer_comparison(op) => all() & OF_ID,
            (Some(Op::IAdd | Op::ISub | Op::UConvert | Op::SConvert | Op::Bitcast), _)
            | (Some(Op::Select | Op::Phi | Op::CopyObject), _) => all(),
            (Some(op), _) if is_composite(op) => all(),
            (Some(op), _) if is_pure(op) => all() & OF_ID,
            _ => 0,
        }
    }

    fn is_negative(&self, id: u32) -> bool {
        let width = || {
            let ty = self.definitions.instruction(self.definitions.type_of(id)?)?;
            ty.operand(0).filter(|width| (1..=64).contains(width))
        };
        let number = self.definitions.int_constant(id);
        number.zip(width()).is_some_and(|(number, width)| number >> (width - 1) & 1 != 0)
    }

    /// The comparisons to hide, and which of their operands.
    fn comparisons(&self, analyses: &Analyses<'m>) -> Vec<(Instruction<'m>, usize)> {
        let has = |facts: u8| self.of.values().any(|of| of & facts != 0);
        if !has(FALLS | IS_MOVED) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for flow in analyses.flows() {
            let compared = self.first_comparisons(flow);
            let of_ids = compared.iter().filter(|i| i.operands().iter().any(|id| self.get(*id) & OF_ID != 0));
            let has_two = of_ids.count() > 1;
            for comparison in compared {
                let includes = |place| has_two && includes_bound(&comparison, place);
                let place = comparison.operands().iter().enumerate().position(|(place, id)| {
                    let facts = self.get(*id);
                    facts & FALLS != 0 || facts & IS_MOVED != 0 && includes(place)
                });
                found.extend(place.map(|place| (comparison, place)));
            }
        }
        found
    }

    /// The comparisons that a function reaches without a loop or a side effect.
    fn first_comparisons(&self, flow: &Flow<'m>) -> Vec<Instruction<'m>> {
        let in_loops: HashSet<usize> = flow.loops.iter().flat_map(|of| &of.blocks).copied().collect();
        let (mut found, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![0]);
        while let Some(block) = open.pop() {
            let Some(of) = flow.blocks.get(block) else { continue };
            if in_loops.contains(&block) || !seen.insert(block) {
                continue;
            }
            let code: Vec<Instruction<'m>> = self.definitions.block(of.label).collect();
            let pure = code.iter().take_while(|i| !self.has_effect(i));
            found.extend(pure.clone().filter(|i| i.op().is_some_and(is_integer_comparison)));
            if pure.count() == code.len() {
                open.extend(&of.successors);
            }
        }
        found
    }

    /// Whether others may see what an instruction does. Calls count as inlined.
    fn has_effect(&self, instruction: &Instruction<'_>) -> bool {
        let Some(op) = instruction.op() else { return false };
        match (op, instruction.operand(0)) {
            (Op::Store, Some(to)) => !self.definitions.is_private_variable(self.definitions.root(to)),
            _ => {
                matches!(op, Op::ControlBarrier | Op::MemoryBarrier | Op::ImageWrite)
                    || is_group(op)
                    || is_atomic(op)
            }
        }
    }
}

/// Whether a condition on operand `place` holds, or fails, up to a bound and for the bound itself:
/// `value <= bound` and `value > bound`.
fn includes_bound(comparison: &Instruction<'_>, place: usize) -> bool {
    match comparison.op() {
        Some(Op::ULessThanEqual | Op::SLessThanEqual | Op::UGreaterThan | Op::SGreaterThan) => place == 0,
        Some(Op::UGreaterThanEqual | Op::SGreaterThanEqual | Op::ULessThan | Op::SLessThan) => place == 1,
        _ => false,
    }
}

fn is_composite(op: Op) -> bool {
    matches!(
        op,
        Op::CompositeExtract
            | Op::CompositeConstruct
            | Op::CompositeInsert
            | Op::VectorShuffle
            | Op::VectorExtractDynamic
            | Op::VectorInsertDynamic
    )
}
