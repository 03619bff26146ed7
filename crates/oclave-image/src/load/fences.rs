//! Fences that keep LLVM from vectorising a loop.

use std::collections::BTreeSet;

use crate::Result;
use crate::spirv::{Definitions, Module, Op, Rewriter};

/// Scope and semantics of `mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)`.
const WORKGROUP: u64 = 2;
const BOTH_FENCES: u64 = 0x308;

/// The module with a fence before each instruction that begins at one of these words; `None` without
/// such words.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(super) fn add(definitions: &Definitions<'_>, places: &BTreeSet<usize>) -> Result<Option<Module>> {
    if places.is_empty() {
        return Ok(None);
    }
    let mut new = Rewriter::new(definitions);
    for instruction in definitions.module().instructions() {
        if places.contains(&instruction.at) {
            let (scope, both) = (new.int_constant(32, WORKGROUP), new.int_constant(32, BOTH_FENCES));
            new.push(Op::MemoryBarrier, &[scope, both]);
        }
        new.copy(&instruction);
    }
    new.finish().map(Some)
}
