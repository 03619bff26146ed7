//! The function controls of `OpFunction`: `Inline`, `DontInline` and others.

use crate::{Definitions, Editor, Module, Op, Result};

/// The module with other controls of the functions that `is_wanted` names; `None` where all stay as they are.
///
/// # Errors
/// As [`Editor::finish`].
pub fn change(
    definitions: &Definitions<'_>,
    is_wanted: impl Fn(u32) -> bool,
    changed: impl Fn(u32) -> u32,
) -> Result<Option<Module>> {
    let mut edit = Editor::new(definitions);
    for function in definitions.module().instructions().filter(|i| i.is(Op::Function)) {
        if let (Some(ty), Some(id), &[control, of]) =
            (function.result_type(), function.result_id(), function.operands())
            && is_wanted(id)
            && changed(control) != control
        {
            edit.replace(&function, Op::Function, &[ty, id, changed(control), of]);
        }
    }
    edit.finish()
}
