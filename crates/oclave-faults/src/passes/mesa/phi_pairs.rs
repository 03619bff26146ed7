//! Phis with one value for each block that leads to them.
//!
//! A switch may lead to a block by several cases. llvm-spirv then writes a value for each case.
//! SPIR-V wants one for each block, and Mesa's drivers refuse more. Drivers that translate the
//! module back to LLVM want the others, so this is for devices of Mesa only.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{RUSTICL, fault};
use oclave_spirv::{Definitions, Module, Op, Rewriter};

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

pub(in crate::passes) const PASS: Pass = pass(Fault::Q36, "phi_pairs", |on| join(on.module));

/// The module without the repeated values; `None` where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn join(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let (mut new, mut any) = (Rewriter::new(&definitions), false);
    for instruction in module.instructions() {
        let (true, Some(ty), Some(id)) =
            (instruction.is(Op::Phi), instruction.result_type(), instruction.result_id())
        else {
            new.copy(&instruction);
            continue;
        };
        let pairs: Vec<&[u32]> = instruction.operands().chunks_exact(2).collect();
        let is_first = |(at, pair): &(usize, &&[u32])| {
            !pairs.iter().take(*at).any(|before| before.get(1) == pair.get(1))
        };
        let kept = pairs.iter().enumerate().filter(is_first).flat_map(|(_, pair)| pair.iter().copied());
        let operands: Vec<u32> = [ty, id].into_iter().chain(kept).collect();
        any |= operands.len() < instruction.operands().len() + 2;
        new.replace(&instruction, Op::Phi, &operands);
    }
    if any { Ok(Some(new.finish()?)) } else { Ok(None) }
}
