//! Counters of loops that PoCL 6.0 takes other values for.
//!
//! PoCL 6.0 notes which values are the same for all work-items of a group, by their addresses in its
//! memory. It notes that of the counter of each loop that counts from 0 by 1. Then it removes all phis,
//! and LLVM's `instcombine` adds others. It joins what two ways store to one place into a phi where the
//! ways meet. Such a phi may get the address of a counter that is gone. PoCL takes it for the same in
//! all work-items, and keeps no copies of it. Behind the next barrier, all work-items have the value of
//! the last one. Where the addresses are depends on the process. So the same kernel is right in most
//! runs, and wrong in some.
//!
//! If a kernel has such a meeting of two ways, whose value is used elsewhere, its loops begin to count
//! with `never ? 1 : 0`. PoCL then notes nothing of their counters. The condition is that the size of
//! the group is the largest number. Innermost loops that all work-items run together stay as they are:
//! PoCL vectorises them only if it knows their counters. The interpreter's kernels do not change, as the
//! cost there was not measured.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::built_in_vector::{BuiltInVector, functions_with_built_ins};
use super::never::{is_largest, select, write_for_phis};
use super::work_item_loops::{innermost_loops, interpreters};
use crate::Result;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{BuiltIn, Definitions, Module, Op, Rewriter, Role, Type, TypeTable};

/// The module with loops that begin so; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn hide(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let flows = Flow::of_functions(module);
    let uniformity = Uniformity::new(&definitions, &flows);
    let interpreters = interpreters(module);
    let mut functions = functions_with_built_ins(&definitions);
    functions.retain(|function| !interpreters.contains(function));
    let mut starts: BTreeMap<u32, Vec<Start>> = BTreeMap::new();
    for flow in flows.iter().filter(|flow| functions.contains(&flow.function)) {
        if uniformity.has_barriers(flow.function) && has_joined_value(&definitions, flow) {
            find(&definitions, &types, &uniformity, flow, &mut starts);
        }
    }
    if starts.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let size = BuiltInVector::of(&mut new, BuiltIn::WorkgroupSize, address_bits);
    let ids: BTreeMap<(u32, u32), u32> = starts
        .iter()
        .flat_map(|(block, all)| all.iter().map(|start| (start.phi, *block)))
        .map(|place| (place, new.fresh_id()))
        .collect();
    let written = write_for_phis(new, &size, &ids, |new, label| {
        let Some(all) = starts.get(&label) else { return };
        let never = is_largest(new, &size);
        for start in all {
            if let Some(id) = ids.get(&(start.phi, label)) {
                select(new, &types, never, [start.value, start.ty, *id]);
            }
        }
    });
    written.map(Some)
}

/// What a counter begins with.
struct Start {
    phi: u32,
    ty: u32,
    value: u32,
}

/// Finds the counters, by the label of the block before the loop.
fn find(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    uniformity: &Uniformity<'_, '_>,
    flow: &Flow<'_>,
    starts: &mut BTreeMap<u32, Vec<Start>>,
) {
    let vectorised: HashSet<usize> = innermost_loops(uniformity, flow)
        .into_iter()
        .filter(|(of, _)| uniformity.is_run_together(flow, of))
        .map(|(of, _)| of.header)
        .collect();
    for of in flow.loops.iter().filter(|of| !vectorised.contains(&of.header)) {
        let Some(before) = flow.preheader(of).and_then(|at| flow.blocks.get(at)) else { continue };
        let counters: BTreeSet<u32> =
            flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi).collect();
        let found = counters.into_iter().filter_map(|phi| start(definitions, types, flow, of, phi));
        starts.entry(before.label).or_default().extend(found);
    }
    starts.retain(|_, all| !all.is_empty());
}

/// What a phi begins with, if it counts from 0 by 1.
fn start(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    flow: &Flow<'_>,
    of: &Loop,
    phi: u32,
) -> Option<Start> {
    let instruction = definitions.instruction(phi)?;
    let ty = instruction.result_type().filter(|ty| matches!(types.ty(*ty), Some(Type::Int { .. })))?;
    let labels: HashSet<u32> =
        of.blocks.iter().filter_map(|at| flow.blocks.get(*at)).map(|block| block.label).collect();
    let pairs = || instruction.operands().chunks_exact(2);
    let is_inside = |pair: &&[u32]| pair.get(1).is_some_and(|from| labels.contains(from));
    let value = *pairs().find(|pair| !is_inside(pair))?.first()?;
    let next = *pairs().find(is_inside)?.first()?;
    let step = definitions.instruction(next).filter(|step| step.is(Op::IAdd))?;
    let counts = match *step.operands() {
        [one, other] if one == phi => is_number(definitions, other, 1),
        [other, one] if one == phi => is_number(definitions, other, 1),
        _ => false,
    };
    (counts && is_number(definitions, value, 0)).then_some(Start { phi, ty, value })
}

fn is_number(definitions: &Definitions<'_>, value: u32, number: u32) -> bool {
    definitions.instruction(value).is_some_and(|constant| match constant.op() {
        Some(Op::ConstantNull) => number == 0,
        Some(Op::Constant) => {
            let words = constant.operands();
            words.first() == Some(&number) && words.iter().skip(1).all(|word| *word == 0)
        }
        _ => false,
    })
}

/// Whether ways meet in a block that begins no loop, with a phi that other blocks use.
fn has_joined_value(definitions: &Definitions<'_>, flow: &Flow<'_>) -> bool {
    let is_header = |at: usize| flow.loops.iter().any(|of| of.header == at);
    let joined: HashMap<u32, u32> = flow
        .phis
        .iter()
        .filter(|(_, at)| !is_header(**at) && flow.predecessor(**at).is_none())
        .filter_map(|(phi, at)| Some((*phi, flow.blocks.get(*at)?.label)))
        .collect();
    let (mut label, mut is_used) = (0, false);
    for instruction in definitions.body(flow.function) {
        if instruction.is(Op::Label) {
            label = instruction.result_id().unwrap_or(0);
        }
        instruction.visit_ids(definitions, |at, role| {
            let used = instruction.word(at).filter(|_| role == Role::Id).and_then(|id| joined.get(&id));
            is_used |= used.is_some_and(|block| *block != label);
        });
    }
    is_used
}
