//! Private variables of modules, as variables of the functions that use them.
//!
//! clang keeps the value of a vector literal in a module variable where the literal initialises a
//! member of a class (`float3 center = (float3)(1, 2, 3);`). The variable is in private memory,
//! which SPIR-V has inside functions only. The optimiser removes it; code of `-O0` has it.

use std::collections::BTreeSet;

use crate::Result;
use crate::error::diagnostic;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{Decoration, Definitions, Editor, Instruction, Module, Op, StorageClass};

/// The module with such variables inside of functions; `None` where there are none. They have their
/// initial values whenever the function starts.
///
/// Passes before this one remove other private variables: strings of markers and vtables.
///
/// # Errors
/// [`ImageError::Unsupported`](crate::ImageError::Unsupported) for constants that are computed from
/// such an address by an operation that no instruction does.
pub(crate) fn localize(module: &Module) -> Result<Option<Module>> {
    let variables = private_variables(module);
    if variables.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let references = References::new(&definitions);
    let facts = VariableFacts::new(&definitions);
    let localizer = Localizer::new(&references, &facts, &variables, &variables).map_err(diagnostic)?;
    let mut edit = Editor::new(&definitions);
    localizer.localize(&mut edit, |at, [function, variable]| {
        let old = definitions.instruction(variable)?;
        let pointee = definitions.instruction(old.result_type()?)?.operand(1)?;
        let own = at.variable(function, pointee, old.operand(1));
        if let Some(bytes) = alignment(module, variable) {
            at.decorate(own, Decoration::Alignment, &[bytes]);
        }
        Some(own)
    })?;
    let gone = variables.iter().copied().chain(localizer.derived());
    gone.filter_map(|id| definitions.instruction(id)).for_each(|constant| edit.remove(&constant));
    Ok(edit.finish()?)
}

/// The private variables outside of functions that have an initial value.
fn private_variables(module: &Module) -> BTreeSet<u32> {
    let is_private = |i: &Instruction<'_>| {
        i.is(Op::Variable) && matches!(i.operands(), &[class, _] if class == StorageClass::Function as u32)
    };
    module.global_instructions().filter(is_private).filter_map(|i| i.result_id()).collect()
}

fn alignment(module: &Module, variable: u32) -> Option<u32> {
    let before_code = module.global_instructions();
    before_code.filter(|i| i.is(Op::Decorate)).find_map(|i| match i.operands() {
        &[id, decoration, bytes] if id == variable && decoration == Decoration::Alignment as u32 => {
            Some(bytes)
        }
        _ => None,
    })
}
