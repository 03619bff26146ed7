//! Equal types become one: no module may have two equal types that are not structs or arrays.

use std::collections::HashMap;

use crate::Result;
use crate::{Definitions, Module, Op, Rewriter, Role, is_type};

/// Replaces every type that equals an earlier one by that; structs, arrays and opaque types are
/// types of their own.
///
/// Types must stand after those that they are made of.
///
/// # Errors
/// As [`Rewriter::finish`].
pub fn merge_types(module: &Module) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut merged: HashMap<u32, u32> = HashMap::new();
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    for instruction in module.instructions().take_while(|i| !i.is(Op::Function)) {
        let (Some(op), Some(id)) = (instruction.op(), instruction.result_id()) else { continue };
        if !is_type(op)
            || matches!(op, Op::TypeStruct | Op::TypeArray | Op::TypeRuntimeArray | Op::TypeOpaque)
        {
            continue;
        }
        let mut key = instruction.words.to_vec();
        instruction.visit_ids(&definitions, |index, role| {
            if let Some(word) = key.get_mut(index) {
                *word = match role {
                    Role::Result => 0,
                    _ => merged.get(word).copied().unwrap_or(*word),
                };
            }
        });
        match known.get(&key) {
            Some(&first) => {
                merged.insert(id, first);
            }
            None => {
                known.insert(key, id);
            }
        }
    }
    if merged.is_empty() {
        return Ok(module.clone());
    }
    let mut new = Rewriter::new(&definitions);
    let mut in_function = false;
    for instruction in module.instructions() {
        in_function |= instruction.is(Op::Function);
        let names_merged = !in_function
            && matches!(instruction.op(), Some(Op::Name | Op::Decorate))
            && instruction.operand(0).is_some_and(|id| merged.contains_key(&id));
        let is_merged = !in_function && instruction.result_id().is_some_and(|id| merged.contains_key(&id));
        if !names_merged && !is_merged {
            new.copy_mapped(&instruction, |id| merged.get(&id).copied().unwrap_or(id));
        }
    }
    new.finish()
}
