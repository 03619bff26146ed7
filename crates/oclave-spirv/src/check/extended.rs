//! The types of what instructions of OpenCL.std work on.

use super::values::{At, Kind, Shape, Verdict};
use crate::{Op, StorageClass, Type};

/// Operand `i` of the instruction: set and number stand before.
const FIRST: usize = 2;

/// Checks the operands of instruction `number`, of which there are as many as it takes.
pub(super) fn operands(at: &At<'_, '_, '_>, number: u32) -> Verdict {
    let count = at.instruction.operands().len().saturating_sub(FIRST);
    match number {
        30 | 45 | 58 => floats(at, 1).and_then(|result| points_to(at, count - 1, result)),
        31 | 36 => floats(at, 1).and_then(|result| points_to(at, 1, ints_beside(result))),
        52 => floats(at, 2).and_then(|result| points_to(at, 2, ints_beside(result))),
        33 => {
            let operand = at.shape(FIRST, Kind::Float)?;
            at.ensure(at.result(Kind::Int)? == ints_beside(operand), "the result is no int for each lane")
        }
        34 | 49 | 54 => {
            let result = floats(at, 1)?;
            at.ensure(
                at.shape(FIRST + 1, Kind::Int)? == ints_beside(result),
                "an operand is no int for each lane",
            )
        }
        46 => {
            let (result, operand) = (at.result(Kind::Float)?, at.shape(FIRST, Kind::Int)?);
            at.ensure(same_layout(result, operand), "operands of different types")
        }
        105 | 106 | 108 | 109 => {
            let (result, operand) = (at.result(Kind::Float)?, at.shape(FIRST, Kind::Float)?);
            let same = (0..count).all(|i| at.operand_type(FIRST + i) == at.operand_type(FIRST));
            at.ensure(
                same && result.lanes == 1 && result.width == operand.width,
                "operands of different types",
            )
        }
        0..=110 => floats(at, count).map(|_| ()),
        164 | 165 => {
            let (result, operand) = (at.result(Kind::Int)?, at.shape(FIRST, Kind::Int)?);
            let same = at.operand_type(FIRST) == at.operand_type(FIRST + 1);
            at.ensure(
                same && result.width == operand.width * 2 && result.lanes == operand.lanes,
                "operands of different types",
            )
        }
        141..=170 | 201..=204 => {
            at.result(Kind::Int)?;
            all_as_result(at, count)
        }
        171..=181 => memory(at, number),
        182 | 183 => shuffle(at, number),
        184 => printf(at),
        185 => {
            at.ensure(at.operand_pointer(FIRST).is_some(), "prefetches no pointer")?;
            offset(at, FIRST + 1)
        }
        186 => {
            let shape = at.shape_of(at.result_id());
            at.ensure(shape.is_some_and(|s| s.kind != Kind::Bool), "the result is no number")?;
            all_as_result(at, count)
        }
        187 => {
            all_as_result(at, 2)?;
            let result = at.shape_of(at.result_id()).ok_or("the result is no number")?;
            at.ensure(same_layout(result, at.shape(FIRST + 2, Kind::Int)?), "operands of different types")
        }
        _ => Ok(()),
    }
}

/// The result is of floats, and the first `count` operands are of its type.
fn floats(at: &At<'_, '_, '_>, count: usize) -> Result<Shape, String> {
    let result = at.result(Kind::Float)?;
    all_as_result(at, count)?;
    Ok(result)
}

fn all_as_result(at: &At<'_, '_, '_>, count: usize) -> Verdict {
    let same = (0..count).all(|i| at.operand_type(FIRST + i) == at.result_id());
    at.ensure(same, "operands of different types")
}

/// A 32-bit integer for each lane.
fn ints_beside(shape: Shape) -> Shape {
    Shape { kind: Kind::Int, width: 32, lanes: shape.lanes }
}

fn same_layout(a: Shape, b: Shape) -> bool {
    (a.width, a.lanes) == (b.width, b.lanes)
}

/// Operand `i` is a pointer to a value of this shape.
fn points_to(at: &At<'_, '_, '_>, i: usize, shape: Shape) -> Verdict {
    let pointee = at.operand_pointer(FIRST + i).map(|(_, pointee)| pointee);
    at.ensure(at.shape_of(pointee) == Some(shape), "a pointer does not point to what is written")
}

