//! Constant expressions on pointers, as translators from opaque pointers write them.
//!
//! SPIR-V's pointers have types, and chains of indices follow them. The translators from LLVM 17 on
//! leave casts out of `OpSpecConstantOp`:
//!
//! - LLVM's `getelementptr (i8, ptr @values, i64 8)` needs a cast of `values`. Without it, a reader
//!   takes the bytes for elements of the variable's type.
//! - The result of a longer chain is a pointer to bytes with LLVM 18, whatever the indices select.
//!
//! Clang 22 writes a null pointer as a cast of a null pointer to the generic address space.

use std::collections::BTreeSet;

use crate::Result;
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter, StorageClass, Type, TypeTable};

/// Gives the chains the cast that they lack, and makes casts of null `OpConstantNull`. `None` where
/// there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn plain_constants(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let nulls = casts_of_null(module);
    let cast_of = |instruction: &Instruction<'_>| missing_cast(&definitions, &types, instruction);
    if nulls.is_empty() && !module.instructions().any(|instruction| cast_of(&instruction).is_some()) {
        return Ok(None);
    }
    let mut new = Rewriter::new(&definitions);
    for instruction in module.instructions() {
        let typed = instruction.result_type().zip(instruction.result_id());
        match (typed, cast_of(&instruction)) {
            (Some((ty, result)), _) if nulls.contains(&result) => new.push(Op::ConstantNull, &[ty, result]),
            (Some((ty, _)), Some(Cast::OfBase(base))) => {
                let cast = new.fresh_id();
                new.push(Op::SpecConstantOp, &[ty, cast, Op::Bitcast as u32, base]);
                new.copy_mapped(&instruction, |id| if id == base { cast } else { id });
            }
            (Some((ty, result)), Some(Cast::OfResult(class, part))) => {
                let chain = new.fresh_id();
                let pointer = new.pointer_type(class, part);
                new.push(Op::SpecConstantOp, &[&[pointer, chain], instruction.operands()].concat());
                new.push(Op::SpecConstantOp, &[ty, result, Op::Bitcast as u32, chain]);
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// The constants that cast a null pointer, also by way of others.
fn casts_of_null(module: &Module) -> BTreeSet<u32> {
    let casts = [Op::Bitcast, Op::PtrCastToGeneric, Op::GenericCastToPtr].map(|op| op as u32);
    let (mut nulls, mut found) = (BTreeSet::new(), BTreeSet::new());
    for instruction in module.instructions().take_while(|i| !i.is(Op::Function)) {
        let Some(result) = instruction.result_id() else { continue };
        match (instruction.op(), instruction.operands()) {
            (Some(Op::ConstantNull), _) => drop(nulls.insert(result)),
            (Some(Op::SpecConstantOp), [op, of]) if casts.contains(op) && nulls.contains(of) => {
                nulls.insert(result);
                found.insert(result);
            }
            _ => {}
        }
    }
    found
}

/// The cast that a chain lacks.
enum Cast {
    /// Of this base, to the type of the result: the only index counts parts of what the result
    /// points to.
    OfBase(u32),
    /// Of the result, from a pointer of this storage class to this type, which the indices select.
    OfResult(StorageClass, u32),
}

fn missing_cast(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    instruction: &Instruction<'_>,
) -> Option<Cast> {
    let &[op, base, ref indices @ ..] = instruction.operands() else { return None };
    if !instruction.is(Op::SpecConstantOp) {
        return None;
    }
    let parts = match Op::from_u32(op)? {
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => indices.get(1..)?,
        Op::AccessChain | Op::InBoundsAccessChain => indices,
        _ => return None,
    };
    let pointer = |ty: u32| match types.ty(ty) {
        Some(Type::Pointer { class, pointee }) => Some((class, pointee)),
        _ => None,
    };
    let (class, result) = pointer(instruction.result_type()?)?;
    let (_, mut part) = pointer(definitions.type_of(base)?)?;
    for &index in parts {
        part = match types.ty(part)? {
            Type::Array { element, .. } => element,
            Type::Vector { component, .. } => component,
            Type::Struct { members } => {
                *members.get(usize::try_from(definitions.int_constant(index)?).ok()?)?
            }
            _ => return None,
        };
    }
    match parts {
        _ if part == result => None,
        [] => Some(Cast::OfBase(base)),
        _ => Some(Cast::OfResult(StorageClass::from_u32(class)?, part)),
    }
}
