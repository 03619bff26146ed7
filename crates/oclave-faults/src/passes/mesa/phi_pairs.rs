//! Phis with one value for each block that leads to them.
//!
//! A switch may lead to a block by several cases. llvm-spirv then writes a value for each case.
//! SPIR-V wants one for each block, and Mesa's drivers refuse more. Drivers that translate the
//! module back to LLVM want the others, so this is for devices of Mesa only.

use std::collections::HashSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{RUSTICL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Module, Op};

fault! {
    /// **Q36. Mesa's rusticl 26.1.6.** `clBuildProgram` refuses phis with two values for one block
    /// ("OpPhi's number of incoming blocks does not match"). llvm-spirv 15 writes such phis where
    /// several cases of a switch lead to one block. SPIR-V does not allow them, and the drivers that
    /// use LLVM need them. So the repeated values go.
    Q36 {
        affects: [RUSTICL],
        seen: Programs,
        symptom: "Phis with two values for one block are refused.",
        remedy: "Repeated values go (`phi_pairs`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q36, "phi_pairs", |on| join(on.analyses));

/// The module without the repeated values; `None` where there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn join(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let mut edit = Editor::new(definitions);
    for phi in analyses.module().instructions().filter(|i| i.is(Op::Phi)) {
        let (Some(ty), Some(id)) = (phi.result_type(), phi.result_id()) else { continue };
        let mut seen = HashSet::new();
        let pairs = phi.operands().chunks_exact(2);
        let kept: Vec<u32> = pairs.filter(|pair| seen.insert(pair.last())).flatten().copied().collect();
        if kept.len() < phi.operands().len() {
            edit.replace(&phi, Op::Phi, &[&[ty, id], &*kept].concat());
        }
    }
    Ok(edit.finish()?)
}
