//! The hint that functions with barriers are to be inlined.
//!
//! Mesa's llvmpipe leaves larger functions as calls, and crashes where it compiles a barrier in one.
//! Its compiler follows the hint.

use std::collections::BTreeSet;

use crate::Result;
use crate::analysis::control_flow::Flow;
use crate::analysis::uniformity::Uniformity;
use crate::spirv::{Definitions, FunctionControl, Module, Op, Rewriter};

/// The module with the hint at each function, other than kernels, that comes to a barrier; `None`
/// where none lacks it.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn at_functions_with_barriers(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let flows = Flow::of_functions(module);
    let uniformity = Uniformity::new(&definitions, &flows);
    let hinted =
        |control: u32| control & !FunctionControl::DONT_INLINE.bits() | FunctionControl::INLINE.bits();
    let is_wanted = |id: u32| uniformity.has_barriers(id) && !uniformity.kernels().contains(&id);
    let found: BTreeSet<usize> = module
        .instructions()
        .filter(|i| i.is(Op::Function) && i.result_id().is_some_and(is_wanted))
        .filter(|i| i.operand(0).is_some_and(|control| control != hinted(control)))
        .map(|i| i.at)
        .collect();
    if found.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    for instruction in module.instructions() {
        match (instruction.result_type(), instruction.result_id(), instruction.operands()) {
            (Some(ty), Some(id), &[control, of]) if found.contains(&instruction.at) => {
                new.replace(&instruction, Op::Function, &[ty, id, hinted(control), of]);
            }
            _ => new.copy(&instruction),
        }
    }
    new.finish().map(Some)
}
