//! The interfaces of entry points: the module-scope variables that kernels reach.

use std::collections::{BTreeMap, HashSet};

use crate::Result;
use crate::analysis::references::References;
use crate::{Definitions, Editor, Module, Op, StorageClass, Version};

/// Lists the module-scope variables that each entry point reaches (specification, `OpEntryPoint`).
/// `None` where all of them are listed, once each.
///
/// From SPIR-V 1.4 on these are all variables, before that only those of storage classes Input and
/// Output. llvm-spirv leaves out variables that only constants use, and those that a kernel reaches
/// through functions. Some drivers refuse such modules.
///
/// # Errors
/// As [`Editor::finish`].
pub fn complete(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let references = References::new(&definitions);
    let belongs = |id: &u32| {
        let class = definitions.instruction(*id).filter(|i| i.is(Op::Variable)).and_then(|i| i.operand(0));
        class.is_some_and(|class| {
            module.version() >= Version::V1_4
                || class == StorageClass::Input as u32
                || class == StorageClass::Output as u32
        })
    };
    let mut reached: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in references.entry_points() {
        // Variables of functions are not among what is outside of them.
        let outside = references.reachable(entry.function).into_iter().filter(belongs);
        reached.insert(entry.function, outside.collect());
    }
    let mut edit = Editor::new(&definitions);
    for instruction in module.instructions() {
        let reached = instruction
            .operand(1)
            .filter(|_| instruction.is(Op::EntryPoint))
            .and_then(|function| reached.get(&function));
        let (Some(reached), Some(listed)) = (reached, instruction.after_string(2)) else {
            continue;
        };
        let mut operands = instruction.operands().to_vec();
        operands.truncate(operands.len() - listed.len());
        // The linker makes one variable of two with one name.
        let mut seen = HashSet::new();
        operands.extend(listed.iter().chain(reached).filter(|id| seen.insert(**id)));
        if operands != instruction.operands() {
            edit.replace(&instruction, Op::EntryPoint, &operands);
        }
    }
    edit.finish()
}
