//! Calls that say the class of the virtual call that follows, where pointers in the compiler's code
//! have no types.

use std::collections::HashMap;

use super::demangle::class_name;
use crate::Result;
use oclave_spirv::{Definitions, Editor, Module, Op};

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
/// As [`Editor::finish`].
pub(super) fn remove(module: &Module) -> Result<Option<Unmarked>> {
    let markers: HashMap<u32, Option<String>> = module
        .linkages()
        .filter_map(|(id, name, _)| Some((id, class_name(name.strip_prefix(CLASS_MARKER)?))))
        .collect();
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for &marker in markers.keys() {
        edit.remove_function(marker);
        edit.remove_annotations(marker);
    }
    let mut classes = HashMap::new();
    let mut said = None;
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Label) => said = None,
            Some(Op::FunctionCall) => {
                if let Some(class) = instruction.operand(0).and_then(|id| markers.get(&id)) {
                    edit.remove(&instruction);
                    said.clone_from(class);
                }
            }
            Some(Op::FunctionPointerCallINTEL) => {
                classes.extend(instruction.result_id().zip(said.take()));
            }
            _ => {}
        }
    }
    Ok(edit.finish()?.map(|module| Unmarked { module, classes }))
}
