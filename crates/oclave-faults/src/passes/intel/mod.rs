//! Passes for faults of Intel's CPU runtime.

pub(super) mod divergent_phis;
pub(super) mod generic_atomics;
pub(super) mod half_broadcasts;
pub(super) mod integer_maximum;
pub(super) mod inverted_bounds;
pub(super) mod opaque_negations;
pub(super) mod scalar_loops;
