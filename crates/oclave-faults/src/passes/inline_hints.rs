//! The hint that some functions are to be inlined, where drivers compile calls of them wrongly and
//! follow the hint.

use std::collections::BTreeSet;

use crate::passes::Result;
use oclave_spirv::analysis::control_flow::Flow;
use oclave_spirv::analysis::uniformity::Uniformity;
use oclave_spirv::{Definitions, FunctionControl, Module, Op, Rewriter};

/// The module with the hint at each function, other than kernels, that reaches a barrier; `None`
/// where none lacks it.
///
/// Mesa's llvmpipe leaves larger functions as calls, and crashes where it compiles a barrier in one.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn at_functions_with_barriers(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(module);
    let uniformity = Uniformity::new(&definitions, &flows);
    let is_wanted = |id: u32| uniformity.has_barriers(id) && !uniformity.kernels().contains(&id);
    let hinted = |control: u32| without_dont_inline(control) | FunctionControl::INLINE.bits();
    with_controls(&definitions, is_wanted, hinted)
}

/// The module without the opposite hint at each function that reads a built-in variable, such as the
/// id of the work-item; `None` where none has it.
///
/// PoCL 6.0 ends the process where such a function stays a call. Without a hint, it inlines them.
/// It refuses the hint to inline beside `noinline`, which it gives to the code of kernels.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn at_functions_with_built_ins(module: &Module) -> Result<Option<Module>> {
    let built_ins: BTreeSet<u32> = module.built_ins().map(|(id, _)| id).collect();
    let kernels: BTreeSet<u32> =
        module.instructions().filter(|i| i.is(Op::EntryPoint)).filter_map(|i| i.operand(1)).collect();
    let mut function = None;
    let mut found = BTreeSet::new();
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => function = instruction.result_id(),
            Some(_) => {
                if let Some(id) = function.filter(|id| !kernels.contains(id))
                    && instruction.operands().iter().any(|operand| built_ins.contains(operand))
                {
                    found.insert(id);
                }
            }
            None => {}
        }
    }
    with_controls(&Definitions::new(module), |id| found.contains(&id), without_dont_inline)
}

fn without_dont_inline(control: u32) -> u32 {
    control & !FunctionControl::DONT_INLINE.bits()
}

/// Changes the function control of the functions that `is_wanted` names.
fn with_controls(
    definitions: &Definitions<'_>,
    is_wanted: impl Fn(u32) -> bool,
    changed: impl Fn(u32) -> u32,
) -> Result<Option<Module>> {
    let module = definitions.module();
    let found: BTreeSet<usize> = module
        .instructions()
        .filter(|i| i.is(Op::Function) && i.result_id().is_some_and(&is_wanted))
        .filter(|i| i.operand(0).is_some_and(|control| control != changed(control)))
        .map(|i| i.at)
        .collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(definitions);
    for instruction in module.instructions() {
        match (instruction.result_type(), instruction.result_id(), instruction.operands()) {
            (Some(ty), Some(id), &[control, of]) if found.contains(&instruction.at) => {
                new.replace(&instruction, Op::Function, &[ty, id, changed(control), of]);
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}
