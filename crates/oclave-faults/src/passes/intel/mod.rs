//! Passes for faults of Intel's CPU runtime.

pub(crate) mod chosen_pointers;
pub(crate) mod divergent_phis;
pub(crate) mod filled_arrays;
pub(crate) mod generic_atomics;
pub(crate) mod half_broadcasts;
pub(crate) mod integer_bounds;
pub(crate) mod inverted_bounds;
pub(crate) mod local_phis;
pub(crate) mod opaque_negations;
pub(crate) mod scalar_loops;
pub(crate) mod uniform_groups;

use crate::passes::Result;
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Instruction, Module, Op, Section};

/// The module with another language and version in `OpSource`, by which Intel's reader of SPIR-V chooses functions.
///
/// # Errors
/// As [`Editor::finish`].
fn with_source(analyses: &Analyses<'_>, source: [u32; 2]) -> Result<Option<Module>> {
    let mut edit = Editor::new(analyses.definitions());
    let is_source = |i: &Instruction<'_>| matches!(i.op(), Some(Op::Source | Op::SourceContinued));
    analyses.module().instructions().filter(is_source).for_each(|source| edit.remove(&source));
    edit.push_in(Section::DebugStrings, Op::Source, &source);
    Ok(edit.finish()?)
}
