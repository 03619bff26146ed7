//! Work-groups of one size, for Intel's CPU runtime.
//!
//! SPIR-V cannot say that all work-groups of a launch have the same size. OpenCL C before 2.0 promises it (OpenCL 3.0 API, `clEnqueueNDRangeKernel`,
//! `CL_INVALID_WORK_GROUP_SIZE`), and Intel's runtime looks at the version of OpenCL C in `OpSource`. The option `-cl-uniform-work-group-size`
//! changes nothing for a module.
//!
//! With version 1.2, the runtime does not have functions that only later versions have. Modules that may need one keep their version. So do
//! modules without barriers, whose kernels take the same time with either version.

use super::with_source;
use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::transform::capabilities;
use oclave_spirv::{BuiltIn, Capability, Module, Op, SourceLanguage};

fault! {
    /// **Q83. Intel's CPU runtime 2026.2.** Kernels of OpenCL C 2.0 and later have code for work-groups that are smaller than the others.
    /// A product of matrices in blocks of 16 takes 12 times as long with it. So modules with barriers say OpenCL C 1.2 if no launch has such
    /// work-groups, unless they need functions of a later version.
    Q83 {
        affects: [INTEL],
        seen: Measurements,
        symptom: "Code for smaller work-groups makes kernels slow.",
        remedy: "`OpSource` says OpenCL C 1.2 if all work-groups have one size (`uniform_groups`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q83, "uniform_groups", |on| {
    if on.image.uniform_work_groups { promise(on.analyses) } else { Ok(None) }
});

const OPENCL_C_1_2: [u32; 2] = [SourceLanguage::OpenCL_C as u32, 102_000];

/// The capabilities of OpenCL C 1.2 and its usual extensions.
const CAPABILITIES: [Capability; 16] = [
    Capability::Addresses,
    Capability::Linkage,
    Capability::Kernel,
    Capability::Vector16,
    Capability::Float16Buffer,
    Capability::Float16,
    Capability::Float64,
    Capability::Int64,
    Capability::Int16,
    Capability::Int8,
    Capability::ImageBasic,
    Capability::LiteralSampler,
    Capability::Image1D,
    Capability::Sampled1D,
    Capability::ImageBuffer,
    Capability::SampledBuffer,
];

/// The module as one of OpenCL C 1.2; `None` where it has no barrier, or may need a later version.
///
/// # Errors
/// As [`with_source`].
pub(crate) fn promise(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let module = analyses.module();
    let mut head = module.global_instructions();
    let is_known = |capability: u32| CAPABILITIES.iter().any(|known| *known as u32 == capability);
    let has_barrier = module.instructions().any(|i| i.is(Op::ControlBarrier));
    let says_1_2 = head.any(|i| i.is(Op::Source) && i.operands().starts_with(&OPENCL_C_1_2));
    let needs_more =
        !capabilities::declared(module).all(is_known) || module.built_ins().any(|(_, what)| is_of_2_0(what));
    if !has_barrier || says_1_2 || needs_more {
        return Ok(None);
    }
    with_source(analyses, OPENCL_C_1_2)
}

/// Whether only OpenCL C 2.0 and later have a function for a built-in variable.
fn is_of_2_0(what: u32) -> bool {
    [BuiltIn::EnqueuedWorkgroupSize, BuiltIn::GlobalLinearId, BuiltIn::LocalInvocationIndex]
        .into_iter()
        .any(|later| later as u32 == what)
}
