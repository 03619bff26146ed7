//! `OpSelect` of whole values by one condition, which came with SPIR-V 1.4, for older versions.

use crate::{Cursor, Definitions, Editor, Instruction, Module, Op, Type, TypeTable, Version};

/// Most parts of a struct or array that are selected one by one, itself and the structs and arrays in it included.
const MOST_PARTS: usize = 1024;

/// Whether a module has a select that its version does not have: llvm-spirv writes those of vectors
/// in any version.
pub(super) fn has_select_of_wholes(module: &Module) -> bool {
    if module.version() >= Version::V1_4 || !module.instructions().any(|i| i.is(Op::Select)) {
        return false;
    }
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    module.instructions().any(|i| i.is(Op::Select) && is_of_wholes(&i, &definitions, &types))
}

/// Whether a select is of structs or arrays, or of vectors by a scalar condition.
pub(super) fn is_of_wholes(
    select: &Instruction<'_>,
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
) -> bool {
    match select.result_type().and_then(|ty| types.ty(ty)) {
        Some(Type::Struct { .. } | Type::Array { .. }) => true,
        Some(Type::Vector { .. }) => {
            let condition = select.operand(0).and_then(|condition| definitions.type_of(condition));
            condition.and_then(|ty| types.ty(ty)) == Some(Type::Bool)
        }
        _ => false,
    }
}

/// Replaces such a select by selects of its parts; `None`, and nothing is changed, where it has too many parts.
pub(super) fn lower(edit: &mut Editor<'_>, select: &Instruction<'_>, types: &TypeTable<'_>) -> Option<()> {
    let (ty, result) = (select.result_type()?, select.result_id()?);
    let &[condition, a, b] = select.operands() else { return None };
    count_parts(ty, types, &mut { MOST_PARTS })?;
    emit(&mut edit.instead_of(select), types, ty, condition, [a, b], result)
}

/// The types of the members of a struct or array.
fn members(ty: u32, types: &TypeTable<'_>) -> Option<Vec<u32>> {
    match types.ty(ty)? {
        Type::Struct { members } if members.len() <= MOST_PARTS => Some(members.to_vec()),
        Type::Array { element, length } => {
            let length = usize::try_from(length?).ok().filter(|length| *length <= MOST_PARTS)?;
            Some(vec![element; length])
        }
        _ => None,
    }
}

/// Counts a type and its parts down from the most that there may be; `None` where there are more. A struct of structs of structs can name few
/// types and have very many parts.
fn count_parts(ty: u32, types: &TypeTable<'_>, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    match types.ty(ty)? {
        Type::Struct { .. } | Type::Array { .. } => {
            members(ty, types)?.into_iter().try_for_each(|member| count_parts(member, types, left))
        }
        _ => Some(()),
    }
}

fn emit(
    at: &mut Cursor<'_, '_>,
    types: &TypeTable<'_>,
    ty: u32,
    condition: u32,
    [a, b]: [u32; 2],
    result: u32,
) -> Option<()> {
    match types.ty(ty)? {
        Type::Vector { count, .. } => {
            let bool = at.bool_type();
            let bools = at.vector_type(bool, count);
            let conditions = at.emit(Op::CompositeConstruct, bools, &vec![condition; count as usize]);
            at.push(Op::Select, &[ty, result, conditions, a, b]);
        }
        Type::Struct { .. } | Type::Array { .. } => {
            let mut operands = vec![ty, result];
            for (index, member) in (0_u32..).zip(members(ty, types)?) {
                let parts = [a, b].map(|whole| at.emit(Op::CompositeExtract, member, &[whole, index]));
                let part = at.fresh_id();
                emit(at, types, member, condition, parts, part)?;
                operands.push(part);
            }
            at.push(Op::CompositeConstruct, &operands);
        }
        _ => at.push(Op::Select, &[ty, result, condition, a, b]),
    }
    Some(())
}
