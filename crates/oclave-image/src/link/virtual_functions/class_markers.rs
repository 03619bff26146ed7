//! Calls that say the class of the virtual call that follows, where pointers in the compiler's code
//! have no types.

use std::collections::HashMap;

use super::demangle::class_name;
use crate::Result;
use oclave_spirv::{Decoration, Definitions, Module, Op, Rewriter};

/// The beginning of the names of functions without bodies. A call of one says that the next call
/// through a pointer, in the same block, goes through the class whose mangled name follows.
pub const CLASS_MARKER: &str = "oclave.class.";

/// A module without such calls, and call through a pointer → class.
pub(super) struct Unmarked {
    pub(super) module: Module,
    pub(super) classes: HashMap<u32, String>,
}

/// Removes such functions and their calls; `None` where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn remove(module: &Module) -> Result<Option<Unmarked>> {
    let markers: HashMap<u32, Option<String>> = module
        .instructions()
        .take_while(|i| !i.is(Op::Function))
        .filter(|i| i.is(Op::Decorate) && i.operand(1) == Some(Decoration::LinkageAttributes as u32))
        .filter_map(|i| {
            let class = class_name(i.string(2)?.strip_prefix(CLASS_MARKER)?);
            Some((i.operand(0)?, class))
        })
        .collect();
    if markers.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    let mut classes = HashMap::new();
    let mut said = None;
    let mut in_declaration = false;
    for instruction in module.instructions() {
        let marker = |id: Option<u32>| id.and_then(|id| markers.get(&id));
        match instruction.op() {
            Some(Op::Name | Op::Decorate) if marker(instruction.operand(0)).is_some() => continue,
            Some(Op::Function) => in_declaration = marker(instruction.result_id()).is_some(),
            Some(Op::Label) => said = None,
            Some(Op::FunctionCall) => {
                if let Some(class) = marker(instruction.operand(0)) {
                    said.clone_from(class);
                    continue;
                }
            }
            Some(Op::FunctionPointerCallINTEL) => {
                classes.extend(instruction.result_id().zip(said.take()));
            }
            _ => {}
        }
        if !in_declaration {
            new.copy(&instruction);
        }
        in_declaration &= !instruction.is(Op::FunctionEnd);
    }
    Ok(Some(Unmarked { module: new.finish()?, classes }))
}
