//! Values of local memory that a phi or a selection takes.
//!
//! Intel's compiler loads them again behind the next barrier. By then the memory may hold something else:
//!
//! ```text
//! uint last = 0;
//! if (id == 0) { last = sums[63]; sums[63] = 0; }
//! barrier(CLK_LOCAL_MEM_FENCE);
//! if (id == 0) *out = last; // 0
//! ```
//! It does not repeat volatile loads. So a load becomes volatile if three things hold. A phi or a selection takes its value. The value is
//! needed behind a barrier. The memory may hold something else there.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::pocl::volatile_loads::needed_behind_barriers;
use crate::passes::volatile_accesses::make_volatile;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Module, Op, StorageClass, TypeTable};

fault! {
    /// **Q91. Intel's CPU runtime 2026.2.** A value of local memory that is loaded under a condition and needed behind a barrier is
    /// loaded again there. From source, `if (id == 0) { last = sums[63]; sums[63] = 0; } barrier(…); if (id == 0) *out = last;` writes 0.
    /// Values of private and global memory are right. So are values that are calculated from a loaded one. The compiler does not repeat
    /// volatile loads.
    Q91 {
        affects: [INTEL],
        seen: Programs,
        symptom: "A value of local memory that is loaded under a condition is loaded again after a barrier.",
        remedy: "Volatile loads (`local_phis`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q91, "local_phis", |on| keep(on.analyses));

/// The module with these loads; `None` where it has none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn keep(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let types = TypeTable::new(definitions);
    let is_local = |pointer: u32| {
        let classes = [StorageClass::Workgroup as u32, StorageClass::Generic as u32];
        let pointer = definitions.type_of(pointer).and_then(|ty| types.pointer(ty));
        pointer.is_some_and(|(class, _)| classes.contains(&class))
    };
    let choices = module.instructions().filter(|i| matches!(i.op(), Some(Op::Phi | Op::Select)));
    let loads = choices.flat_map(|i| i.operands().iter().filter_map(|id| definitions.instruction(*id)));
    let loads = loads.filter(|i| i.is(Op::Load) && i.operand(0).is_some_and(is_local));
    let chosen: BTreeSet<usize> = loads.map(|load| load.at).collect();
    let mut edit = Editor::new(definitions);
    if !chosen.is_empty() {
        let needed = needed_behind_barriers(analyses, false);
        for load in needed.intersection(&chosen).filter_map(|at| module.instruction_at(*at)) {
            make_volatile(&mut edit, &load);
        }
    }
    Ok(edit.finish()?)
}
