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
use oclave_spirv::{
    Definitions, Editor, Instruction, Module, Op, StorageClass, TypeTable, first_chain_index,
};

/// Gives the chains the cast that they lack, and makes casts of null `OpConstantNull`. `None` where
/// there are none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn plain_constants(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let nulls = casts_of_null(module);
    let mut edit = Editor::new(&definitions);
    for constant in module.instructions().filter(|i| i.is(Op::SpecConstantOp)) {
        let Some((ty, result)) = constant.result_type().zip(constant.result_id()) else { continue };
        if nulls.contains(&result) {
            edit.replace(&constant, Op::ConstantNull, &[ty, result]);
            continue;
        }
        let Some(missing) = missing_cast(&definitions, &types, &constant) else { continue };
        let mut at = edit.instead_of(&constant);
        match missing {
            Cast::OfBase(base) => {
                let cast = at.emit(Op::SpecConstantOp, ty, &[Op::Bitcast as u32, base]);
                at.copy_mapped(&constant, |id| if id == base { cast } else { id });
            }
            Cast::OfResult(class, part) => {
                let pointer = at.pointer_type(class, part);
                let chain = at.emit(Op::SpecConstantOp, pointer, constant.operands());
                at.push(Op::SpecConstantOp, &[ty, result, Op::Bitcast as u32, chain]);
            }
        }
    }
    Ok(edit.finish()?)
}

/// The constants that cast a null pointer, also by way of others.
fn casts_of_null(module: &Module) -> BTreeSet<u32> {
    let casts = [Op::Bitcast, Op::PtrCastToGeneric, Op::GenericCastToPtr].map(|op| op as u32);
    let (mut nulls, mut found) = (BTreeSet::new(), BTreeSet::new());
    for instruction in module.global_instructions() {
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
    constant: &Instruction<'_>,
) -> Option<Cast> {
    let &[op, ref operands @ ..] = constant.operands() else { return None };
    let base = *operands.first()?;
    let parts = operands.get(first_chain_index(Op::from_u32(op)?)?..)?;
    let (class, result) = types.pointer(constant.result_type()?)?;
    let (_, pointee) = types.pointer(definitions.type_of(base)?)?;
    let part = parts.iter().try_fold(pointee, |ty, index| types.part(definitions, ty, *index))?;
    match parts {
        _ if part == result => None,
        [] => Some(Cast::OfBase(base)),
        _ => Some(Cast::OfResult(StorageClass::from_u32(class)?, part)),
    }
}
