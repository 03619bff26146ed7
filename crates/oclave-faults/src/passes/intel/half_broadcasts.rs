//! Broadcasts halves as integers: Intel's compiler crashes on `work_group_broadcast` of `half`.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Module, Op, Type, TypeTable};

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

pub(in crate::passes) const PASS: Pass = pass(Fault::Q65, "half_broadcasts", |on| as_integers(on.analyses));

/// The module with conversions around such broadcasts; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn as_integers(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let is_half = |ty: u32| matches!(types.ty(ty), Some(Type::Float { width: 16 }));
    let mut edit = Editor::new(definitions);
    for broadcast in analyses.module().instructions().filter(|i| i.is(Op::GroupBroadcast)) {
        let (&[scope, value, from], Some(ty), Some(result)) =
            (broadcast.operands(), broadcast.result_type().filter(|ty| is_half(*ty)), broadcast.result_id())
        else {
            continue;
        };
        // All bits stay the same, also those of a NaN.
        let [bits_type, word_type] = [16, 32].map(|width| edit.int_type(width));
        let mut at = edit.instead_of(&broadcast);
        let bits = at.emit(Op::Bitcast, bits_type, &[value]);
        let word = at.emit(Op::UConvert, word_type, &[bits]);
        let word = at.emit(Op::GroupBroadcast, word_type, &[scope, word, from]);
        let bits = at.emit(Op::UConvert, bits_type, &[word]);
        at.push(Op::Bitcast, &[ty, result, bits]);
    }
    Ok(edit.finish()?)
}
