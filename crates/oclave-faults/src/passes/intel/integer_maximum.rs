//! Turns `max` of integers into a comparison and a selection.
//!
//! Intel's CPU runtime takes `max(get_local_id(1), 1)` for a bound of the group where the kernel uses
//! dimension 1 for nothing else. Work-items below the bound then do nothing at all. It does not do so
//! with comparisons.

use crate::passes::Result;
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable};

/// `s_max` of OpenCL.std.
const S_MAX: u32 = 156;
/// `u_max` of OpenCL.std.
const U_MAX: u32 = 157;

/// The module with a comparison and a selection for each `max` of scalar integers; `None` where
/// there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn expand(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let types = TypeTable::new(&definitions);
    let mut new = Rewriter::new(&definitions);
    let mut any = false;
    for instruction in module.instructions() {
        let Some(([ty, result, a, b], compare)) = parts(&instruction, set, &types) else {
            new.copy(&instruction);
            continue;
        };
        any = true;
        let (truth, is_greater) = (new.bool_type(), new.fresh_id());
        new.push(compare, &[truth, is_greater, a, b]);
        new.push(Op::Select, &[ty, result, is_greater, a, b]);
    }
    if any { Ok(Some(new.finish()?)) } else { Ok(None) }
}

/// Type, result and operands of such a `max`, and what compares these.
fn parts(instruction: &Instruction<'_>, set: u32, types: &TypeTable<'_>) -> Option<([u32; 4], Op)> {
    let &[of, number @ (S_MAX | U_MAX), a, b] = instruction.operands() else { return None };
    let (ty, result) = (instruction.result_type()?, instruction.result_id()?);
    if of != set || !instruction.is(Op::ExtInst) || !matches!(types.ty(ty), Some(Type::Int { .. })) {
        return None;
    }
    let compare = if number == S_MAX { Op::SGreaterThan } else { Op::UGreaterThan };
    Some(([ty, result, a, b], compare))
}
