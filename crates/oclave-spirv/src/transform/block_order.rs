//! Blocks in the order that SPIR-V asks for: each behind the block that dominates it.
//!
//! llvm-spirv writes blocks in the order of LLVM's, which has no such rule. Most drivers take any
//! order. Mesa's refuses the module.

use std::collections::HashSet;

use crate::Result;
use crate::analysis::control_flow::{Flow, targets};
use crate::{Definitions, Instruction, Module, Op, Rewriter, is_terminator};

/// The module with the blocks of all functions in order; `None` where they are.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn sort(module: &Module) -> Result<Option<Module>> {
    if !may_be_unsorted(module) {
        return Ok(None);
    }
    let flows: Vec<Flow<'_>> =
        Flow::of_functions(module).into_iter().filter(|flow| !flow.is_sorted()).collect();
    if flows.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let mut unsorted: Option<(&Flow<'_>, Blocks<'_>)> = None;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            let flow = flows.iter().find(|flow| instruction.result_id() == Some(flow.function));
            unsorted = flow.map(|flow| (flow, Blocks::default()));
        }
        let Some((flow, blocks)) = &mut unsorted else {
            new.copy(&instruction);
            continue;
        };
        if !blocks.take(&instruction) {
            let order = flow.reverse_postorder();
            let sorted = order.into_iter().filter_map(|at| blocks.0.get(at)).flatten();
            sorted.for_each(|instruction| new.copy(instruction));
            blocks.0.clear();
            new.copy(&instruction);
        }
    }
    Ok(Some(new.finish()?))
}

/// The instructions of a function's blocks.
#[derive(Default)]
struct Blocks<'m>(Vec<Vec<Instruction<'m>>>);

impl<'m> Blocks<'m> {
    /// Takes an instruction unless it belongs to no block.
    fn take(&mut self, instruction: &Instruction<'m>) -> bool {
        if instruction.is(Op::Label) {
            self.0.push(Vec::new());
        }
        match self.0.last_mut() {
            Some(block) if !instruction.is(Op::FunctionEnd) => {
                // What stands behind a block is a line of the next one, which a block does without.
                let ended = block.last().and_then(Instruction::op).is_some_and(is_terminator);
                if !ended {
                    block.push(*instruction);
                }
                true
            }
            _ => false,
        }
    }
}

/// Whether some block stands before all that lead to it. If a block stands before its dominator,
/// the first such block stands before all that lead to it. For these have the same dominator, and
/// one that stood before it would be an earlier such block.
fn may_be_unsorted(module: &Module) -> bool {
    let mut reached = HashSet::new();
    let mut entry = true;
    module.instructions().any(|instruction| {
        match instruction.op() {
            Some(Op::Function) => entry = true,
            Some(Op::Label) => {
                let is_entry = std::mem::take(&mut entry);
                return !is_entry && instruction.result_id().is_some_and(|label| !reached.contains(&label));
            }
            Some(op) if is_terminator(op) => reached.extend(targets(instruction)),
            _ => {}
        }
        false
    })
}
