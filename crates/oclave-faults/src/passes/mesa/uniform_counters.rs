//! Counters of loops that work-items leave at different times.
//!
//! llvmpipe finds that the counter of `for (i = 0; i < n; i++)` is the same in all work-items that still run, also where `n` differs. Then it
//! adds 1 to that of the first such work-item alone. To get it, it stores the counters of all of them, and loads one, in each iteration. This
//! takes longer than all the rest of a short loop.
//!
//! So such a counter begins with a zero that depends on the work-item: bit 63 of its id.

use std::collections::BTreeMap;

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{converted, copy_phi, emit};
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::{Uniformity, condition};
use oclave_spirv::analysis::work_items::made_of_ids;
use oclave_spirv::{BuiltIn, Definitions, Module, Op, Rewriter, Type, TypeTable, is_terminator};

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
    pass(Fault::Q78, "uniform_counters", |on| vary(on.module, on.target.address_bits));

/// A counter.
#[derive(Clone, Copy)]
struct Counter {
    ty: u32,
    /// What it begins with.
    start: u32,
    /// What it begins with afterwards.
    new_start: u32,
    /// Where the loop is entered from.
    from: u32,
}

/// The module with such zeroes; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn vary(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let mut counters = counters(&definitions, &types);
    // The largest id of 32 bits may have a sign.
    if counters.is_empty() || address_bits != 64 {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let item = BuiltInVector::of(&mut new, BuiltIn::GlobalInvocationId, address_bits);
    // A loop may stand before the block that it is entered from.
    counters.values_mut().for_each(|counter| counter.new_start = new.fresh_id());
    let mut by_block: BTreeMap<u32, Vec<Counter>> = BTreeMap::new();
    for counter in counters.values() {
        by_block.entry(counter.from).or_default().push(*counter);
    }
    let mut label = 0;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::EntryPoint) => {
                item.copy_entry_point(&mut new, &instruction);
                continue;
            }
            Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
            Some(Op::Phi) => {
                if let Some(counter) = instruction.result_id().and_then(|id| counters.get(&id)) {
                    copy_phi(&mut new, &instruction, |from| {
                        (from == counter.from).then_some(counter.new_start)
                    });
                    continue;
                }
            }
            Some(op) if is_terminator(op) => {
                if let Some(all) = by_block.remove(&label) {
                    let id = item.load(&mut new, 0);
                    let (ulong, bits) = (new.int_type(64), new.int_constant(64, 63));
                    let zero = emit(&mut new, Op::ShiftRightLogical, ulong, &[id, bits]);
                    for counter in all {
                        let zero = converted(&mut new, &types, (zero, 64), counter.ty);
                        new.push(Op::IAdd, &[counter.ty, counter.new_start, counter.start, zero]);
                    }
                }
            }
            _ => {}
        }
        new.copy(&instruction);
    }
    Ok(Some(new.finish()?))
}

/// The counters of loops with an exit that depends on the id of the work-item.
fn counters(definitions: &Definitions<'_>, types: &TypeTable<'_>) -> BTreeMap<u32, Counter> {
    let flows = Flow::of_functions(definitions.module());
    let mut found = BTreeMap::new();
    if flows.iter().all(|flow| flow.loops.is_empty()) {
        return found;
    }
    let differ = made_of_ids(definitions);
    let uniformity = Uniformity::new(definitions, &flows);
    for flow in &flows {
        let is_left_apart = |of: &Loop| {
            flow.exiting(of)
                .into_iter()
                .any(|at| condition(flow, at).is_some_and(|value| differ.contains(&value)))
        };
        for of in flow.loops.iter().filter(|of| is_left_apart(of)) {
            let Some(from) = flow.preheader(of).and_then(|at| flow.blocks.get(at)) else { continue };
            for phi in flow.phis.iter().filter(|(_, at)| **at == of.header).map(|(phi, _)| *phi) {
                let counter = start(definitions, phi, from.label).and_then(|[start, _, step]| {
                    let ty = definitions.type_of(phi)?;
                    let is_counter = matches!(types.ty(ty), Some(Type::Int { .. }))
                        && uniformity.is_uniform(flow, vec![start, step]);
                    is_counter.then_some(Counter { ty, start, new_start: start, from: from.label })
                });
                found.extend(counter.map(|counter| (phi, counter)));
            }
        }
    }
    found
}

/// What a counter begins with, its value in the next iteration, and what is added to it or taken from it.
pub(super) fn start(definitions: &Definitions<'_>, phi: u32, from: u32) -> Option<[u32; 3]> {
    let instruction = definitions.instruction(phi)?;
    let (start, next) = match *instruction.operands() {
        [start, label, next, _] if label == from => (start, next),
        [next, _, start, label] if label == from => (start, next),
        _ => return None,
    };
    let sum = definitions.instruction(next).filter(|sum| sum.is(Op::IAdd) || sum.is(Op::ISub))?;
    match *sum.operands() {
        [base, step] if base == phi => Some([start, next, step]),
        [step, base] if base == phi && sum.is(Op::IAdd) => Some([start, next, step]),
        _ => None,
    }
}
