//! `OpSelect` of whole values by one condition, which came with SPIR-V 1.4, for older versions.

use crate::{Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable, Version};

/// Most parts of a struct or array that are selected one by one.
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

/// Writes such a select part by part; `None`, and nothing is written, where it has too many parts.
pub(super) fn lower(new: &mut Rewriter<'_>, select: &Instruction<'_>, types: &TypeTable<'_>) -> Option<()> {
    let (ty, result) = (select.result_type()?, select.result_id()?);
    let &[condition, a, b] = select.operands() else { return None };
    if parts(ty, types)? > MOST_PARTS {
        return None;
    }
    emit(new, types, ty, condition, [a, b], result)
}

/// The types of the members of a struct or array.
fn members(ty: u32, types: &TypeTable<'_>) -> Option<Vec<u32>> {
    match types.ty(ty)? {
        Type::Struct { members } => Some(members.to_vec()),
        Type::Array { element, length } => {
            let length = usize::try_from(length?).ok().filter(|length| *length <= MOST_PARTS)?;
            Some(vec![element; length])
        }
        _ => None,
    }
}

fn parts(ty: u32, types: &TypeTable<'_>) -> Option<usize> {
    match types.ty(ty)? {
        Type::Struct { .. } | Type::Array { .. } => {
            members(ty, types)?.into_iter().map(|member| parts(member, types)).sum()
        }
        _ => Some(1),
    }
}

fn emit(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    ty: u32,
    condition: u32,
    [a, b]: [u32; 2],
    result: u32,
) -> Option<()> {
    match types.ty(ty)? {
        Type::Vector { count, .. } => {
            let bool = new.bool_type();
            let bools = new.vector_type(bool, count);
            let conditions = new.fresh_id();
            let mut operands = vec![bools, conditions];
            operands.extend((0..count).map(|_| condition));
            new.push(Op::CompositeConstruct, &operands);
            new.push(Op::Select, &[ty, result, conditions, a, b]);
        }
        Type::Struct { .. } | Type::Array { .. } => {
            let mut operands = vec![ty, result];
            for (index, member) in (0_u32..).zip(members(ty, types)?) {
                let [x, y, part] = std::array::from_fn(|_| new.fresh_id());
                new.push(Op::CompositeExtract, &[member, x, a, index]);
                new.push(Op::CompositeExtract, &[member, y, b, index]);
                emit(new, types, member, condition, [x, y], part)?;
                operands.push(part);
            }
            new.push(Op::CompositeConstruct, &operands);
        }
        _ => new.push(Op::Select, &[ty, result, condition, a, b]),
    }
    Some(())
}
