//! Broadcasts halves as integers: Intel's compiler crashes on `work_group_broadcast` of `half`.

use crate::Fault;
use crate::passes::opaque_values::emit;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::{Capability, Definitions, Module, Op, Rewriter, Type, TypeTable};

fault! {
    /// **Q65. Intel's CPU runtime 2026.2.** `work_group_broadcast` of `half` crashes its compiler
    /// (`vplan-vec`). Other collective functions of `half` are right. So it broadcasts integers.
    Q65 {
        affects: [INTEL],
        seen: Programs,
        symptom: "`work_group_broadcast` of `half` crashes the compiler.",
        remedy: "Integers are broadcast (`half_broadcasts`).",
        upstream: ["intel-half-broadcast.md"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q65, "half_broadcasts", |on| as_integers(on.module));

/// The module with conversions around such broadcasts; `None` where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn as_integers(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let is_half = |ty: u32| matches!(types.ty(ty), Some(Type::Float { width: 16 }));
    let mut new = Rewriter::new(&definitions);
    let mut any = false;
    for instruction in module.instructions() {
        match (instruction.op(), instruction.operands(), instruction.result_type(), instruction.result_id()) {
            (Some(Op::GroupBroadcast), &[scope, value, from], Some(ty), Some(result)) if is_half(ty) => {
                any = true;
                // All bits stay the same, also those of a NaN.
                new.capability(Capability::Int16);
                let bits_type = new.int_type(16);
                let bits = emit(&mut new, Op::Bitcast, bits_type, &[value]);
                let word_type = new.int_type(32);
                let word = emit(&mut new, Op::UConvert, word_type, &[bits]);
                let word = emit(&mut new, Op::GroupBroadcast, word_type, &[scope, word, from]);
                let bits = emit(&mut new, Op::UConvert, bits_type, &[word]);
                new.push(Op::Bitcast, &[ty, result, bits]);
            }
            _ => new.copy(&instruction),
        }
    }
    if any { Ok(Some(new.finish()?)) } else { Ok(None) }
}
