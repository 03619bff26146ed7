//! Groups of decorations, which SPIR-V deprecates.

use crate::{Definitions, Editor, Instruction, Module, Op, Result, is_decoration};

/// The module with the decorations of each group at its targets; `None` where there is no group.
///
/// # Errors
/// As [`Editor::finish`].
pub(super) fn resolve(module: &Module) -> Result<Option<Module>> {
    if !module.global_instructions().any(|i| i.is(Op::DecorationGroup)) {
        return Ok(None);
    }
    let decorations: Vec<Instruction<'_>> =
        module.global_instructions().filter(|i| i.op().is_some_and(is_decoration)).collect();
    let of_group = |group: u32| decorations.iter().filter(move |i| i.operand(0) == Some(group));
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for instruction in module.global_instructions() {
        let is_of_members = instruction.is(Op::GroupMemberDecorate);
        match (instruction.op(), instruction.operands()) {
            (Some(Op::DecorationGroup), _) => edit.remove(&instruction),
            (Some(Op::GroupDecorate | Op::GroupMemberDecorate), &[group, ref targets @ ..]) => {
                let mut at = edit.instead_of(&instruction);
                for target in targets.chunks_exact(if is_of_members { 2 } else { 1 }) {
                    for decoration in of_group(group) {
                        let op = match decoration.op() {
                            Some(Op::Decorate) if is_of_members => Op::MemberDecorate,
                            Some(Op::DecorateString) if is_of_members => Op::MemberDecorateString,
                            Some(op) => op,
                            None => continue,
                        };
                        at.push(op, &[target, decoration.operands().get(1..).unwrap_or_default()].concat());
                    }
                }
            }
            _ => {}
        }
    }
    edit.finish()
}
