//! Instructions where SPIR-V wants them in blocks: variables first in a function, merge instructions
//! before the branch.
//!
//! llvm-spirv 15 writes `OpISub` before variables where the code has the negative of a parameter. It
//! writes a variable where the code fills memory, in any block. In loops of one block, it writes
//! `OpLoopMerge` before the loop's condition, twice if the loop is to be unrolled. Before unrolled loops, it
//! writes one with the same label for both operands. In a loop that begins with a switch, it writes one before the switch,
//! where SPIR-V has none. llvm-spirv 22 writes some after the branch. Some drivers refuse such modules.

use std::collections::{HashMap, HashSet};

use crate::Result;
use crate::{Definitions, Instruction, Module, Op, Rewriter, is_terminator};

/// The module with all of them in their places; `None` where they are.
///
/// The initial value of a variable that moves is stored where the variable was.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn sort(module: &Module) -> Result<Option<Module>> {
    let Late { variables, merges, needless } = Late::of(module);
    if variables.is_empty() && merges.is_empty() && needless.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let mut moved: HashSet<usize> =
        variables.values().flatten().chain(merges.values()).map(|i| i.at).collect();
    moved.extend(needless);
    for instruction in module.instructions() {
        if let Some(merge) = merges.get(&instruction.at) {
            new.copy(merge);
        }
        if !moved.contains(&instruction.at) {
            new.copy(&instruction);
        } else if instruction.is(Op::Variable)
            && let (Some(id), Some(value)) = (instruction.result_id(), instruction.operand(1))
        {
            new.push(Op::Store, &[id, value]);
        }
        let label = instruction.result_id().filter(|_| instruction.is(Op::Label));
        for variable in label.and_then(|label| variables.get(&label)).into_iter().flatten() {
            match *variable.words {
                [_, ty, id, class, _initial] => new.push(Op::Variable, &[ty, id, class]),
                _ => new.copy(variable),
            }
        }
    }
    new.finish().map(Some)
}

/// What stands in the wrong place.
#[derive(Default)]
struct Late<'m> {
    /// Variables behind other instructions, by the label of their function's first block.
    variables: HashMap<u32, Vec<Instruction<'m>>>,
    /// Merge instructions that are not before the branch, by the position of the branch.
    merges: HashMap<usize, Instruction<'m>>,
    /// Positions of merge instructions to drop. Another one follows in the block, or it merges nothing. Or it is of a loop and
    /// its block does not end with a branch, or it is outside of blocks.
    needless: HashSet<usize>,
}

impl<'m> Late<'m> {
    fn of(module: &'m Module) -> Self {
        let mut late = Self::default();
        let (mut first, mut is_behind) = (None, false);
        // The merge instruction of the block, and whether other instructions follow it.
        let mut merge: Option<(Instruction<'m>, bool)> = None;
        let mut is_in_block = false;
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Function | Op::FunctionEnd) => (first, is_behind) = (None, false),
                Some(Op::Label) => {
                    first = first.or(instruction.result_id());
                    (merge, is_in_block) = (None, true);
                }
                Some(Op::Variable) if is_behind => {
                    if let Some(first) = first {
                        late.variables.entry(first).or_default().push(instruction);
                    }
                }
                Some(Op::Variable | Op::Line | Op::NoLine | Op::FunctionParameter) => {}
                Some(Op::LoopMerge) if matches!(instruction.operands(), [merge, target, ..] if merge == target) =>
                {
                    late.needless.insert(instruction.at);
                }
                Some(Op::LoopMerge | Op::SelectionMerge) if !is_in_block => {
                    late.needless.insert(instruction.at);
                }
                Some(Op::LoopMerge | Op::SelectionMerge) => {
                    late.needless.extend(merge.map(|(merge, _)| merge.at));
                    (merge, is_behind) = (Some((instruction, false)), first.is_some());
                }
                Some(op) if is_terminator(op) => {
                    is_in_block = false;
                    let is_branch = matches!(op, Op::Branch | Op::BranchConditional);
                    match merge.take() {
                        Some((merge, _)) if merge.is(Op::LoopMerge) && !is_branch => {
                            late.needless.insert(merge.at);
                        }
                        Some((merge, true)) => {
                            late.merges.insert(instruction.at, merge);
                        }
                        _ => {}
                    }
                }
                _ => {
                    is_behind = first.is_some();
                    merge = merge.map(|(merge, _)| (merge, true));
                }
            }
        }
        late
    }
}
