//! Private memory for functions that reach it by integers only.
//!
//! If a kernel has no private variable, Mesa's llvmpipe gives it no private memory. Its compiler
//! then crashes on an access to private memory, even one that never happens. Resolved generic
//! pointers are such accesses: in a function that asks an integer for its address space, one way
//! leads to private memory. So each function that makes a private pointer of an integer gets a
//! variable. For the compiler to keep it, its address has to matter: the highest bit, which is
//! never set, is added to the integer.

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{Cursor, Definitions, Editor, Instruction, Module, Op, StorageClass, Type, TypeTable};

fault! {
    /// **Q22. Mesa's rusticl 26.1.6 on llvmpipe.** If a kernel has no private variable, an access
    /// to private memory ends the process with SIGSEGV at the launch. The address may be an
    /// integer, and the access need not happen: `if (a) *out = *(private uint *)a;` with `a == 0`
    /// crashes. Resolved generic pointers ask an integer for its address space, and one way leads
    /// to private memory. So such functions get a variable.
    Q22 {
        affects: [LLVMPIPE],
        seen: Programs,
        symptom: "An access to private memory crashes in a kernel without private variables.",
        remedy: "Such functions get a variable (`private_addresses`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q22, "private_addresses", |on| add_variables(on.analyses));

/// The module with a private variable in each function that makes private pointers of integers;
/// `None` where there is none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn add_variables(analyses: &Analyses<'_>) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let width = 8 * types.pointer_bytes();
    let mut edit = Editor::new(definitions);
    for function in
        analyses.module().instructions().filter(|i| i.is(Op::Function)).filter_map(|i| i.result_id())
    {
        let body = || definitions.body(function);
        let mut conversions = body().filter(|i| is_conversion(i, definitions, &types)).peekable();
        let (Some(_), Some(label)) = (conversions.peek(), body().find(|i| i.is(Op::Label))) else { continue };
        let word = edit.int_type(width);
        let pointer = edit.pointer_type(StorageClass::Function, word);
        let variable = edit.after(&label).emit(Op::Variable, pointer, &[StorageClass::Function as u32]);
        let zero = highest_bit(&mut edit.at_entry(function), word, width, variable);
        for conversion in conversions {
            let (Some(op), Some(ty), Some(result), &[integer]) =
                (conversion.op(), conversion.result_type(), conversion.result_id(), conversion.operands())
            else {
                continue;
            };
            let of = definitions.type_of(integer).unwrap_or(word);
            let mut at = edit.instead_of(&conversion);
            let added = if of == word { zero } else { at.emit(Op::UConvert, of, &[zero]) };
            let address = at.emit(Op::IAdd, of, &[integer, added]);
            at.push(op, &[ty, result, address]);
        }
    }
    Ok(edit.finish()?)
}

/// Whether an instruction makes a private pointer of an integer.
fn is_conversion(
    instruction: &Instruction<'_>,
    definitions: &Definitions<'_>,
    types: &TypeTable<'_>,
) -> bool {
    let of = |ty: Option<u32>| ty.and_then(|ty| types.ty(ty));
    let from = || of(instruction.operand(0).and_then(|id| definitions.type_of(id)));
    matches!(instruction.op(), Some(Op::ConvertUToPtr | Op::Bitcast))
        && matches!(
            of(instruction.result_type()),
            Some(Type::Pointer { class, .. }) if class == StorageClass::Function as u32
        )
        && matches!(from(), Some(Type::Int { .. }))
}

/// Writes the highest bit of a variable's address, as an integer: 0.
fn highest_bit(at: &mut Cursor<'_, '_>, word: u32, width: u32, variable: u32) -> u32 {
    let shift = at.int_constant(width, u64::from(width) - 1);
    let address = at.emit(Op::ConvertPtrToU, word, &[variable]);
    at.emit(Op::ShiftRightLogical, word, &[address, shift])
}
