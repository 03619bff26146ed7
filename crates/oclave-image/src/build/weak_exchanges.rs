//! Weak atomic exchanges become strong ones.
//!
//! SPIR-V has `OpAtomicCompareExchangeWeak` up to version 1.3 only (section 3.49.18, atomic instructions). Translators also write
//! it into modules of version 1.4, which rusticl refuses. A strong exchange has the same operands, and never fails for nothing.

use crate::Result;
use oclave_spirv::{Definitions, Editor, Instruction, Module, Op};

/// The module with strong exchanges; `None` where it has no weak ones.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn strengthen(module: &Module) -> Result<Option<Module>> {
    let is_weak = |i: &Instruction<'_>| i.is(Op::AtomicCompareExchangeWeak);
    if !module.instructions().any(|i| is_weak(&i)) {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    for weak in module.instructions().filter(is_weak) {
        edit.replace(&weak, Op::AtomicCompareExchange, weak.words.get(1..).unwrap_or_default());
    }
    Ok(edit.finish()?)
}
