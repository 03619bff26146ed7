//! Counters of 64 bits in loops with a known last value.
//!
//! llvmpipe calculates eight work-items at once, of 32 bits each. Numbers of 64 bits take two registers and twice the instructions. So the
//! counter of `for (ulong i = 16; i < 64; i++)` becomes one of 32 bits, which is widened where it is used.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::counters::Recurrence;
use oclave_spirv::analysis::uniformity::condition;
use oclave_spirv::{Definitions, Editor, Module, Op, Type, TypeTable};

fault! {
    /// **Q82. Mesa's rusticl 26.1.6 on llvmpipe.** Counters of 64 bits take twice the instructions of those of 32 bits. So do indices that are made
    /// of them. SHA-256 in Rust, whose counters are `usize`, takes 4 % less time with counters of 32 bits.
    Q82 {
        affects: [LLVMPIPE],
        seen: Measurements,
        symptom: "Counters of 64 bits in loops with a known last value are slow.",
        remedy: "They have 32 bits, and are widened where they are used (`narrow_counters`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q82, "narrow_counters", |on| narrow(on.analyses));

/// The largest value that a counter and its last sum may have.
const LARGEST: u64 = i32::MAX as u64;

/// A counter that begins with a constant and grows by one.
struct Counter<'m> {
    of: Recurrence<'m>,
    start: u64,
    step: u64,
}

/// The module with counters of 32 bits; `None` where it has no others.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn narrow(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let mut edit = Editor::new(analyses.definitions());
    for Counter { of, start, step } in counters(analyses) {
        let [uint, ulong] = [32, 64].map(|width| edit.int_type(width));
        let [start, step] = [start, step].map(|value| edit.int_constant(32, value));
        let [narrow, narrow_next] = [edit.fresh_id(), edit.fresh_id()];
        edit.replace(&of.phi, Op::Phi, &[uint, narrow, start, of.from, narrow_next, of.latch]);
        edit.at_start(of.header).push(Op::UConvert, &[ulong, of.id, narrow]);
        // It is no sum any more, so nothing can be said about its wrapping.
        edit.remove_annotations(of.next);
        let mut at = edit.instead_of(&of.change);
        at.push(Op::IAdd, &[uint, narrow_next, narrow, step]);
        at.push(Op::UConvert, &[ulong, of.next, narrow_next]);
    }
    Ok(edit.finish()?)
}

fn counters<'m>(analyses: &Analyses<'m>) -> Vec<Counter<'m>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let mut found = Vec::new();
    for flow in analyses.flows() {
        for of in &flow.loops {
            let all = Recurrence::of_loop(definitions, flow, of).into_iter();
            let wide = all.filter(|one| types.ty(one.ty) == Some(Type::Int { width: 64 }));
            found.extend(wide.filter_map(|one| counter(definitions, flow, of, one)));
        }
    }
    found
}

/// A counter whose loop ends before a constant.
fn counter<'m>(
    definitions: &Definitions<'m>,
    flow: &Flow<'m>,
    of: &Loop,
    recurrence: Recurrence<'m>,
) -> Option<Counter<'m>> {
    let start = definitions.int_constant(recurrence.start)?;
    let step = recurrence.step().filter(|_| recurrence.change.is(Op::IAdd));
    let step = definitions.int_constant(step?)?;
    let values = [recurrence.id, recurrence.next];
    let is_bound = |at: &usize| {
        of.latches.iter().all(|latch| flow.dominates(*at, *latch))
            && bound(definitions, flow, of, *at, values).is_some_and(|(bound, is_exact)| {
                let meets = || !is_exact || (bound - start).is_multiple_of(step);
                start < bound && bound <= LARGEST - step && meets()
            })
    };
    let is_small = (1..=LARGEST / 2).contains(&step) && start <= LARGEST;
    let ends = is_small && flow.exiting(of).iter().any(is_bound);
    ends.then_some(Counter { of: recurrence, start, step })
}

/// What a counter or its sum is compared with where a loop is left, and whether the loop is left only when both are equal.
fn bound(
    definitions: &Definitions<'_>,
    flow: &Flow<'_>,
    of: &Loop,
    at: usize,
    values: [u32; 2],
) -> Option<(u64, bool)> {
    let block = flow.blocks.get(at)?;
    block.terminator.filter(|end| end.is(Op::BranchConditional))?;
    let stays = block.successors.first().is_some_and(|to| of.blocks.contains(to));
    let compared = definitions.instruction(condition(flow, at)?)?;
    let &[value, bound] = compared.operands() else { return None };
    let bound = definitions.int_constant(bound).filter(|_| values.contains(&value))?;
    match compared.op()? {
        Op::IEqual if !stays => Some((bound, true)),
        Op::INotEqual if stays => Some((bound, true)),
        Op::ULessThan | Op::SLessThan if stays => Some((bound, false)),
        _ => None,
    }
}
