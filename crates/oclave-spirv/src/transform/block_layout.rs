//! Instructions where SPIR-V wants them in blocks: variables first in a function, merge instructions
//! before the branch.
//!
//! llvm-spirv 15 writes `OpISub` before variables where the code has the negative of a parameter. It
//! writes a variable where the code fills memory, in any block. In loops of one block, it writes
//! `OpLoopMerge` before the loop's condition, twice if the loop is to be unrolled. Before unrolled loops, it
//! writes one with the same label for both operands. In a loop that begins with a switch, it writes one before the switch,
//! where SPIR-V has none. Two loops that end in the same block both get one. llvm-spirv 22 writes some after the branch. Some drivers refuse such modules.

use std::collections::BTreeSet;

use crate::Result;
use crate::{Definitions, Editor, Instruction, Module, Op, is_terminator};

/// The module with all of them in their places; `None` where they are.
///
/// The initial value of a variable that moves is stored where the variable was.
///
/// # Errors
/// As [`Editor::finish`].
pub fn sort(module: &Module) -> Result<Option<Module>> {
    let Late { variables, merges, needless } = Late::of(module);
    if variables.is_empty() && merges.is_empty() && needless.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for (label, variable) in &variables {
        match *variable.words {
            [_, ty, id, class, value] => {
                edit.after(label).push(Op::Variable, &[ty, id, class]);
                edit.replace(variable, Op::Store, &[id, value]);
            }
            _ => {
                edit.after(label).copy(variable);
                let _ = edit.instead_of(variable);
            }
        }
    }
    for (branch, merge) in &merges {
        edit.before(branch).copy(merge);
    }
    merges.iter().map(|(_, merge)| merge).chain(&needless).for_each(|merge| edit.remove(merge));
    edit.finish()
}

/// What stands in the wrong place.
#[derive(Default)]
struct Late<'m> {
    /// The labels of first blocks, and variables of the same function behind other instructions.
    variables: Vec<(Instruction<'m>, Instruction<'m>)>,
    /// Branches, and the merge instructions that are not before them but should be.
    merges: Vec<(Instruction<'m>, Instruction<'m>)>,
    /// Merge instructions to drop. Another one follows in the block, or it merges nothing. Or it is of a loop and
    /// its block does not end with a branch, or it is outside of blocks. Or it has the merge block of one before it.
    needless: Vec<Instruction<'m>>,
}

impl<'m> Late<'m> {
    fn of(module: &'m Module) -> Self {
        let mut late = Self::default();
        let (mut first, mut is_behind) = (None, false);
        // The merge instruction of the block, and whether other instructions follow it.
        let mut merge: Option<(Instruction<'m>, bool)> = None;
        let mut is_in_block = false;
        let mut merge_blocks = BTreeSet::new();
        for instruction in module.instructions() {
            match instruction.op() {
                Some(Op::Function | Op::FunctionEnd) => (first, is_behind) = (None, false),
                Some(Op::Label) => {
                    first = first.or(Some(instruction));
                    (merge, is_in_block) = (None, true);
                }
                Some(Op::Variable) if is_behind => {
                    late.variables.extend(first.map(|first| (first, instruction)));
                }
                Some(Op::Variable | Op::Line | Op::NoLine | Op::FunctionParameter) => {}
                Some(Op::LoopMerge) if matches!(instruction.operands(), [merge, target, ..] if merge == target) =>
                {
                    late.needless.push(instruction);
                }
                Some(Op::LoopMerge | Op::SelectionMerge) if !is_in_block => late.needless.push(instruction),
                Some(Op::LoopMerge | Op::SelectionMerge) => {
                    late.needless.extend(merge.map(|(merge, _)| merge));
                    (merge, is_behind) = (Some((instruction, false)), first.is_some());
                }
                Some(op) if is_terminator(op) => {
                    is_in_block = false;
                    let is_branch = matches!(op, Op::Branch | Op::BranchConditional);
                    match merge.take() {
                        Some((merge, _)) if merge.is(Op::LoopMerge) && !is_branch => {
                            late.needless.push(merge);
                        }
                        Some((merge, _)) if !merge_blocks.insert(merge.operand(0)) => {
                            late.needless.push(merge);
                        }
                        Some((merge, true)) => late.merges.push((instruction, merge)),
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
