//! Constant expressions that move a pointer by bytes, as translators from opaque pointers write
//! them.
//!
//! LLVM's `getelementptr (i8, ptr @values, i64 8)` needs a cast of `values` in SPIR-V, whose
//! pointers have types. The translators from LLVM 17 on leave the cast out of
//! `OpSpecConstantOp`, so a reader takes the bytes for elements of the variable's type.

use crate::Result;
use crate::spirv::{Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable};

/// Gives each such expression the cast that it lacks; `None` where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn cast_bases(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let lacks_cast = |instruction: &Instruction<'_>| -> Option<(u32, u32)> {
        let &[op, base, _element] = instruction.operands() else { return None };
        let is_chain =
            [Op::PtrAccessChain, Op::InBoundsPtrAccessChain].iter().any(|&chain| chain as u32 == op);
        let ty = instruction.result_type()?;
        let pointee = |ty: u32| match types.ty(ty) {
            Some(Type::Pointer { pointee, .. }) => Some(pointee),
            _ => None,
        };
        // One index does not leave the type of the base.
        let differs = pointee(ty)? != pointee(definitions.type_of(base)?)?;
        (instruction.is(Op::SpecConstantOp) && is_chain && differs).then_some((ty, base))
    };
    if !module.instructions().any(|instruction| lacks_cast(&instruction).is_some()) {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    for instruction in module.instructions() {
        let Some((ty, base)) = lacks_cast(&instruction) else {
            new.copy(&instruction);
            continue;
        };
        let cast = new.fresh_id();
        new.push(Op::SpecConstantOp, &[ty, cast, Op::Bitcast as u32, base]);
        new.copy_mapped(&instruction, |id| if id == base { cast } else { id });
    }
    new.finish().map(Some)
}
