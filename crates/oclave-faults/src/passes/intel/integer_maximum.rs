//! Turns `max` of integers into a comparison and a selection.
//!
//! Intel's CPU runtime takes `max(get_local_id(1), 1)` for a bound of the group where the kernel uses
//! dimension 1 for nothing else. Work-items below the bound then do nothing at all. It does not do so
//! with comparisons.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op, Type, TypeTable};

fault! {
    /// **Q35. Intel's CPU runtime 2026.2.** `max` with an id of a work-item counts as a bound of the
    /// group, where the kernel uses that dimension for nothing else. From source, `out[get_global_id(0)]
    /// = max((uint)get_local_id(1), 1u);` writes nothing in groups of 8 × 1. So `max` of integers
    /// becomes a comparison and a selection. `min` was right.
    Q35 {
        affects: [INTEL],
        seen: RandomKernels,
        symptom: "`max` with an id counts as a bound of the group, and nothing is written.",
        remedy: "A comparison and a selection (`integer_maximum`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q35, "integer_maximum", |on| expand(on.module));

/// `s_max` of OpenCL.std.
const S_MAX: u32 = 156;
/// `u_max` of OpenCL.std.
const U_MAX: u32 = 157;

/// The module with a comparison and a selection for each `max` of scalar integers; `None` where
/// there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn expand(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let types = TypeTable::new(&definitions);
    let mut edit = Editor::new(&definitions);
    for maximum in module.instructions() {
        let Some(([ty, result, a, b], compare)) = parts(&maximum, set, &types) else { continue };
        let truth = edit.bool_type();
        let mut at = edit.instead_of(&maximum);
        let is_greater = at.emit(compare, truth, &[a, b]);
        at.push(Op::Select, &[ty, result, is_greater, a, b]);
    }
    Ok(edit.finish()?)
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
