//! Dummy images: the functions of a set, empty.

use std::collections::BTreeSet;

use super::wrappers::Callable;
use crate::Result;
use oclave_spirv::transform::dce::{self, Root};
use oclave_spirv::{Definitions, Editor, Module, Op, Type, TypeTable};

/// The module with these functions only, each of which does nothing and returns zeros.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn empty(module: &Module, callables: &[&Callable]) -> Result<Module> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let wrappers: BTreeSet<u32> = callables.iter().map(|callable| callable.wrapper).collect();
    let mut edit = Editor::new(&definitions);
    for wrapper in wrappers {
        let label = definitions.body(wrapper).find(|i| i.is(Op::Label));
        let Some((label, result)) = label.zip(definitions.type_of(wrapper)) else { continue };
        definitions.body(wrapper).filter(|i| i.at > label.at).for_each(|i| edit.remove(&i));
        let mut body = edit.after(&label);
        if types.ty(result) == Some(Type::Void) {
            body.push(Op::Return, &[]);
        } else {
            let null = body.null_constant(result);
            body.push(Op::ReturnValue, &[null]);
        }
    }
    let emptied = edit.finish()?;
    let exports: BTreeSet<&str> = callables.iter().map(|callable| callable.export.as_str()).collect();
    Ok(dce::eliminate(
        emptied.as_ref().unwrap_or(module),
        |root| matches!(root, Root::Export(name) if exports.contains(name)),
    )?)
}
