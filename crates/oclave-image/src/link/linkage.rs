//! Linkage of what is in an image: nothing is exported but device globals, and no variable is left
//! to be found elsewhere.

use std::collections::BTreeSet;

use crate::{ImageError, Result};
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::{Definitions, Editor, LinkageType, Module, Op, StorageClass, string_words};

/// Names that the translators of drivers take for LLVM's intrinsics: `spirv.llvm_fshl_i32` for
/// `llvm.fshl.i32`. llvm-spirv gives them to its helper functions.
const INTRINSIC_PREFIX: &str = "spirv.";

/// Removes the linkage of everything exported of which `keep` says no. Kernels need none: they have
/// entry points.
///
/// A helper function of llvm-spirv that is no longer exported gets another name. By its old name,
/// drivers would read it as an intrinsic of LLVM, and an intrinsic without external linkage does not
/// build.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn remove_exports(module: &Module, keep: impl Fn(&str) -> bool) -> Result<Module> {
    let definitions = Definitions::new(module);
    let mut edit = Editor::new(&definitions);
    let mut removed = BTreeSet::new();
    for linkage in module.global_instructions() {
        if let Some((id, name, LinkageType::Export)) = linkage.linkage()
            && !keep(&name)
        {
            edit.remove(&linkage);
            removed.insert(id);
        }
    }
    for instruction in module.global_instructions().filter(|i| i.is(Op::Name)) {
        let Some(id) = instruction.operand(0).filter(|id| removed.contains(id)) else { continue };
        let name = instruction.string(1).unwrap_or_default();
        if let Some(rest) = name.strip_prefix(INTRINSIC_PREFIX) {
            let new = string_words(&format!("spirv_{rest}"));
            edit.replace(&instruction, Op::Name, &[&[id], new.as_slice()].concat());
        }
    }
    Ok(edit.finish()?.unwrap_or_else(|| module.clone()))
}

/// Checks that no variable is imported, built-in ones excepted.
///
/// # Errors
/// [`ImageError::Diagnostic`] with the name of the first that is.
pub(crate) fn check_imports(definitions: &Definitions<'_>, facts: &VariableFacts) -> Result<()> {
    for (id, (name, kind)) in &facts.linkage {
        let import = *kind == LinkageType::Import && !facts.builtin.contains(id);
        if import && definitions.instruction(*id).is_some_and(|i| i.is(Op::Variable)) {
            return Err(ImageError::Diagnostic(format!(
                "variable `{name}` is declared extern, but no source of the program defines it; compile the source \
                 that does together with this one"
            )));
        }
    }
    Ok(())
}

/// The variables in global memory that code can change and that are not among `device_globals`:
/// variable → name.
pub(crate) fn plain_variables<'m>(
    module: &'m Module,
    facts: &'m VariableFacts,
    device_globals: &'m BTreeSet<u32>,
) -> impl Iterator<Item = (u32, &'m str)> {
    module.global_instructions().filter_map(|instruction| {
        let id = instruction.result_id()?;
        let plain = instruction.is(Op::Variable)
            && instruction.operand(0) == Some(StorageClass::CrossWorkgroup as u32)
            && !facts.constant.contains(&id)
            && !device_globals.contains(&id);
        plain.then(|| (id, facts.name(id)))
    })
}
