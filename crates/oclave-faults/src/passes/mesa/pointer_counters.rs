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
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::{Definitions, Editor, Module, Op, Role, Type, TypeTable};

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

/// A pointer of a loop.
struct Moved {
    phi: u32,
    ty: u32,
    start: u32,
    /// The block before the loop, the loop's header, and the block that goes back.
    from: u32,
    header: u32,
    latch: u32,
    /// The pointer of the next iteration, and the index of 64 bits that it is away from this one.
    next: u32,
    step: u32,
}

/// The module with counts in the place of such pointers; `None` where it has none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn count(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let mut edit = Editor::new(definitions);
    for moved in moved(analyses) {
        let (Some(phi), Some(next)) =
            (definitions.instruction(moved.phi), definitions.instruction(moved.next))
        else {
            continue;
        };
        let (ulong, zero) = (edit.int_type(64), edit.int_constant(64, 0));
        let [count, next_count] = [edit.fresh_id(), edit.fresh_id()];
        edit.replace(&phi, Op::Phi, &[ulong, count, zero, moved.from, next_count, moved.latch]);
        edit.at_start(moved.header).push(Op::PtrAccessChain, &[moved.ty, moved.phi, moved.start, count]);
        let mut at = edit.instead_of(&next);
        at.push(Op::IAdd, &[ulong, next_count, count, moved.step]);
        at.push(Op::PtrAccessChain, &[moved.ty, moved.next, moved.start, next_count]);
    }
    Ok(edit.finish()?)
}

fn moved(analyses: &Analyses<'_>) -> Vec<Moved> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let is_wide =
        |id: u32| definitions.type_of(id).and_then(|ty| types.ty(ty)) == Some(Type::Int { width: 64 });
    let mut found = Vec::new();
    for flow in analyses.flows() {
        let mut of_function = Vec::new();
        for of in &flow.loops {
            let phis = flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi);
            let mut phis: Vec<u32> = phis.collect();
            phis.sort_unstable();
            let moved = phis.into_iter().filter_map(|phi| pointer(definitions, flow, of, phi));
            of_function.extend(moved.filter(|moved| is_wide(moved.step)));
        }
        if !of_function.is_empty() {
            let shared = used_elsewhere(analyses, flow);
            found.extend(of_function.into_iter().filter(|moved| shared.contains(&moved.next)));
        }
    }
    found
}

/// A pointer that moves on by one step in each iteration.
fn pointer(definitions: &Definitions<'_>, flow: &Flow<'_>, of: &Loop, phi: u32) -> Option<Moved> {
    let label = |at: usize| flow.blocks.get(at).map(|block| block.label);
    let (header, from) = (label(of.header)?, label(flow.preheader(of)?)?);
    let &[latch] = of.latches.as_slice() else { return None };
    let latch = label(latch)?;
    let instruction = definitions.instruction(phi)?;
    let (start, next) = match *instruction.operands() {
        [start, label, next, back] if (label, back) == (from, latch) => (start, next),
        [next, back, start, label] if (label, back) == (from, latch) => (start, next),
        _ => return None,
    };
    let chain = definitions.instruction(next)?;
    let ty = instruction.result_type()?;
    let is_chain = chain.is(Op::PtrAccessChain) || chain.is(Op::InBoundsPtrAccessChain);
    match *chain.operands() {
        [base, step] if is_chain && base == phi && chain.result_type() == Some(ty) => {
            Some(Moved { phi, ty, start, from, header, latch, next, step })
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
