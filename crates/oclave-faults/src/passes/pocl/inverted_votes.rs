//! Turns `work_group_all` into `work_group_any`, which PoCL 6.0 gets right.

use crate::Fault;
use crate::passes::opaque_values::emit;
use crate::passes::{Pass, Result, pass};
use crate::table::{POCL_CPU_6, fault};
use oclave_spirv::{Definitions, Module, Op, Rewriter};

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

pub(in crate::passes) const PASS: Pass = pass(Fault::Q63, "inverted_votes", |on| replace(on.module));

/// `Workgroup` of SPIR-V's scopes.
const WORK_GROUP: u64 = 2;

/// The module with `!any(!x)` for each `all(x)` of a work-group; `None` where there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn replace(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let mut any = false;
    for instruction in module.instructions() {
        match (instruction.op(), instruction.operands(), instruction.result_type(), instruction.result_id()) {
            (Some(Op::GroupAll), &[scope, vote], Some(ty), Some(result))
                if definitions.int_constant(scope) == Some(WORK_GROUP) =>
            {
                any = true;
                let against = emit(&mut new, Op::LogicalNot, ty, &[vote]);
                let is_against = emit(&mut new, Op::GroupAny, ty, &[scope, against]);
                new.push(Op::LogicalNot, &[ty, result, is_against]);
            }
            _ => new.copy(&instruction),
        }
    }
    if any { Ok(Some(new.finish()?)) } else { Ok(None) }
}
