//! What a device may do without: hints of extensions, whose loss changes nothing but speed or
//! diagnostics.

use std::ops::RangeInclusive;

/// The parts of one capability that is nothing but hints.
#[derive(Debug)]
pub struct Hint {
    /// The capability.
    pub capability: u32,
    /// The extension that brings it.
    pub extension: &'static str,
    /// Its decorations.
    pub decorations: &'static [RangeInclusive<u32>],
    /// Its execution modes.
    pub modes: &'static [u32],
}

const fn hint(capability: u32, extension: &'static str, decorations: &'static [RangeInclusive<u32>]) -> Hint {
    Hint { capability, extension, decorations, modes: &[] }
}

/// Capability `MemoryAccessAliasingINTEL`.
pub const MEMORY_ALIASING: u32 = 5910;
/// Capability `OptNoneINTEL`.
pub const OPT_NONE: u32 = 6094;
/// Capability `ExpectAssumeKHR`.
pub const EXPECT_ASSUME: u32 = 5629;
/// Capability `UnstructuredLoopControlsINTEL`.
pub const LOOP_CONTROLS: u32 = 5886;
/// Capability `FPGALoopControlsINTEL`.
pub const FPGA_LOOP_CONTROLS: u32 = 5888;
/// Capability `FPFastMathModeINTEL`.
pub const FAST_MATH_INTEL: u32 = 5837;

/// Numbers as in the SPIR-V registry; the `spirv` crate lacks the older and the FPGA ones.
pub static HINTS: &[Hint] = &[
    hint(6146, "SPV_INTEL_global_variable_decorations", &[6147..=6149]),
    hint(6187, "SPV_INTEL_global_variable_host_access", &[6188..=6188]),
    hint(6189, "SPV_INTEL_global_variable_fpga_decorations", &[6190..=6191]),
    hint(5824, "SPV_INTEL_fpga_memory_attributes", &[5825..=5836, 5883..=5885]),
    hint(5898, "SPV_INTEL_fpga_memory_accesses", &[5899..=5902]),
    hint(5904, "SPV_INTEL_fpga_cluster_attributes", &[5905..=5905]),
    hint(6150, "SPV_INTEL_fpga_cluster_attributes", &[6151..=6151]),
    hint(5906, "SPV_INTEL_loop_fuse", &[5907..=5907]),
    hint(5908, "SPV_INTEL_fpga_dsp_control", &[5909..=5909]),
    hint(5916, "SPV_INTEL_fpga_invocation_pipelining_attributes", &[5917..=5919]),
    hint(5920, "SPV_INTEL_fpga_buffer_location", &[5921..=5921]),
    hint(5943, "SPV_INTEL_io_pipes", &[5944..=5944]),
    hint(6169, "SPV_INTEL_fp_max_error", &[6170..=6170]),
    hint(6171, "SPV_INTEL_fpga_latency_control", &[6172..=6173]),
    hint(6174, "SPV_INTEL_fpga_argument_interfaces", &[6175..=6182]),
    hint(6441, "SPV_INTEL_cache_controls", &[6442..=6443]),
    Hint {
        capability: 5892,
        extension: "SPV_INTEL_kernel_attributes",
        decorations: &[],
        modes: &[5893, 5894, 5895],
    },
    Hint {
        capability: 5897,
        extension: "SPV_INTEL_kernel_attributes",
        decorations: &[],
        modes: &[5896, 5903, 6154, 6160],
    },
    hint(6161, "SPV_INTEL_kernel_attributes", &[]),
    // Decorations here; their instructions and masks are the business of strip.rs.
    hint(MEMORY_ALIASING, "SPV_INTEL_memory_access_aliasing", &[5914..=5915]),
    hint(OPT_NONE, "SPV_INTEL_optnone", &[]),
    hint(EXPECT_ASSUME, "SPV_KHR_expect_assume", &[]),
    hint(LOOP_CONTROLS, "SPV_INTEL_unstructured_loop_controls", &[]),
    hint(FPGA_LOOP_CONTROLS, "SPV_INTEL_fpga_loop_controls", &[]),
    hint(FAST_MATH_INTEL, "SPV_INTEL_fp_fast_math_mode", &[]),
];

/// Loop-control bits that came with SPIR-V 1.0, 1.1 and 1.4; all others are hints of extensions.
pub const LOOP_CONTROL_1_0: u32 = 0x3;
/// Bits of `OpLoopMerge` that SPIR-V 1.1 knows.
pub const LOOP_CONTROL_1_1: u32 = 0xf;
/// Bits of `OpLoopMerge` that no extension defines.
pub const LOOP_CONTROL_CORE: u32 = 0x1ff;

/// The mask and literals of a loop control with only the bits of `allowed`.
///
/// Literals are in the order of their bits. `allowed` must be a low part of the mask, so that
/// what goes is the end.
pub fn trim_loop_control(control: &[u32], allowed: u32) -> Vec<u32> {
    let Some((&mask, literals)) = control.split_first() else { return Vec::new() };
    let kept = mask & allowed;
    // From DependencyLength on every bit of the core has one literal.
    let count = (kept & LOOP_CONTROL_CORE & !0x7).count_ones() as usize;
    let mut trimmed = vec![kept];
    trimmed.extend(literals.iter().take(count));
    trimmed
}
