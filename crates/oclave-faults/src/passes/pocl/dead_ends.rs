//! Branches without the ways that are never taken.
//!
//! Without optimisation clang leaves a block by a `switch` whose default is `OpUnreachable`. To
//! PoCL that is one more end of the loops around it.

use std::collections::HashSet;

use crate::passes::Result;
use oclave_spirv::analysis::control_flow::targets;
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter};

/// The module with branches that do not lead to blocks of nothing but `OpUnreachable`.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn cut(module: Module) -> Result<Module> {
    let dead = dead_blocks(&module);
    let leads_there = |i: &Instruction<'_>| targets(*i).iter().any(|to| dead.contains(to));
    if dead.is_empty() || !module.instructions().any(|i| leads_there(&i)) {
        return Ok(module);
    }
    let changed = {
        let definitions = Definitions::new(&module);
        let mut new = Rewriter::new(&definitions);
        for instruction in module.instructions() {
            match (instruction.op(), instruction.operands()) {
                (Some(Op::BranchConditional), &[_, yes, no, ..])
                    if dead.contains(&yes) != dead.contains(&no) =>
                {
                    let to = if dead.contains(&yes) { no } else { yes };
                    new.replace(&instruction, Op::Branch, &[to]);
                }
                (Some(Op::Switch), &[value, default, ref cases @ ..]) if dead.contains(&default) => {
                    match cases.last().filter(|last| !dead.contains(last)) {
                        Some(last) => {
                            new.replace(&instruction, Op::Switch, &[&[value, *last], cases].concat());
                        }
                        None => new.copy(&instruction),
                    }
                }
                _ => new.copy(&instruction),
            }
        }
        new.finish()?
    };
    Ok(changed)
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
