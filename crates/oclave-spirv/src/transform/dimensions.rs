//! Ids and sizes of dimensions that a range cannot have.
//!
//! OpenCL C's `get_global_id(i)` is 0 for other dimensions than 0, 1 and 2, and `get_global_size(i)` is 1 (OpenCL C 3.0, section 6.15.1).
//! Where `i` is no constant, llvm-spirv writes only a part of a vector. SPIR-V does not say what it is for other numbers.

use std::collections::HashMap;

use crate::{BuiltIn, Definitions, Instruction, Module, Op, Result, Rewriter, Type, TypeTable};

/// The module with a selection behind each such part; `None` where there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
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
    // What other dimensions have, the number of the dimension, and the widths of both.
    let found = |i: &Instruction<'_>| {
        let &[vector, dimension] = i.operands() else { return None };
        let load = definitions.instruction(vector).filter(|load| is_part(i) && load.is(Op::Load))?;
        let other = others.get(&load.operand(0)?)?;
        Some((*other, dimension, width(i.result_id()?)?, width(dimension)?))
    };
    let mut new = Rewriter::new(&definitions);
    let mut has_changed = false;
    for instruction in module.instructions() {
        let (Some((other, dimension, bits, dimension_bits)), Some(ty), Some(result)) =
            (found(&instruction), instruction.result_type(), instruction.result_id())
        else {
            new.copy(&instruction);
            continue;
        };
        has_changed = true;
        let (bool, three) = (new.bool_type(), new.int_constant(dimension_bits, 3));
        let other = new.int_constant(bits, other);
        let [exists, part] = [(); 2].map(|()| new.fresh_id());
        let vector = instruction.operand(0).unwrap_or_default();
        new.push(Op::ULessThan, &[bool, exists, dimension, three]);
        new.push(Op::VectorExtractDynamic, &[ty, part, vector, dimension]);
        new.push(Op::Select, &[ty, result, exists, part, other]);
    }
    if has_changed { new.finish().map(Some) } else { Ok(None) }
}

/// What a built-in vector has in other dimensions than its own.
fn of_others(what: BuiltIn) -> Option<u64> {
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
