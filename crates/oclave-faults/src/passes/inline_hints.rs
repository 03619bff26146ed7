//! The hint that some functions are to be inlined, where drivers compile calls of them wrongly and
//! follow the hint.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, POCL_CPU_6, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::transform::function_controls;
use oclave_spirv::{FunctionControl, Module, StorageClass};

fault! {
    /// **Q21. Mesa's rusticl 26.1.6 on llvmpipe.** Larger functions are not inlined. A barrier in
    /// one ends the process with SIGSEGV when the kernel is launched: llvmpipe suspends a coroutine
    /// there, and a function has none. Such functions get SPIR-V's hint `Inline`, which Mesa follows. Kernels with barriers in virtual functions crashed.
    Q21 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "A barrier in a function that is not inlined crashes at the launch.",
        remedy: "The hint `Inline` at such functions (`inline_hints`).",
        upstream: [],
    }
}

fault! {
    /// **Q58. PoCL 6.0 on CPUs.** The process ends when a kernel is loaded that calls certain functions, if they stay calls. They read
    /// the id of the work-item or group, use a variable in global memory, or call such functions.
    /// Seen in plain OpenCL C: `__attribute__((noinline)) uint f(void) { return get_group_id(0); }`. So such functions lose the hint not to be
    /// inlined.
    Q58 {
        affects: [POCL_CPU_6],
        seen: Programs,
        symptom: "A function that stays a call and reads ids or global variables ends the process.",
        remedy: "Such functions lose the hint not to be inlined (`inline_hints`).",
        upstream: ["pocl-ids-in-calls.md"],
    }
}

pub(in crate::passes) const AT_BARRIERS: Pass =
    pass(Fault::Q21, "inline_hints::at_functions_with_barriers", |on| {
        at_functions_with_barriers(on.analyses)
    });

pub(in crate::passes) const AT_VARIABLES: Pass =
    pass(Fault::Q58, "inline_hints::at_functions_with_variables", |on| {
        at_functions_with_variables(on.analyses)
    });

/// The module with the hint at each function, other than kernels, that reaches a barrier; `None`
/// where none lacks it.
///
/// Mesa's llvmpipe leaves larger functions as calls, and crashes where it compiles a barrier in one.
///
/// # Errors
/// As [`function_controls::change`].
pub(crate) fn at_functions_with_barriers(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let flows = analyses.flows();
    let uniformity = Uniformity::new(definitions, flows);
    let is_wanted = |id: u32| uniformity.has_barriers(id) && !uniformity.kernels().contains(&id);
    let hinted = |control: u32| without_dont_inline(control) | FunctionControl::INLINE.bits();
    Ok(function_controls::change(definitions, is_wanted, hinted)?)
}

/// The module without the opposite hint at each function that uses a built-in variable or one in global memory. Functions that call
/// these lose it, too. `None` where none has it.
///
/// PoCL 6.0 ends the process where such a function stays a call. Without a hint, it inlines them.
/// It refuses the hint to inline beside `noinline`, which it gives to the code of kernels.
///
/// # Errors
/// As [`function_controls::change`].
pub(crate) fn at_functions_with_variables(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let references = References::new(definitions);
    let built_ins = module.built_ins().map(|(id, _)| id);
    let users = references.users(&built_ins.chain(module.variables(StorageClass::CrossWorkgroup)).collect());
    let kernels: BTreeSet<u32> = references.entry_points().iter().map(|entry| entry.function).collect();
    let is_wanted = |id| users.contains(&id) && !kernels.contains(&id);
    Ok(function_controls::change(definitions, is_wanted, without_dont_inline)?)
}

fn without_dont_inline(control: u32) -> u32 {
    control & !FunctionControl::DONT_INLINE.bits()
}
