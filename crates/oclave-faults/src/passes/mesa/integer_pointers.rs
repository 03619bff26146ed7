//! Constant pointers that are made of integers, as instructions.
//!
//! Virtual functions have numbers in the place of addresses. With opaque pointers, a constructor
//! stores such a number as a pointer, so at module scope `OpSpecConstantOp ConvertUToPtr` makes one
//! of it. Mesa's translator to NIR knows no such constants. It knows the instruction.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{RUSTICL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::analysis::references::References;
use oclave_spirv::analysis::variable_facts::VariableFacts;
use oclave_spirv::transform::localize::Localizer;
use oclave_spirv::{Editor, Instruction, Module, Op};

fault! {
    /// **Q27. Mesa's rusticl 26.1.6.** A constant pointer that is made of an integer
    /// (`OpSpecConstantOp ConvertUToPtr`) is refused: "No NIR equivalent", which only
    /// `RUSTICL_DEBUG=program` shows. From LLVM 16 on, constructors of classes with virtual
    /// functions store such constants. So functions compute them.
    Q27 {
        affects: [RUSTICL],
        seen: Programs,
        symptom: "Constant pointers made of integers are refused.",
        remedy: "Functions compute them (`integer_pointers`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q27, "integer_pointers", |on| compute(on.analyses));

/// The module with `OpConvertUToPtr` where functions used such constants; `None` where there are
/// none.
///
/// Initial values of variables cannot be computed by instructions: they keep their constants.
///
/// # Errors
/// [`Unsupported`](oclave_spirv::Error::Unsupported) for constants that are computed from
/// such a pointer by an operation that no instruction does.
pub(crate) fn compute(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let at_module_scope = || analyses.module().global_instructions();
    let pointers: BTreeSet<u32> =
        at_module_scope().filter(is_pointer_of_number).filter_map(|i| i.result_id()).collect();
    if pointers.is_empty() {
        return Ok(None);
    }
    let definitions = analyses.definitions();
    let references = References::new(definitions);
    let variables = at_module_scope().filter(|i| i.is(Op::Variable));
    let variables: BTreeSet<u32> = variables.filter_map(|i| i.result_id()).collect();
    let facts = VariableFacts::new(definitions);
    let localizer = Localizer::new(&references, &facts, &pointers, &variables)?;
    let kept = initial_values(&references, &variables);
    let mut edit = Editor::new(definitions);
    localizer.localize(&mut edit, |at, [_, pointer]| {
        let constant = definitions.instruction(pointer)?;
        let &[_, number] = constant.operands() else { return None };
        Some(at.emit(Op::ConvertUToPtr, constant.result_type()?, &[number]))
    })?;
    let gone = pointers.iter().copied().chain(localizer.derived()).filter(|id| !kept.contains(id));
    gone.filter_map(|id| definitions.instruction(id)).for_each(|constant| edit.remove(&constant));
    Ok(edit.finish()?)
}

fn is_pointer_of_number(instruction: &Instruction<'_>) -> bool {
    instruction.is(Op::SpecConstantOp) && instruction.operand(0) == Some(Op::ConvertUToPtr as u32)
}

/// All that the initial values of variables are made of.
fn initial_values(references: &References<'_>, variables: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut open: Vec<u32> = variables.iter().copied().collect();
    let mut found = BTreeSet::new();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(references.direct(id));
        }
    }
    found
}
