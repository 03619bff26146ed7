//! Values of specialization constants, for devices whose programs are not made from SPIR-V: there
//! the driver cannot put them in.

use std::collections::HashMap;

use crate::Decoration;

use crate::{Definitions, Editor, Module, Op, Type, TypeTable};
use crate::{Error, Result};

/// The module with other defaults of its specialization constants: those with these `SpecId`s get
/// these bytes, the lowest first. Constants that are computed from them follow.
///
/// # Errors
/// [`Error::Unsupported`] for a `SpecId` that the module does not have, and for values of
/// another size than the constant's.
pub fn specialize(module: &Module, values: &[(u32, &[u8])]) -> Result<Module> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let wanted = targets(module, values)?;
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let (Some(ty), Some(id)) = (instruction.result_type(), instruction.result_id()) else {
            continue;
        };
        let Some((spec_id, bytes)) = wanted.get(&id) else { continue };
        match instruction.op() {
            Some(Op::SpecConstantTrue | Op::SpecConstantFalse) => {
                let is_true = bytes.iter().any(|byte| *byte != 0);
                let op = if is_true { Op::SpecConstantTrue } else { Op::SpecConstantFalse };
                edit.replace(&instruction, op, &[ty, id]);
            }
            Some(Op::SpecConstant) => {
                let literal = literal(types.ty(ty), bytes).ok_or_else(|| {
                    let what = format!(
                        "specialization constant {spec_id} has another size than {} bytes",
                        bytes.len()
                    );
                    Error::Unsupported(what)
                })?;
                let operands: Vec<u32> = [ty, id].into_iter().chain(literal).collect();
                edit.replace(&instruction, Op::SpecConstant, &operands);
            }
            _ => {}
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Id of the constant → its `SpecId` and its bytes.
fn targets<'v>(module: &Module, values: &[(u32, &'v [u8])]) -> Result<HashMap<u32, (u32, &'v [u8])>> {
    let mut targets = HashMap::new();
    for instruction in module.global_instructions() {
        let &[id, decoration, spec_id] = instruction.operands() else { continue };
        if !instruction.is(Op::Decorate) || decoration != Decoration::SpecId as u32 {
            continue;
        }
        if let Some((_, bytes)) = values.iter().find(|(wanted, _)| *wanted == spec_id) {
            targets.insert(id, (spec_id, *bytes));
        }
    }
    let has = |spec_id: u32| targets.values().any(|(found, _)| *found == spec_id);
    match values.iter().find(|(spec_id, _)| !has(*spec_id)) {
        Some((spec_id, _)) => {
            Err(Error::Unsupported(format!("the module has no specialization constant {spec_id}")))
        }
        None => Ok(targets),
    }
}

/// The literal of a number; integers of kernels have no sign, so that narrow ones end in zeros.
fn literal(ty: Option<Type<'_>>, bytes: &[u8]) -> Option<Vec<u32>> {
    let (Type::Int { width } | Type::Float { width }) = ty? else { return None };
    if bytes.len() as u32 * 8 != width {
        return None;
    }
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    Some(padded.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes)).collect())
}
