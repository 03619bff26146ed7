//! Counters of loops that work-items leave at different times.
//!
//! llvmpipe finds that the counter of `for (i = 0; i < n; i++)` is the same in all work-items that still run, also where `n` differs. Then it
//! adds 1 to that of the first such work-item alone. To get it, it stores the counters of all of them, and loads one, in each iteration. This
//! takes longer than all the rest of a short loop.
//!
//! So such a counter begins with a zero that depends on the work-item: bit 63 of its id.

use std::collections::HashMap;

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{change_phi, converted};
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::control_flow::Loop;
use oclave_spirv::analysis::counters::Recurrence;
use oclave_spirv::analysis::uniformity::{Uniformity, condition};
use oclave_spirv::analysis::work_items::made_of_ids;
use oclave_spirv::{BuiltIn, Editor, Module, Op, Type, TypeTable};

fault! {
    /// **Q78. Mesa's rusticl 26.1.6 on llvmpipe.** Counters of loops that work-items leave at different times go through memory in each
    /// iteration. Take a product with a sparse matrix whose rows have different lengths. From source, it takes twice as long if the counter
    /// begins with 0, and not with the place of the row. So such counters begin with a zero that depends on the work-item.
    Q78 {
        affects: [LLVMPIPE],
        seen: Measurements,
        symptom: "Counters of loops that work-items leave at different times go through memory.",
        remedy: "They begin with a zero that depends on the work-item (`uniform_counters`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q78, "uniform_counters", |on| vary(on.analyses, on.target.address_bits));

/// The module with such zeroes; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn vary(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let counters = counters(analyses, &types);
    // The largest id of 32 bits may have a sign.
    if counters.is_empty() || address_bits != 64 {
        return Ok(None);
    }
    let mut edit = Editor::new(definitions);
    let item = BuiltInVector::add(&mut edit, BuiltIn::GlobalInvocationId, address_bits);
    let (ulong, bits) = (edit.int_type(64), edit.int_constant(64, 63));
    // The zero of each block that loops are entered from.
    let mut zeros: HashMap<u32, u32> = HashMap::new();
    for Recurrence { phi, ty, start, from, .. } in counters {
        let mut at = edit.at_end(from);
        let zero = *zeros.entry(from).or_insert_with(|| {
            let id = item.read(&mut at, 0);
            at.emit(Op::ShiftRightLogical, ulong, &[id, bits])
        });
        let zero = converted(&mut at, &types, (zero, 64), ty);
        let new_start = at.emit(Op::IAdd, ty, &[start, zero]);
        change_phi(&mut edit, &phi, |label| (label == from).then_some(new_start));
    }
    Ok(edit.finish()?)
}

/// The counters of loops with an exit that depends on the id of the work-item, in the order of their ids.
fn counters<'m>(analyses: &Analyses<'m>, types: &TypeTable<'_>) -> Vec<Recurrence<'m>> {
    let (definitions, flows) = (analyses.definitions(), analyses.flows());
    let mut found = Vec::new();
    if flows.iter().all(|flow| flow.loops.is_empty()) {
        return found;
    }
    let differ = made_of_ids(definitions);
    let uniformity = Uniformity::new(definitions, flows);
    for flow in flows {
        let is_left_apart = |of: &Loop| {
            flow.exiting(of)
                .into_iter()
                .any(|at| condition(flow, at).is_some_and(|value| differ.contains(&value)))
        };
        for of in flow.loops.iter().filter(|of| is_left_apart(of)) {
            let is_uniform = |start, step| uniformity.is_uniform(flow, vec![start, step]);
            let all = Recurrence::of_loop(definitions, flow, of).into_iter();
            found.extend(all.filter(|one| {
                matches!(types.ty(one.ty), Some(Type::Int { .. }))
                    && one.step().is_some_and(|step| is_uniform(one.start, step))
            }));
        }
    }
    found.sort_by_key(|counter| counter.id);
    found
}
