//! Dummy images: the functions of a set, empty.

use std::collections::BTreeSet;

use super::wrappers::Callable;
use crate::Result;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::{Definitions, Module, Op, Rewriter, Type, TypeTable};

/// The module with these functions only, each of which does nothing and returns zeros.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn empty(module: &Module, callables: &[&Callable]) -> Result<Module> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let wrappers: BTreeSet<u32> = callables.iter().map(|callable| callable.wrapper).collect();
    let mut new = Rewriter::new(&definitions);
    // The result type of the wrapper that the walk is in, from its first block on.
    let (mut result, mut in_body) = (None, false);
    for instruction in module.instructions() {
        match instruction.op() {
            Some(Op::Function) => {
                let wrapper = instruction.result_id().is_some_and(|id| wrappers.contains(&id));
                result = instruction.result_type().filter(|_| wrapper);
                new.copy(&instruction);
            }
            Some(Op::Label) if result.is_some() && !in_body => {
                in_body = true;
                new.copy(&instruction);
            }
            Some(Op::FunctionEnd) => {
                if let Some(ty) = result.take().filter(|_| in_body) {
                    if types.ty(ty) == Some(Type::Void) {
                        new.push(Op::Return, &[]);
                    } else {
                        let null = new.null_constant(ty);
                        new.push(Op::ReturnValue, &[null]);
                    }
                }
                in_body = false;
                new.copy(&instruction);
            }
            _ if in_body => {}
            _ => new.copy(&instruction),
        }
    }
    let exports: BTreeSet<&str> = callables.iter().map(|callable| callable.export.as_str()).collect();
    Ok(dce::eliminate(&new.finish()?, |root| matches!(root, Root::Export(name) if exports.contains(name)))?)
}
