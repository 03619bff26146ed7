//! Ids and sizes of dimensions that a range cannot have.
//!
//! OpenCL C's `get_global_id(i)` is 0 for other dimensions than 0, 1 and 2, and `get_global_size(i)` is 1 (OpenCL C 3.0, section 6.15.1).
//! Where `i` is no constant, llvm-spirv writes only a part of a vector. SPIR-V does not say what it is for other numbers.

use std::collections::HashMap;

use crate::{BuiltIn, Definitions, Editor, Instruction, Module, Op, Result, Type, TypeTable};

/// The module with a selection behind each such part; `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub fn complete(module: &Module) -> Result<Option<Module>> {
    let is_part = |i: &Instruction<'_>| i.is(Op::VectorExtractDynamic);
    if !module.instructions().any(|i| is_part(&i)) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let others: HashMap<u32, u64> = module
        .built_ins()
        .filter_map(|(variable, what)| Some((variable, of_others(BuiltIn::from_u32(what)?)?)))
        .collect();
    let width = |id: u32| match types.ty(definitions.type_of(id)?)? {
        Type::Int { width, .. } => Some(width),
        _ => None,
    };
    let part = |i: &Instruction<'_>| {
        let &[vector, dimension] = i.operands() else { return None };
        let load = definitions.instruction(vector).filter(|load| is_part(i) && load.is(Op::Load))?;
        let (ty, result) = (i.result_type()?, i.result_id()?);
        Some(Part {
            ty,
            result,
            vector,
            dimension,
            other: *others.get(&load.operand(0)?)?,
            widths: [width(result)?, width(dimension)?],
        })
    };
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let Some(Part { ty, result, vector, dimension, other, widths: [bits, dimension_bits] }) =
            part(&instruction)
        else {
            continue;
        };
        let (bool, three) = (edit.bool_type(), edit.int_constant(dimension_bits, 3));
        let other = edit.int_constant(bits, other);
        let mut at = edit.instead_of(&instruction);
        let exists = at.emit(Op::ULessThan, bool, &[dimension, three]);
        let part = at.emit(Op::VectorExtractDynamic, ty, &[vector, dimension]);
        at.push(Op::Select, &[ty, result, exists, part, other]);
    }
    edit.finish()
}

/// The part of a built-in vector for a dimension that is calculated.
struct Part {
    ty: u32,
    result: u32,
    vector: u32,
    dimension: u32,
    /// What dimensions that do not exist have.
    other: u64,
    /// Of the result and of the dimension's number.
    widths: [u32; 2],
}

/// What a built-in vector of OpenCL has in dimensions that do not exist; `None` for other values.
pub fn of_others(what: BuiltIn) -> Option<u64> {
    match what {
        BuiltIn::GlobalInvocationId
        | BuiltIn::LocalInvocationId
        | BuiltIn::WorkgroupId
        | BuiltIn::GlobalOffset => Some(0),
        BuiltIn::GlobalSize
        | BuiltIn::WorkgroupSize
        | BuiltIn::EnqueuedWorkgroupSize
        | BuiltIn::NumWorkgroups => Some(1),
        _ => None,
    }
}
