//! Selections by phis.
//!
//! The check is the one of `second_phis`, and it fails in groups of one and two:
//!
//! ```text
//! for (…) v = f() || v && g(); if (c) v = true; barrier(…); w = v ? 5 : 11;
//! ```
//!
//! If a phi takes a number on some way, LLVM makes a branch of a selection by that phi (jump threading).
//! If no way can lead past the code in between, it makes a selection again. By then, the branch has a
//! `freeze` of the phi. In such groups, PoCL 6.0 keeps phis. `instcombine` moves the `freeze` past them,
//! into the loop. As `v` is no poison there now, the selection of `v && g()` may become a bitwise
//! and. `instcombine` has looked at it before. So only the second run finds that.
//!
//! This pass makes `v != never` of the condition, where `never` says that the size of the group is the
//! largest number. Then LLVM does not see a phi, and keeps the selection. PoCL knows the size later.

use std::collections::{HashMap, HashSet};

use super::number_parameter;
use super::writer::is_never;
use crate::Result;
use crate::load::built_in_vector::{BuiltInVector, functions_with_built_ins};
use crate::load::never::emit;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{
    BuiltIn, Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, is_integer_comparison,
};

/// The module with these conditions; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn hide(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let found = find(&definitions, &types);
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    for instruction in module.instructions() {
        let number = instruction.result_id().and_then(|id| found.get(&id));
        match (instruction.op(), number, instruction.operands()) {
            (Some(Op::EntryPoint), _, _) => size.copy_entry_point(&mut new, &instruction),
            (Some(Op::Select), Some(number), &[condition, yes, no]) => {
                let never = is_never(&mut new, &types, &size, *number);
                let truth = new.bool_type();
                let condition = emit(&mut new, Op::LogicalNotEqual, truth, &[condition, never]);
                let words = instruction.words.get(1..3).unwrap_or_default();
                new.replace(&instruction, Op::Select, &[words, &[condition, yes, no]].concat());
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// A parameter of a function that is an integer, and its type, where the function has no ids.
type Number = Option<(u32, u32)>;

/// Selections by phis.
fn find(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> HashMap<u32, Number> {
    let functions = functions_with_built_ins(definitions);
    let mut found = HashMap::new();
    for flow in &Flow::of_functions(definitions.module()) {
        let mut number = None;
        if !functions.contains(&flow.function) {
            number = number_parameter(definitions, types, flow.function);
            if number.is_none() {
                continue;
            }
        }
        let headers: HashSet<u32> =
            flow.loops.iter().filter_map(|of| Some(flow.blocks.get(of.header)?.label)).collect();
        let mut label = 0;
        for instruction in definitions.body(flow.function) {
            if instruction.is(Op::Label) {
                label = instruction.result_id().unwrap_or(0);
            }
            let Some((phi, id)) = chosen_by(definitions, types, &instruction).zip(instruction.result_id())
            else {
                continue;
            };
            // LLVM leaves the start of a loop alone.
            let at = flow.phis.get(&phi).and_then(|at| flow.blocks.get(*at));
            if at.is_some_and(|at| at.label != label || !headers.contains(&label)) {
                found.insert(id, number);
            }
        }
    }
    found
}

/// The value that tells what a selection gives, by itself or by a comparison with a number; `None` where
/// that is no phi.
fn chosen_by(definitions: &Definitions<'_>, types: &TypeTable<'_>, of: &Instruction<'_>) -> Option<u32> {
    let &[condition, yes, no] = of.operands() else { return None };
    let is_bool = |id: u32| definitions.type_of(id).and_then(|ty| types.ty(ty)) == Some(Type::Bool);
    if !of.is(Op::Select) || !is_bool(condition) {
        return None;
    }
    // These are `||` and `&&`.
    let is = |id: u32, op: Op| definitions.instruction(id).is_some_and(|of| of.is(op));
    if is_bool(yes) && (is(yes, Op::ConstantTrue) || is(no, Op::ConstantFalse)) {
        return None;
    }
    let mut value = condition;
    // In blocks that nothing leads to, a negation may be its own operand.
    let mut before = usize::MAX;
    while let Some(not) = definitions.instruction(value).filter(|of| of.is(Op::LogicalNot) && of.at < before)
    {
        (value, before) = (not.operand(0)?, not.at);
    }
    let comparison = definitions.instruction(value)?;
    if let &[left, right] = comparison.operands()
        && comparison.op().is_some_and(is_integer_comparison)
    {
        let is_number = |id: u32| definitions.int_constant(id).is_some();
        value = match (is_number(left), is_number(right)) {
            (false, true) => left,
            (true, false) => right,
            _ => return None,
        };
    }
    is(value, Op::Phi).then_some(value)
}