/// Operand `i` is as wide as an address.
fn offset(at: &At<'_, '_, '_>, i: usize) -> Verdict {
    let shape = at.shape(i, Kind::Int)?;
    at.ensure(shape.lanes == 1 && shape.width == at.address_bits(), "an offset is not as wide as an address")
}

/// `vload…` and `vstore…`: offset, pointer and lanes; or value, offset, pointer and rounding mode.
fn memory(at: &At<'_, '_, '_>, number: u32) -> Verdict {
    let half = !matches!(number, 171 | 172);
    let stores = matches!(number, 172 | 175..=178 | 180 | 181);
    let value = if stores { at.shape_of(at.operand_type(FIRST)) } else { at.shape_of(at.result_id()) };
    let value = value.ok_or("the value is no number")?;
    if stores {
        at.ensure(at.result_type() == Some(Type::Void), "the result is not void")?;
    }
    let first = FIRST + usize::from(stores);
    offset(at, first)?;
    let pointee = at.operand_pointer(first + 1).and_then(|(_, pointee)| at.shape_of(Some(pointee)));
    let expected =
        if half { Shape { kind: Kind::Float, width: 16, lanes: 1 } } else { Shape { lanes: 1, ..value } };
    at.ensure(pointee == Some(expected), "the pointer does not point to the value's parts")?;
    at.ensure(!half || value.kind == Kind::Float, "the value is no float")?;
    let scalar = matches!(number, 173 | 175 | 176);
    at.ensure((value.lanes == 1) == scalar, "the value has too few or too many lanes")?;
    if matches!(number, 171 | 174 | 179) {
        let lanes = at.instruction.operand(FIRST + 2);
        return at.ensure(lanes == Some(value.lanes), "the number of lanes is not the result's");
    }
    if matches!(number, 176 | 178 | 181) {
        let mode = at.instruction.operands().last();
        return at.ensure(mode.is_some_and(|&mode| mode <= 3), "the rounding mode is unknown");
    }
    Ok(())
}

/// The format is a string of constant memory. Translators from opaque pointers give its array.
fn printf(at: &At<'_, '_, '_>) -> Verdict {
    let byte = Some(Shape { kind: Kind::Int, width: 8, lanes: 1 });
    let (class, pointee) = at.operand_pointer(FIRST).ok_or("the format is no pointer")?;
    let first = match at.context.ty(pointee) {
        Some(Type::Array { element, .. }) => element,
        _ => pointee,
    };
    at.ensure(at.shape_of(Some(first)) == byte, "the format is no string")?;
    let relaxed = || {
        let mut extensions = at.context.module.instructions().take_while(|i| !i.is(Op::MemoryModel));
        extensions.any(|i| i.is(Op::Extension) && i.string(0).is_some_and(|name| name == ANY_FORMAT))
    };
    let constant = class == StorageClass::UniformConstant as u32 || relaxed();
    at.ensure(constant, "the format is not in constant memory")?;
    let result = at.result(Kind::Int)?;
    at.ensure(result.width == 32 && result.lanes == 1, "the result is no 32-bit integer")
}

/// With this extension, the format may be in any memory.
const ANY_FORMAT: &str = "SPV_EXT_relaxed_printf_string_address_space";

fn shuffle(at: &At<'_, '_, '_>, number: u32) -> Verdict {
    let shapes = (at.shape_of(at.result_id()), at.shape_of(at.operand_type(FIRST)));
    let (Some(result), Some(operand)) = shapes else { return Err("is of no vectors".to_owned()) };
    let mask = at.shape(FIRST + if number == 182 { 1 } else { 2 }, Kind::Int)?;
    let same = number == 182 || at.operand_type(FIRST) == at.operand_type(FIRST + 1);
    let parts = (result.kind, result.width) == (operand.kind, operand.width);
    // The specification leaves out 3 for both.
    let powers = [result, operand].iter().all(|vector| [2, 4, 8, 16].contains(&vector.lanes));
    at.ensure(same && parts && powers && same_layout(result, mask), "vectors of different or 3 lanes")
}
