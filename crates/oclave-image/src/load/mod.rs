//! Passes that run when an image is loaded: they adapt a module to a device.

pub(crate) mod block_order;
mod built_in_vector;
mod dead_ends;
mod function_names;
mod generic_atomics;
pub(crate) mod generic_pointers;
pub(crate) mod global_access;
pub(crate) mod global_decorations;
pub(crate) mod hidden_argument;
pub(crate) mod inline;
pub(crate) mod inline_calls;
mod inline_hints;
mod integer_pointers;
mod interleaved;
mod joined_values;
pub(crate) mod legalize;
pub(crate) mod multiply_add;
mod never;
mod one_barrier;
mod private_addresses;
mod scalar_loops;
mod select;
pub(crate) mod specialize;
mod sunk_loads;
pub(crate) mod vector_components;
pub mod version;
pub(crate) mod work_item_loops;
