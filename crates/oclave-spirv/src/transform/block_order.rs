//! Blocks in the order that SPIR-V asks for: each behind the block that dominates it.
//!
//! llvm-spirv writes blocks in the order of LLVM's, which has no such rule. Most drivers take any
//! order. Mesa's refuses the module.

use std::collections::HashSet;

use crate::Result;
use crate::analysis::control_flow::{Flow, targets};
use crate::{Definitions, Editor, Module, Op, is_terminator};

/// The module with the blocks of all functions in order; `None` where they are.
///
/// # Errors
/// As [`Editor::finish`].
pub fn sort(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    if !may_be_unsorted(&definitions) {
        return Ok(None);
    }
    let flows: Vec<Flow<'_>> =
        Flow::of_functions(&definitions).into_iter().filter(|flow| !flow.is_sorted()).collect();
    if flows.is_empty() {
        return Ok(None);
    }
    let mut edit = Editor::new(&definitions);
    for flow in &flows {
        let Some(function) = definitions.instruction(flow.function) else { continue };
        let mut at = edit.instead_of_function(flow.function);
        at.copy(&function);
        definitions.body(flow.function).take_while(|i| !i.is(Op::Label)).for_each(|i| at.copy(&i));
        for block in flow.reverse_postorder() {
            let label = flow.blocks.get(block).and_then(|block| definitions.word_index(block.label));
            let Some(label) = label else { continue };
            let mut rest = module.instructions_from(label);
            rest.next().iter().for_each(|label| at.copy(label));
            // What stands behind a block is a line of the next one, which a block does without.
            for instruction in rest.take_while(|i| !i.is(Op::Label) && !i.is(Op::FunctionEnd)) {
                at.copy(&instruction);
                if instruction.op().is_some_and(is_terminator) {
                    break;
                }
            }
        }
        at.push(Op::FunctionEnd, &[]);
    }
    edit.finish()
}

/// Whether some block stands before all that lead to it. If a block stands before its dominator,
/// the first such block stands before all that lead to it. For these have the same dominator, and
/// one that stood before it would be an earlier such block.
fn may_be_unsorted(definitions: &Definitions<'_>) -> bool {
    let mut reached = HashSet::new();
    let mut entry = true;
    definitions.module().instructions().any(|instruction| {
        match instruction.op() {
            Some(Op::Function) => entry = true,
            Some(Op::Label) => {
                let is_entry = std::mem::take(&mut entry);
                return !is_entry && instruction.result_id().is_some_and(|label| !reached.contains(&label));
            }
            Some(op) if is_terminator(op) => reached.extend(targets(definitions, &instruction)),
            _ => {}
        }
        false
    })
}
