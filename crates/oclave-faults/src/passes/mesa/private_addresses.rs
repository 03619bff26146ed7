//! Private memory for functions that reach it by integers only.
//!
//! If a kernel has no private variable, Mesa's llvmpipe gives it no private memory. Its compiler
//! then crashes on an access to private memory, even one that never happens. Resolved generic
//! pointers are such accesses: in a function that asks an integer for its address space, one way
//! leads to private memory. So each function that makes a private pointer of an integer gets a
//! variable. For the compiler to keep it, its address has to matter: the highest bit, which is
//! never set, is added to the integer.

use std::collections::BTreeSet;

use crate::Fault;
use crate::passes::{Pass, Result, pass};
use crate::table::{LLVMPIPE, fault};
use oclave_spirv::{
    Capability, Definitions, Instruction, Module, Op, Rewriter, StorageClass, Type, TypeTable,
};

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

pub(in crate::passes) const PASS: Pass = pass(Fault::Q22, "private_addresses", |on| add_variables(on.module));

/// The module with a private variable in each function that makes private pointers of integers;
/// `None` where there is none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn add_variables(module: &Module) -> Result<Option<Module>> {
    let definitions = Definitions::new(module);
    let types = TypeTable::new(&definitions);
    let (mut functions, mut conversions) = (BTreeSet::new(), BTreeSet::new());
    let mut function = 0;
    for instruction in module.instructions() {
        if instruction.is(Op::Function) {
            function = instruction.result_id().unwrap_or(0);
        }
        if function != 0 && is_conversion(&instruction, &definitions, &types) {
            functions.insert(function);
            conversions.insert(instruction.at);
        }
    }
    if conversions.is_empty() {
        return Ok(None);
    }
    let width = 8 * types.pointer_bytes();
    let mut new = Rewriter::new(&definitions);
    let mut front = Front::None;
    // What each function adds to integers, and its type.
    let (mut zero, mut word) = (0, 0);
    for instruction in module.instructions() {
        if front == Front::Variables
            && !matches!(instruction.op(), Some(Op::Variable | Op::Line | Op::NoLine))
        {
            front = Front::None;
            zero = highest_bit(&mut new, word, width, zero);
        }
        match instruction.op() {
            Some(Op::Function) if instruction.result_id().is_some_and(|id| functions.contains(&id)) => {
                front = Front::Parameters;
                new.copy(&instruction);
            }
            Some(Op::Label) if front == Front::Parameters => {
                front = Front::Variables;
                if width == 64 {
                    new.capability(Capability::Int64);
                }
                word = new.int_type(width);
                let ty = new.pointer_type(StorageClass::Function, word);
                zero = new.fresh_id();
                new.copy(&instruction);
                new.push(Op::Variable, &[ty, zero, StorageClass::Function as u32]);
            }
            Some(op) if conversions.contains(&instruction.at) => {
                let (Some(ty), Some(result), &[integer]) =
                    (instruction.result_type(), instruction.result_id(), instruction.operands())
                else {
                    continue;
                };
                let of = definitions.type_of(integer).unwrap_or(word);
                let mut added = zero;
                if of != word {
                    added = new.fresh_id();
                    new.push(Op::UConvert, &[of, added, zero]);
                }
                let address = new.fresh_id();
                new.push(Op::IAdd, &[of, address, integer, added]);
                new.replace(&instruction, op, &[ty, result, address]);
            }
            _ => new.copy(&instruction),
        }
    }
    Ok(Some(new.finish()?))
}

/// Where in a function the pass is.
#[derive(Clone, Copy, PartialEq)]
enum Front {
    /// Before the first block.
    Parameters,
    /// At the variables of the first block.
    Variables,
    /// Behind them, or in a function that is copied.
    None,
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

/// The highest bit of a variable's address, as an integer: 0.
fn highest_bit(new: &mut Rewriter<'_>, word: u32, width: u32, variable: u32) -> u32 {
    let shift = new.int_constant(width, u64::from(width) - 1);
    let (address, bit) = (new.fresh_id(), new.fresh_id());
    new.push(Op::ConvertPtrToU, &[word, address, variable]);
    new.push(Op::ShiftRightLogical, &[word, bit, address, shift]);
    bit
}
