//! What is known of a device that modules are adapted to.

use std::collections::BTreeSet;

use crate::Aspects;
use crate::load::work_item_loops::ImplicitBarriers;
use oclave_spirv::Version;

/// What a device takes, as the runtime found by asking it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTarget {
    /// The highest version of SPIR-V that the device takes (`CL_DEVICE_IL_VERSION`).
    pub spirv_version: Version,
    /// Optional features that the device has.
    pub aspects: Aspects,
    /// SPIR-V capabilities that the device takes (`CL_DEVICE_SPIRV_CAPABILITIES_KHR`); `None` where
    /// it does not tell: then capabilities are judged by `aspects`, and those of vendors'
    /// extensions are refused.
    pub capabilities: Option<BTreeSet<u32>>,
    /// SPIR-V extensions that the device takes (`CL_DEVICE_SPIRV_EXTENSIONS_KHR`); `None` where it
    /// does not tell.
    pub extensions: Option<BTreeSet<String>>,
    /// Extended instruction sets (`CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR`); `None` where it
    /// does not tell.
    pub instruction_sets: Option<BTreeSet<String>>,
    /// Whether the device takes decorations of sums and products that do not wrap, also where its version of SPIR-V has them
    /// by an extension only. Without them, compilers do not see that neighbouring work-items access neighbouring elements.
    pub takes_wraps: bool,
    /// Width of the device's addresses in bits (`CL_DEVICE_ADDRESS_BITS`).
    pub address_bits: u32,
    /// Whether the device calls a function for `mad`, which it does not inline. It then gets a
    /// multiplication and an addition instead. They are as good, since OpenCL leaves open how often
    /// `mad` rounds.
    pub functions_are_called: bool,
    /// Whether the device runs the work-items of a group one after the other, each up to the next
    /// barrier. In interpreter modules, one work-item then does alone what they need not share, in
    /// loops that the device's compiler vectorises.
    pub serial_work_items: bool,
    /// Whether interpreter modules are for groups of many work-items that run side by side, as on a
    /// GPU.
    pub wide_groups: bool,
    /// Whether to decorate conditions that are the same for all work-items of a sub-group
    /// (`Uniform`). NVIDIA's assembler makes shorter code of them.
    pub says_uniform: bool,
    /// Where the device's compiler adds barriers of its own to loops.
    pub implicit_barriers: ImplicitBarriers,
    /// Whether the device's compiler takes a way that is right for all barriers where an outermost
    /// loop with barriers has several ends.
    pub continuations_for_several_ends: bool,
    /// Whether kernels with barriers under conditions, or in loops with several ends, get one
    /// barrier in one loop instead.
    pub one_barrier: bool,
    /// Whether the device's compiler joins accesses of a work-item to neighbouring elements, across
    /// others that may meet them.
    pub joins_accesses: bool,
    /// Whether the device's compiler crashes on pointers to lanes of vectors in structs that a
    /// kernel is given by value.
    pub lanes_of_arguments_crash: bool,
    /// Whether the device's compiler crashes on barriers in functions that it does not inline.
    pub barriers_in_calls_crash: bool,
    /// Whether functions that read built-in variables have to be inlined.
    pub built_ins_in_calls_crash: bool,
    /// Bytes of the widest vector that built-in functions take by value; `None` where they take all.
    pub vector_argument_bytes: Option<u32>,
    /// Whether the device's compiler crashes on accesses to private memory in kernels that have no
    /// private variable.
    pub private_memory_may_lack: bool,
    /// Whether the device's compiler crashes on functions without a name.
    pub unnamed_functions_crash: bool,
    /// Whether the device's compiler refuses constant pointers that are made of integers.
    pub integer_pointer_constants_fail: bool,
    /// Whether the device's compiler refuses constants whose initial values have addresses.
    pub constant_addresses_fail: bool,
    /// Whether accesses that are less aligned than their numbers fall on the aligned address before.
    /// This holds for local memory, and for structs that a kernel is given by value.
    pub unaligned_accesses_miss: bool,
    /// Whether the device's compiler has atomic functions on generic pointers for modules of OpenCL
    /// C++ only.
    pub generic_atomics_are_cpp: bool,
    /// Whether the device's compiler crashes on modules that ask for the address space of a generic
    /// pointer (`to_global`). Such modules get no generic pointers.
    pub casts_from_generic_crash: bool,
    /// Whether the device's compiler ends the process where a value that phis make is only used behind
    /// a condition.
    pub fixpoints_are_checked: bool,
    /// Whether the device's compiler loses what a loop begins with, directly behind a barrier.
    pub phis_vanish: bool,
    /// Whether the device's compiler crashes when it vectorises certain loops with built-in functions.
    pub vectorised_loops_crash: bool,
    /// Whether the device's compiler takes values for the same in all work-items that differ by the
    /// branch, behind branches with loops that work-items take differently.
    pub joined_values_collapse: bool,
    /// Whether the device's compiler repeats loads behind barriers, where the memory may hold something
    /// else.
    pub repeats_loads: bool,
    /// Whether the device's compiler takes `max` of an id of a work-item for a bound of the group.
    pub maxima_are_bounds: bool,
    /// Whether a condition on a difference with an id inverts later conditions on ids.
    pub differences_invert_bounds: bool,
    /// Whether some built-in functions of Intel's CPU runtime get other instructions.
    pub functions_are_wrong: bool,
    /// Whether `vstorea_half3` writes a fourth element.
    pub aligned_threes_write_four: bool,
    /// Whether `work_group_all` is false where all work-items are for it.
    pub group_votes_are_inverted: bool,
    /// Whether `mad_sat` of `long` is wrong.
    pub long_mad_sat_is_wrong: bool,
    /// Whether a part of a sub-group has the size of a whole one.
    pub sub_group_sizes_are_whole: bool,
    /// Whether the device's compiler crashes on broadcasts of `half` to a work-group.
    pub half_broadcasts_crash: bool,
    /// Whether the device refuses phis with several values for a block that leads to them by several
    /// cases of a switch.
    pub repeated_pairs_fail: bool,
    /// Whether the device's compiler takes lanes of products of vectors for undefined that are zero.
    pub zero_lanes_are_lost: bool,
    /// Whether the device's compiler lets counters run on that masks hold back.
    pub masked_counters_run_on: bool,
    /// Whether the device's compiler runs loops too often for work-items that do not fill a vector, if
    /// a quotient says how often.
    pub quotients_are_bounds: bool,
    /// Whether the device's compiler forgets conditions that are too deep inside others.
    pub deep_conditions_are_lost: bool,
    /// Whether the device's compiler takes wrong values where complements or negations stand beside
    /// minima, maxima and selections, in kernels with barriers.
    pub inverted_choices_fail: bool,
    /// Whether the device loads behind conditions that no work-item meets, from addresses that are the
    /// same for all of them.
    pub guarded_loads_run: bool,
    /// Whether the device's compiler takes values for the same in all work-items that a loop changes, where
    /// work-items leave the loop in different rounds.
    pub uneven_rounds_collapse: bool,
    /// Whether the device's compiler drops a condition that would make a loop endless.
    pub loops_without_end_go: bool,
    /// Whether the device's compiler takes other values for the counters of loops, in some processes.
    pub counters_are_mistaken: bool,
}

