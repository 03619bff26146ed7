//! Arrays of work-items that begin with one number in all elements.
//!
//! Intel's compiler calculates several work-items at once, and keeps the elements of their arrays side by side, unless something uses the
//! array as a whole. LLVM makes a `memset` of stores of one constant to neighbouring elements. Then each access to the array becomes a gather
//! or a scatter.
//!
//! So this pass adds a zero that compilers do not know to the constant.

use std::collections::HashMap;

use crate::Fault;
use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{converted, hidden_zero};
use crate::passes::{Pass, Result, pass};
use crate::table::{INTEL, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{BuiltIn, Definitions, Editor, Instruction, Module, Op, TypeTable, is_access_chain};

fault! {
    /// **Q79. Intel's CPU runtime 2026.2.** LLVM makes a `memset` of stores of one constant to neighbouring elements of a private array. Then
    /// Intel's compiler does not keep the arrays of several work-items side by side. SHA-256 with `[0; 64]` takes 2.5 times as long as with an
    /// array that begins with any numbers. So this pass adds a zero that compilers do not know to the constant.
    Q79 {
        affects: [INTEL],
        seen: Measurements,
        symptom: "Arrays that begin with one number in all elements are slow.",
        remedy: "A zero that compilers do not know is added to the number (`filled_arrays`).",
        upstream: [],
    }
}

pub(in crate::passes) const PASS: Pass =
    pass(Fault::Q79, "filled_arrays", |on| hide(on.analyses, on.target.address_bits));

/// Arrays with fewer such stores stay as they are: their elements become values.
const LEAST: usize = 16;

/// The module with these zeroes; `None` where it needs none.
///
/// # Errors
/// As [`Editor::finish`].
pub(crate) fn hide(analyses: &Analyses<'_>, address_bits: u32) -> Result<Option<Module>> {
    let (module, definitions) = (analyses.module(), analyses.definitions());
    let types = TypeTable::new(definitions);
    let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
    for store in module.instructions().filter_map(|i| filled(definitions, &i)) {
        *counts.entry(store).or_default() += 1;
    }
    counts.retain(|_, count| *count >= LEAST);
    if counts.is_empty() {
        return Ok(None);
    }
    let mut edit = Editor::new(definitions);
    let group = BuiltInVector::add(&mut edit, BuiltIn::WorkgroupId, address_bits);
    // Numbers of this block, and their sums with the zero.
    let mut hidden: HashMap<u32, u32> = HashMap::new();
    for instruction in module.instructions() {
        if instruction.is(Op::Label) {
            hidden.clear();
        }
        let number = filled(definitions, &instruction).filter(|store| counts.contains_key(store));
        let (Some((_, number)), &[to, _, ref access @ ..]) = (number, instruction.operands()) else {
            continue;
        };
        let Some(ty) = definitions.type_of(number) else { continue };
        let mut at = edit.instead_of(&instruction);
        let sum = *hidden.entry(number).or_insert_with(|| {
            let n = group.read(&mut at, 0);
            let zero = hidden_zero(&mut at, n, group.width);
            let zero = converted(&mut at, &types, (zero, group.width), ty);
            at.emit(Op::IAdd, ty, &[number, zero])
        });
        at.push(Op::Store, &[&[to, sum], access].concat());
    }
    Ok(edit.finish()?)
}

/// The array and the number, where an instruction stores a constant integer to an element of a private array.
fn filled(definitions: &Definitions<'_>, store: &Instruction<'_>) -> Option<(u32, u32)> {
    let &[to, number, ..] = store.operands() else { return None };
    if !store.is(Op::Store) || definitions.int_constant(number).is_none() {
        return None;
    }
    let element = definitions.instruction(to)?;
    let array = element.operand(0).filter(|_| element.op().is_some_and(is_access_chain))?;
    definitions.is_private_variable(array).then_some((array, number))
}
