//! Equal types become one: no module may have two equal types that are not structs or arrays.

use std::collections::HashMap;

use crate::Result;
use crate::{Definitions, Editor, Module, Op, Role, is_type};

/// Replaces every type that equals an earlier one by that; structs, arrays and opaque types are
/// types of their own.
///
/// Types must stand after those that they are made of.
///
/// # Errors
/// As [`Editor::finish`].
pub fn merge_types(module: &Module) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    let mut merged: HashMap<u32, u32> = HashMap::new();
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    for instruction in module.global_instructions() {
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
                edit.replace_uses(id, first);
                edit.remove(&instruction);
            }
            None => {
                known.insert(key, id);
            }
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}
