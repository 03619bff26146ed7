//! Keeps LLVM's `instcombine` from a check that ends the process, in PoCL 6.0, where ways store.
//!
//! The check is the one of `second_phis`. Here, two ways store at one address before they meet:
//!
//! ```text
//! if (c) { l[id] = 0; w = (v & 1) != 0; } else { l[id] = f(v); w = (v & 1) != 0; }
//! ```
//!
//! A third way leads to the same place. In groups of one and two, PoCL keeps phis, and gives the
//! first two ways an end of their own. There, `instcombine` computes `w` once, behind both ways. It
//! has looked at the ends of the ways before, and joins stores only where nothing follows them. So
//! only the second run joins these.
//!
//! This pass writes such stores behind what is computed after them. Then the first run joins them.

use std::collections::{HashMap, HashSet};

use crate::Result;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, is_pure};

/// The module with these stores at the ends of their blocks; `None` where they are there.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn move_down(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let found = find(&definitions);
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let (mut label, mut stores, mut waiting) = (0, 0, None);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => (label, stores) = (instruction.result_id().unwrap_or(0), 0),
            Some(Op::Store) => {
                stores += 1;
                if found.get(&label) == Some(&stores) {
                    waiting = Some(instruction);
                    continue;
                }
            }
            Some(Op::LoopMerge | Op::SelectionMerge | Op::Branch) => {
                if let Some(store) = waiting.take() {
                    new.copy(&store);
                }
            }
            _ => {}
        }
        new.copy(&instruction);
    }
    Ok(Some(new.finish()?))
}

/// The blocks in which a store moves, by label, and which of their stores it is, from 1 on.
fn find(definitions: &Definitions<'_>) -> HashMap<u32, usize> {
    let types = TypeTable::new(definitions);
    // Blocks → the number of stores, and whether something is computed behind the last one.
    let mut storing: HashMap<u32, (usize, bool)> = HashMap::new();
    let mut others = HashSet::new();
    let mut label = 0;
    for instruction in definitions.module().instructions() {
        match instruction.op() {
            Some(Op::Label) => label = instruction.result_id().unwrap_or(0),
            Some(Op::Store) => {
                let (stores, is_followed) = storing.entry(label).or_default();
                (*stores, *is_followed) = (*stores + 1, false);
                others.remove(&label);
            }
            Some(Op::Branch | Op::LoopMerge | Op::SelectionMerge | Op::Line | Op::NoLine) => {}
            _ if computes(definitions, &types, &instruction) => {
                storing.entry(label).and_modify(|(_, is_followed)| *is_followed = true);
            }
            _ => {
                others.insert(label);
            }
        }
    }
    let mut found = HashMap::new();
    for flow in Flow::of_functions(definitions.module()) {
        for meeting in flow.blocks.iter().filter(|block| block.predecessors.len() > 2) {
            let labels = meeting.predecessors.iter().filter_map(|at| Some(flow.blocks.get(*at)?.label));
            let ways: Vec<(u32, (usize, bool))> =
                labels.filter_map(|label| Some((label, *storing.get(&label)?))).collect();
            if ways.len() > 1 {
                let moved =
                    ways.iter().filter(|(label, (_, is_followed))| *is_followed && !others.contains(label));
                found.extend(moved.map(|(label, (stores, _))| (*label, *stores)));
            }
        }
    }
    found
}

/// Whether an instruction takes numbers and gives one, and does nothing else.
fn computes(definitions: &Definitions<'_>, types: &TypeTable<'_>, instruction: &Instruction<'_>) -> bool {
    let is_pointer = |id: &u32| {
        let ty = definitions.type_of(*id).and_then(|ty| types.ty(ty));
        matches!(ty, Some(Type::Pointer { .. }))
    };
    match instruction.op() {
        Some(Op::ExtInst) => !instruction.operands().iter().skip(2).any(is_pointer),
        Some(op) => is_pure(op),
        None => false,
    }
}
