//! Passes for faults of Mesa's rusticl.

pub(crate) mod constant_addresses;
pub(crate) mod deep_conditions;
pub(crate) mod function_names;
pub(crate) mod guarded_loads;
pub(crate) mod integer_pointers;
pub(crate) mod narrow_counters;
mod nesting;
pub(crate) mod packed_arguments;
pub(crate) mod phi_pairs;
pub(crate) mod pointer_counters;
pub(crate) mod private_addresses;
pub(crate) mod sub_group_sizes;
pub(crate) mod unaligned;
pub(crate) mod uniform_counters;
pub(crate) mod vector_components;
mod wide_switches;
