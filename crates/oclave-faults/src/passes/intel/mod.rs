//! Passes for faults of Intel's CPU runtime.

pub(crate) mod divergent_phis;
pub(crate) mod filled_arrays;
pub(crate) mod generic_atomics;
pub(crate) mod half_broadcasts;
pub(crate) mod integer_maximum;
pub(crate) mod inverted_bounds;
pub(crate) mod opaque_negations;
pub(crate) mod scalar_loops;
pub(crate) mod uniform_groups;
