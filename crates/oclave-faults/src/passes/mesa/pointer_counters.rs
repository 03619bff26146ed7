//! Pointers that loops move on.
//!
//! `for (…) { for (…) { … } p += n; }` may have the sum before the inner loop, and the phi that takes it behind. Then the sum is undefined
//! in llvmpipe. So such a pointer becomes the pointer that the loop begins with and a number that counts, and each iteration adds
//! both.

use std::collections::HashSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::analysis::counters::Recurrence;
use oclave_spirv::{Editor, Module, Op, Role, Type, TypeTable};

fault! {
    /// **Q86. Mesa's rusticl 26.1.6 on llvmpipe.** A pointer that is computed of the phi of a loop is undefined behind a loop inside. A phi that takes it
    /// there has another address, or the loop never ends. A count of integers in its place is right.
    Q86 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "Pointers that a loop moves on are undefined behind a loop inside.",
        remedy: "The loop counts, and adds the number to the pointer that it begins with (`pointer_counters`).",
        upstream: ["rusticl-pointers-behind-loops.md"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q86, "pointer_counters", |on| count(on.analyses));

/// The module with counts in the place of such pointers; `None` where it has none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn count(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let mut edit = Editor::new(analyses.definitions());
    for (of, step) in moved(analyses) {
        let (ulong, zero) = (edit.int_type(64), edit.int_constant(64, 0));
        let [count, next_count] = [edit.fresh_id(), edit.fresh_id()];
        edit.replace(&of.phi, Op::Phi, &[ulong, count, zero, of.from, next_count, of.latch]);
        edit.at_start(of.header).push(Op::PtrAccessChain, &[of.ty, of.id, of.start, count]);
        let mut at = edit.instead_of(&of.change);
        at.push(Op::IAdd, &[ulong, next_count, count, step]);
        at.push(Op::PtrAccessChain, &[of.ty, of.next, of.start, next_count]);
    }
    Ok(edit.finish()?)
}

/// Such pointers, each with the index of 64 bits that it moves on by.
fn moved<'m>(analyses: &Analyses<'m>) -> Vec<(Recurrence<'m>, u32)> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let is_wide = |id| definitions.type_of(id).and_then(|ty| types.ty(ty)) == Some(Type::Int { width: 64 });
    let mut found = Vec::new();
    for flow in analyses.flows() {
        let all = flow.loops.iter().flat_map(|of| Recurrence::of_loop(definitions, flow, of));
        let of_function: Vec<_> = all.filter_map(|one| Some((one, step(&one)?))).collect();
        if !of_function.is_empty() {
            let shared = used_elsewhere(analyses, flow);
            let is_moved = |(of, step): &(Recurrence<'_>, u32)| is_wide(*step) && shared.contains(&of.next);
            found.extend(of_function.into_iter().filter(is_moved));
        }
    }
    found
}

/// The index that a pointer moves on by in each iteration.
fn step(pointer: &Recurrence<'_>) -> Option<u32> {
    let chain = &pointer.change;
    let is_chain = chain.is(Op::PtrAccessChain) || chain.is(Op::InBoundsPtrAccessChain);
    match *chain.operands() {
        [base, step] if is_chain && base == pointer.id && chain.result_type() == Some(pointer.ty) => {
            Some(step)
        }
        _ => None,
    }
}

/// The values of a function that other blocks than their own use.
fn used_elsewhere(analyses: &Analyses<'_>, flow: &Flow<'_>) -> HashSet<u32> {
    let mut found = HashSet::new();
    let label = |block: usize| flow.blocks.get(block).map(|block| block.label);
    for (block, instruction) in flow.code(analyses.definitions()) {
        instruction.visit_ids(analyses.definitions(), |index, role| {
            let Some(id) = instruction.word(index).filter(|_| role == Role::Id) else { return };
            // A phi uses its values where they come from.
            let at = if instruction.is(Op::Phi) { instruction.word(index + 1) } else { label(block) };
            if analyses.block_of(id).and_then(label) != at {
                found.insert(id);
            }
        });
    }
    found
}
