//! Weak atomic exchanges become strong ones.
//!
//! SPIR-V 1.4 removed `OpAtomicCompareExchangeWeak`. Before, it did what `OpAtomicCompareExchange` does, with the same operands.
//! Translators also write it into modules of version 1.4, which rusticl refuses (SPIRV-LLVM-Translator#1230).

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
