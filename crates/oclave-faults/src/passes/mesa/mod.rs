//! Passes for faults of Mesa's rusticl.

pub(super) mod constant_addresses;
pub(super) mod deep_conditions;
pub(super) mod function_names;
pub(super) mod guarded_loads;
pub(super) mod integer_pointers;
mod nesting;
pub(super) mod packed_arguments;
pub(super) mod phi_pairs;
pub(super) mod private_addresses;
pub(super) mod sub_group_sizes;
pub(super) mod unaligned;
pub(super) mod vector_components;
mod wide_switches;
