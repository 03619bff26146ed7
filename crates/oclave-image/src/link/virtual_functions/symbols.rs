//! Values that are known to be codes: addresses of vtables and functions, and values computed from
//! them.

use std::collections::HashMap;

use super::vtables::{Names, Vtables};
use oclave_spirv::{Definitions, Instruction, Op, Type, TypeTable, is_access_chain};

/// Id → code.
pub(super) type Symbols = HashMap<u32, u64>;

/// Finds all of them. Blocks may be in any order, so this iterates to a fixed point.
pub(super) fn symbols(
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
    names: &Names,
    vtables: &Vtables,
) -> Symbols {
    let mut symbols: Symbols = vtables.variables.iter().map(|(&id, &code)| (id, code)).collect();
    for (&id, &function) in &vtables.function_pointers {
        symbols.insert(id, Vtables::function_code(names, function));
    }
    if symbols.is_empty() {
        return symbols;
    }
    let mut open: Vec<(u32, Op, &[u32])> =
        definitions.module().instructions().filter_map(|i| derivation(&i)).collect();
    loop {
        let before = symbols.len();
        open.retain(|(id, op, operands)| {
            let Some((&base, indices)) = operands.split_first() else { return false };
            let Some(&code) = symbols.get(&base) else { return true };
            let offset =
                if is_access_chain(*op) { offset(definitions, types, base, indices) } else { Some(0) };
            if let Some(offset) = offset {
                symbols.insert(*id, code.wrapping_add_signed(offset));
            }
            false
        });
        if symbols.len() == before {
            return symbols;
        }
    }
}

/// Id, operation and operands of an instruction whose result is a code if its first operand is one.
fn derivation<'m>(instruction: &Instruction<'m>) -> Option<(u32, Op, &'m [u32])> {
    let mut op = instruction.op()?;
    let mut operands = instruction.operands();
    if op == Op::SpecConstantOp {
        let (&number, rest) = operands.split_first()?;
        (op, operands) = (Op::from_u32(number)?, rest);
    }
    let derives = matches!(
        op,
        Op::Bitcast
            | Op::CopyObject
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
    );
    (derives || is_access_chain(op)).then_some((instruction.result_id()?, op, operands))
}

/// How far an access chain with constant indices leads, in bytes. The first index counts whole
/// pointees.
fn offset(definitions: &Definitions<'_>, types: &TypeTable<'_>, base: u32, indices: &[u32]) -> Option<i64> {
    let Type::Pointer { pointee, .. } = types.ty(definitions.type_of(base)?)? else { return None };
    let (&first, members) = indices.split_first()?;
    let mut ty = pointee;
    let mut offset = constant(definitions, first)?.checked_mul(size(types, ty)?)?;
    for &index in members {
        let index = constant(definitions, index)?;
        match types.ty(ty)? {
            Type::Struct { members } => {
                let member = usize::try_from(index).ok()?;
                let start = *types.member_offsets(ty)?.get(member)?;
                offset = offset.checked_add(i64::try_from(start).ok()?)?;
                ty = *members.get(member)?;
            }
            Type::Array { element, .. } => {
                offset = offset.checked_add(index.checked_mul(size(types, element)?)?)?;
                ty = element;
            }
            _ => return None,
        }
    }
    Some(offset)
}

fn size(types: &TypeTable<'_>, ty: u32) -> Option<i64> {
    i64::try_from(types.size_bytes(ty)?).ok()
}

/// An integer constant, sign-extended from its width.
pub(super) fn constant(definitions: &Definitions<'_>, id: u32) -> Option<i64> {
    let value = definitions.int_constant(id)?;
    let width = definitions.instruction(definitions.type_of(id)?)?.operand(0)?;
    let unused = 64_u32.checked_sub(width)?;
    Some((value << unused).cast_signed() >> unused)
}
