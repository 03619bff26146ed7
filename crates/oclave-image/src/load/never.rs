//! Values that compilers take for different ones: `never ? 0 : value`, under a condition that is never true.

use crate::spirv::{Op, Rewriter, Type, TypeTable};

/// Writes `never ? 0 : value`; of a vector, in its first lane.
pub(super) fn select(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    never: u32,
    [value, ty, result]: [u32; 3],
) {
    let (lane, lane_type) = first_lane(new, types, value, ty);
    let zero = new.null_constant(lane_type);
    if lane_type == ty {
        new.push(Op::Select, &[ty, result, never, zero, lane]);
    } else {
        let lane = emit(new, Op::Select, lane_type, &[never, zero, lane]);
        new.push(Op::CompositeInsert, &[ty, result, lane, value, 0]);
    }
}

/// The first lane of a vector and its type; another value as it is.
pub(super) fn first_lane(new: &mut Rewriter<'_>, types: &TypeTable<'_>, value: u32, ty: u32) -> (u32, u32) {
    match types.ty(ty) {
        Some(Type::Vector { component, .. }) => {
            (emit(new, Op::CompositeExtract, component, &[value, 0]), component)
        }
        _ => (value, ty),
    }
}

pub(super) fn emit(new: &mut Rewriter<'_>, op: Op, ty: u32, operands: &[u32]) -> u32 {
    let id = new.fresh_id();
    new.push(op, &[&[ty, id], operands].concat());
    id
}