impl Default for DeviceTarget {
    /// A 64-bit device with SPIR-V 1.2 and no optional feature, of which no more is known.
    fn default() -> Self {
        Self {
            spirv_version: Version::V1_2,
            aspects: Aspects::empty(),
            capabilities: None,
            extensions: None,
            instruction_sets: None,
            address_bits: 64,
            functions_are_called: false,
            serial_work_items: false,
            wide_groups: false,
            says_uniform: false,
            implicit_barriers: ImplicitBarriers::None,
            continuations_for_several_ends: false,
            one_barrier: false,
            joins_accesses: false,
            lanes_of_arguments_crash: false,
            barriers_in_calls_crash: false,
            built_ins_in_calls_crash: false,
            vector_argument_bytes: None,
            private_memory_may_lack: false,
            unnamed_functions_crash: false,
            integer_pointer_constants_fail: false,
            constant_addresses_fail: false,
            takes_wraps: false,
            unaligned_accesses_miss: false,
            generic_atomics_are_cpp: false,
            casts_from_generic_crash: false,
            fixpoints_are_checked: false,
            phis_vanish: false,
            vectorised_loops_crash: false,
            joined_values_collapse: false,
            repeats_loads: false,
            maxima_are_bounds: false,
            differences_invert_bounds: false,
            functions_are_wrong: false,
            aligned_threes_write_four: false,
            group_votes_are_inverted: false,
            long_mad_sat_is_wrong: false,
            sub_group_sizes_are_whole: false,
            half_broadcasts_crash: false,
            repeated_pairs_fail: false,
            zero_lanes_are_lost: false,
            masked_counters_run_on: false,
            quotients_are_bounds: false,
            deep_conditions_are_lost: false,
            inverted_choices_fail: false,
            guarded_loads_run: false,
            uneven_rounds_collapse: false,
            loops_without_end_go: false,
            counters_are_mistaken: false,
        }
    }
}
