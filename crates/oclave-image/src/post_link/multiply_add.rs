//! Turns `mad` into a multiplication and an addition. At build time this makes it round the same
//! way everywhere. At load time it helps devices that call a function for `mad`.
//!
//! What compilers of OpenCL C and SYCL make of `a * b + c` is `mad` of OpenCL.std, which rounds as
//! the device likes: once or twice. A device whose compiler does not inline the function that it
//! has for it vectorises no loop with such an expression.

use crate::Result;
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op};

/// `mad` of OpenCL.std.
const MAD: u32 = 42;

/// The module with a multiplication and an addition for each `mad`; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn expand(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let Some(set) = definitions.opencl_std() else { return Ok(None) };
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let Some((ty, result, [a, b, c])) = parts(&instruction, set) else { continue };
        let mut at = edit.instead_of(&instruction);
        let product = at.emit(Op::FMul, ty, &[a, b]);
        at.push(Op::FAdd, &[ty, result, product, c]);
    }
    Ok(edit.finish()?)
}

/// Type, result and operands of a `mad`.
fn parts(instruction: &Instruction<'_>, set: u32) -> Option<(u32, u32, [u32; 3])> {
    match *instruction.operands() {
        [of, MAD, a, b, c] if of == set && instruction.is(Op::ExtInst) => {
            Some((instruction.result_type()?, instruction.result_id()?, [a, b, c]))
        }
        _ => None,
    }
}
