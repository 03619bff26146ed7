//! Passes for faults of PoCL.

pub(crate) mod barriers;
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

use oclave_spirv::{Cursor, Op, SCOPE_WORKGROUP};

/// Writes a barrier of the work-group with these memory semantics.
fn barrier(at: &mut Cursor<'_, '_>, semantics: u64) {
    let [scope, semantics] = [SCOPE_WORKGROUP, semantics].map(|value| at.int_constant(32, value));
    at.push(Op::ControlBarrier, &[scope, scope, semantics]);
}
