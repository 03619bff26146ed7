//! Passes for faults of PoCL.

pub(super) mod barriers;
pub(super) mod called_functions;
mod dead_ends;
pub(super) mod endless_loops;
pub(super) mod fences;
pub(super) mod inverted_votes;
pub(super) mod masked_counters;
mod one_barrier;
pub(super) mod vector_accesses;
pub(super) mod volatile_loads;
pub(super) mod wide_arguments;
pub(super) mod zero_lanes;
