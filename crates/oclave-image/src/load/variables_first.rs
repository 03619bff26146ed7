//! Variables of functions before all else in them.
//!
//! SPIR-V wants them first in the first block. llvm-spirv 15 writes `OpISub` before them where the
//! code has the negative of a parameter. Passes that look for a function's variables at its start
//! would take such code for the rest. Variables of later blocks stay where they are: such a block
//! may begin with phis.

use std::collections::HashMap;

use crate::Result;
use crate::spirv::{Definitions, Instruction, Module, Op, Rewriter};

/// The module with the variables of first blocks first; `None` where they are.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn sort(module: &Module) -> Result<Option<Module>> {
    let late = late_variables(module);
    if late.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let is_late = |i: &Instruction<'_>| i.is(Op::Variable) && late.values().flatten().any(|l| l.at == i.at);
    for instruction in module.instructions() {
        if !is_late(&instruction) {
            new.copy(&instruction);
        }
        let label = instruction.result_id().filter(|_| instruction.is(Op::Label));
        for variable in label.and_then(|label| late.get(&label)).into_iter().flatten() {
            new.copy(variable);
        }
    }
    new.finish().map(Some)
}

/// The variables of first blocks that stand behind other instructions, by the block's label.
fn late_variables(module: &Module) -> HashMap<u32, Vec<Instruction<'_>>> {
    let mut late: HashMap<u32, Vec<Instruction<'_>>> = HashMap::new();
    let (mut label, mut is_behind, mut is_first) = (None, false, false);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => is_first = true,
            Some(Op::Label) => {
                label = instruction.result_id().filter(|_| is_first);
                (is_behind, is_first) = (false, false);
            }
            Some(Op::FunctionEnd) => label = None,
            Some(Op::Variable) if is_behind => {
                if let Some(label) = label {
                    late.entry(label).or_default().push(instruction);
                }
            }
            Some(Op::Variable | Op::Line | Op::NoLine) => {}
            _ => is_behind = true,
        }
    }
    late
}
