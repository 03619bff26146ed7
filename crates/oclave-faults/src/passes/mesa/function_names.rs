//! Names for functions that have none.
//!
//! Mesa's llvmpipe keeps larger functions as calls. Before Mesa 26, it crashes on one without a name.

use std::collections::BTreeSet;

use crate::passes::Result;
use oclave_spirv::{Definitions, Module, Op, Rewriter};

/// The module with a name for each function; `None` where none lacks it.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn complete(module: &Module) -> Result<Option<Module>> {
    let named: BTreeSet<u32> = module.names().map(|(id, _)| id).collect();
    let functions = module.instructions().filter(|i| i.is(Op::Function)).filter_map(|i| i.result_id());
    let unnamed: Vec<u32> = functions.filter(|id| !named.contains(id)).collect();
    if unnamed.is_empty() {
        return Ok(None);
    }
    let definitions = Definitions::new(module);
    let mut new = Rewriter::new(&definitions);
    for id in unnamed {
        new.name(id, &format!("function_{id}"));
    }
    module.instructions().for_each(|instruction| new.copy(&instruction));
    Ok(Some(new.finish()?))
}
