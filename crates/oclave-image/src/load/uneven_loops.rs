//! Values of loops that work-items leave in different rounds.
//!
//! PoCL keeps a copy of a value for each work-item if the value is needed behind a barrier. It keeps
//! none of a value that is the same for all work-items of a group. But it also takes values for the
//! same that differ: those that are the same in each round of a loop, if work-items take a different
//! number of rounds. Behind the barrier, all work-items then get what the last of them had:
//!
//! ```text
//! n = 0;
//! do n += b; while (n < id);
//! barrier(CLK_LOCAL_MEM_FENCE);
//! out[id] = n;
//! ```
//!
//! Such a value is made to depend on the work-item, where it enters the loop. It becomes another value
//! in a work-item whose local id is the largest number. No work-item has that id. All that is computed
//! of the value depends on the work-item then, and PoCL keeps copies.

use std::collections::{HashMap, HashSet};

use super::joined_values::writer::{self, By};
use super::joined_values::{Changes, Values, passes_on};
use crate::Result;
use oclave_spirv::analysis::control_flow::{Flow, Loop};
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{Definitions, Instruction, Module, Op, Role};

/// The module with these values; `None` where it needs none.
///
/// # Errors
/// As [`Rewriter::finish`](oclave_spirv::Rewriter::finish).
pub(crate) fn keep(module: &Module, address_bits: u32) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(module);
    let uniformity = Uniformity::new(&definitions, &flows);
    let reached = reached_by_kernels_with_barriers(&uniformity, &flows);
    if reached.is_empty() {
        return Ok(None);
    }
    let values = Values::new(&definitions);
    let found: HashMap<u32, Changes> = flows
        .iter()
        .filter(|flow| reached.contains(&flow.function))
        .map(|flow| (flow.function, changes(&definitions, &uniformity, &values, flow)))
        .filter(|(_, changes)| !changes.phis.is_empty())
        .collect();
    if found.is_empty() {
        Ok(None)
    } else {
        writer::write(&definitions, &values, &found, (By::Selection, address_bits)).map(Some)
    }
}

/// Kernels that come to barriers, and the functions that they call. PoCL inlines all of these.
fn reached_by_kernels_with_barriers(uniformity: &Uniformity<'_, '_>, flows: &[Flow<'_>]) -> HashSet<u32> {
    let calls: HashMap<u32, &Flow<'_>> = flows.iter().map(|flow| (flow.function, flow)).collect();
    let kernels = uniformity.kernels().iter().copied();
    let mut open: Vec<u32> = kernels.filter(|kernel| uniformity.has_barriers(*kernel)).collect();
    let mut reached = HashSet::new();
    while let Some(function) = open.pop() {
        if reached.insert(function) {
            open.extend(
                calls.get(&function).into_iter().flat_map(|flow| &flow.blocks).flat_map(|b| &b.calls),
            );
        }
    }
    reached
}

fn changes(
    definitions: &Definitions<'_>,
    uniformity: &Uniformity<'_, '_>,
    values: &Values<'_, '_>,
    flow: &Flow<'_>,
) -> Changes {
    let mut changes = Changes::default();
    let uneven: Vec<&Loop> = flow.loops.iter().filter(|of| !uniformity.keeps_together(flow, of)).collect();
    if uneven.is_empty() {
        return changes;
    }
    let users = users(definitions, flow.function);
    for of in uneven {
        let Some(header) = flow.blocks.get(of.header) else { continue };
        let labels: HashSet<u32> =
            of.blocks.iter().filter_map(|at| Some(flow.blocks.get(*at)?.label)).collect();
        let phis = values.choices.get(&header.label).into_iter().flatten().filter(|i| i.is(Op::Phi));
        for phi in phis {
            let Some((id, ty)) = phi.result_id().zip(phi.result_type()) else { continue };
            if values.differ.contains(&id)
                || !values.is_plain(ty)
                || !is_needed_outside(values, &users, &labels, id)
            {
                continue;
            }
            for pair in phi.operands().chunks_exact(2) {
                let &[value, from] = pair else { continue };
                if !labels.contains(&from) {
                    changes.phis.insert((id, from), value);
                }
            }
        }
    }
    changes
}

type Users<'m> = HashMap<u32, Vec<(u32, Instruction<'m>)>>;

/// The instructions of a function that use a value, with the labels of their blocks.
fn users<'m>(definitions: &Definitions<'m>, function: u32) -> Users<'m> {
    let (mut users, mut label) = (Users::new(), 0);
    for instruction in definitions.body(function) {
        if instruction.is(Op::Label) {
            label = instruction.result_id().unwrap_or(0);
        }
        instruction.visit_ids(definitions, |at, role| {
            if role == Role::Id
                && let Some(id) = instruction.word(at)
            {
                users.entry(id).or_default().push((label, instruction));
            }
        });
    }
    users
}

/// Whether a value, or what is computed of it and does not depend on the work-item, is used outside of
/// a loop.
fn is_needed_outside(values: &Values<'_, '_>, users: &Users<'_>, inside: &HashSet<u32>, value: u32) -> bool {
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(id) = open.pop() {
        if values.differ.contains(&id) || !seen.insert(id) {
            continue;
        }
        for (label, user) in users.get(&id).into_iter().flatten() {
            if !inside.contains(label) {
                return true;
            }
            open.extend(user.result_id().filter(|_| passes_on(user)));
        }
    }
    false
}
