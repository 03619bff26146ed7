//! Turns `work_group_all` into `work_group_any`, which PoCL 6.0 gets right.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_6, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Module, Op, SCOPE_WORKGROUP};

fault! {
    /// **Q63. PoCL 6.0 on CPUs.** `work_group_all` is 0 where all work-items are for it. `work_group_any`
    /// is right. So it becomes `!work_group_any(!x)`.
    Q63 {
        affects: [POCL_CPU_6],
        seen: Programs,
        symptom: "`work_group_all` is 0 where all work-items agree.",
        remedy: "`work_group_any` of the opposite (`inverted_votes`).",
        upstream: ["pocl-work-group-all.md"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q63, "inverted_votes", |on| replace(on.analyses));

/// The module with `!any(!x)` for each `all(x)` of a work-group; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn replace(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let mut edit = Editor::new(definitions);
    for instruction in analyses.module().instructions().filter(|i| i.is(Op::GroupAll)) {
        let &[_, ty, result, scope, vote] = instruction.words else { continue };
        if definitions.int_constant(scope) == Some(SCOPE_WORKGROUP) {
            let mut at = edit.instead_of(&instruction);
            let against = at.emit(Op::LogicalNot, ty, &[vote]);
            let is_against = at.emit(Op::GroupAny, ty, &[scope, against]);
            at.push(Op::LogicalNot, &[ty, result, is_against]);
        }
    }
    Ok(edit.finish()?)
}
