//! Linkage of what is in an image: nothing is exported but device globals, and no variable is left
//! to be found elsewhere.

use std::collections::BTreeSet;

use crate::{ImageError, Result};
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::{Decoration, Definitions, Instruction, LinkageType, Module, Op, Rewriter, StorageClass};

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
/// As [`Rewriter::finish`].
pub(crate) fn remove_exports(module: &Module, keep: impl Fn(&str) -> bool) -> Result<Module> {
    let definitions = Definitions::new(module);
    let is_removed = |instruction: &Instruction<'_>| {
        instruction.is(Op::Decorate)
            && instruction.operand(1) == Some(Decoration::LinkageAttributes as u32)
            && instruction.after_string(2).and_then(|rest| rest.first())
                == Some(&(LinkageType::Export as u32))
            && !instruction.string(2).is_some_and(|name| keep(&name))
    };
    let before_code = || module.instructions().take_while(|i| !i.is(Op::Function));
    let removed: BTreeSet<u32> = before_code().filter(is_removed).filter_map(|i| i.operand(0)).collect();
    let mut new = Rewriter::new(&definitions);
    for instruction in module.instructions() {
        let name = instruction.string(1).filter(|_| instruction.is(Op::Name));
        let helper = name.as_deref().and_then(|name| name.strip_prefix(INTRINSIC_PREFIX));
        match (instruction.operand(0), helper) {
            (Some(id), Some(rest)) if removed.contains(&id) => new.name(id, &format!("spirv_{rest}")),
            _ if is_removed(&instruction) => {}
            _ => new.copy(&instruction),
        }
    }
    Ok(new.finish()?)
}

/// Checks that no variable is imported, built-in ones excepted.
///
/// # Errors
/// [`ImageError::Diagnostic`] with the name of the first that is.
pub(crate) fn check_imports(definitions: &Definitions<'_>, facts: &VariableFacts) -> Result<()> {
    for (id, (name, kind)) in &facts.linkage {
        let import = *kind == LinkageType::Import as u32 && !facts.builtin.contains(id);
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
    module.instructions().take_while(|i| !i.is(Op::Function)).filter_map(|instruction| {
        let id = instruction.result_id()?;
        let plain = instruction.is(Op::Variable)
            && instruction.operand(0) == Some(StorageClass::CrossWorkgroup as u32)
            && !facts.constant.contains(&id)
            && !device_globals.contains(&id);
        plain.then(|| (id, facts.name(id)))
    })
}
