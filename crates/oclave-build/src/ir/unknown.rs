//! What the optimiser writes and SPIR-V lacks, expressed in other instructions, so that the program
//! stays optimised.
//!
//! Newer translators express some of this themselves. The edits are the same for all versions, so
//! that all give equal programs.

use std::collections::BTreeSet;

use super::function::Function;
use super::{Ir, freeze, intrinsics, lanes, limbs, virtual_calls, widths};

/// What an edit could not express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// The symbol of the function.
    pub(crate) function: String,
    /// The instruction.
    pub(crate) instruction: String,
    /// What is wrong with it.
    pub(crate) cause: String,
}

/// Replaces it in all functions. A function with something that has no replacement keeps it.
pub(super) fn replace(ir: &mut Ir) -> Vec<Leftover> {
    let mut leftovers = Vec::new();
    let mut changed = false;
    let mut markers = BTreeSet::new();
    let mut rest = std::mem::take(&mut ir.lines).into_iter();
    while let Some(head) = rest.next() {
        if !head.starts_with("define ") || !head.ends_with('{') {
            ir.lines.push(head);
            continue;
        }
        let body: Vec<String> = rest.by_ref().take_while(|line| line != "}").collect();
        let needs_edit = body.iter().any(|line| {
            freeze::is_freeze(line)
                || intrinsics::is_unknown(line)
                || widths::has_odd_width(line)
                || lanes::has_narrow_lanes(line)
                || virtual_calls::is_test(line)
        });
        if !needs_edit {
            ir.lines.push(head);
            ir.lines.extend(body);
            ir.lines.push("}".to_owned());
            continue;
        }
        changed = true;
        let mut function = Function::new(&head, &body);
        markers.extend(virtual_calls::mark(&mut function));
        freeze::remove(&mut function);
        intrinsics::lower(&mut function);
        leftovers.extend(lanes::shift(&mut function));
        match limbs::split(&mut function) {
            Some(leftover) => leftovers.push(leftover),
            None => leftovers.extend(widths::widen(&mut function)),
        }
        ir.lines.append(&mut function.into_lines());
    }
    if changed {
        intrinsics::remove_unused_declarations(&mut ir.lines);
    }
    ir.lines.extend(markers.iter().map(|marker| virtual_calls::declaration(marker)));
    leftovers
}

#[cfg(test)]
mod tests;
