//! The passes against faults of drivers, in the order in which they run.
//!
//! Two kinds of passes run before these, which need their result. Some keep accesses apart (Q16). Others give loops and barriers
//! another form (Q13 to Q15, Q48, Q53).

use oclave_faults::Fault;
use oclave_spirv::Module;

use super::device_target::DeviceTarget;
use super::{
    called_functions, constant_addresses, deep_conditions, function_names, generic_atomics, guarded_loads,
    half_broadcasts, inline_hints, integer_maximum, integer_pointers, inverted_bounds, inverted_choices,
    inverted_votes, joined_values, kept_loads, masked_counters, packed_arguments, phi_pairs,
    private_addresses, scalar_loops, sub_group_sizes, unaligned, vector_components, wide_arguments,
    wrong_functions, zero_lanes,
};
use crate::Result;

/// What a pass works on.
struct Input<'a> {
    module: &'a Module,
    target: &'a DeviceTarget,
    /// The name of the image, for errors.
    image: &'a str,
}

struct Pass {
    /// The pass runs for devices with this fault.
    fault: Fault,
    name: &'static str,
    /// Makes the changed module; `None` where there is nothing to change.
    run: fn(&Input<'_>) -> Result<Option<Module>>,
}

const fn pass(fault: Fault, name: &'static str, run: fn(&Input<'_>) -> Result<Option<Module>>) -> Pass {
    Pass { fault, name, run }
}

const PASSES: &[Pass] = &[
    pass(Fault::Q55, "constant_addresses", |on| constant_addresses::compute(on.module)),
    pass(Fault::Q56, "packed_arguments", |on| packed_arguments::as_arrays(on.module)),
    pass(Fault::Q56, "unaligned", |on| unaligned::split(on.module)),
    pass(Fault::Q27, "integer_pointers", |on| integer_pointers::compute(on.module)),
    pass(Fault::Q17, "vector_components", |on| vector_components::cast(on.module)),
    pass(Fault::Q21, "inline_hints::at_functions_with_barriers", |on| {
        inline_hints::at_functions_with_barriers(on.module)
    }),
    pass(Fault::Q58, "inline_hints::at_functions_with_built_ins", |on| {
        inline_hints::at_functions_with_built_ins(on.module)
    }),
    pass(Fault::Q59, "wide_arguments", |on| {
        wide_arguments::split(on.module, on.target.vector_argument_bytes, on.image)
    }),
    pass(Fault::Q22, "private_addresses", |on| private_addresses::add_variables(on.module)),
    pass(Fault::Q23, "function_names", |on| function_names::complete(on.module)),
    pass(Fault::Q24, "generic_atomics", |on| generic_atomics::as_cpp(on.module)),
    pass(Fault::Q36, "phi_pairs", |on| phi_pairs::join(on.module)),
    pass(Fault::Q42, "deep_conditions", |on| deep_conditions::bound(on.module, on.image)),
    pass(Fault::Q63, "inverted_votes", |on| inverted_votes::replace(on.module)),
    pass(Fault::Q64, "sub_group_sizes", |on| sub_group_sizes::compute(on.module, on.target.address_bits)),
    pass(Fault::Q65, "half_broadcasts", |on| half_broadcasts::as_integers(on.module)),
    pass(Fault::Q62, "wrong_functions::replace", |on| wrong_functions::replace(on.module)),
    pass(Fault::Q66, "wrong_functions::replace_aligned_stores", |on| {
        wrong_functions::replace_aligned_stores(on.module)
    }),
    pass(Fault::Q68, "wrong_functions::replace_long_mad_sat", |on| {
        wrong_functions::replace_long_mad_sat(on.module)
    }),
    pass(Fault::Q35, "integer_maximum", |on| integer_maximum::expand(on.module)),
    pass(Fault::Q61, "inverted_bounds", |on| inverted_bounds::hide(on.module, on.target.address_bits)),
    pass(Fault::Q39, "zero_lanes", |on| zero_lanes::split(on.module)),
    pass(Fault::Q45, "masked_counters", |on| masked_counters::hide(on.module, on.target.address_bits)),
    pass(Fault::Q26, "scalar_loops", |on| scalar_loops::keep(on.module)),
    pass(Fault::Q33, "kept_loads", |on| kept_loads::keep(on.module)),
    pass(Fault::Q43, "inverted_choices", |on| inverted_choices::separate(on.module, on.target.address_bits)),
    pass(Fault::Q32, "joined_values", |on| joined_values::keep(on.module, on.target.address_bits)),
    pass(Fault::Q9, "called_functions", |on| called_functions::expand(on.module)),
    pass(Fault::Q46, "guarded_loads", |on| guarded_loads::spread(on.module, on.target.address_bits)),
];

/// Runs the passes for the device's faults: the first `target.passes` of them, or all.
///
/// # Errors
/// Those of the passes.
pub(super) fn run(mut module: Module, target: &DeviceTarget, image: &str) -> Result<Module> {
    let wanted = PASSES.iter().filter(|pass| target.faults.has(pass.fault));
    for (number, Pass { fault, name, run }) in (1..).zip(wanted) {
        if target.passes.is_some_and(|most| number > most) {
            log::debug!("{image}: passes from {number} on ({fault}, {name}) do not run");
            break;
        }
        if let Some(new) = run(&Input { module: &module, target, image })? {
            log::debug!("{image}: pass {number} ({fault}, {name}) changed the module");
            module = new;
        }
    }
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pass is for a fault of the table, and has a name of its own.
    #[test]
    fn passes_have_faults_and_names() {
        for (number, pass) in PASSES.iter().enumerate() {
            assert!(oclave_faults::FAULTS.iter().any(|row| row.fault == pass.fault), "{}", pass.name);
            assert!(PASSES[..number].iter().all(|other| other.name != pass.name), "{}", pass.name);
        }
    }
}
