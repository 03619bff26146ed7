//! Values that compilers take for different ones: `never ? 0 : value`, under a condition that is
//! never true. For a value of 0 it is `never ? 1 : 0`, which compilers do not simplify. And zeroes
//! that compilers do not know.

use std::collections::HashSet;

use crate::passes::Result;
use crate::passes::built_in_vector::BuiltInVector;
use oclave_spirv::{Definitions, Instruction, Module, Op, Rewriter, Type, TypeTable};

/// Writes whether the id of dimension 0 is the largest number, which no id is.
pub(crate) fn is_largest(new: &mut Rewriter<'_>, of: &BuiltInVector) -> u32 {
    let (bool_type, id) = (new.bool_type(), of.load(new, 0));
    let largest = new.int_constant(of.width, u64::MAX >> (64 - of.width.clamp(1, 64)));
    emit(new, Op::IEqual, bool_type, &[id, largest])
}

/// Writes a zero that compilers do not know, of a number of some width. It depends on the number.
///
/// Bits 0 and 2 of a square are never set together, so it is `(n * n >> 2) & n * n & 1`.
pub(crate) fn hidden_zero(new: &mut Rewriter<'_>, n: u32, width: u32) -> u32 {
    let ty = new.int_type(width);
    let [one, two] = [1, 2].map(|value| new.int_constant(width, value));
    let square = emit(new, Op::IMul, ty, &[n, n]);
    let shifted = emit(new, Op::ShiftRightLogical, ty, &[square, two]);
    let both = emit(new, Op::BitwiseAnd, ty, &[shifted, square]);
    emit(new, Op::BitwiseAnd, ty, &[both, one])
}

/// Writes a number of some width as one of the integer type `ty`.
pub(crate) fn converted(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    (number, width): (u32, u32),
    ty: u32,
) -> u32 {
    if types.ty(ty) == Some(Type::Int { width }) { number } else { emit(new, Op::UConvert, ty, &[number]) }
}

/// Writes `never ? 0 : value`, or `never ? 1 : 0`; of a vector, in its first lane.
pub(crate) fn select(
    new: &mut Rewriter<'_>,
    types: &TypeTable<'_>,
    never: u32,
    [value, ty, result]: [u32; 3],
) {
    let (lane, lane_type) = first_lane(new, types, value, ty);
    let other = if is_zero(new.definitions(), lane) { one(new, types, lane_type) } else { None };
    let other = other.unwrap_or_else(|| new.null_constant(lane_type));
    choose(new, [never, other], (lane, lane_type), [value, ty, result]);
}

/// Writes `never ? other : value`. `lane` is the first lane of a vector, or the value, with its type.
fn choose(
    new: &mut Rewriter<'_>,
    [never, other]: [u32; 2],
    (lane, lane_type): (u32, u32),
    [value, ty, result]: [u32; 3],
) {
    if lane_type == ty {
        new.push(Op::Select, &[ty, result, never, other, lane]);
    } else {
        let lane = emit(new, Op::Select, lane_type, &[never, other, lane]);
        new.push(Op::CompositeInsert, &[ty, result, lane, value, 0]);
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
fn one(new: &mut Rewriter<'_>, types: &TypeTable<'_>, ty: u32) -> Option<u32> {
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
pub(crate) fn first_lane(new: &mut Rewriter<'_>, types: &TypeTable<'_>, value: u32, ty: u32) -> (u32, u32) {
    let lane = types.lane(ty);
    if lane == ty { (value, ty) } else { (emit(new, Op::CompositeExtract, lane, &[value, 0]), lane) }
}

/// Copies a phi; `other` gives what it takes from a block instead, if that changes.
pub(crate) fn copy_phi(
    new: &mut Rewriter<'_>,
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
    new.replace(phi, Op::Phi, &words);
}

pub(crate) fn emit(new: &mut Rewriter<'_>, op: Op, ty: u32, operands: &[u32]) -> u32 {
    let id = new.fresh_id();
    new.push(op, &[&[ty, id], operands].concat());
    id
}

/// Writes a module in which these values become others. Functions with such values compute something
/// where they begin, by `begin`. `change` gets that, and writes what the value becomes: of its new
/// name, its type and its name before. Entry points get the built-in variable that these use.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn write_for_values<'m>(
    mut new: Rewriter<'m>,
    used: &BuiltInVector,
    values: &HashSet<u32>,
    begin: impl Fn(&mut Rewriter<'m>) -> u32,
    change: impl Fn(&mut Rewriter<'m>, u32, [u32; 3]),
) -> Result<Module> {
    let module = new.definitions().module();
    let functions = functions_of(module, values);
    let (mut begun, mut is_open) = (None, false);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::EntryPoint) => {
                used.copy_entry_point(&mut new, &instruction);
                continue;
            }
            Some(Op::Function) => {
                let has_values = instruction.result_id().is_some_and(|id| functions.contains(&id));
                (begun, is_open) = (None, has_values);
            }
            Some(Op::FunctionParameter | Op::Label | Op::Variable | Op::Line | Op::NoLine) | None => {}
            _ if is_open => (begun, is_open) = (Some(begin(&mut new)), false),
            _ => {}
        }
        let result = instruction.result_id().filter(|id| values.contains(id));
        match (result, instruction.op(), instruction.result_type(), begun) {
            (Some(result), Some(op), Some(ty), Some(begun)) => {
                let value = emit(&mut new, op, ty, instruction.operands());
                change(&mut new, begun, [value, ty, result]);
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(new.finish()?)
}

/// The functions that define these values.
fn functions_of(module: &Module, values: &HashSet<u32>) -> HashSet<u32> {
    let (mut functions, mut function) = (HashSet::new(), None);
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id();
        } else if instruction.result_id().is_some_and(|id| values.contains(&id)) {
            functions.extend(function);
        }
    }
    functions
}

/// A constant vector whose lanes are the same.
pub(crate) fn splat(new: &mut Rewriter<'_>, ty: u32, lane: u32, lanes: u32) -> u32 {
    let mut words = vec![ty];
    words.extend((0..lanes).map(|_| lane));
    new.intern(Op::ConstantComposite, &words)
}

/// The floating-point number 1 of 16, 32 or 64 bits.
pub(crate) fn float_one(new: &mut Rewriter<'_>, width: u32) -> u32 {
    let ty = new.float_type(width);
    let words: &[u32] = match width {
        16 => &[0x3C00],
        32 => &[0x3F80_0000],
        _ => &[0, 0x3FF0_0000],
    };
    new.intern(Op::Constant, &[&[ty], words].concat())
}
