//! Turns `min`, `max` and `clamp` of integers into comparisons and selections.
//!
//! Intel's CPU runtime takes `max(get_local_id(1), 1)` for a bound of the group where the kernel uses
//! dimension 1 for nothing else. Work-items below the bound then do nothing at all. It does not do so
//! with comparisons. `min` and `clamp` are right, but slower than selections in kernels from SPIR-V.

use crate::Fault;
use crate::passes::{Pass, called_functions, pass};
use crate::table::{INTEL, fault};

fault! {
    /// **Q35. Intel's CPU runtime 2026.2.** `max` with an id of a work-item counts as a bound of the
    /// group. This happens if the kernel uses that dimension for nothing else. From source, `out[get_global_id(0)]
    /// = max((uint)get_local_id(1), 1u);` writes nothing in groups of 8 × 1. So `max` of integers
    /// becomes a comparison and a selection. `min` and `clamp` are right. But Sobel's operator takes 1.3 times
    /// as long with them as from source, and as long as from source with selections.
    Q35 {
        affects: [INTEL],
        seen: RandomKernels,
        symptom: "`max` with an id counts as a bound of the group, and nothing is written. `min` and `clamp` are slow.",
        remedy: "Comparisons and selections (`integer_bounds`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q35, "integer_bounds", |on| {
    called_functions::expand(on.analyses, |call| call.bounds_integer())
});
