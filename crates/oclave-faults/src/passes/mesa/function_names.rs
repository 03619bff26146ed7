//! Names for functions that have none.
//!
//! Mesa's llvmpipe keeps larger functions as calls. Before Mesa 26, it crashes on one without a name.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Editor, Module, Op};

fault! {
    /// **Q23. Mesa's rusticl 25.0.7 on llvmpipe.** A function that is not inlined and has no
    /// `OpName` ends the process with SIGSEGV when a kernel that calls it is launched:
    /// `LLVMAddFunction` gets a null pointer for the name. 26.1.6 takes such functions. Modules of
    /// the interpreter have some. So functions get names.
    Q23 {
        affects: [LLVMPIPE.before(26, 0)],
        seen: Programs,
        symptom: "A function that is not inlined and has no name crashes at the launch.",
        remedy: "Functions get names (`function_names`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q23, "function_names", |on| complete(on.analyses));

/// The module with a name for each function; `None` where none lacks it.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn complete(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let module = analyses.module();
    let named: BTreeSet<u32> = module.names().map(|(id, _)| id).collect();
    let definitions = analyses.definitions();
    let mut edit = Editor::new(definitions);
    let functions = module.instructions().filter(|i| i.is(Op::Function)).filter_map(|i| i.result_id());
    for id in functions.filter(|id| !named.contains(id)) {
        edit.name(id, &format!("function_{id}"));
    }
    Ok(edit.finish()?)
}
