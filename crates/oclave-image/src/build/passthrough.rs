//! Calls that only hid something from the compiler's optimiser give back their argument.
//!
//! From opaque pointers, translators give the call another pointer type than its argument: the type
//! by which the caller reads. Such a call becomes an `OpBitcast`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use oclave_spirv::{Decoration, Definitions, Module, Op, Rewriter};

/// The function of `device_global.hpp` between a variable and its value.
const PASSTHROUGH: &str = "__oclave_device_global";

/// Removes the function and its calls; the module is unchanged where there are none.
///
/// # Errors
/// As [`Rewriter::finish`].
pub(crate) fn remove_calls(module: &Module) -> Result<Option<Module>> {
    let functions: BTreeSet<u32> = module
        .instructions()
        .take_while(|i| !i.is(Op::Function))
        .filter(|i| {
            i.is(Op::Decorate)
                && i.operand(1) == Some(Decoration::LinkageAttributes as u32)
                && i.string_is(2, PASSTHROUGH)
        })
        .filter_map(|i| i.operand(0))
        .collect();
    if functions.is_empty() {
        return Ok(None);
    }
    let is_call = |operands: &[u32]| operands.first().is_some_and(|function| functions.contains(function));
    let definitions = Definitions::new(module);
    let mut arguments = BTreeMap::new();
    let mut casts = BTreeSet::new();
    for instruction in module.instructions().filter(|i| i.is(Op::FunctionCall) && is_call(i.operands())) {
        let Some((result, argument)) = instruction.result_id().zip(instruction.operand(1)) else { continue };
        if definitions.type_of(argument) == instruction.result_type() {
            arguments.insert(result, argument);
        } else {
            casts.insert(result);
        }
    }
    // An argument may be such a call; a malformed module may have a circle of them.
    let argument = |mut id: u32| {
        for _ in 0..=arguments.len() {
            match arguments.get(&id) {
                Some(next) => id = *next,
                None => break,
            }
        }
        id
    };
    let mut new = Rewriter::new(&definitions);
    let mut in_declaration = false;
    for instruction in module.instructions() {
        let of_function = match instruction.op() {
            Some(Op::Name | Op::Decorate) => instruction
                .operand(0)
                .is_some_and(|id| functions.contains(&id) || arguments.contains_key(&id)),
            Some(Op::FunctionCall) => instruction.result_id().is_some_and(|id| arguments.contains_key(&id)),
            Some(Op::Function) => {
                in_declaration = instruction.result_id().is_some_and(|id| functions.contains(&id));
                in_declaration
            }
            _ => false,
        };
        match (instruction.result_id(), instruction.result_type(), instruction.operand(1)) {
            (Some(result), Some(ty), Some(from)) if casts.contains(&result) => {
                new.push(Op::Bitcast, &[ty, result, argument(from)]);
            }
            _ if of_function || in_declaration => {}
            _ => new.copy_mapped(&instruction, argument),
        }
        in_declaration &= !instruction.is(Op::FunctionEnd);
    }
    Ok(Some(new.finish()?))
}
