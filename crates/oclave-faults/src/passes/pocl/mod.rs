//! Passes for faults of PoCL.

pub(crate) mod barriers;
pub(crate) mod called_functions;
mod dead_ends;
pub(crate) mod endless_loops;
pub(crate) mod fences;
pub(crate) mod fixed_addresses;
pub(crate) mod inverted_votes;
pub(crate) mod masked_counters;
pub(crate) mod one_barrier;
pub(crate) mod private_arrays;
pub(crate) mod vector_accesses;
pub(crate) mod volatile_loads;
pub(crate) mod wide_arguments;
pub(crate) mod zero_lanes;
