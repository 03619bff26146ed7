//! Branches without the ways that are never taken.
//!
//! Without optimisation clang leaves a block by a `switch` whose default is `OpUnreachable`. To
//! PoCL that is one more end of the loops around it.

use std::collections::HashSet;

use crate::passes::Result;
use oclave_spirv::{Definitions, Editor, Module, Op};

/// The module with branches that do not lead to blocks of nothing but `OpUnreachable`.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn cut(module: Module) -> Result<Module> {
    let dead = dead_blocks(&module);
    if dead.is_empty() {
        return Ok(module);
    }
    let changed = {
        let definitions = Definitions::new(&module);
        let mut edit = Editor::new(&definitions);
        for instruction in module.instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::BranchConditional), &[_, yes, no, ..])
                    if dead.contains(&yes) != dead.contains(&no) =>
                {
                    let to = if dead.contains(&yes) { no } else { yes };
                    edit.replace(&instruction, Op::Branch, &[to]);
                }
                (Some(Op::Switch), &[value, default, ref cases @ ..]) if dead.contains(&default) => {
                    // The last case becomes the default. Phis of its block have one value for both.
                    let others = cases.len().saturating_sub(definitions.literal_words(value) + 1);
                    if let (Some(others), Some(last)) = (cases.get(..others), cases.last())
                        && !dead.contains(last)
                    {
                        edit.replace(&instruction, Op::Switch, &[&[value, *last], others].concat());
                    }
                }
                _ => {}
            }
        }
        edit.finish()?
    };
    Ok(changed.unwrap_or(module))
}

fn dead_blocks(module: &Module) -> HashSet<u32> {
    let mut label = None;
    let mut dead = HashSet::new();
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => label = instruction.result_id(),
            Some(Op::Unreachable) => dead.extend(label.take()),
            Some(Op::Line | Op::NoLine) => {}
            _ => label = None,
        }
    }
    dead
}
