//! Values that compilers take for different ones: `never ? 0 : value`, under a condition that is
//! never true. For a value of 0 it is `never ? 1 : 0`, which compilers do not simplify. And zeroes
//! that compilers do not know.

use std::collections::{HashMap, HashSet};

use crate::passes::built_in_vector::BuiltInVector;
use oclave_spirv::{Cursor, Declarations, Definitions, Editor, Instruction, Op, Type, TypeTable};

/// Writes whether the id of dimension 0 is the largest number, which no id is.
pub(crate) fn is_largest(at: &mut Cursor<'_, '_>, of: &BuiltInVector) -> u32 {
    let (bool_type, id) = (at.bool_type(), of.read(at, 0));
    let largest = at.int_constant(of.width, u64::MAX >> (64 - of.width.clamp(1, 64)));
    at.emit(Op::IEqual, bool_type, &[id, largest])
}

/// Writes a zero that compilers do not know, of a number of some width. It depends on the number.
///
/// Bits 0 and 2 of a square are never set together, so it is `(n * n >> 2) & n * n & 1`.
pub(crate) fn hidden_zero(at: &mut Cursor<'_, '_>, n: u32, width: u32) -> u32 {
    let ty = at.int_type(width);
    let [one, two] = [1, 2].map(|value| at.int_constant(width, value));
    let square = at.emit(Op::IMul, ty, &[n, n]);
    let shifted = at.emit(Op::ShiftRightLogical, ty, &[square, two]);
    let both = at.emit(Op::BitwiseAnd, ty, &[shifted, square]);
    at.emit(Op::BitwiseAnd, ty, &[both, one])
}

/// Writes a number of some width as one of the integer type `ty`.
pub(crate) fn converted(
    at: &mut Cursor<'_, '_>,
    types: &TypeTable<'_>,
    (number, width): (u32, u32),
    ty: u32,
) -> u32 {
    if types.ty(ty) == Some(Type::Int { width }) { number } else { at.emit(Op::UConvert, ty, &[number]) }
}

/// Writes `never ? 0 : value`, or `never ? 1 : 0`; of a vector, in its first lane.
pub(crate) fn select(
    at: &mut Cursor<'_, '_>,
    types: &TypeTable<'_>,
    never: u32,
    [value, ty, result]: [u32; 3],
) {
    let (lane, lane_type) = first_lane(at, types, value, ty);
    let other = if is_zero(at.definitions(), lane) { one(at, types, lane_type) } else { None };
    let other = other.unwrap_or_else(|| at.null_constant(lane_type));
    choose(at, [never, other], (lane, lane_type), [value, ty, result]);
}

/// Writes `never ? other : value`. `lane` is the first lane of a vector, or the value, with its type.
fn choose(
    at: &mut Cursor<'_, '_>,
    [never, other]: [u32; 2],
    (lane, lane_type): (u32, u32),
    [value, ty, result]: [u32; 3],
) {
    if lane_type == ty {
        at.push(Op::Select, &[ty, result, never, other, lane]);
    } else {
        let lane = at.emit(Op::Select, lane_type, &[never, other, lane]);
        at.push(Op::CompositeInsert, &[ty, result, lane, value, 0]);
    }
}

fn is_zero(definitions: &Definitions<'_>, value: u32) -> bool {
    definitions.instruction(value).is_some_and(|constant| match constant.op() {
        Some(Op::ConstantNull | Op::ConstantFalse) => true,
        Some(Op::Constant) => constant.operands().iter().all(|word| *word == 0),
        _ => false,
    })
}

/// The constant 1 of a type, or the number whose words are 1; `None` for other types.
fn one(new: &mut Declarations<'_>, types: &TypeTable<'_>, ty: u32) -> Option<u32> {
    match types.ty(ty)? {
        Type::Bool => Some(new.intern(Op::ConstantTrue, &[ty])),
        Type::Int { width } | Type::Float { width } => {
            let words = if width > 32 { &[1, 0][..] } else { &[1] };
            Some(new.intern(Op::Constant, &[&[ty], words].concat()))
        }
        _ => None,
    }
}

/// The first lane of a vector and its type; another value as it is.
pub(crate) fn first_lane(at: &mut Cursor<'_, '_>, types: &TypeTable<'_>, value: u32, ty: u32) -> (u32, u32) {
    let lane = types.lane(ty);
    if lane == ty { (value, ty) } else { (at.emit(Op::CompositeExtract, lane, &[value, 0]), lane) }
}

/// Replaces a phi by one that takes other values: `other` gives what it takes from a block instead, if that changes.
pub(crate) fn change_phi(
    edit: &mut Editor<'_>,
    phi: &Instruction<'_>,
    mut other: impl FnMut(u32) -> Option<u32>,
) {
    // Behind the opcode come the type and the result.
    let mut words = phi.words.get(1..).unwrap_or_default().to_vec();
    for pair in words.get_mut(2..).unwrap_or_default().chunks_exact_mut(2) {
        if let [value, from] = pair {
            *value = other(*from).unwrap_or(*value);
        }
    }
    edit.replace(phi, Op::Phi, &words);
}

/// Changes values. `begin` writes a value at the entry of each function that has some. `change` gets that value first. It also gets the new id
/// of the unchanged value, its type, and its old id. It writes the changed value, which has the old id.
pub(crate) fn change_values<'m>(
    edit: &mut Editor<'m>,
    values: &HashSet<u32>,
    begin: impl Fn(&mut Cursor<'_, 'm>) -> u32,
    change: impl Fn(&mut Cursor<'_, 'm>, u32, [u32; 3]),
) {
    let definitions = edit.definitions();
    let mut begun: HashMap<u32, u32> = HashMap::new();
    let mut values: Vec<Instruction<'_>> =
        values.iter().filter_map(|id| definitions.instruction(*id)).collect();
    values.sort_unstable_by_key(|value| value.at);
    for value in values {
        let (Some(op), Some(ty), Some(result), Some(function)) =
            (value.op(), value.result_type(), value.result_id(), definitions.function_of(&value))
        else {
            continue;
        };
        let begun = *begun.entry(function).or_insert_with(|| begin(&mut edit.at_entry(function)));
        let mut at = edit.instead_of(&value);
        let before = at.emit(op, ty, value.operands());
        change(&mut at, begun, [before, ty, result]);
    }
}

/// A constant vector whose lanes are the same.
pub(crate) fn splat(new: &mut Declarations<'_>, ty: u32, lane: u32, lanes: u32) -> u32 {
    new.composite_constant(ty, &vec![lane; lanes as usize])
}

/// The floating-point number 1 of 16, 32 or 64 bits.
pub(crate) fn float_one(new: &mut Declarations<'_>, width: u32) -> u32 {
    let bits = match width {
        16 => 0x3C00,
        32 => 1.0_f32.to_bits().into(),
        _ => 1.0_f64.to_bits(),
    };
    new.float_constant(width, bits)
}
