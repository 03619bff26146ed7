//! Loops that do nothing, and that work-items never leave if they do not leave at once.
//!
//! `do for (int i = 0; i < b; i++) v++; while (v < 17);` is endless if `b` is not above 0. Clang makes one
//! block of the inner loop. The block leads to itself or on, by a condition that does not change. LLVM
//! 18 takes the condition out of the loop, and leaves an endless loop. That is the same for all
//! work-items, so PoCL 6.0 puts a barrier into it. Work-items that part behind the loop then all
//! take the way of the first one.
//!
//! LLVM takes loops that write nothing for finite. So such a block leads on always.

use std::collections::HashMap;

use crate::Result;
use crate::analysis::control_flow::Flow;
use crate::spirv::{Definitions, Instruction, Module, Op, Rewriter};

/// The module in which such blocks lead on; `None` where it has none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn leave(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(module);
    let found: HashMap<u32, u32> = flows.iter().flat_map(|flow| endless(&definitions, flow)).collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    let mut onward = None;
    for instruction in module.instructions() {
        match (instruction.op(), onward) {
            (Some(Op::Label), _) => {
                onward = instruction.result_id().and_then(|label| found.get(&label)).copied();
                new.copy(&instruction);
            }
            (Some(Op::LoopMerge), Some(_)) => {}
            (Some(Op::BranchConditional), Some(to)) => new.push(Op::Branch, &[to]),
            _ => new.copy(&instruction),
        }
    }
    new.finish().map(Some)
}

/// The blocks of a function that are such loops, and where they lead.
fn endless(definitions: &Definitions<'_>, flow: &Flow<'_>) -> HashMap<u32, u32> {
    let mut code: HashMap<u32, Vec<Instruction<'_>>> = HashMap::new();
    let mut label = 0;
    for instruction in definitions.body(flow.function) {
        match instruction.result_id().filter(|_| instruction.is(Op::Label)) {
            Some(id) => label = id,
            None => code.entry(label).or_default().push(instruction),
        }
    }
    let is_free = |i: &Instruction<'_>| {
        matches!(i.op(), Some(Op::BranchConditional | Op::LoopMerge | Op::Line | Op::NoLine))
    };
    flow.loops
        .iter()
        .filter(|of| of.blocks.len() == 1)
        .filter_map(|of| {
            let block = flow.blocks.get(of.header)?;
            // Nothing in it, so the condition comes from elsewhere.
            if !code.get(&block.label)?.iter().all(is_free) {
                return None;
            }
            let onward = block.successors.iter().find(|to| **to != of.header)?;
            Some((block.label, flow.blocks.get(*onward)?.label))
        })
        .collect()
}
