//! The interfaces of entry points: kernels now reach the variables of what was linked to them.

use std::collections::{BTreeMap, HashSet};

use crate::Result;
use crate::analysis::references::References;
use crate::spirv::{Definitions, Module, Op, Rewriter, StorageClass, Version};

/// Lists the module-scope variables that each entry point reaches (specification, `OpEntryPoint`).
///
/// From SPIR-V 1.4 on these are all variables, before that only those of storage classes Input and
/// Output.
pub(super) fn complete(module: &Module) -> Result<Module> {
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
    let mut missing: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in references.entry_points() {
        let reached = references.reachable(entry.function);
        // Variables of functions are not among what is outside of them.
        let outside = reached.into_iter().filter(belongs);
        missing.insert(entry.function, outside.collect());
    }
    let mut new = Rewriter::new(&definitions);
    for instruction in module.instructions() {
        let reached = instruction
            .operand(1)
            .filter(|_| instruction.is(Op::EntryPoint))
            .and_then(|function| missing.get(&function));
        let (Some(reached), Some(listed)) = (reached, instruction.after_string(2)) else {
            new.copy(&instruction);
            continue;
        };
        let mut operands = instruction.operands().to_vec();
        operands.truncate(operands.len() - listed.len());
        // Two variables of one name have become one.
        let mut seen = HashSet::new();
        operands.extend(listed.iter().chain(reached).filter(|id| seen.insert(**id)));
        new.replace(&instruction, Op::EntryPoint, &operands);
    }
    new.finish()
}
