//! Values that are known to be codes: addresses of vtables and functions, and values computed from
//! them.

use std::collections::HashMap;

use super::vtables::{Names, Vtables};
use oclave_spirv::{Definitions, Instruction, Op, TypeTable, is_access_chain};

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
            let Some(base) = operands.first() else { return false };
            let Some(&code) = symbols.get(base) else { return true };
            let offset =
                if is_access_chain(*op) { types.chain_offset(definitions, *op, operands) } else { Some(0) };
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
